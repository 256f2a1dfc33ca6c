"""The configuration: every key with its value in each layer, to be set and removed."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from git_blackbird.controller.config.settings import (
    NOT_OF_A_CLONE,
    ConfigChange,
    Row,
    Scope,
    scope_of,
    settings_rows,
    unset_key,
    write_key,
)
from git_blackbird.controller.core.workspace import Workspace, shorten_path
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.config import (
    UNSET,
    Shorten,
    key_document,
    overruled_text,
    plain_text,
    saved_text,
    setting_text,
    type_text,
    value_text,
)
from git_blackbird.messages.document import Line, Span, Style, styled, truncate
from git_blackbird.model.config.keys import Key, Value, ValueType
from git_blackbird.model.config.layers import ConfigProblem, Layer
from git_blackbird.model.config.settings import KeyLayers
from git_blackbird.tui.screens.modal import ChoiceModal, Modal
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.choices import ChoiceItem
from git_blackbird.tui.widgets.line_view import document_lines, to_content
from git_blackbird.tui.widgets.searching import SEARCH_BINDINGS, SearchesText, line_with

_POLL_SECONDS = 1.0
_KEYS = "enter edits, del removes, / searches, pgup/pgdn scroll, esc goes back"
_PLACES = {
    Scope.LOCAL: "this clone's git config",
    Scope.PROJECT: "the project's .blackbird/config.json",
    Scope.GLOBAL: "your own ~/.blackbird/config.json",
}
_LONGEST_KEY, _LONGEST_VALUE = 34, 18


class SettingsTable(OptionList):
    """Lists keys, values and origins; the cursor stays on its key when values change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    rows: tuple[Row, ...] = ()

    @property
    def current(self) -> Row | None:
        index = self.highlighted
        return None if index is None or index >= len(self.rows) else self.rows[index]

    def show(self, rows: tuple[Row, ...], shorten: Shorten) -> None:
        old_name = self.current and _name_of(self.current)
        self.rows = rows
        names = [_name_of(row) for row in rows]
        self.set_options([Option(to_content([_row_line(row, shorten)])) for row in rows])
        self.highlighted = names.index(old_name) if old_name in names else 0

    def find(self, needle: str, step: int) -> bool:
        """Go to the next key that has a text, or the one before; return whether one has it."""
        here = -1 if self.highlighted is None else self.highlighted
        found = line_with(needle, map(_name_of, self.rows), here, step)
        if found is not None:
            self.highlighted = found
        return found is not None

    def on_resize(self) -> None:
        self.scroll_to_highlight()


class SettingsScreen(Modal[None], SearchesText):
    """Lists keys and shows all about the one under the cursor.

    The application watches the configuration: ``watched_workspace`` is another one after each change.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
        Binding("delete,backspace", "remove", "Remove", show=False),
        *SEARCH_BINDINGS,
    ]

    def __init__(
        self, open_workspace: Callable[[], Workspace], watched_workspace: Callable[[], Workspace]
    ) -> None:
        super().__init__("Settings", _KEYS, "full")
        self._open = open_workspace
        self._watched = watched_workspace
        self._seen: Workspace | None = None
        self._reading = asyncio.Lock()
        self._workspace: Workspace | None = None
        self._shown_name = ""

    def compose_body(self) -> ComposeResult:
        yield SettingsTable(id="settings")
        with VerticalScroll(id="about", can_focus=False):
            yield Static("reading...", markup=False)
        yield Static("", id="outcome", markup=False)

    def on_mount(self) -> None:
        self._table.focus()
        self.poll()
        self.set_interval(_POLL_SECONDS, self.poll)

    def find(self, needle: str, step: int) -> bool:
        return self._table.find(needle, step)

    @property
    def _table(self) -> SettingsTable:
        return self.query_one(SettingsTable)

    @work
    async def poll(self) -> None:
        if self._seen is not self._watched():
            await self._read()

    async def _read(self) -> None:
        """Read the configuration in a thread, one at a time."""
        async with self._reading:
            self._seen = self._watched()
            try:
                workspace = await asyncio.to_thread(self._open)
            except BlackbirdError as error:
                self._seen = None
                self._show_error(error)
                return
        old, self._workspace = self._workspace, workspace
        if old is None or old.settings != workspace.settings:
            rows = settings_rows(workspace)
            self._table.show(rows, self._shorten)
            wrong = sum(map(_is_wrong, rows))
            self.query_one(".title", Static).update(f"Settings, ! wrong: {wrong or 'none'}")
            self._show_about()

    def on_option_list_option_highlighted(self) -> None:
        """Show all about the line under the cursor, and clear the outcome of the last one."""
        row = self._table.current
        if row is not None and _name_of(row) != self._shown_name:
            self._show_outcome()
            self._show_about()

    def _show_about(self) -> None:
        row = self._table.current
        pane = self.query_one("#about", VerticalScroll)
        if row is not None:
            self._shown_name = _name_of(row)
            pane.query_one(Static).update(to_content(_about(row, self._shorten)))
            pane.scroll_home(animate=False)

    def _shorten(self, origin: str) -> str:
        return origin if self._workspace is None else shorten_path(self._workspace, origin)

    def action_scroll(self, pages: int) -> None:
        pane = self.query_one("#about", VerticalScroll)
        pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)

    def _show_outcome(self, *lines: Line) -> None:
        outcome = self.query_one("#outcome", Static)
        outcome.display = bool(lines)
        outcome.update(to_content(lines))

    def _show_error(self, error: BlackbirdError) -> None:
        self._show_outcome(*_warnings(error.message, error.hint))

    @work(exclusive=True, group="edit")
    async def on_option_list_option_selected(self) -> None:
        row, workspace = self._table.current, self._workspace
        self._show_outcome()
        if workspace is None or row is None:
            return
        if isinstance(row, ConfigProblem):
            self._show_outcome(*_warnings(f"{self._shorten(row.origin)}: {row.hint}"))
            return
        try:
            await self._set(workspace, row)
        except BlackbirdError as error:
            self._show_error(error)

    async def _set(self, workspace: Workspace, row: KeyLayers) -> None:
        key, applied = row.key, row.applied
        present = {scope_of(workspace, setting.origin): setting for setting in reversed(row.values)}
        scopes = [scope for scope in Scope if key.clone_safe or scope is not Scope.PROJECT]
        texts = {scope: setting_text(present[scope]) if scope in present else UNSET for scope in scopes}
        scope = await self._choose_place(f"Where should {key.name} be set?", texts)
        if scope is None:
            return
        save = partial(write_key, workspace, key.name, scope=scope)
        choices = key.few_values
        if choices:
            now, default = value_text(applied.value), value_text(key.default)
            remarks = {default: "the default"}
            remarks[now] = f"counts now, {remarks[now]}" if now in remarks else "counts now"
            items = [ChoiceItem(choice, choice, remarks.get(choice, "")) for choice in choices]
            title = f"{key.name} in {_PLACES[scope]}: {key.row.help}"
            start = choices.index(now) if now in choices else 0
            text = await self.app.push_screen_wait(ChoiceModal(title, items, start))
            change = None if text is None else await asyncio.to_thread(save, text)
        else:
            value = present.get(scope, applied).value
            change = await self.app.push_screen_wait(EditValueScreen(key, _PLACES[scope], value, save))
        if change is not None:
            await self._show_change(change)

    async def _choose_place(self, title: str, texts: Mapping[Scope, str]) -> Scope | None:
        items = [ChoiceItem(scope, _PLACES[scope].capitalize(), text) for scope, text in texts.items()]
        return await self.app.push_screen_wait(ChoiceModal(title, items))

    @work(exclusive=True, group="edit")
    async def action_remove(self) -> None:
        """Remove a key, or an unknown name, from one of the places that set it."""
        row, workspace = self._table.current, self._workspace
        if workspace is None or row is None:
            return
        if isinstance(row, ConfigProblem):
            name, places = row.key, {row.origin: row.what}
        else:
            name, places = row.key.name, {value.origin: setting_text(value) for value in reversed(row.values)}
        scopes = {scope_of(workspace, origin): text for origin, text in places.items()}
        texts = {scope: scopes[scope] for scope in Scope if scope in scopes}
        if not texts:
            where = "in a place that can be changed here" if places else "anywhere"
            self._show_outcome(styled(f"{name} is not set {where}"))
            return
        scope = await self._choose_place(f"Where should {name} be removed from?", texts)
        if scope is not None:
            try:
                await self._show_change(await asyncio.to_thread(unset_key, workspace, name, scope))
            except BlackbirdError as error:
                self._show_error(error)

    async def _show_change(self, change: ConfigChange) -> None:
        """Show the new configuration, what was saved, and the value that applies if it is another."""
        await self._read()
        lines = [styled(saved_text(change.key, change.value, self._shorten(change.place)))]
        if change.overruled_by is not None:
            lines.append(styled(overruled_text(change.overruled_by), Style.WARNING))
        if change.remark is not None:
            lines.append(styled(change.remark, Style.WARNING))
        self._show_outcome(*lines)


def _name_of(row: Row) -> str:
    """Return the text that identifies a row."""
    return str(row) if isinstance(row, ConfigProblem) else row.key.name


def _is_wrong(row: Row) -> bool:
    return isinstance(row, ConfigProblem) or any(setting.problem is not None for setting in row.values)


def _row_line(row: Row, shorten: Shorten) -> Line:
    if isinstance(row, ConfigProblem):
        return styled(f"!{shorten(row.origin)}: {row.key}: {row.what}", Style.WARNING)
    setting = row.applied
    mark = "!" if _is_wrong(row) else " "
    value = truncate(Span(value_text(setting.value)).text, _LONGEST_VALUE)
    text = f"{mark}{row.key.name:<{_LONGEST_KEY}} {value:<{_LONGEST_VALUE}} {shorten(setting.origin)}"
    return styled(text, Style.FAINT if setting.layer is Layer.DEFAULT else Style.PLAIN)


def _about(row: Row, shorten: Shorten) -> Iterator[Line]:
    if isinstance(row, ConfigProblem):
        yield styled(shorten(row.origin), Style.HEADING)
        yield from _warnings(f"{row.key}: {row.what}", row.hint)
        yield styled("commands that start or decide refuse to run until it is fixed", Style.FAINT)
        return
    yield styled(row.key.name, Style.HEADING)
    yield from document_lines(key_document(row, shorten))
    if not row.key.clone_safe:
        yield styled(f"  {NOT_OF_A_CLONE}")
    for setting in row.values:
        if (problem := setting.problem) is not None:
            yield from (one.behind("    ") for one in _warnings(problem.what, problem.hint))


class EditValueScreen(Modal[ConfigChange]):
    """Asks for the value of a key until a valid one is saved; shows what is wrong with it."""

    def __init__(
        self, key: Key, place: str, value: Value | None, save: Callable[[str], ConfigChange]
    ) -> None:
        super().__init__(f"{key.name} in {place}", "enter saves, esc goes back", "wide")
        self._key = key
        self._text = "" if value is None else plain_text(value)
        self._save = save

    def compose_body(self) -> ComposeResult:
        is_one_line = self._text.isprintable()
        fault = "" if is_one_line else "the present value has several lines; what you type replaces it"
        yield Static(f"{self._key.row.help}; {type_text(self._key)}", markup=False)
        yield SingleLineInput(self._text if is_one_line else "", select_on_focus=False)
        yield Static(fault, id="fault", markup=False)

    @work(exclusive=True)
    async def on_input_submitted(self, event: Input.Submitted) -> None:
        if not event.value and self._key.type is ValueType.TEXT:
            self._show_problems("nothing is typed; delete, in the list of keys, removes a key")
            return
        try:
            self.dismiss_once(await asyncio.to_thread(self._save, event.value))
        except BlackbirdError as error:
            self._show_problems(error.message, error.hint)

    def _show_problems(self, *texts: str | None) -> None:
        self.query_one("#fault", Static).update(to_content(_warnings(*texts)))


def _warnings(*texts: str | None) -> Iterator[Line]:
    return (styled(text, Style.WARNING) for text in texts if text)
