"""What counts of a plan file that was edited past our commands while agents were at work."""

from typing import NamedTuple

from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.validation import plan_faults
from git_blackbird.model.rules.plan_merge import linked, merge_plans


class GitMoves(NamedTuple):
    """What git made of the plan file: how each move of HEAD changed it, and what HEAD has.

    Moves to commits of agents are left out, and ``head`` is None then.
    """

    moves: tuple[tuple[Plan, Plan], ...] = ()
    head: Plan | None = None


def counting_plan(known: Plan, edited: Plan, by_git: GitMoves) -> Plan:
    """Return what counts of the plan ``edited``: ``known``, which our commands saved last, and what git did.

    All else an agent may have written. Returns ``edited`` itself if all of it counts.
    """
    if by_git.head is not None and by_git.head.tasks == edited.tasks:
        return edited
    expected = known
    for before, after in by_git.moves:
        expected = merge_plans(before, expected, after).ours
    tasks = {}
    for task_id in dict.fromkeys((*known.tasks, *expected.tasks, *edited.tasks)):
        sides = (known.tasks.get(task_id), expected.tasks.get(task_id))
        task = edited.tasks.get(task_id)
        counts = task if task in sides else sides[1]
        if counts is not None:
            tasks[task_id] = counts
    if tasks == edited.tasks:
        return edited
    plan = Plan(linked(tasks))
    return expected if plan_faults(plan, plan.tasks.keys()) else plan


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
