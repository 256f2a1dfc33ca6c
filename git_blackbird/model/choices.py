"""The decisions of a checkpoint: label, key, and the command that says the same (spec 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from git_blackbird.model.commands import task_command
from git_blackbird.model.run import DecisionState


class Choice(StrEnum):
    """What a person may choose at a checkpoint."""

    APPROVE_CONTINUE = "approve_continue"
    APPROVE_QUIT = "approve_quit"
    REQUEST_CHANGES = "request_changes"
    REJECT = "reject"
    VIEW_DIFF = "view_diff"
    REVIEW_AGAIN = "review_again"
    VIEW_SINCE_REQUEST = "view_since_request"


@dataclass(frozen=True)
class ChoiceText:
    """How a choice is offered: by label, by number, and as a command line."""

    choice: Choice
    label: str
    verb: str
    options: str

    def command_for(self, task_id: str) -> str:
        """Give the command line for one task, safe to paste."""
        return task_command(self.verb, task_id, self.options)


CHOICES = (
    ChoiceText(Choice.APPROVE_CONTINUE, "Approve and continue", "decide", " --approve"),
    ChoiceText(Choice.APPROVE_QUIT, "Approve and quit", "decide", " --approve"),
    ChoiceText(Choice.REQUEST_CHANGES, "Request changes", "decide", " --request-changes -m TEXT"),
    ChoiceText(Choice.REJECT, "Reject changes", "decide", " --reject"),
    ChoiceText(Choice.VIEW_DIFF, "View full diff", "runs", " --diff"),
)

REVIEW_AGAIN = ChoiceText(Choice.REVIEW_AGAIN, "Review again", "review run", "")
VIEW_SINCE_REQUEST = ChoiceText(
    Choice.VIEW_SINCE_REQUEST, "View changes since the request", "runs", " --diff --since-request"
)

VIEWS = frozenset({Choice.VIEW_DIFF, Choice.VIEW_SINCE_REQUEST})

STATE_OF = {
    Choice.APPROVE_CONTINUE: DecisionState.APPROVED_CONTINUE,
    Choice.APPROVE_QUIT: DecisionState.APPROVED_QUIT,
    Choice.REQUEST_CHANGES: DecisionState.CHANGES_REQUESTED,
    Choice.REJECT: DecisionState.REJECTED,
}


APPROVES = frozenset({Choice.APPROVE_CONTINUE, Choice.APPROVE_QUIT})
APPROVE_ANYWAY = "Approve on this branch all the same"
"""What is asked where HEAD has left the branch of the run."""


def offered(*, is_reviewed: bool, was_requested: bool) -> tuple[ChoiceText, ...]:
    """Return the choices in their order; those that do not always fit come last."""
    return (
        *CHOICES,
        *((REVIEW_AGAIN,) if is_reviewed else ()),
        *((VIEW_SINCE_REQUEST,) if was_requested else ()),
    )


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


def parse_choice(text: str, offers: Sequence[ChoiceText] = CHOICES) -> Choice | None:
    """Read a number or a label in any letter case; None when it is neither."""
    wanted = text.strip().casefold()
    for number, offer in enumerate(offers, start=1):
        if wanted in {str(number), offer.label.casefold()}:
            return offer.choice
    return None
