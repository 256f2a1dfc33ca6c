"""What of the plan commits take along, and which edits of it count."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.plan.plan import Plan, Task, derived
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import plan_faults
from git_blackbird.model.rules.plan_merge import linked, merge_plans
from git_blackbird.model.rules.reviews import are_children_over


def with_status_of(task_id: TaskId, committed: Plan, after: Plan) -> Plan:
    """Return a plan in git with the status that a task has ``after``, and those of parents that agree there.

    A parent is done, or is not any more, in the commit in which the children that it has in git say so too:
    that of its last child, or after its review the next one.
    """
    if task_id not in committed.tasks or task_id not in after.tasks:
        return committed
    tasks = dict(committed.tasks)
    tasks[task_id] = _restated(tasks[task_id], after.tasks[task_id])
    for parent in reversed(committed.parents()):
        now = after.tasks.get(parent.id, parent)
        is_done = now.status is Status.DONE
        if is_done != (parent.status is Status.DONE) and is_done == are_children_over(tasks, parent):
            tasks[parent.id] = _restated(parent, now)
    return Plan(tasks)


def restated_tasks(before: Plan, after: Plan) -> tuple[Task, ...]:
    """Return the tasks whose status or time differs from that before."""
    both = ((before.tasks[task_id], task) for task_id, task in after.tasks.items() if task_id in before.tasks)
    return tuple(now for was, now in both if (was.status, was.updated_at) != (now.status, now.updated_at))


def with_statuses(plan: Plan, restated: Iterable[Task]) -> Plan:
    """Return a plan in which these tasks, where it has them, have these statuses and times."""
    known = (task for task in restated if task.id in plan.tasks)
    return plan.replaced(*(_restated(plan.tasks[task.id], task) for task in known))


def _restated(task: Task, now: Task) -> Task:
    return derived(task, now.status, moment_of(now.updated_at))


class PlanMove(NamedTuple):
    """How a move of HEAD, or several in a row, changed the plan; an agent may have made the commit."""

    before: Plan
    after: Plan
    by_agent: bool = False


def counting_plan(known: Plan, edited: Plan, moves: Sequence[PlanMove], head: Plan | None) -> Plan:
    """Return what counts of the plan ``edited``: ``known``, which our commands saved last, and what git did.

    All else an agent may have written, in the file or in a commit. ``moves`` are those of HEAD since, and
    ``head`` is the plan there. Returns ``edited`` itself if all of it counts.
    """
    expected = known
    for move in moves:
        if not move.by_agent:
            expected = merge_plans(move.before, expected, move.after).ours
    if head is not None and head.tasks == edited.tasks:
        expected = head
    tasks = {}
    for task_id in dict.fromkeys((*known.tasks, *expected.tasks, *edited.tasks)):
        old, new, task = (plan.tasks.get(task_id) for plan in (known, expected, edited))
        counts = task if task in (old, new) else new
        if counts != old and _is_by_agent(task_id, counts, moves):
            counts = old
        if counts is not None:
            tasks[task_id] = counts
    if tasks == edited.tasks:
        return edited
    plan = Plan(linked(tasks))
    return known if plan_faults(plan, plan.tasks.keys()) else plan


def _is_by_agent(task_id: TaskId, task: Task | None, moves: Iterable[PlanMove]) -> bool:
    both = (
        (move.before.tasks.get(task_id), move.after.tasks.get(task_id)) for move in moves if move.by_agent
    )
    return any(before != after and after == task for before, after in both)


class TakenEdits(NamedTuple):
    """A plan with the edits of another; ``left`` are those that the plan has otherwise by now.

    The plan is None where both do not fit together.
    """

    plan: Plan | None
    left: tuple[str, ...] = ()


def take_edits(plan: Plan, base: Plan, edited: Plan) -> TakenEdits:
    """Return the plan with what was edited from ``base`` to ``edited``."""
    merge = merge_plans(base, plan, edited)
    merged = merge.ours
    if plan_faults(merged, merged.tasks.keys()):
        return TakenEdits(None)
    return TakenEdits(merged, merge.conflicts)
