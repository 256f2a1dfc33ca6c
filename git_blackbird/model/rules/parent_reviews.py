"""Parents that only their review keeps from being ``done``, and leaves that owe what a review said."""

from typing import NamedTuple

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.plan import Status, Task
from git_blackbird.model.entities.run import Run
from git_blackbird.model.plan.graph import subtree_leaves
from git_blackbird.model.rules.review_gate import GateState, current_review, is_complete
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.unreadable import unreadable_below

# A skipped leaf keeps what it must hear, and nobody waits for it.
_NOT_OWING = frozenset({Status.TODO, Status.IN_PROGRESS, Status.SKIPPED})


class ParentReviewStatus(NamedTuple):
    """A parent that its review holds back, as a person is told at the stop (spec 0).

    ``resume`` are the children the verdict flags, sorted, ``feedback`` is an excerpt in one line. Where there
    is no verdict, ``fault`` says why.
    """

    task_id: TaskId
    run_id: RunId | None
    resume: tuple[TaskId, ...] = ()
    feedback: str = ""
    fault: str | None = None


class BlockedParent(NamedTuple):
    """A parent that its review holds back: the failing verdict, or None where no reviewer gave one."""

    task: Task
    review: Run | None


def blocked_parents(state: PlanState) -> tuple[BlockedParent, ...]:
    """Return every parent that only its review keeps from being ``done``, smallest id first.

    There is never an ancestor of another among them: it is complete only when what is below it is done.
    """
    return tuple(
        BlockedParent(task, current_review(state.plan.tasks, task, state.history(task_id)))
        for task_id in sorted(state.plan.tasks)
        if is_complete(state.plan.tasks, task := state.plan.tasks[task_id])
        if task.status != Status.DONE and task_id not in state.unreadable
        if state.gate.state(state.plan.tasks, task) is not GateState.OPEN
    )


def is_blocked_by_review(state: PlanState) -> bool:
    """Whether an execute would start nothing because of what a review found."""
    if not state.is_gated:
        return False
    return bool(leaves_with_feedback(state)) or any(
        one.review is not None and not unreadable_below(state, one.task) for one in blocked_parents(state)
    )


def parents_to_review(state: PlanState) -> tuple[Task, ...]:
    """Return every parent that is not ``done`` and will be reviewed; none where nothing is gated."""
    if not state.is_gated:
        return ()
    return tuple(task for task in state.plan.tasks.values() if task.children and task.status != Status.DONE)


def feedback_below(state: PlanState, parent: Task) -> list[Task]:
    """Return the leaves at or below a task that a review left something owed, smallest id first."""
    leaves = (leaf for leaf in subtree_leaves(state.plan, parent) if leaf.id in state.feedback)
    return [leaf for leaf in leaves if leaf.status != Status.SKIPPED]


def leaves_with_feedback(state: PlanState) -> tuple[Task, ...]:
    """Return the leaves that nothing but a person gets on with what a review left owed, smallest id first."""
    tasks = (state.plan.tasks[key] for key in sorted(state.feedback.keys() - state.unreadable.keys()))
    return tuple(task for task in tasks if task.status not in _NOT_OWING)
