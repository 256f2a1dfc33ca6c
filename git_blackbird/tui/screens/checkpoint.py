"""The decision on a run: a place to review its change, and the choices."""

import asyncio
from collections.abc import Iterable, Iterator

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Input

from git_blackbird.controller.change.undo.undo import preview_rejection
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.dialogue import (
    NOTHING_CHOSEN,
    Confirm,
    Say,
    ShowDiff,
    Step,
    WriteReason,
    WriteRequest,
    confirm_rejection,
    next_step,
    offers_of,
)
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.change.decision import ChoiceSpec, Decision, Reply
from git_blackbird.model.run.states import APPROVALS, Choice
from git_blackbird.tui.driver import InputGuard
from git_blackbird.tui.keys import NO_KEY, does_something
from git_blackbird.tui.screens.change import ChangeScreen
from git_blackbird.tui.screens.modal import ConfirmModal
from git_blackbird.tui.screens.request import ReasonScreen, RequestScreen
from git_blackbird.tui.screens.review_keys import DIFF_BINDINGS, Focus, dead_key_text
from git_blackbird.tui.widgets.choices import NO_DIGIT, ChoiceItem, ChoiceRow
from git_blackbird.tui.widgets.file_list import ReviewMarks

_NOT_SHOWN = f"{NOTHING_CHOSEN}; v shows the diff"
_KEYS_AFTER_REQUEST = frozenset({"i", "I"})


class CheckpointScreen(ChangeScreen):
    """The change, and the choices. None leaves the checkpoint open."""

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
            return "Leave the decision open"
        if name == "app.copy" and self._place is Focus.OVERVIEW:
            return "Copy the overview"
        return None

    def keys_nearby(self) -> tuple[str, Iterable[Binding]]:
        """Return the keys of the diff, where something else has the focus."""
        is_there = self._place is Focus.DIFF or self._viewed is None
        return "In the diff, to which v goes", () if is_there else DIFF_BINDINGS

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is: so many choices, what was requested, no keys that the list of files has."""
        if action == "choice":
            offered = self._offered(str(parameters[0]))
            return offered is not None and self.checkpoint.is_possible(offered.choice)
        if action == "search":
            # The overview is searched itself.
            return self._place is Focus.CHOICES
        if action == "scroll":
            return self._place is not Focus.FILES
        if action == "after_request" and self.checkpoint.since_request is None:
            return None
        return True

    def _offered(self, digit: str) -> ChoiceSpec | None:
        offers = self.checkpoint.offers()
        return next((offer for offer in offers if str(offer.digit) == digit), None)

    def _items(self) -> Iterator[ChoiceItem[Choice | None]]:
        for offer in offers_of(self.checkpoint):
            digit = NO_DIGIT if offer.digit is None else offer.digit
            yield ChoiceItem(offer.choice, offer.label, blocked_reason=offer.blocked_reason, digit=digit)

    @property
    def _choices(self) -> ChoiceRow[Choice | None]:
        return self.query_one(ChoiceRow)

    def on_mount(self) -> None:
        self.set_focus(self._choices)
        self.watch(self._choices, "cursor", self._unsay, init=False)

    def on_diff_rows_end_shown(self) -> None:
        """Preselect an approval, if nothing speaks against it, once the whole change was shown to its end."""
        is_whole = self._viewed == self.checkpoint.pair and not self._diff.hides_lines
        if not is_whole or not self._is_diff_shown or self.checkpoint.is_shown:
            return
        self.checkpoint = self.checkpoint._replace(is_shown=True)
        if self.checkpoint.preselected is not None:
            self._choices.replace_items(tuple(self._items()), max(0, self._choices.cursor - 1))
            if self._choices.has_focus and isinstance(self.app, InputGuard):
                # The next Enter may be meant for the line that stood there.
                self.app.ignore_pending_input()

    def on_descendant_focus(self) -> None:
        if isinstance(self.focused, Input):
            # Its letters come to no other widget, to end what was said before.
            self._unsay()
        self._show_keys()

    def on_key(self, event: events.Key) -> None:
        """Drop what was said about the key before; say why one has no meaning yet."""
        self._unsay()
        if event.key in _KEYS_AFTER_REQUEST and self.checkpoint.since_request is None:
            self._key_line.say("nothing was requested yet")
        elif event.is_printable and not does_something(self, event.key):
            event.stop()
            blocked, has_diff = self._offered(event.key), self._viewed is not None
            if blocked is not None:
                why = self.checkpoint.blocked_reason(blocked.choice) or ""
                self._key_line.say(f"{event.key} is not possible: {why}")
            else:
                self._key_line.say(dead_key_text(event.character or "", self._place, has_diff=has_diff))

    def on_paste(self, event: events.Paste) -> None:
        """Say that a pasted text does nothing here."""
        event.stop()
        self._key_line.say(NO_KEY)

    def action_leave(self) -> None:
        """Leave the decision open."""
        if kept := len(self._comments.items):
            verb = "is" if kept == 1 else "are"
            self.notify(f"{counted(kept, 'comment')} {verb} kept for when you decide")
        self.dismiss_once(None)

    def action_overview(self) -> None:
        super().action_overview()
        self.set_focus(self._choices)

    def action_choice(self, digit: str) -> None:
        """Go to a choice, wherever the focus is; the next key may be meant for it already."""
        if self._choices.go_to(digit):
            self.set_focus(self._choices)

    async def on_choice_row_chosen(self, event: ChoiceRow.Chosen) -> None:
        choice = self._choices.items[event.index].value
        if choice is None:
            is_left = self.checkpoint.is_possible(Choice.VIEW_DIFF) and not self.checkpoint.is_shown
            self._key_line.say(_NOT_SHOWN if is_left else NOTHING_CHOSEN)
        else:
            unsent = self._drafts.unsent(self.checkpoint.run)
            await self._take(next_step(self.checkpoint, choice, unsent))

    async def _take(self, step: Step) -> None:
        """Take a step of the dialogue."""
        match step:
            case Say() | ShowDiff():
                self._view(step)
            case WriteRequest():
                await self._compose_request(step)
            case WriteReason(decision=Decision(undoes=True)) if isinstance(self.app, InputGuard):
                self.app.open_modal(self._confirm_rejection(self.app, step))
            case WriteReason():
                await self._write_reason(step)
            case Confirm():
                await self._confirm(step)
            case _:
                self._reply(step)

    async def _confirm_rejection(self, guard: InputGuard, step: WriteReason) -> None:
        """Show what of the change would be taken out of the files, and ask."""

        async def go_on(answer: object) -> None:
            if answer is True:
                await self._write_reason(step)

        try:
            preview = await asyncio.to_thread(preview_rejection, self._workspace, self.checkpoint.task.id)
        except BlackbirdError as error:
            self._key_line.say(error.message)
        else:
            # It took a moment, in which more may have been pressed.
            guard.ignore_pending_input()
            await guard.push_screen(ConfirmModal(confirm_rejection(preview)), go_on)

    def _reply(self, reply: Reply) -> None:
        """Close the screen with a reply; an approval leaves out what is marked so."""
        marks = self._marks
        leaves_out = marks.left_out or marks.edits
        if not leaves_out or not isinstance(reply, Decision) or reply.state not in APPROVALS:
            self.dismiss_once(reply)
            return
        whole, parts = ReviewMarks().approved_parts(self._change), marks.approved_parts(self._change)
        if not parts:
            is_read = bool(self._change.files)
            why = "Every file is left out: o takes one in" if is_read else "Its files are being read"
            self.notify(why, severity="warning")
            return
        # What an earlier round left out may be no part of the change by now.
        self.dismiss_once(reply if parts == whole else reply._replace(only=parts))

    async def _confirm(self, step: Confirm) -> None:
        async def go_on(answer: object) -> None:
            if answer is True and step.then is not None:
                await self._take(step.then)

        await self.app.push_screen(ConfirmModal(step), go_on)

    async def _write_reason(self, step: WriteReason) -> None:
        def send(text: str | None) -> None:
            if text is not None:
                self.dismiss_once(step.reply(text))

        await self.app.push_screen(ReasonScreen(step.title), send)

    async def _compose_request(self, step: WriteRequest) -> None:
        def send(text: str | None) -> None:
            if text is not None and (why := step.obstacle(text)) is not None:
                self.notify(why, severity="warning", markup=False)
                self.call_later(self._compose_request, step)
            elif text is not None:
                self.dismiss_once(step.reply(text))

        draft = self._drafts.request(self.checkpoint.run, step.suggestion)
        if draft.text.endswith(tuple(comment.text.strip() for comment in self._comments.items)):
            # What is typed next would be taken for more of the comment.
            draft.text += "\n\n"
        screen = RequestScreen(
            step.title,
            self._path_lister,
            draft,
            step.suggestion,
            remark=step.remark,
            folders=(self._workspace.paths.state_root, self.checkpoint.worktree),
        )
        await self.app.push_screen(screen, send)
