"""A text for an agent: a change request, a message, or a reason."""

from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.widgets import Input, Static, TextArea

from git_blackbird.controller.core.drafts import Draft
from git_blackbird.messages.display.dialogue import confirm_unknown
from git_blackbird.messages.document import block
from git_blackbird.tui.screens.modal import ConfirmModal, Modal
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.line_view import to_content
from git_blackbird.tui.widgets.mention_editor import MentionEditor, PathLister

_KEYS = "ctrl+s sends, @ names a file, ctrl+o opens your editor, esc goes back and keeps the text"


class RequestScreen(Modal[str]):
    """Asks for a text, starting with the draft or else ``suggestion``; an empty text cannot be sent.

    ``remark`` says what else is sent with it. It is asked about once if it names paths that none of
    ``folders`` has.
    """

    def __init__(
        self,
        title: str,
        path_lister: PathLister,
        draft: Draft,
        suggestion: str | None = None,
        *,
        remark: str = "",
        folders: Sequence[str | Path | None] = (),
    ) -> None:
        super().__init__(title, _KEYS, "wide")
        self._path_lister = path_lister
        self._draft = draft
        self._remark = remark
        self._folders = folders
        self._first_text = draft.text or suggestion or ""

    def compose_body(self) -> ComposeResult:
        if self._remark:
            yield Static(to_content(block(self._remark)), classes="remark")
        yield MentionEditor(self._path_lister, self._draft, self._first_text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep every keystroke in the draft: a decision from another terminal closes this screen."""
        if self._draft.text or event.text_area.text != self._first_text:
            self._draft.text = event.text_area.text

    def on_unmount(self) -> None:
        """Save the draft at once, however this screen is closed."""
        self._draft.save()

    async def on_mention_editor_sent(self) -> None:
        self._draft.text = self.query_one(MentionEditor).text.rstrip("\n")
        if not self._draft.text.strip():
            return
        names = self._draft.unknown_paths(*self._folders) if self._folders else ()
        if names:
            await self.app.push_screen(ConfirmModal(confirm_unknown(names)), self._send)
        else:
            self._send(is_meant=True)

    def _send(self, is_meant: object) -> None:
        if is_meant is True:
            self.dismiss_once(self._draft.text)


class ReasonScreen(Modal[str]):
    """Asks for a line that may be empty."""

    def __init__(self, title: str) -> None:
        super().__init__(title, "enter goes on, esc goes back", "wide")

    def compose_body(self) -> ComposeResult:
        yield SingleLineInput()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss_once(event.value)
