"""What a person is asked: the steps of a decision, the questions of agents, what becomes of a proposed plan.

A user interface shows the offers of a checkpoint. ``next_step`` says what a choice leads to: a reply, which
ends the dialogue, or a step to show, after which the offers are open again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from git_blackbird.clean import one_line
from git_blackbird.messages.display.change import moved_back_lines
from git_blackbird.messages.display.events import rights_lines
from git_blackbird.messages.display.format import MAX_LISTED, adoptable_lines, bare_quote_error
from git_blackbird.messages.display.quantities import counted, some_of
from git_blackbird.messages.document import Line, Span, Style, block, line, styled
from git_blackbird.messages.incoming.questions import OTHER
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.change.decision import APPROVES, SPECS, VIEWS, Decision, Reply, reply_of
from git_blackbird.model.run.agent_io import RightsQuestion, agent_in_text
from git_blackbird.model.run.findings import MergedReview
from git_blackbird.model.run.history import Adoptable
from git_blackbird.model.run.parts import Question, Ruling
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, Choice, DecisionState
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.undo import UndoResult

C = TypeVar("C")
_REPEATED = "What you requested before is sent again with this, comments included: write only what is new."
_RULINGS = "Write your ruling below the quote, and delete those that stand."
_ANYWAY = "Approve on this branch anyway"


class Offer(NamedTuple, Generic[C]):
    """A line of a list of choices; no digit is the key of one that is none."""

    choice: C
    label: str
    digit: int | None
    blocked_reason: str | None = None

    @property
    def text(self) -> str:
        """The line where choices are typed, with the reason why one is not possible."""
        why_not = f" (not possible: {self.blocked_reason})" if self.blocked_reason else ""
        return f"{self.digit}) {self.label}{why_not}"


UNDECIDED = Offer[Choice | None](None, "(choose)", None)
"""Begins the list, under the cursor, where nothing is preselected."""
NOTHING_CHOSEN = "nothing is chosen: a digit or an arrow chooses"


def offers_of(checkpoint: Checkpoint) -> tuple[Offer[Choice | None], ...]:
    """Return the lines of the list of choices; on a blocked one no cursor stops."""
    undecided = (UNDECIDED,) if checkpoint.preselected is None else ()
    offers = (
        Offer[Choice | None](spec.choice, spec.label, spec.digit, checkpoint.blocked_reason(spec.choice))
        for spec in checkpoint.offers()
    )
    return (*undecided, *offers)


class Unsent(NamedTuple):
    """What a person wrote about a change and has not sent."""

    has_request: bool = False
    comments: int = 0

    @property
    def is_one(self) -> bool:
        """Whether it is a single thing."""
        return self.has_request + self.comments == 1

    def __str__(self) -> str:
        """Name it, with its verb; "" for nothing."""
        request = ["a change request"] if self.has_request else []
        comments = [counted(self.comments, "comment")] if self.comments else []
        verb = "is" if self.is_one else "are"
        return f"{' and '.join(request + comments)} {verb} not sent" if any(self) else ""


@dataclass(frozen=True)
class Say:
    """Say why a choice leads to nothing."""

    text: str


@dataclass(frozen=True)
class ShowDiff:
    """Show the difference of two trees."""

    trees: Trees


@dataclass(frozen=True)
class WriteRequest:
    """Let a change request be written, which begins with the ``suggestion`` where nothing was written before.

    ``source`` names what a suggestion asks for, "" where it is to be completed. ``remark`` says what is sent
    along; "" for nothing. The paths that it mentions may also be in ``worktree``, the task's own. It may
    not quote one of the ``rulings`` alone.
    """

    suggestion: str | None
    source: str
    remark: str
    title: str = "What should change?"
    worktree: str | None = None
    rulings: tuple[Ruling, ...] = ()

    def obstacle(self, text: str) -> str | None:
        """Say why a text cannot be sent; None where it can."""
        return bare_quote_error(self.rulings, text)

    def reply(self, text: str) -> Decision:
        """Return the decision that sends a text, unchanged."""
        return Decision(DecisionState.CHANGES_REQUESTED, text)


@dataclass(frozen=True)
class WriteReason:
    """A line to be written that says why a decision is made; it may be empty."""

    decision: Decision
    title: str

    def reply(self, text: str) -> Decision:
        return self.decision._replace(feedback=text.strip() or None)


@dataclass(frozen=True)
class Confirm:
    """Ask whether to go on, with the cursor on no; yes leads to ``then``.

    ``remarks`` are shown above the question.
    """

    remarks: tuple[Line, ...]
    question: str
    yes: str
    no: str = "Go back"
    then: "Reply | WriteReason | Confirm | None" = None


Step = Say | ShowDiff | WriteRequest | WriteReason | Confirm | Reply


def next_step(checkpoint: Checkpoint, choice: Choice, unsent: Unsent) -> Step:
    """Return what a choice leads to; a reply would drop what is ``unsent``."""
    if choice in VIEWS:
        return view_step(checkpoint, choice)
    obstacle = checkpoint.blocked_reason(choice)
    if obstacle is not None:
        return Say(f"not possible: {obstacle}")
    if choice is Choice.REQUEST_CHANGES:
        source = _source(checkpoint.run, checkpoint.merged)
        is_open = not source and checkpoint.suggested_request is not None
        remarks = (_RULINGS if is_open else "", "" if checkpoint.since_request is None else _REPEATED)
        remark = " ".join(filter(None, remarks))
        return WriteRequest(
            checkpoint.suggested_request,
            source,
            remark,
            worktree=checkpoint.worktree,
            rulings=checkpoint.rulings,
        )
    branch = checkpoint.other_branch
    step: Reply | WriteReason | Confirm = reply_of(choice, branch_confirmed=branch is not None)
    if isinstance(step, Decision) and step.state is DecisionState.REJECTED:
        step = WriteReason(step, f"Why is {checkpoint.task.id} rejected? (Enter alone gives no reason)")
    if choice in APPROVES and branch is not None:
        step = Confirm((_careful(branch.text),), f"{_ANYWAY}?", _ANYWAY, then=step)
    return Confirm(*_dropping(checkpoint, unsent, choice), then=step) if any(unsent) else step


def _source(run: Run, merged: MergedReview | None) -> str:
    """Name the source of a suggested change request; "" for rulings, which a person completes."""
    has_findings = merged is not None and bool(merged.findings)
    sources = (
        ("the hook printed", run.hook_output is not None),
        ("the check printed", bool(run.failed_checks)),
        ("no check notices", run.evidence is not None and bool(run.evidence.by_nothing)),
        ("the reviewers found", has_findings),
    )
    named = " and ".join(text for text, is_there in sources if is_there)
    return f"what {named}" if named else ""


def view_step(checkpoint: Checkpoint, choice: Choice) -> Say | ShowDiff:
    """Return what a choice that shows a diff leads to."""
    trees, obstacle = checkpoint.pair_of(choice), checkpoint.blocked_reason(choice)
    return ShowDiff(trees) if trees is not None and obstacle is None else Say(no_diff_text(obstacle or ""))


def _dropping(checkpoint: Checkpoint, unsent: Unsent, choice: Choice) -> tuple[tuple[Line, ...], str, str]:
    them, drop = ("it", "Drop it") if unsent.is_one else ("them", "Drop them")
    is_possible = checkpoint.is_possible(Choice.REQUEST_CHANGES)
    sends = f"; {SPECS[Choice.REQUEST_CHANGES].digit} sends {them}" if is_possible else ""
    label = next((spec.label for spec in checkpoint.offers() if spec.choice is choice), SPECS[choice].label)
    return (_careful(f"{unsent}{sends}"),), f"{drop}?", f"{drop}: {label[:1].lower()}{label[1:]}"


def _careful(text: str) -> Line:
    return styled(f"Careful: {text}.", Style.WARNING)


def no_diff_text(reason: str) -> str:
    """Say why a diff cannot be shown."""
    return f"no diff can be shown: {reason}"


def confirm_rights(question: RightsQuestion) -> Confirm:
    """Ask whether to start an agent that may do more than edit the worktree."""
    name = agent_in_text(question.agent).removeprefix("the agent ")
    yes = "Yes, start it, and remember this answer in this repository"
    return Confirm(rights_lines(question), f"Start the agent {name}?", yes, "No, start nothing")


def confirm_criteria(commands: Mapping[str, bool]) -> Confirm:
    """Ask whether to run what the plan has as criteria; of each it is said whether it can only succeed."""
    about = "Criteria in the plan are commands. They would run as you, on copies of the changes:"
    remark = Span("    can only succeed", Style.WARNING)
    shown = (line(f"  $ {text}", *([remark] if is_idle else [])) for text, is_idle in commands.items())
    yes = "Yes, run them, and remember these texts in this repository"
    return Confirm((line(about), *shown), "Run them?", yes, "No, run none of them")


def confirm_adoption(items: Sequence[Adoptable]) -> Confirm:
    """Ask whether what another program or clone did counts here."""
    about = "Below .blackbird/ is what another program or clone did. Here it does not count yet:"
    yes = "Adopt it: it counts from now on"
    no = "Leave it: it does not count, and is not asked about again"
    return Confirm((line(about), *adoptable_lines(items)), "Let it count?", yes, no)


def confirm_rejection(preview: UndoResult) -> Confirm:
    """Ask whether to reject a change, and to take it back as a dry run has found."""
    question = f"Reject {preview.task.id}, and take its change out of your files?"
    return Confirm(tuple(moved_back_lines(preview)), question, "Reject it, and take it back")


def confirm_undo(preview: UndoResult) -> Confirm:
    """Ask whether to do what a dry run has found."""
    words = VERBS[preview.verb]
    question = words.question.format(task=preview.task.id)
    return Confirm(tuple(moved_back_lines(preview)), question, words.yes, "Leave it")


def confirm_quit(at_work: Sequence[str]) -> Confirm:
    """Ask whether to quit while agents work, of which it is said what on: that pauses them."""
    named = ", ".join(at_work) or "something"
    verb, them = ("are", "them") if len(at_work) > 1 else ("is", "it")
    return Confirm((), f"{named} {verb} at work", f"Pause {them} and quit", "Stay")


def confirm_unknown(names: Sequence[str]) -> Confirm:
    """Ask whether to send a text that names paths which are not there."""
    listed = some_of([f"@{name}" for name in names], MAX_LISTED)
    remark = _careful(f"{listed} {'is' if len(names) == 1 else 'are'} not there")
    return Confirm((remark,), "Send it as it is?", "Send it as it is", "Go back to the text")


class AnswerOffer(NamedTuple):
    """A line of the list of answers; ``answer`` is None on the one for another answer."""

    answer: str | None
    label: str


def answers_to(question: Question) -> tuple[AnswerOffer, ...]:
    """Return the lines of the list of answers; none where an answer is written."""
    if not question.options:
        return ()
    listed = (AnswerOffer(option, one_line(option)) for option in question.options)
    return (*listed, AnswerOffer(None, OTHER))


def question_lines(question: Question) -> Iterator[Line]:
    """Yield all of a question: its text, and the answers of which the list has only the beginning."""
    yield from block(question.prompt)
    for number, offer in enumerate(answers_to(question), start=1):
        if offer.answer is not None and offer.label.endswith("..."):
            yield from (line(), *block(f"{number}. {offer.answer}"))


def own_words(question: Question, draft: str) -> str:
    """Return the text that another answer begins with: what was written before, if it was no option."""
    return "" if draft in question.options else draft


def question_title(task_id: TaskId, place: tuple[int, int]) -> str:
    """Return the title of a question; ``place`` is its number and how many there are."""
    number, count = place
    return f"{'The planner' if task_id == PLANNING else task_id} asks" + (
        f" ({number} of {count})" if count > 1 else ""
    )


class PlanChoice(StrEnum):
    """What becomes of a proposal."""

    ACCEPT = "accept"
    REVISE = "revise"
    EDIT = "edit"
    CANCEL = "cancel"


class PlanReply(NamedTuple):
    """The answer of a person; ``text`` is what the agent is to do otherwise."""

    choice: PlanChoice
    text: str = ""


@dataclass(frozen=True)
class PlanPanel:
    """A proposal as it is shown; ``obstacle`` says why it cannot be accepted, ``has_page`` whether edited."""

    lines: tuple[Line, ...]
    obstacle: str | None = None
    has_page: bool = True

    @property
    def offers(self) -> tuple[Offer[PlanChoice], ...]:
        """The choices; the first, under the cursor, changes nothing."""
        no_page = None if self.has_page else "there is no page to edit"
        return (
            Offer(PlanChoice.CANCEL, "Stop here; the proposal is kept, nothing is changed", 0),
            Offer(PlanChoice.ACCEPT, "Accept it", 1, self.obstacle),
            Offer(PlanChoice.REVISE, "Say what should be different", 2),
            Offer(PlanChoice.EDIT, "Edit it as a page, which saves it", 3, no_page),
        )

    def find(self, typed: str) -> Offer[PlanChoice] | None:
        """Return the choice that was typed, by its digit or name; nothing is the first."""
        words = typed.strip().lower()
        found = (one for one in self.offers if words in {str(one.digit), one.choice.value})
        return next(found, None) if words else self.offers[0]


REVISION = WriteRequest(None, "", "", "What should be different in the plan?")
