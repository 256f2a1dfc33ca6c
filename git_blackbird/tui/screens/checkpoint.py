"""The decision on a run: a place to review its change, and the choices."""

from collections.abc import Iterator
from dataclasses import replace

from textual import events
from textual.app import ComposeResult
from textual.widgets import Input

from git_blackbird.messages.display.format import counted
from git_blackbird.model.change.decision import (
    APPROVE_ANYWAY,
    APPROVES,
    SPECS,
    UNDECIDED,
    VIEWS,
    Choice,
    ChoiceSpec,
    Decision,
    Reply,
    reply_of,
)
from git_blackbird.model.run.states import APPROVALS, DecisionState
from git_blackbird.model.views.checkpoint import OtherBranch
from git_blackbird.tui.keys import NO_KEY, does_nothing
from git_blackbird.tui.screens.change import ChangeScreen
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.screens.review_keys import Place, dead_key_text
from git_blackbird.tui.widgets.choices import ChoiceItem, ChoiceRow

_KEYS_AFTER_REQUEST = frozenset({"i", "I"})
_REPEATED = "What you requested before is sent again with this, comments included: write only what is new."


class CheckpointScreen(ChangeScreen):
    """The change, and the choices. None leaves the checkpoint open."""

    _confirming: Choice | None = None
    """The choice that drops unsent texts if it is taken again."""

    def compose_body(self) -> ComposeResult:
        # The cursor is on what is preselected, or on the line that is nothing.
        yield ChoiceRow(tuple(self._items()))

    def describe_key(self, action: str) -> str | None:
        """Name the choice of a digit, and what esc and y do now; None where a key always does the same."""
        name, _, rest = action.partition("(")
        if name == "choice":
            offered = self._offered(rest.strip("')"))
            return None if offered is None else offered.label
        if name in {"leave", "back"}:
            return "Back to the overview" if self._is_diff_shown else "Leave the decision open"
        if name == "app.copy" and self._place is Place.OVERVIEW:
            return "Copy the overview"
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is: so many choices, what was requested, no keys that the list of files has."""
        if action == "choice":
            offered = self._offered(str(parameters[0]))
            return offered is not None and self.checkpoint.is_possible(offered.choice)
        if action == "search":
            return self._place in {Place.CHOICES, Place.OVERVIEW}
        if action == "scroll":
            return self._place is not Place.FILES
        if action == "after_request" and self.checkpoint.since_request is None:
            return None
        return True

    def _offered(self, digit: str) -> ChoiceSpec | None:
        offers = self.checkpoint.offers()
        return next((offer for offer in offers if str(offer.digit) == digit), None)

    def _items(self) -> Iterator[ChoiceItem[Choice | None]]:
        if self.checkpoint.preselected is None:
            yield ChoiceItem(None, UNDECIDED, digit=0)
        for offer in self.checkpoint.offers():
            obstacle = self.checkpoint.blocked_reason(offer.choice)
            yield ChoiceItem(offer.choice, offer.label, blocked_reason=obstacle, digit=offer.digit)

    @property
    def _choices(self) -> ChoiceRow[Choice | None]:
        return self.query_one(ChoiceRow)

    def on_mount(self) -> None:
        self.set_focus(self._choices)
        self.watch(self._choices, "cursor", self._take_back, init=False)

    def on_descendant_focus(self) -> None:
        if isinstance(self.focused, Input):
            # Its letters come to no other widget, to end what was said before.
            self._unsay()
        self._show_keys()

    def on_key(self, event: events.Key) -> None:
        """Drop what was said about the key before; say why one has no meaning yet."""
        self._unsay()
        if not event.is_printable and event.key != "enter":
            self._choices.end_text()
        if event.key != "enter":
            self._confirming = None
        if event.key in _KEYS_AFTER_REQUEST and self.checkpoint.since_request is None:
            self._key_line.say("nothing was requested yet")
        elif does_nothing(self, event):
            event.stop()
            self._key_line.say(self._dead_key_text(event.character or ""))

    def _take_back(self) -> None:
        """Ask again before a choice that drops unsent texts: the cursor is on another."""
        self._confirming = None
        self._unsay()

    def action_leave(self) -> None:
        """Go back from the diff to the overview, else leave the decision open."""
        if self._is_diff_shown:
            self._show_overview()
            self.set_focus(self._choices)
        else:
            if kept := len(self._comments.items):
                verb = "is" if kept == 1 else "are"
                self.notify(f"{counted(kept, 'comment')} {verb} kept for when you decide")
            self.dismiss_once(None)

    def action_choice(self, digit: str) -> None:
        """Go to a choice, wherever the focus is; the next key may be meant for it already."""
        if self._choices.go_to(digit):
            self.set_focus(self._choices)

    async def on_choice_row_chosen(self, event: ChoiceRow.Chosen) -> None:
        choice = self._choices.items[event.index].value
        if choice is None:
            self._key_line.say("nothing is chosen: a digit or an arrow chooses")
        elif choice in VIEWS:
            self._view(choice)
        elif choice is Choice.REQUEST_CHANGES:
            await self._compose_request()
        elif self._confirming is not choice and (unsent := self._unsent):
            self._confirming = choice
            self._key_line.say(unsent)
        elif choice in APPROVES and self.checkpoint.other_branch is not None:
            await self._ask_branch(choice, self.checkpoint.other_branch)
        else:
            self._reply(reply_of(choice))

    @property
    def _unsent(self) -> str:
        """Say what a decision drops that was written and is not sent, and what sends it; "" if nothing is."""
        comments = len(self._comments.items)
        has_request = bool(self._drafts.message(self.checkpoint.task.id).text.strip())
        if not comments and not has_request:
            return ""
        parts = ["a change request"] * has_request + [counted(comments, "comment")] * bool(comments)
        verb, them = ("is", "it") if comments + has_request == 1 else ("are", "them")
        sends = "" if self._request_key is None else f"; {self._request_key} sends {them}"
        return f"{' and '.join(parts)} {verb} not sent: enter again drops {them}{sends}"

    @property
    def _request_key(self) -> int | None:
        """The digit of the choice that requests changes; None if it is not possible."""
        return None if self.checkpoint.request_blocked_reason else SPECS[Choice.REQUEST_CHANGES].digit

    def on_choices_ignored(self, event: ChoiceRow.Ignored) -> None:
        """Say where a key works, or what a text is written with: a letter may be meant for anything."""
        event.stop()
        said, number = self._dead_key_text(event.character), self._request_key
        request = "" if said != NO_KEY or number is None else f"; {number}, then enter: request changes"
        self._key_line.say(f"{said}{request}")

    def _dead_key_text(self, character: str) -> str:
        return dead_key_text(character, self._place, has_diff=self._viewed is not None)

    def _reply(self, reply: Reply) -> None:
        """Close the screen with a reply; an approval leaves out what is marked so."""
        if not self._marks.left_out or not isinstance(reply, Decision) or reply.state not in APPROVALS:
            self.dismiss_once(reply)
            return
        paths = self._marks.approved_paths(self._change)
        if not paths:
            why = "Every file is left out: o takes one in" if self._change else "Its files are being read"
            self.notify(why, severity="warning")
            return
        self.dismiss_once(replace(reply, only=paths))

    async def _ask_branch(self, choice: Choice, other: OtherBranch) -> None:

        def close(reply: Reply | None) -> None:
            if reply is not None:
                self._reply(reply)

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
        remark = "" if self.checkpoint.since_request is None else _REPEATED
        screen = RequestScreen("What should change?", self._path_lister, draft, suggestion, remark=remark)
        await self.app.push_screen(screen, send)
