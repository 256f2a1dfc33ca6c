"""The decisions of a checkpoint, and their equivalent commands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import MESSAGE, Blank, TaskCommand
from git_blackbird.model.change.stages import TABLE, Stage, stage_of
from git_blackbird.model.run.parts import ReviewComment
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, Choice, DecisionState, RunStatus
from git_blackbird.model.run.summary import ChangePart, Trees


class ChoiceSpec(NamedTuple):
    """How a choice is offered: by its digit, which is the same wherever it is offered, and as a command."""

    choice: Choice
    digit: int
    label: str
    verb: str
    options: str
    description: str
    blank: Blank | None = None
    aliases: tuple[str, ...] = ()

    def command_for(self, task_id: str) -> TaskCommand:
        """Return the command line for one task, safe to paste."""
        return TaskCommand(self.verb, task_id, self.options, remark=self.description, blank=self.blank)

    def is_named(self, text: str) -> bool:
        """Whether a text is its digit, or its label or another one of it, in any letter case."""
        names = (str(self.digit), self.label, *self.aliases)
        return text.strip().casefold() in {name.casefold() for name in names}


_APPROVES = "approves it; the task is done"

SPECS: Mapping[Choice, ChoiceSpec] = {
    spec.choice: spec
    for spec in (
        ChoiceSpec(Choice.APPROVE_CONTINUE, 1, "Approve and continue", "decide", " --approve", _APPROVES),
        ChoiceSpec(
            Choice.APPROVE_QUIT,
            2,
            "Approve and stop",
            "decide",
            " --approve",
            _APPROVES,
            None,
            ("Approve and quit",),
        ),
        ChoiceSpec(
            Choice.REQUEST_CHANGES,
            3,
            "Request changes",
            "decide",
            " --request-changes",
            "sends your text to the agent",
            MESSAGE,
        ),
        ChoiceSpec(
            Choice.REJECT,
            4,
            "Reject changes",
            "decide",
            " --reject",
            "fails the task; your files stay as they are",
        ),
        ChoiceSpec(Choice.VIEW_DIFF, 5, "View full diff", "runs", " --diff", "shows the change"),
        ChoiceSpec(
            Choice.RETRY,
            6,
            "Retry in a new session",
            "restart",
            "",
            "starts the task again in a new session",
        ),
        ChoiceSpec(Choice.REVIEW_AGAIN, 7, "Review again", "review run", "", "has the change reviewed again"),
        ChoiceSpec(
            Choice.VIEW_SINCE_REQUEST,
            8,
            "View changes since the request",
            "runs",
            " --diff --since-request",
            "shows what changed since the request",
        ),
        ChoiceSpec(
            Choice.REJECT_AND_UNDO,
            9,
            "Reject and take back",
            "decide",
            " --reject --undo",
            "fails the task; takes its change out of your files",
        ),
        ChoiceSpec(
            Choice.ACCEPT_WITHOUT_COMMIT,
            0,
            "Accept without a commit",
            "decide",
            " --approve --no-commit",
            "leaves the commit to you; the task is done",
        ),
    )
}
"""How each choice is offered."""

VIEWS = frozenset({Choice.VIEW_DIFF, Choice.VIEW_SINCE_REQUEST})

STATE_OF = {
    Choice.APPROVE_CONTINUE: DecisionState.APPROVED_CONTINUE,
    Choice.APPROVE_QUIT: DecisionState.APPROVED_QUIT,
    Choice.REQUEST_CHANGES: DecisionState.CHANGES_REQUESTED,
    Choice.REJECT: DecisionState.REJECTED,
    Choice.REJECT_AND_UNDO: DecisionState.REJECTED,
    Choice.ACCEPT_WITHOUT_COMMIT: DecisionState.APPROVED_CONTINUE,
}


APPROVES = frozenset({Choice.APPROVE_CONTINUE, Choice.APPROVE_QUIT})
"""The choices that approve, with the commit that approvals make."""


class Decision(NamedTuple):
    """A decision; ``feedback`` holds the text of a change request, unchanged.

    ``branch_confirmed``: the user knows that HEAD is no longer on the branch of the run. ``shown``: the
    change as it was shown, which the decision is about; None where it was not shown. ``only``: the parts of
    the change that are approved; all of it without any.
    ``undoes``: what is in the worktree of a rejected change is taken back next. ``without_commit``: the
    approval makes no commit, whatever is configured.
    ``comments`` are those on lines that the feedback has.
    """

    state: DecisionState
    feedback: str | None = None
    branch_confirmed: bool = False
    shown: Trees | None = None
    only: tuple[ChangePart, ...] = ()
    undoes: bool = False
    without_commit: bool = False
    comments: tuple[ReviewComment, ...] = ()

    @property
    def may_commit(self) -> bool:
        """Whether it is an approval that may make a commit."""
        return self.state in APPROVALS and not self.without_commit

    @property
    def paths(self) -> tuple[str, ...]:
        """The files and folders of which something is approved; none for all."""
        return tuple(path for part in self.only for path in (part.path, part.old_path) if path is not None)


@dataclass(frozen=True)
class RerunReviews:
    """Review the change once more before a decision."""


@dataclass(frozen=True)
class Retry:
    """Start the task again at once, in a new session."""


Reply = Decision | RerunReviews | Retry
"""A person's reply at a checkpoint."""


def reply_of(choice: Choice, *, branch_confirmed: bool = False) -> Reply:
    """Return the reply for a choice that needs no text. Raises KeyError for one that does.

    ``branch_confirmed`` is that of the decision.
    """
    match choice:
        case Choice.REVIEW_AGAIN:
            return RerunReviews()
        case Choice.RETRY:
            return Retry()
        case _:
            return Decision(
                STATE_OF[choice],
                branch_confirmed=branch_confirmed,
                undoes=choice is Choice.REJECT_AND_UNDO,
                without_commit=choice is Choice.ACCEPT_WITHOUT_COMMIT,
            )


def parse_choice(text: str, offers: Iterable[ChoiceSpec]) -> Choice | None:
    """Parse the digit or the label of a choice that is offered; None if it is neither."""
    return next((offer.choice for offer in offers if offer.is_named(text)), None)


REVIEW_AND_FIX = "Review again and fix"


def may_fix(run: Run, max_rounds: int) -> bool:
    """Whether the agent fixes what another review of a change finds, before anybody is asked."""
    return run.is_pending and (run.review_round or 1) < max_rounds


def choices_for(
    run: Run,
    *,
    was_requested: bool,
    is_in_worktree: bool,
    was_merged: bool,
    max_rounds: int = 1,
    follows: TaskId | None = None,
) -> tuple[ChoiceSpec, ...]:
    """Return the choices for a run on which a decision is due, by their digits, 0 as the last.

    ``was_requested``: a person requested changes before it. ``is_in_worktree``: the user's worktree has
    something of what the task did. ``was_merged``: its own worktree was brought to a merge with that, whose
    conflicts may be left. ``max_rounds``: up to so many rounds of reviews, the agent fixes what
    they find. ``follows``: the task with which the call goes on after an approval; without one, an approval
    is one choice.
    """
    has_reviews = run.merged_review is not None and run.status is not RunStatus.FAILED
    is_offered = {
        **dict.fromkeys((Choice.APPROVE_CONTINUE, Choice.VIEW_DIFF), not run.is_change_gone),
        Choice.APPROVE_QUIT: follows is not None and not run.is_change_gone,
        Choice.REQUEST_CHANGES: run.moving is None,
        Choice.REJECT: run.moving is None,
        Choice.RETRY: stage_of(run) is not Stage.BLOCKED or run.is_change_gone,
        Choice.REVIEW_AGAIN: has_reviews and run.moving is None and not run.is_change_gone,
        Choice.VIEW_SINCE_REQUEST: was_requested,
        Choice.REJECT_AND_UNDO: is_in_worktree or run.moving is not None,
    }
    offered = (
        _offered(run, one, max_rounds, follows, was_merged=was_merged)
        for one in TABLE[stage_of(run)].choices
        if is_offered.get(one, True)
    )
    return tuple(sorted(offered, key=lambda spec: spec.digit or 10))


def _offered(
    run: Run, choice: Choice, max_rounds: int, follows: TaskId | None, *, was_merged: bool
) -> ChoiceSpec:
    spec = SPECS[choice]
    if choice is Choice.REVIEW_AGAIN and may_fix(run, max_rounds):
        fixes = f"{spec.description}; the agent may fix what is found"
        return spec._replace(label=REVIEW_AND_FIX, description=fixes, aliases=(spec.label,))
    if choice not in APPROVES:
        return spec
    if stage_of(run) is Stage.NOT_COMMITTED:
        return spec._replace(label="Commit again", description="approves it, and commits what has landed")
    if choice is Choice.APPROVE_CONTINUE and follows is not None:
        spec = spec._replace(label=f"{spec.label} with {follows}", aliases=(spec.label,))
    elif choice is Choice.APPROVE_CONTINUE:
        stop = SPECS[Choice.APPROVE_QUIT]
        spec = spec._replace(
            label="Approve", aliases=(spec.label, str(stop.digit), stop.label, *stop.aliases)
        )
    if run.status is RunStatus.FAILED:
        label = spec.label.replace("Approve", "Accept as it is", 1)
        return spec._replace(label=label, description="accepts what it did; the task is done")
    if not run.awaits_landing:
        return spec
    lands = "; it lands if no conflict is left in it" if was_merged else " and lands it"
    return spec._replace(description=f"approves it{lands}")
