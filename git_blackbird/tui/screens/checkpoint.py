"""What agents wait for: the decision on a run, a change request or message, the answer to a question."""

from collections.abc import Iterator
from enum import IntEnum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import ContentSwitcher, Input, OptionList, Static, TextArea

from git_blackbird.controller.core.drafts import Draft, Drafts
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.checkpoint import TITLE, StyledLine, render_checkpoint
from git_blackbird.messages.incoming.questions import OTHER
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line, strip_controls
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
from git_blackbird.model.entities.run import DecisionState, Question
from git_blackbird.model.views.checkpoint import Checkpoint, OtherBranch
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.modal import ChoiceItem, ChoiceList, ChoiceModal, Modal, ScrollingModal
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.diff_pane import DiffPane
from git_blackbird.tui.widgets.diff_view import DiffView
from git_blackbird.tui.widgets.line_view import LONGEST, to_content
from git_blackbird.tui.widgets.mention_editor import MentionEditor, PathLister

_KEYS = "enter chooses, pgup/pgdn scroll, v shows the diff, esc leaves it open"
_KEYS_AFTER_REQUEST = "enter chooses, v shows the diff, i that since the request, esc leaves it open"


class CheckpointScreen(ScrollingModal[Reply]):
    """Shows a checkpoint and asks for one of its choices; None leaves it open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "shift(-1)", "Left", show=False),
        Binding("right", "shift(1)", "Right", show=False),
        Binding("v", "view('view_diff')", "Diff", show=False),
        Binding("i,s", "view('view_since_request')", "Since the request", show=False),
        Binding("I", "view('view_diff')", "Diff", show=False),
    ]

    def __init__(
        self, workspace: Workspace, checkpoint: Checkpoint, drafts: Drafts, path_lister: PathLister
    ) -> None:
        keys = _KEYS if checkpoint.since_request is None else _KEYS_AFTER_REQUEST
        super().__init__(TITLE, keys, "full")
        self.checkpoint = checkpoint
        self._workspace = workspace
        self._drafts = drafts
        self._comments = drafts.comments(checkpoint.run)
        self._path_lister = path_lister
        self._viewed: TreePair | None = None

    def compose(self) -> ComposeResult:
        yield Static(
            f"Action required: your decision on {self.checkpoint.task.id}", classes="banner", markup=False
        )
        yield from super().compose()

    def compose_body(self) -> ComposeResult:
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
        with ContentSwitcher(id="view", initial="summary-view"):
            with VerticalScroll(id="summary-view", can_focus=False):
                yield Static(to_content(render_checkpoint(self.checkpoint)), markup=False)
            yield DiffPane(id="diff")
        yield ChoiceList(items, start)

    def on_mount(self) -> None:
        self.query_one(ChoiceList).focus()
        self.query_one(DiffPane).annotate(self._comments, self.checkpoint.merged)
        self._path_lister.prepare(self.app)

    def on_unmount(self) -> None:
        """Save the comments at once, however this screen is closed."""
        self._comments.save()

    async def on_diff_pane_comment_wanted(self, event: DiffPane.CommentWanted) -> None:
        """Let a comment be written."""
        await self.app.push_screen(CommentScreen(event.pane, event.comment, self._path_lister))

    def action_leave(self) -> None:
        """Go back from the diff to the summary, else leave the decision open."""
        if self.query_one("#view", ContentSwitcher).current == "diff":
            self._show_summary()
        else:
            self.dismiss_once(None)

    def _show_summary(self) -> None:
        self.query_one("#view", ContentSwitcher).current = "summary-view"
        self.query_one(ChoiceList).focus()

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
        draft = self._drafts.request(self.checkpoint.run, suggestion)
        screen = RequestScreen("What should change?", self._path_lister, draft, suggestion)
        await self.app.push_screen(screen, send)

    def action_view(self, choice: str) -> None:
        pair = self.checkpoint.pair_of(Choice(choice))
        if pair is None:
            return
        switcher, pane = self.query_one("#view", ContentSwitcher), self.query_one(DiffPane)
        if switcher.current == "diff" and self._viewed == pair:
            self._show_summary()
            return
        switcher.current = "diff"
        self._viewed = pair
        pane.read(self._workspace, pair)
        pane.view.focus()

    def action_shift(self, steps: int) -> None:
        """Scroll sideways: lines of a diff are not wrapped."""
        self.read_widget.scroll_relative(x=steps * 8, animate=False)

    @property
    def read_widget(self) -> VerticalScroll | DiffView:
        is_diff = self.query_one("#view", ContentSwitcher).current == "diff"
        return self.query_one(DiffPane).view if is_diff else self.query_one("#summary-view", VerticalScroll)


class RequestScreen(Modal[str]):
    """Asks for a text, starting with the draft or else ``suggestion``; an empty text cannot be sent."""

    def __init__(
        self, title: str, path_lister: PathLister, draft: Draft, suggestion: str | None = None
    ) -> None:
        super().__init__(title, "ctrl+s sends, @ names a file, esc goes back and keeps the text", "wide")
        self._path_lister = path_lister
        self._draft = draft
        self._first_text = draft.text or suggestion or ""

    def compose_body(self) -> ComposeResult:
        yield MentionEditor(self._path_lister, self._first_text)

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
        text = self.query_one(MentionEditor).text
        if text.strip():
            self._draft.text = text
            self.dismiss_once(text)


class QuestionNav(IntEnum):
    """The step from one question to another."""

    BACK = -1
    NEXT = 1


class QuestionScreen(ScrollingModal[QuestionNav]):
    """Asks one question; ``position`` is its number and the count of all.

    The draft has the answer, also an unfinished one. None leaves all questions open.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("shift+tab", "go_back", "Before", show=False)]

    def __init__(self, task_id: TaskId, question: Question, position: tuple[int, int], draft: Draft) -> None:
        number, count = position
        title = f"{task_id} asks" + (f" ({number} of {count})" if count > 1 else "")
        back = "shift+tab goes back, " if number > 1 else ""
        super().__init__(title, f"enter answers, {back}esc leaves it open", "wide asking")
        self.question = question
        self._number = number
        self._draft = draft

    def compose_body(self) -> ComposeResult:
        options, answer = self.question.options, self._draft.text
        with VerticalScroll(can_focus=False):
            yield Static(to_content(_prompt_lines(self.question.prompt)), markup=False)
        if options:
            items = [ChoiceItem(text, clean_line(text)) for text in options]
            items.append(ChoiceItem(OTHER, OTHER, takes_text=True))
            selected = options.index(answer) if answer in options else len(options) if answer else 0
            yield ChoiceList(items, selected)
        text = "" if answer in options else answer
        line = SingleLineInput(text, placeholder="your answer", select_on_focus=False)
        line.display = not options
        yield line

    @property
    def read_widget(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take an option, or show the line for another answer."""
        if event.option_index == len(self.question.options):
            self._show_line(is_line_shown=True)
            return
        self._draft.text = self.question.options[event.option_index]
        self.dismiss_once(QuestionNav.NEXT)

    def on_choice_list_typed(self, event: ChoiceList.Typed) -> None:
        """Begin another answer with the text, or continue it."""
        self._show_line(is_line_shown=True)
        self.query_one(ChoiceList).end_text()
        self.query_one(SingleLineInput).insert_text_at_cursor(" ".join(event.text.splitlines()))

    def _show_line(self, *, is_line_shown: bool) -> None:
        """Show the line for another answer instead of the options, or the options again."""
        line, choices = self.query_one(SingleLineInput), self.query_one(ChoiceList)
        line.display, choices.display = is_line_shown, not is_line_shown
        (line if is_line_shown else choices).focus()

    def action_leave(self) -> None:
        """Go back to the options from another answer, else leave the question open."""
        if self.question.options and self.query_one(SingleLineInput).display:
            self._show_line(is_line_shown=False)
        else:
            self.dismiss_once(None)

    def on_unmount(self) -> None:
        self._draft.save()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.display:
            self._draft.text = event.value

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text, unless it is empty."""
        if event.value.strip():
            self.dismiss_once(QuestionNav.NEXT)

    def action_go_back(self) -> None:
        if self._number > 1:
            self.dismiss_once(QuestionNav.BACK)


def _prompt_lines(prompt: str) -> Iterator[StyledLine]:
    """Yield all of a prompt; lines longer than can be drawn are split."""
    for line in strip_controls(prompt).splitlines():
        yield from (
            StyledLine(line[start : start + LONGEST]) for start in range(0, max(1, len(line)), LONGEST)
        )
