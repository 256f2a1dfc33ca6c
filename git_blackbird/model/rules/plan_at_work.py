"""What counts of a plan file that was edited past our commands while agents were at work."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.validation import plan_faults
from git_blackbird.model.rules.plan_merge import linked, merge_plans


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
    """Whether an agent committed this version of a task."""
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
