"""Typing the value of a key, and mending a configuration file that cannot be read."""

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import ClassVar, Self

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from git_blackbird.controller.config_edits import Written, edited_file, write_file
from git_blackbird.controller.config_views import BrokenFile
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.config_text import plain_text, type_text
from git_blackbird.model.keys import Key, Kind
from git_blackbird.model.settings import Setting, Told
from git_blackbird.model.text import clean_line
from git_blackbird.tui.lines import drawn
from git_blackbird.tui.modals.modal import Modal
from git_blackbird.tui.one_line import OneLine

_EMPTY = "nothing is typed; delete, in the list of keys, removes a key"
_NOT_ONE_LINE = "the present value cannot be shown on one line; what you type replaces it"


class ValueScreen(Modal[Written]):
    """Asks for the value of a key until one is saved; what is wrong with it is said, and it stays."""

    def __init__(self, key: Key, place: str, present: Setting | Told, save: Callable[[str], Written]) -> None:
        super().__init__()
        self._key = key
        self._place = place
        self._text = typed_text(present)
        self._save = save

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box wide"):
            yield Static(f"{self._key.name} in {self._place}", classes="title", markup=False)
            yield Static(f"{self._key.says}; {type_text(self._key)}", markup=False)
            yield OneLine(self._text or "", select_on_focus=False)
            yield Static(_NOT_ONE_LINE if self._text is None else "", id="fault", markup=False)
            yield Static("enter saves, esc goes back", classes="keys", markup=False)

    @work(exclusive=True)
    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Save it, if it is a value of this key."""
        if not event.value and self._key.kind is Kind.TEXT:
            self._complain(_EMPTY)
            return
        try:
            self.give(await asyncio.to_thread(self._save, event.value))
        except BlackbirdError as error:
            self._complain(*filter(None, (error.message, error.hint)))

    def _complain(self, *texts: str) -> None:
        self.query_one("#fault", Static).update(_faults(texts))


def typed_text(present: Setting | Told) -> str | None:
    """Write a value as it would be typed; None where a line of text cannot have it as it is."""
    value = present.value
    if value is None:
        raw = present.given.value if isinstance(present, Told) else ""
        text = raw if isinstance(raw, str) else json.dumps(raw)
    else:
        text = plain_text(value)
        if isinstance(value, tuple) and not text.isprintable():
            text = json.dumps(value)
    return text if text.isprintable() else None


class MendScreen(Modal[bool]):
    """Shows a file none of which counts, to be edited until it can be read; None when it is left as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "save", "Save", priority=True)]

    def __init__(self, workspace: Workspace, row: BrokenFile, text: str) -> None:
        super().__init__()
        self._workspace = workspace
        self._row = row
        self._text = text

    @classmethod
    def opened(cls, workspace: Workspace, row: BrokenFile) -> Self:
        """Read the file.

        Raises UnusableError when it is no text.
        """
        return cls(workspace, row, edited_file(workspace, row.scope))

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box full"):
            yield Static(clean_line(self._row.problem.origin, 1000), classes="title", markup=False)
            yield Static(_faults((self._row.why,)), id="fault", markup=False)
            yield TextArea(self._text, show_line_numbers=True, tab_behavior="focus")
            yield Static("ctrl+s saves, esc leaves it as it is", classes="keys", markup=False)

    @work(exclusive=True)
    async def action_save(self) -> None:
        """Save the text, if it can be read."""
        text = self.query_one(TextArea).text
        try:
            await asyncio.to_thread(write_file, self._workspace, self._row.scope, self._text, text)
        except BlackbirdError as error:
            words = filter(None, (error.message, error.hint))
            self.query_one("#fault", Static).update(_faults(words))
        else:
            self.give(result=True)


def _faults(texts: Iterable[str]) -> Content:
    return drawn(Line(clean_line(text, 1000), Tone.WARNING) for text in texts)
