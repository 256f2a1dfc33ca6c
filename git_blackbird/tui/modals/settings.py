"""Settings: every key with what the layers say of it, and what counts; each is set and removed alone."""

import asyncio
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from git_blackbird.controller.config_edits import Scope, Written, unset_key, write_key
from git_blackbird.controller.config_views import (
    BrokenFile,
    Place,
    SettingsView,
    places_of,
    view_settings,
)
from git_blackbird.controller.config_watch import ConfigWatch
from git_blackbird.controller.workspace import Workspace, near
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.config_text import UNSET, overruled_text, saved_text, shown_value, told_text
from git_blackbird.model.keys import Key, Kind
from git_blackbird.model.layers import KeyLayers
from git_blackbird.model.settings import Setting
from git_blackbird.model.text import clean_line
from git_blackbird.tui.lines import drawn
from git_blackbird.tui.modals.chooser import Chooser, Offer
from git_blackbird.tui.modals.modal import Modal
from git_blackbird.tui.modals.setting_value import MendScreen, ValueScreen
from git_blackbird.tui.settings_table import KeyTable, about, heading, legend, name_of

_LOOK_SECONDS = 1.0
_KEYS = "enter edits, del removes, up/down choose, pgup/pgdn scroll, esc goes back"
_PLACES = {
    Scope.LOCAL: "This clone's git config",
    Scope.PROJECT: "The project's .blackbird/config.json",
    Scope.GLOBAL: "Your own ~/.blackbird/config.json",
}


class SettingsScreen(Modal[None]):
    """Lists keys; below is all about the one under the cursor. What is changed elsewhere shows here, too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
        Binding("delete,backspace", "remove", "Remove", show=False),
    ]

    def __init__(self, open_workspace: Callable[[], Workspace]) -> None:
        super().__init__()
        self._open = open_workspace
        self._watch = ConfigWatch()
        self._reading = asyncio.Lock()
        self._workspace: Workspace | None = None
        self._shown = ""

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box full"):
            yield Static("Settings", classes="title", markup=False)
            yield Static("", id="headings", markup=False)
            yield KeyTable(id="settings")
            with VerticalScroll(id="about", can_focus=False):
                yield Static("reading...", markup=False)
            yield Static("", id="outcome", markup=False)
            yield Static(_KEYS, classes="keys", markup=False)

    def on_mount(self) -> None:
        """Read, and look again and again."""
        self._table.focus()
        self.look()
        self.set_interval(_LOOK_SECONDS, self.look)

    def on_resize(self) -> None:
        """Put the headings above their columns."""
        self.call_after_refresh(self._show_headings)

    def _show_headings(self) -> None:
        self.query_one("#headings", Static).update(heading(self._table.columns))

    @property
    def _table(self) -> KeyTable:
        return self.query_one(KeyTable)

    @work
    async def look(self) -> None:
        """Read what may have changed."""
        await self._read(is_changed=False)

    async def _read(self, *, is_changed: bool) -> None:
        """Read away from the screen, one at a time."""
        async with self._reading:
            try:
                if is_changed or await asyncio.to_thread(self._watch.may_differ):
                    self._show(*await asyncio.to_thread(self._view))
            except BlackbirdError as error:
                self._say_error(error)

    def _view(self) -> tuple[Workspace, SettingsView]:
        workspace = self._open()
        self._watch.remember(workspace)
        return workspace, view_settings(workspace)

    def _show(self, workspace: Workspace, view: SettingsView) -> None:
        before, self._workspace = self._workspace, workspace
        if before is None or (before.settings, before.problems) != (workspace.settings, workspace.problems):
            self._table.show(view)
            self.query_one(".title", Static).update(f"Settings: {legend(self._table.rows)}")
            self._show_about()
            self._show_headings()

    def on_option_list_option_highlighted(self) -> None:
        """Show all about the line under the cursor; what was said is about the one before."""
        row = self._table.current
        if row is not None and name_of(row) != self._shown:
            self._say()
            self._show_about()

    def _show_about(self) -> None:
        row = self._table.current
        pane = self.query_one("#about", VerticalScroll)
        if row is not None:
            self._shown = name_of(row)
            pane.query_one(Static).update(drawn(about(row, self._near)))
            pane.scroll_home(animate=False)

    def _near(self, origin: str) -> str:
        return origin if self._workspace is None else near(self._workspace, origin)

    def action_scroll(self, pages: int) -> None:
        """Scroll what is said of a key."""
        pane = self.query_one("#about", VerticalScroll)
        pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)

    def _say(self, *lines: Line) -> None:
        said = self.query_one("#outcome", Static)
        said.display = bool(lines)
        said.update(drawn(lines))

    def _say_error(self, error: BlackbirdError) -> None:
        self._say(*(Line(clean_line(text, 1000), Tone.WARNING) for text in _words(error)))

    @work(exclusive=True, group="edit")
    async def on_option_list_option_selected(self) -> None:
        """Set a key, or mend what is no key's value."""
        row, workspace = self._table.current, self._workspace
        if row is None or workspace is None:
            return
        self._say()
        try:
            if isinstance(row, BrokenFile):
                await self._mend(workspace, row)
            elif row.key is None or row.applied is None:
                self._say(Line(f"{clean_line(row.name)} is not a key: delete removes it", Tone.WARNING))
            else:
                await self._set(workspace, row, row.key, row.applied)
        except BlackbirdError as error:
            self._say_error(error)

    async def _mend(self, workspace: Workspace, row: BrokenFile) -> None:
        screen = await asyncio.to_thread(MendScreen.opened, workspace, row)
        if await self.app.push_screen_wait(screen):
            await self._read(is_changed=True)
            self._say(Line(f"saved {self._near(clean_line(row.problem.origin, 1000))}"))

    async def _set(self, workspace: Workspace, row: KeyLayers, key: Key, applied: Setting) -> None:
        places = places_of(workspace, row)
        place = await self._choose_place(f"Where should {key.name} be set?", places, applied)
        if place is None:
            return

        def save(text: str) -> Written:
            return write_key(workspace, key.name, text, place.scope)

        choices = ("true", "false") if key.kind is Kind.BOOLEAN else key.choices
        if choices:
            offers = list(_offers(choices, key, applied, _present(place)))
            title = f"{key.name} in {self._near(place.name)}: {key.says}"
            counting = shown_value(applied)
            start = choices.index(counting) if counting in choices else 0
            chosen = await self.app.push_screen_wait(Chooser(title, offers, start))
            written = None if chosen is None else await asyncio.to_thread(save, chosen)
        else:
            screen = ValueScreen(key, self._near(place.name), place.told or applied, save)
            written = await self.app.push_screen_wait(screen)
        if written is not None:
            await self._tell(written)

    async def _choose_place(self, title: str, places: tuple[Place, ...], applied: Setting) -> Place | None:
        offers = [Offer(place, _PLACES[place.scope], _present(place), place.obstacle) for place in places]
        counting = [place.told is not None and place.name == applied.origin for place in places]
        start = counting.index(True) if True in counting else 0
        return await self.app.push_screen_wait(Chooser(title, offers, start))

    @work(exclusive=True, group="edit")
    async def action_remove(self) -> None:
        """Remove a key from one of the places where it is set."""
        row, workspace = self._table.current, self._workspace
        if row is None or workspace is None or isinstance(row, BrokenFile):
            return
        places = [place for place in places_of(workspace, row) if place.told is not None]
        elsewhere = [one for one in row.told if all(one is not place.told for place in places)]
        if not row.told:
            self._say(Line(f"{row.name} is not set anywhere"))
            return
        offers: list[Offer[Scope | None]] = [
            Offer(place.scope, _PLACES[place.scope], _present(place)) for place in places
        ]
        offers.extend(
            Offer(None, told_text(one), "", f"{one.given.origin}, not from here") for one in elsewhere
        )
        title = f"Where should {clean_line(row.name)} be removed from?"
        scope = await self.app.push_screen_wait(Chooser[Scope | None](title, offers))
        if scope is not None:
            try:
                await self._tell(await asyncio.to_thread(unset_key, workspace, row.name, scope))
            except BlackbirdError as error:
                self._say_error(error)

    async def _tell(self, written: Written) -> None:
        """Show how it is now, and say what was saved, and what counts if that is something else."""
        await self._read(is_changed=True)
        lines = [Line(saved_text(written.key, written.value, self._near(written.place)))]
        if written.overruled_by is not None:
            lines.append(Line(overruled_text(written.overruled_by), Tone.WARNING))
        elif written.value is None and self._workspace is not None:
            counting = self._workspace.settings.values.get(written.key)
            lines.extend([] if counting is None else [Line(_counting(counting), Tone.FAINT)])
        self._say(*lines)


def _words(error: BlackbirdError) -> Iterator[str]:
    yield error.message
    if error.hint is not None:
        yield error.hint


def _counting(setting: Setting) -> str:
    return f"{shown_value(setting)} ({clean_line(setting.origin, 1000)}) counts now"


def _present(place: Place) -> str:
    return UNSET if place.told is None else told_text(place.told)


def _offers(choices: tuple[str, ...], key: Key, applied: Setting, present: str) -> Iterator[Offer[str]]:
    remarks = {
        "counts now": shown_value(applied),
        "set here": present,
        "the default": shown_value(applied._replace(value=key.default)),
    }
    for choice in choices:
        yield Offer(choice, choice, ", ".join(what for what, of in remarks.items() if of == choice))
