"""Writing what an agent is to be told: a change request, a message, feedback."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from git_blackbird.controller.drafts import Draft
from git_blackbird.tui.listing import Listing
from git_blackbird.tui.modals.modal import Modal
from git_blackbird.tui.path_editor import PathEditor

_KEYS = "ctrl+s sends, @ names a file, esc goes back and keeps the text"


class RequestScreen(Modal[str]):
    """Asks for a text, beginning with the draft, or else with ``suggestion``; an empty one cannot be sent."""

    def __init__(self, title: str, listing: Listing, draft: Draft, suggestion: str | None = None) -> None:
        super().__init__()
        self._title = title
        self._listing = listing
        self._draft = draft
        self._first_text = draft.text or suggestion or ""

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box wide"):
            yield Static(self._title, classes="title", markup=False)
            yield PathEditor(self._listing, self._first_text)
            yield Static(_KEYS, classes="keys", markup=False)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep what is written while it is written: a decision taken elsewhere closes this screen."""
        if self._draft.text or event.text_area.text != self._first_text:
            self._draft.text = event.text_area.text

    def on_unmount(self) -> None:
        """Save what was written at once: however this screen is left, it is here."""
        self._draft.save()

    def on_path_editor_sent(self) -> None:
        """Take the text, unless there is none."""
        text = self.query_one(PathEditor).text
        if text.strip():
            self._draft.text = text
            self.give(text)
