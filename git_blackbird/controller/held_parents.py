"""Parents that wait for their review, as readers are told of them."""

from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.commands import EXECUTE, dismiss_command, task_command
from git_blackbird.model.gate import GateState, skipped_children
from git_blackbird.model.held import HeldParent, Unreviewed, owing_below, unreviewed
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.review import completion_signature, excerpt
from git_blackbird.model.standing import Standing
from git_blackbird.model.unreadable import unreadable_below


class ReviewWait(StrEnum):
    """What a complete parent waits for."""

    OWED = "review_owed"
    FAILING = "review_failing"
    NO_VERDICT = "review_without_verdict"


REVIEW_WORDS = {
    ReviewWait.OWED: "parent review pending",
    ReviewWait.FAILING: "its review failed",
    ReviewWait.NO_VERDICT: "its review gave no verdict",
}


class WaitingParent(NamedTuple):
    """A parent that only its review keeps from being ``done``, and the commands that get it on.

    ``skipped`` are the children that it is complete without.
    """

    task: Task
    wait: ReviewWait
    held: HeldParent
    commands: tuple[str, ...]
    skipped: tuple[TaskId, ...] = ()

    @property
    def why(self) -> str:
        """What the review found, or why it found nothing; "" where nobody says."""
        return (self.held.feedback if self.wait is ReviewWait.FAILING else self.held.fault) or ""


def waiting_parents(standing: Standing) -> tuple[WaitingParent, ...]:
    """Give every parent that waits for its review, smallest id first; none that is under review now."""
    return tuple(
        _waiting(standing, one)
        for one in unreviewed(standing)
        if standing.gate.state(standing.plan.tasks, one.task) is not GateState.REVIEWING
    )


def _waiting(standing: Standing, one: Unreviewed) -> WaitingParent:
    held, parent = held_parent(standing, one), one.task
    if one.review is not None:
        wait = ReviewWait.FAILING
    else:
        wait = ReviewWait.OWED if held.run_id is None else ReviewWait.NO_VERDICT
    is_heard_first = one.review is not None or owing_below(standing, parent)
    first = task_command("resume --all", parent.id) if is_heard_first else EXECUTE
    dismiss = () if wait is ReviewWait.OWED else (dismiss_command(parent.id),)
    skipped = skipped_children(standing.plan.tasks, parent)
    return WaitingParent(parent, wait, held, (first, *dismiss), skipped)


def held_parent(standing: Standing, one: Unreviewed) -> HeldParent:
    """Say how a parent is held back: by a failing verdict, or because no reviewer gave one."""
    if one.review is not None:
        return HeldParent(
            one.task.id,
            one.review.id,
            one.review.parent_review_resume_task_ids,
            excerpt(one.review.parent_review_feedback or ""),
        )
    if broken := unreadable_below(standing, one.task):
        named = ", ".join(leaf.id for leaf in broken)
        return HeldParent(one.task.id, None, fault=f"records of {named} cannot be used")
    if owing := owing_below(standing, one.task):
        named = ", ".join(leaf.id for leaf in owing)
        return HeldParent(one.task.id, None, fault=f"{named} must first be sent what a review found")
    signature = completion_signature(one.task, standing.plan.tasks)
    reviews = standing.history(one.task.id).reviews
    tries = [run for run in reviews if run.parent_review_completion_signature == signature]
    if tries:
        return HeldParent(one.task.id, tries[-1].id, fault=excerpt(tries[-1].error or "it gave no verdict"))
    why = "its children have changed since its last review" if reviews else "it has not been reviewed yet"
    return HeldParent(one.task.id, None, fault=why)
