"""Writing a comment on lines of a diff."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static, TextArea

from git_blackbird.controller.core.drafts import Draft
from git_blackbird.messages.display.format import place_words
from git_blackbird.messages.document import code
from git_blackbird.model.run.parts import ReviewComment
from git_blackbird.tui.screens.modal import Modal
from git_blackbird.tui.widgets.diff.pane import DiffPane
from git_blackbird.tui.widgets.line_view import to_content
from git_blackbird.tui.widgets.mention_editor import MentionEditor, PathLister

_KEYS = "ctrl+s or esc keeps it, ctrl+r removes it, ctrl+o opens your editor; @ names a file"
_SHOWN_LINES = 4


class CommentScreen(Modal[None]):
    """Edits a comment; every keystroke is kept."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "remove", "Remove the comment", show=False, priority=True),
    ]

    def __init__(self, pane: DiffPane, comment: ReviewComment, path_lister: PathLister, draft: Draft) -> None:
        super().__init__(f"Comment on {place_words(comment)}", _KEYS, "wide")
        self._pane = pane
        self._comment = comment
        self._path_lister = path_lister
        self._draft = draft

    def compose_body(self) -> ComposeResult:
        lines = self._comment.quoted.split("\n")[:_SHOWN_LINES]
        if not self._comment.is_on_file:
            yield Static(to_content(map(code, lines)), classes="quoted")
        yield MentionEditor(self._path_lister, self._draft, self._draft.text or self._comment.text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self._keep(event.text_area.text)

    def on_mount(self) -> None:
        """Keep what an editor has saved of it before the program was killed."""
        if self._draft.text:
            self._keep(self._draft.text)

    def _keep(self, text: str) -> None:
        self._pane.keep_comment(self._comment.model_copy(update={"text": text}))
        self._draft.drop()

    def action_remove(self) -> None:
        """Go back without the comment, whatever its text."""
        self._keep("")
        self.dismiss_once(None)

    def on_mention_editor_sent(self) -> None:
        self.dismiss_once(None)
