"""The checkpoint: what a run did, the decision on it, and the text of a change request or message."""

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import ContentSwitcher, OptionList, Static, TextArea

from git_blackbird.controller.core.drafts import Draft
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import full_diff
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.checkpoint import TITLE, Style, StyledLine, render_checkpoint
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.decision import (
    APPROVE_ANYWAY,
    APPROVES,
    VIEWS,
    Choice,
    Decision,
    Reply,
    reply_of,
)
from git_blackbird.model.entities.run import DecisionState
from git_blackbird.model.views import Checkpoint, OtherBranch
from git_blackbird.tui.screens.modal import ChoiceItem, ChoiceList, ChoiceModal, Modal, ScrollingModal
from git_blackbird.tui.widgets.line_view import DiffLines, LineView, diff_lines, to_content
from git_blackbird.tui.widgets.mention_editor import MentionEditor, PathLister

_KEYS = "enter chooses, pgup/pgdn scroll, v shows the diff, esc leaves it open"
_KEYS_AFTER_REQUEST = "enter chooses, v shows the diff, s that since the request, esc leaves it open"


class CheckpointScreen(ScrollingModal[Reply]):
    """Shows a checkpoint and asks for one of its choices; None leaves it open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "shift(-1)", "Left", show=False),
        Binding("right", "shift(1)", "Right", show=False),
        Binding("v", "view('view_diff')", "Diff", show=False),
        Binding("s", "view('view_since_request')", "Since the request", show=False),
    ]

    def __init__(
        self, workspace: Workspace, checkpoint: Checkpoint, draft: Draft, path_lister: PathLister
    ) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self._workspace = workspace
        self._draft = draft
        self._path_lister = path_lister
        self._viewed: TreePair | None = None

    def compose(self) -> ComposeResult:
        items = [
            ChoiceItem(
                offer.choice,
                offer.label,
                blocked_reason=self.checkpoint.blocked_reason(offer.choice),
                takes_text=offer.choice is Choice.REQUEST_CHANGES,
            )
            for offer in self.checkpoint.offers()
        ]
        start = [item.value for item in items].index(self.checkpoint.preselected)
        yield Static(
            f"Action required: your decision on {self.checkpoint.task.id}", classes="banner", markup=False
        )
        with Vertical(classes="box full"):
            yield Static(TITLE, classes="title", markup=False)
            with ContentSwitcher(id="view", initial="summary-view"):
                with VerticalScroll(id="summary-view", can_focus=False):
                    yield Static(to_content(render_checkpoint(self.checkpoint)), markup=False)
                yield LineView(id="diff")
            yield ChoiceList(items, start)
            keys = _KEYS if self.checkpoint.since_request is None else _KEYS_AFTER_REQUEST
            yield Static(keys, classes="keys", markup=False)

    def on_mount(self) -> None:
        """Focus the list, and list the paths that a change request can mention."""
        self.query_one(ChoiceList).focus()
        self._path_lister.prepare(self.app)

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        choice = self.checkpoint.offers()[event.option_index].choice
        if choice in VIEWS:
            self.action_view(choice)
        elif choice is Choice.REQUEST_CHANGES:
            await self._compose_request()
        elif choice in APPROVES and self.checkpoint.other_branch is not None:
            await self._ask_branch(choice, self.checkpoint.other_branch)
        else:
            self.dismiss_once(reply_of(choice))

    async def on_choice_list_typed(self, event: ChoiceList.Typed) -> None:
        """Begin a change request with the text, or continue it."""
        # In Textual, a screen behind a modal one is current too.
        if self.app.screen is self:
            await self._compose_request()
            self.query_one(ChoiceList).end_text()
        if isinstance(self.app.screen, RequestScreen):
            self.app.screen.insert(event.text)

    async def _ask_branch(self, choice: Choice, other: OtherBranch) -> None:

        def close(reply: Reply | None) -> None:
            if reply is not None:
                self.dismiss_once(reply)

        approval = reply_of(choice, branch_confirmed=True)
        items: list[ChoiceItem[Reply | None]] = [
            ChoiceItem(None, "Go back"),
            ChoiceItem(approval, APPROVE_ANYWAY),
        ]
        await self.app.push_screen(ChoiceModal[Reply | None](f"Careful: {other.text}.", items), close)

    async def _compose_request(self) -> None:
        def send(text: str | None) -> None:
            if text is not None:
                self.dismiss_once(Decision(DecisionState.CHANGES_REQUESTED, text))

        suggestion = self.checkpoint.suggested_request
        screen = RequestScreen("What should change?", self._path_lister, self._draft, suggestion)
        await self.app.push_screen(screen, send)

    def action_view(self, choice: str) -> None:
        pair = self.checkpoint.pair_of(Choice(choice))
        if pair is None:
            return
        switcher = self.query_one("#view", ContentSwitcher)
        if switcher.current == "diff" and self._viewed == pair:
            switcher.current = "summary-view"
            return
        switcher.current = "diff"
        if self._viewed != pair:
            self._viewed = pair
            self._read_diff(pair)

    @work(thread=True)
    def _read_diff(self, pair: TreePair) -> None:
        """Read the diff in a thread: it may be large."""
        try:
            text = full_diff(self._workspace, pair)
        except BlackbirdError as error:
            lines: Sequence[StyledLine] | DiffLines = [
                StyledLine(f"no diff can be shown: {clean_line(error.message)}", Style.WARNING)
            ]
        else:
            lines = diff_lines(text)
        self.app.call_from_thread(self._show_lines, pair, lines)

    def _show_lines(self, pair: TreePair, lines: Sequence[StyledLine] | DiffLines) -> None:
        # The other diff may have been requested since.
        if pair == self._viewed:
            self.query_one(LineView).show(lines)

    def action_shift(self, steps: int) -> None:
        """Scroll sideways: lines of a diff are not wrapped."""
        self.read_widget.scroll_relative(x=steps * 8, animate=False)

    @property
    def read_widget(self) -> VerticalScroll | LineView:
        is_diff = self.query_one("#view", ContentSwitcher).current == "diff"
        return self.query_one(LineView) if is_diff else self.query_one("#summary-view", VerticalScroll)


class RequestScreen(Modal[str]):
    """Asks for a text, starting with the draft or else ``suggestion``; an empty text cannot be sent."""

    def __init__(
        self, title: str, path_lister: PathLister, draft: Draft, suggestion: str | None = None
    ) -> None:
        super().__init__()
        self._title = title
        self._path_lister = path_lister
        self._draft = draft
        self._first_text = draft.text or suggestion or ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="box wide"):
            yield Static(self._title, classes="title", markup=False)
            yield MentionEditor(self._path_lister, self._first_text)
            yield Static(
                "ctrl+s sends, @ names a file, esc goes back and keeps the text", classes="keys", markup=False
            )

    def insert(self, text: str) -> None:
        self.query_one(MentionEditor).insert(text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Keep every keystroke in the draft: a decision from another terminal closes this screen."""
        if self._draft.text or event.text_area.text != self._first_text:
            self._draft.text = event.text_area.text

    def on_unmount(self) -> None:
        """Save the draft at once, however this screen is closed."""
        self._draft.save()

    def on_mention_editor_sent(self) -> None:
        """Return the text, unless it is empty."""
        text = self.query_one(MentionEditor).text
        if text.strip():
            self._draft.text = text
            self.dismiss_once(text)
