"""The checkpoint: what a run did, and the decision on it (spec 2)."""

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import ContentSwitcher, OptionList, Static

from git_blackbird.controller.drafts import Draft
from git_blackbird.controller.viewing import full_diff
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.checkpoint_text import TITLE, Line, Tone, render_checkpoint
from git_blackbird.model.change import TreePair
from git_blackbird.model.checkpoint import Checkpoint, OtherBranch
from git_blackbird.model.choices import (
    APPROVE_ANYWAY,
    APPROVES,
    VIEWS,
    Choice,
    Decision,
    Reply,
    reply_of,
)
from git_blackbird.model.run import DecisionState
from git_blackbird.model.text import clean_line
from git_blackbird.tui.line_view import LineView, diff_lines
from git_blackbird.tui.lines import drawn
from git_blackbird.tui.listing import Listing
from git_blackbird.tui.modals.chooser import ChoiceList, Chooser, Offer
from git_blackbird.tui.modals.request import RequestScreen
from git_blackbird.tui.modals.scrolling import ScrollingModal

_KEYS = "enter chooses, pgup/pgdn scroll, v shows the diff, esc leaves it open"
_KEYS_AFTER_REQUEST = "enter chooses, v shows the diff, s that since the request, esc leaves it open"


class CheckpointScreen(ScrollingModal[Reply]):
    """Shows a checkpoint and lets one of its choices be made; None leaves it open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "shift(-1)", "Left", show=False),
        Binding("right", "shift(1)", "Right", show=False),
        Binding("v", "view('view_diff')", "Diff", show=False),
        Binding("s", "view('view_since_request')", "Since the request", show=False),
    ]

    def __init__(self, workspace: Workspace, checkpoint: Checkpoint, draft: Draft, listing: Listing) -> None:
        super().__init__()
        self.checkpoint = checkpoint
        self._workspace = workspace
        self._draft = draft
        self._listing = listing
        self._viewed: TreePair | None = None

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        offers = [
            Offer(offer.choice, offer.label, obstacle=_obstacle(self.checkpoint, offer.choice))
            for offer in self.checkpoint.offers()
        ]
        start = [offer.value for offer in offers].index(self.checkpoint.preselected)
        yield Static(
            f"Action required: your decision on {self.checkpoint.task.id}", classes="banner", markup=False
        )
        with Vertical(classes="box full"):
            yield Static(TITLE, classes="title", markup=False)
            with ContentSwitcher(id="shown", initial="said"):
                with VerticalScroll(id="said", can_focus=False):
                    yield Static(drawn(render_checkpoint(self.checkpoint)), markup=False)
                yield LineView(id="diff")
            yield ChoiceList(offers, start)
            yield Static(self._keys(), classes="keys", markup=False)

    def _keys(self) -> str:
        return _KEYS if self.checkpoint.since_request is None else _KEYS_AFTER_REQUEST

    def on_mount(self) -> None:
        """Begin in the list; what was typed before is for whatever was there before."""
        self.query_one(ChoiceList).focus()
        # Who requests changes can name files at once.
        self._listing.prepare(self.app)

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Make a choice."""
        choice = self.checkpoint.offers()[event.option_index].choice
        if choice in VIEWS:
            self.action_view(choice)
        elif choice is Choice.REQUEST_CHANGES:
            await self._compose_request()
        elif choice in APPROVES and self.checkpoint.other_branch is not None:
            await self._ask_branch(choice, self.checkpoint.other_branch)
        else:
            self.give(reply_of(choice))

    async def _ask_branch(self, choice: Choice, found: OtherBranch) -> None:
        """Ask whether to approve on another branch than the run's."""

        def take(reply: Reply | None) -> None:
            if reply is not None:
                self.give(reply)

        approval = reply_of(choice, branch_confirmed=True)
        offers: list[Offer[Reply | None]] = [Offer(None, "Go back"), Offer(approval, APPROVE_ANYWAY)]
        await self.app.push_screen(Chooser[Reply | None](f"Careful: {found.text}.", offers), take)

    async def _compose_request(self) -> None:
        suggestion = self.checkpoint.suggestion
        screen = RequestScreen("What should change?", self._listing, self._draft, suggestion)
        await self.app.push_screen(screen, self._take_request)

    def _take_request(self, text: str | None) -> None:
        if text is not None:
            self.give(Decision(DecisionState.CHANGES_REQUESTED, text))

    def action_view(self, choice: str) -> None:
        """Show the whole diff, or that since the request, or the summary again."""
        pair = self.checkpoint.pair_of(Choice(choice))
        if pair is None:
            return
        switcher = self.query_one("#shown", ContentSwitcher)
        if switcher.current == "diff" and self._viewed == pair:
            switcher.current = "said"
            return
        switcher.current = "diff"
        if self._viewed != pair:
            self._viewed = pair
            self._read_diff(pair)

    @work(thread=True)
    def _read_diff(self, pair: TreePair) -> None:
        """Read the diff away from the screen: it may be large."""
        try:
            text = full_diff(self._workspace, pair)
        except BlackbirdError as error:
            lines: Sequence[Line] = [Line(f"no diff can be shown: {clean_line(error.message)}", Tone.WARNING)]
        else:
            lines = diff_lines(text)
        self.app.call_from_thread(self._show_lines, pair, lines)

    def _show_lines(self, pair: TreePair, lines: Sequence[Line]) -> None:
        # The other diff may have been asked for meanwhile.
        if pair == self._viewed:
            self.query_one(LineView).show(lines)

    def action_shift(self, steps: int) -> None:
        """Scroll sideways: lines of a diff are not broken."""
        self.read_widget.scroll_relative(x=steps * 8, animate=False)

    @property
    def read_widget(self) -> VerticalScroll | LineView:
        """The summary or the diff."""
        is_diff = self.query_one("#shown", ContentSwitcher).current == "diff"
        return self.query_one(LineView) if is_diff else self.query_one("#said", VerticalScroll)


def _obstacle(checkpoint: Checkpoint, choice: Choice) -> str | None:
    obstacle = checkpoint.obstacle(choice)
    return None if obstacle is None else clean_line(obstacle)
