"""The configuration: every key with its value in each layer, to be set and removed."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, Static

from git_blackbird.controller.config.edit import ConfigChange, Scope, unset_key, write_key
from git_blackbird.controller.config.view import (
    BrokenFile,
    ConfigTarget,
    SettingsView,
    places_of,
    view_settings,
)
from git_blackbird.controller.core.workspace import Workspace, shorten_path
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.messages.display.config import (
    UNSET,
    format_value,
    layer_value_text,
    overruled_text,
    plain_text,
    saved_text,
    type_text,
)
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.keys import ConfigKey, ValueType
from git_blackbird.model.config.layers import KeyLayers
from git_blackbird.model.config.settings import LayerValue, Setting
from git_blackbird.tui.screens.modal import ChoiceItem, ChoiceModal, Modal
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.line_view import to_content
from git_blackbird.tui.widgets.settings_table import SettingsTable, about, heading, legend, name_of

_POLL_SECONDS = 1.0
_KEYS = "enter edits, del removes, up/down choose, pgup/pgdn scroll, esc goes back"
_TARGETS = {
    Scope.LOCAL: "This clone's git config",
    Scope.PROJECT: "The project's .blackbird/config.json",
    Scope.GLOBAL: "Your own ~/.blackbird/config.json",
}


class SettingsScreen(Modal[None]):
    """Lists keys and shows all about the one under the cursor.

    The application watches the configuration: ``watched_workspace`` is another one after each change.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
        Binding("delete,backspace", "remove", "Remove", show=False),
    ]

    def __init__(
        self, open_workspace: Callable[[], Workspace], watched_workspace: Callable[[], Workspace]
    ) -> None:
        super().__init__()
        self._open = open_workspace
        self._watched = watched_workspace
        self._seen: Workspace | None = None
        self._reading = asyncio.Lock()
        self._workspace: Workspace | None = None
        self._shown_name = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="box full"):
            yield Static("Settings", classes="title", markup=False)
            yield Static("", id="headings", markup=False)
            yield SettingsTable(id="settings")
            with VerticalScroll(id="about", can_focus=False):
                yield Static("reading...", markup=False)
            yield Static("", id="outcome", markup=False)
            yield Static(_KEYS, classes="keys", markup=False)

    def on_mount(self) -> None:
        self._table.focus()
        self.poll()
        self.set_interval(_POLL_SECONDS, self.poll)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_headings)

    def _show_headings(self) -> None:
        self.query_one("#headings", Static).update(heading(self._table.columns))

    @property
    def _table(self) -> SettingsTable:
        return self.query_one(SettingsTable)

    @work
    async def poll(self) -> None:
        """Read the configuration if it has changed."""
        if self._seen is not self._watched():
            await self._read()

    async def _read(self) -> None:
        """Read the configuration in a thread, one at a time."""
        async with self._reading:
            self._seen = self._watched()
            try:
                workspace = await asyncio.to_thread(self._open)
                self._show(workspace, await asyncio.to_thread(view_settings, workspace))
            except BlackbirdError as error:
                self._seen = None
                self._show_error(error)

    def _show(self, workspace: Workspace, view: SettingsView) -> None:
        old, self._workspace = self._workspace, workspace
        if old is None or (old.settings, old.problems) != (workspace.settings, workspace.problems):
            self._table.show(view)
            self.query_one(".title", Static).update(f"Settings: {legend(self._table.rows)}")
            self._show_about()
            self._show_headings()

    def on_option_list_option_highlighted(self) -> None:
        """Show all about the line under the cursor, and clear the outcome of the last one."""
        row = self._table.current
        if row is not None and name_of(row) != self._shown_name:
            self._show_outcome()
            self._show_about()

    def _show_about(self) -> None:
        row = self._table.current
        pane = self.query_one("#about", VerticalScroll)
        if row is not None:
            self._shown_name = name_of(row)
            pane.query_one(Static).update(to_content(about(row, self._shorten)))
            pane.scroll_home(animate=False)

    def _shorten(self, origin: str) -> str:
        return origin if self._workspace is None else shorten_path(self._workspace, origin)

    def action_scroll(self, pages: int) -> None:
        """Scroll the description of a key."""
        pane = self.query_one("#about", VerticalScroll)
        pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)

    def _show_outcome(self, *lines: StyledLine) -> None:
        outcome = self.query_one("#outcome", Static)
        outcome.display = bool(lines)
        outcome.update(to_content(lines))

    def _show_error(self, error: BlackbirdError) -> None:
        self._show_outcome(*_warnings(error.message, error.hint))

    @work(exclusive=True, group="edit")
    async def on_option_list_option_selected(self) -> None:
        row, workspace = self._table.current, self._workspace
        if row is None or workspace is None:
            return
        self._show_outcome()
        try:
            if isinstance(row, BrokenFile):
                file = self._shorten(clean_line(row.problem.origin, 1000))
                self._show_outcome(*_warnings(f"fix {file} in an editor"))
            elif row.key is None or row.applied is None:
                self._show_outcome(*_warnings(f"{clean_line(row.name)} is not a key: delete removes it"))
            else:
                await self._set(workspace, row, row.key, row.applied)
        except BlackbirdError as error:
            self._show_error(error)

    async def _set(self, workspace: Workspace, row: KeyLayers, key: ConfigKey, applied: Setting) -> None:
        targets = places_of(workspace, row)
        target = await self._choose_target(f"Where should {key.name} be set?", targets, applied)
        if target is None:
            return

        def save(text: str) -> ConfigChange:
            return write_key(workspace, key.name, text, target.scope)

        choices = ("true", "false") if key.kind is ValueType.BOOLEAN else key.choices
        if choices:
            items = list(_items(choices, key, applied, _value_in(target)))
            title = f"{key.name} in {self._shorten(target.name)}: {key.help}"
            value = format_value(applied)
            start = choices.index(value) if value in choices else 0
            chosen = await self.app.push_screen_wait(ChoiceModal(title, items, start))
            change = None if chosen is None else await asyncio.to_thread(save, chosen)
        else:
            screen = EditValueScreen(key, self._shorten(target.name), target.told or applied, save)
            change = await self.app.push_screen_wait(screen)
        if change is not None:
            await self._show_change(change)

    async def _choose_target(
        self, title: str, targets: tuple[ConfigTarget, ...], applied: Setting
    ) -> ConfigTarget | None:
        items = [
            ChoiceItem(target, _TARGETS[target.scope], _value_in(target), target.blocked_reason)
            for target in targets
        ]
        is_applied = [target.told is not None and target.name == applied.origin for target in targets]
        start = is_applied.index(True) if True in is_applied else 0
        return await self.app.push_screen_wait(ChoiceModal(title, items, start))

    @work(exclusive=True, group="edit")
    async def action_remove(self) -> None:
        """Remove a key from one of the layers that set it."""
        row, workspace = self._table.current, self._workspace
        if row is None or workspace is None or isinstance(row, BrokenFile):
            return
        targets = [target for target in places_of(workspace, row) if target.told is not None]
        elsewhere = [value for value in row.told if all(value is not target.told for target in targets)]
        if not row.told:
            self._show_outcome(StyledLine(f"{row.name} is not set anywhere"))
            return
        items: list[ChoiceItem[Scope | None]] = [
            ChoiceItem(target.scope, _TARGETS[target.scope], _value_in(target)) for target in targets
        ]
        items.extend(
            ChoiceItem(None, layer_value_text(value), "", f"{value.given.origin}, not from here")
            for value in elsewhere
        )
        title = f"Where should {clean_line(row.name)} be removed from?"
        scope = await self.app.push_screen_wait(ChoiceModal[Scope | None](title, items))
        if scope is not None:
            try:
                await self._show_change(await asyncio.to_thread(unset_key, workspace, row.name, scope))
            except BlackbirdError as error:
                self._show_error(error)

    async def _show_change(self, change: ConfigChange) -> None:
        """Show the new configuration, what was saved, and the value that applies if it is another."""
        await self._read()
        lines = [StyledLine(saved_text(change.key, change.value, self._shorten(change.place)))]
        if change.overruled_by is not None:
            lines.append(StyledLine(overruled_text(change.overruled_by), Style.WARNING))
        elif change.value is None and self._workspace is not None:
            setting = self._workspace.settings.values.get(change.key)
            lines.extend([] if setting is None else [StyledLine(_applied_text(setting), Style.FAINT)])
        self._show_outcome(*lines)


def _applied_text(setting: Setting) -> str:
    return f"{format_value(setting)} ({clean_line(setting.origin, 1000)}) counts now"


def _value_in(target: ConfigTarget) -> str:
    return UNSET if target.told is None else layer_value_text(target.told)


def _items(
    choices: tuple[str, ...], key: ConfigKey, applied: Setting, value: str
) -> Iterator[ChoiceItem[str]]:
    remarks = {
        "counts now": format_value(applied),
        "set here": value,
        "the default": format_value(applied._replace(value=key.default)),
    }
    for choice in choices:
        yield ChoiceItem(
            choice, choice, ", ".join(remark for remark, value in remarks.items() if value == choice)
        )


_EMPTY = "nothing is typed; delete, in the list of keys, removes a key"
_NOT_ONE_LINE = "the present value cannot be shown on one line; what you type replaces it"


class EditValueScreen(Modal[ConfigChange]):
    """Asks for the value of a key until a valid one is saved; shows what is wrong with it."""

    def __init__(
        self, key: ConfigKey, place: str, current: Setting | LayerValue, save: Callable[[str], ConfigChange]
    ) -> None:
        super().__init__()
        self._key = key
        self._place = place
        self._text = typed_text(current)
        self._save = save

    def compose(self) -> ComposeResult:
        with Vertical(classes="box wide"):
            yield Static(f"{self._key.name} in {self._place}", classes="title", markup=False)
            yield Static(f"{self._key.help}; {type_text(self._key)}", markup=False)
            yield SingleLineInput(self._text or "", select_on_focus=False)
            yield Static(_NOT_ONE_LINE if self._text is None else "", id="fault", markup=False)
            yield Static("enter saves, esc goes back", classes="keys", markup=False)

    @work(exclusive=True)
    async def on_input_submitted(self, event: Input.Submitted) -> None:
        if not event.value and self._key.kind is ValueType.TEXT:
            self._show_problems(_EMPTY)
            return
        try:
            self.dismiss_once(await asyncio.to_thread(self._save, event.value))
        except BlackbirdError as error:
            self._show_problems(error.message, error.hint)

    def _show_problems(self, *texts: str | None) -> None:
        self.query_one("#fault", Static).update(to_content(_warnings(*texts)))


def typed_text(current: Setting | LayerValue) -> str | None:
    """Return a value as it would be typed; None if it does not fit on one line."""
    value = current.value
    if value is None:
        raw = current.given.value if isinstance(current, LayerValue) else ""
        text = raw if isinstance(raw, str) else json.dumps(raw)
    else:
        text = plain_text(value)
        if isinstance(value, tuple) and not text.isprintable():
            text = json.dumps(value)
    return text if text.isprintable() else None


def _warnings(*texts: str | None) -> Iterator[StyledLine]:
    return (StyledLine(clean_line(text, 1000), Style.WARNING) for text in texts if text)
