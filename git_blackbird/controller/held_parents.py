"""Parents that wait for their review, as readers are told of them."""

from enum import StrEnum
from typing import NamedTuple

from git_blackbird.controller.review_stops import dismiss_command, held_parent
from git_blackbird.model.commands import task_command
from git_blackbird.model.gate import GateState
from git_blackbird.model.graph import subtree_leaves
from git_blackbird.model.held import Unreviewed, unreviewed
from git_blackbird.model.plan import Task
from git_blackbird.model.standing import Standing
from git_blackbird.model.stop import HeldParent


class ReviewWait(StrEnum):
    """What a parent waits for whose children are all ``done``."""

    OWED = "review_owed"
    FAILING = "review_failing"
    NO_VERDICT = "review_without_verdict"


class WaitingParent(NamedTuple):
    """A parent that only its review keeps from being ``done``, and the commands that get it on."""

    task: Task
    wait: ReviewWait
    held: HeldParent
    commands: tuple[str, ...]


def waiting_parents(standing: Standing) -> tuple[WaitingParent, ...]:
    """Give every parent that waits for its review, smallest id first; none that is under review now."""
    return tuple(
        _waiting(standing, one)
        for one in (unreviewed(standing) if standing.is_gated else ())
        if standing.gate.state(standing.plan.tasks, one.task) is not GateState.REVIEWING
    )


def _waiting(standing: Standing, one: Unreviewed) -> WaitingParent:
    held, parent = held_parent(standing, one), one.task
    if one.review is None:
        wait = ReviewWait.OWED if held.run_id is None else ReviewWait.NO_VERDICT
        first = "git blackbird execute"
    else:
        wait = ReviewWait.FAILING
        first = task_command("resume --all", parent.id)
    owes = any(leaf.id in standing.feedback for leaf in subtree_leaves(standing.plan, parent))
    first = task_command("resume --all", parent.id) if owes else first
    dismiss = () if wait is ReviewWait.OWED else (dismiss_command(parent.id),)
    return WaitingParent(parent, wait, held, (first, *dismiss))
