"""Parents that only their review keeps from being ``done``, and leaves that owe what a review said."""

from typing import NamedTuple

from git_blackbird.model.gate import GateState, is_complete, present_review
from git_blackbird.model.graph import subtree_leaves
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import Run
from git_blackbird.model.standing import Standing
from git_blackbird.model.unreadable import unreadable_below

# A skipped leaf keeps what it must hear, and nobody waits for it.
_NOT_OWING = frozenset({Status.TODO, Status.IN_PROGRESS, Status.SKIPPED})


class HeldParent(NamedTuple):
    """A parent that its review holds back, as a person is told at the stop (spec 0).

    ``resume`` are the children the verdict flags, sorted, ``feedback`` is an excerpt in one line. Where there
    is no verdict, ``fault`` says why.
    """

    task_id: TaskId
    run_id: RunId | None
    resume: tuple[TaskId, ...] = ()
    feedback: str = ""
    fault: str | None = None


class Unreviewed(NamedTuple):
    """A parent that its review holds back: the failing verdict, or None where no reviewer gave one."""

    task: Task
    review: Run | None


def unreviewed(standing: Standing) -> tuple[Unreviewed, ...]:
    """Give every parent that only its review keeps from being ``done``, smallest id first.

    There is never an ancestor of another among them: it is complete only when what is below it is done.
    """
    return tuple(
        Unreviewed(task, present_review(standing.plan.tasks, task, standing.history(task_id)))
        for task_id in sorted(standing.plan.tasks)
        if is_complete(standing.plan.tasks, task := standing.plan.tasks[task_id])
        if task.status != Status.DONE and task_id not in standing.unreadable
        if standing.gate.state(standing.plan.tasks, task) is not GateState.OPEN
    )


def stops_at_review(standing: Standing) -> bool:
    """Whether an execute would start nothing because of what a review found."""
    if not standing.is_gated:
        return False
    return bool(owing_leaves(standing)) or any(
        one.review is not None and not unreadable_below(standing, one.task) for one in unreviewed(standing)
    )


def parents_to_review(standing: Standing) -> tuple[Task, ...]:
    """Give every parent that is not ``done``: each is reviewed before it is. None where nothing is gated."""
    if not standing.is_gated:
        return ()
    return tuple(
        task for task in standing.plan.tasks.values() if task.children and task.status != Status.DONE
    )


def owing_below(standing: Standing, parent: Task) -> list[Task]:
    """Give the leaves at or below a task that a review left something owed, smallest id first."""
    leaves = (leaf for leaf in subtree_leaves(standing.plan, parent) if leaf.id in standing.feedback)
    return [leaf for leaf in leaves if leaf.status != Status.SKIPPED]


def owing_leaves(standing: Standing) -> tuple[Task, ...]:
    """Give the leaves that nothing but a person gets on with what a review left owed, smallest id first."""
    tasks = (
        standing.plan.tasks[key] for key in sorted(standing.feedback.keys() - standing.unreadable.keys())
    )
    return tuple(task for task in tasks if task.status not in _NOT_OWING)
