"""All keys, and for each action the command line that does the same."""

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.tui.deeds import DEEDS, KEY_NAMES, KEYS_OF_TREE
from git_blackbird.tui.lines import drawn
from git_blackbird.tui.modals.modal import Modal

_KEY_COLUMNS = 13


class Help(Modal[None]):
    """Lists the keys; any of esc, ? and q leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark,q", "leave", "Back", show=False)]

    def __init__(self, task_id: str | None) -> None:
        super().__init__()
        self._task_id = task_id

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box wide"):
            yield Static("Keys", classes="title")
            with VerticalScroll():
                yield Static(drawn(self._lines()), markup=False)
            yield Static("esc goes back", classes="keys")

    def _lines(self) -> Iterator[Line]:
        for deed in DEEDS:
            yield Line(f"{KEY_NAMES.get(deed.key, deed.key):<{_KEY_COLUMNS}}{deed.label}: {deed.says}")
            if command := deed.command(self._task_id):
                yield Line(f"{'':<{_KEY_COLUMNS}}{command}", Tone.FAINT)
        yield Line("")
        for keys, says in KEYS_OF_TREE:
            yield Line(f"{keys:<{_KEY_COLUMNS}}{says}")
