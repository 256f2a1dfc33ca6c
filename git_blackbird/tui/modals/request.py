"""Writing what an agent is to be told: a change request, a message, feedback."""

from collections.abc import Callable
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from git_blackbird.tui.modals.modal import Modal
from git_blackbird.tui.path_editor import PathEditor

_KEYS = "ctrl+s sends, @ names a file, esc goes back and keeps the text"


class Request(NamedTuple):
    """What was written, and whether it was sent; a text that was not is a draft."""

    text: str
    is_sent: bool


class RequestScreen(Modal[Request]):
    """Asks for a text; an empty one cannot be sent."""

    def __init__(self, title: str, load: Callable[[], list[str]], draft: str = "") -> None:
        super().__init__()
        self._title = title
        self._load = load
        self._draft = draft

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box wide"):
            yield Static(self._title, classes="title", markup=False)
            yield PathEditor(self._load, self._draft)
            yield Static(_KEYS, classes="keys", markup=False)

    def on_path_editor_sent(self) -> None:
        """Take the text, unless there is none."""
        text = self.query_one(PathEditor).text
        if text.strip():
            self.give(Request(text, is_sent=True))

    def action_leave(self) -> None:
        """Keep the text as a draft."""
        self.give(Request(self.query_one(PathEditor).text, is_sent=False))
