"""The decisions of a checkpoint: label, key, and the command that says the same (spec 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from git_blackbird.model.commands import TaskCommand, task_command
from git_blackbird.model.run import DecisionState, Run, RunStatus


class Choice(StrEnum):
    """What a person may choose at a checkpoint."""

    APPROVE_CONTINUE = "approve_continue"
    APPROVE_QUIT = "approve_quit"
    REQUEST_CHANGES = "request_changes"
    REJECT = "reject"
    VIEW_DIFF = "view_diff"
    RETRY = "retry"
    ACCEPT = "accept"
    REVIEW_AGAIN = "review_again"
    VIEW_SINCE_REQUEST = "view_since_request"


@dataclass(frozen=True)
class ChoiceText:
    """How a choice is offered: by label, by number, and as a command line."""

    choice: Choice
    label: str
    verb: str
    options: str
    says: str

    def command_for(self, task_id: str) -> TaskCommand:
        """Give the command line for one task, safe to paste."""
        return task_command(self.verb, task_id, self.options, remark=self.says)


_REQUEST = ChoiceText(
    Choice.REQUEST_CHANGES,
    "Request changes",
    "decide",
    " --request-changes -m TEXT",
    "has the agent change it, as TEXT says",
)
_REJECT = ChoiceText(
    Choice.REJECT, "Reject changes", "decide", " --reject", "fails the task; your files stay as they are"
)
_VIEW = ChoiceText(
    Choice.VIEW_DIFF,
    "View full diff",
    "runs",
    " --diff",
    "shows the change",
)

CHOICES = (
    ChoiceText(
        Choice.APPROVE_CONTINUE,
        "Approve and continue",
        "decide",
        " --approve",
        "approves it; the task is done",
    ),
    ChoiceText(
        Choice.APPROVE_QUIT,
        "Approve and quit",
        "decide",
        " --approve",
        "approves it; the task is done",
    ),
    _REQUEST,
    _REJECT,
    _VIEW,
)

AFTER_FAILURE = (
    ChoiceText(
        Choice.RETRY, "Retry in a new session", "restart", "", "starts the task again in a new session"
    ),
    _REQUEST,
    ChoiceText(
        Choice.ACCEPT, "Accept as it is", "decide", " --approve", "accepts what it did; the task is done"
    ),
    _REJECT,
    _VIEW,
)
"""Those where the run failed: none that a person who only presses Enter takes ends the task."""

REVIEW_AGAIN = ChoiceText(
    Choice.REVIEW_AGAIN, "Review again", "review run", "", "has the change reviewed again"
)
VIEW_SINCE_REQUEST = ChoiceText(
    Choice.VIEW_SINCE_REQUEST,
    "View changes since the request",
    "runs",
    " --diff --since-request",
    "shows what changed since the request",
)

VIEWS = frozenset({Choice.VIEW_DIFF, Choice.VIEW_SINCE_REQUEST})

STATE_OF = {
    Choice.APPROVE_CONTINUE: DecisionState.APPROVED_CONTINUE,
    Choice.APPROVE_QUIT: DecisionState.APPROVED_QUIT,
    Choice.REQUEST_CHANGES: DecisionState.CHANGES_REQUESTED,
    Choice.REJECT: DecisionState.REJECTED,
    Choice.ACCEPT: DecisionState.APPROVED_CONTINUE,
}


APPROVES = frozenset({Choice.APPROVE_CONTINUE, Choice.APPROVE_QUIT, Choice.ACCEPT})
APPROVE_ANYWAY = "Approve on this branch anyway"
"""What is asked where HEAD has left the branch of the run."""


@dataclass(frozen=True)
class Decision:
    """What was decided; ``feedback`` holds the change request's text, unchanged.

    ``branch_confirmed``: who approves knows that HEAD is no longer on the branch of the run.
    """

    state: DecisionState
    feedback: str | None = None
    branch_confirmed: bool = False


@dataclass(frozen=True)
class ReviewAgain:
    """That the change is to be reviewed once more before it is decided on."""


@dataclass(frozen=True)
class Retry:
    """That the task is to be started again at once, in a new session."""


Reply = Decision | ReviewAgain | Retry
"""What a person answers at a checkpoint."""


def reply_of(choice: Choice, *, branch_confirmed: bool = False) -> Reply:
    """Return what a choice means that needs no further words. Raises KeyError for one that does.

    ``branch_confirmed`` is said of the decision: see there.
    """
    match choice:
        case Choice.REVIEW_AGAIN:
            return ReviewAgain()
        case Choice.RETRY:
            return Retry()
        case _:
            return Decision(STATE_OF[choice], branch_confirmed=branch_confirmed)


def choices_for(run: Run, *, was_requested: bool) -> tuple[ChoiceText, ...]:
    """Return the choices for a run, in the order of their numbers.

    ``was_requested``: a person requested changes before it.
    """
    first = AFTER_FAILURE if run.status is RunStatus.FAILED else CHOICES
    again = () if run.merged_review is None or run.status is RunStatus.FAILED else (REVIEW_AGAIN,)
    return (*first, *again, *((VIEW_SINCE_REQUEST,) if was_requested else ()))


def parse_choice(text: str, offers: Sequence[ChoiceText] = CHOICES) -> Choice | None:
    """Read a number or a label in any letter case; None when it is neither."""
    wanted = text.strip().casefold()
    for number, offer in enumerate(offers, start=1):
        if wanted in {str(number), offer.label.casefold()}:
            return offer.choice
    return None
