"""All keys, and for each action the command line that does the same."""

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.tui.actions import ACTIONS, KEY_NAMES, KEYS_OF_TREE
from git_blackbird.tui.screens.modal import Modal
from git_blackbird.tui.widgets.line_view import to_content

_KEY_COLUMNS = 13


class HelpScreen(Modal[None]):
    """Lists the keys; Esc, ? and q close it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark,q", "leave", "Back", show=False)]

    def __init__(self, task_id: str | None) -> None:
        super().__init__()
        self._task_id = task_id

    def compose(self) -> ComposeResult:
        with Vertical(classes="box wide"):
            yield Static("Keys", classes="title")
            with VerticalScroll():
                yield Static(to_content(self._lines()), markup=False)
            yield Static("esc goes back", classes="keys")

    def _lines(self) -> Iterator[StyledLine]:
        for action in ACTIONS:
            yield StyledLine(
                f"{KEY_NAMES.get(action.key, action.key):<{_KEY_COLUMNS}}{action.label}: {action.description}"
            )
            if command := action.command(self._task_id):
                yield StyledLine(f"{'':<{_KEY_COLUMNS}}{command}", Style.FAINT)
        yield StyledLine("")
        for keys, text in KEYS_OF_TREE:
            yield StyledLine(f"{keys:<{_KEY_COLUMNS}}{text}")
