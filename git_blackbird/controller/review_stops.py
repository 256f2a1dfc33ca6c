"""How a call stops where a parent's review did not pass (spec 0, DESIGN.md 8)."""

from git_blackbird.controller.held_parents import held_parent
from git_blackbird.model.commands import EXECUTE, dismiss_command, task_command
from git_blackbird.model.due import ReviewsRequired
from git_blackbird.model.held import HeldParent, owing_below
from git_blackbird.model.owed import owed_by_person, resume_command
from git_blackbird.model.plan import Task
from git_blackbird.model.standing import Standing
from git_blackbird.model.stop import Stop, StopReason


def reviews_required(standing: Standing, due: ReviewsRequired) -> Stop:
    """Name the parents that are held back, and one command for each leaf or parent that gets on."""
    held = tuple(held_parent(standing, one) for one in due.parents)
    owed = {one.task.id: one.command for one in owed_by_person(standing)}

    def command(leaf: Task) -> str:
        return owed.get(leaf.id) or resume_command(standing, leaf)

    steps = [command(leaf) for leaf in due.leaves]
    for one in (one for one in held if one.fault is not None):
        owing = owing_below(standing, standing.plan.tasks[one.task_id])
        steps += [command(leaf) for leaf in owing]
        again = task_command("review run", one.task_id) if owing else EXECUTE
        steps += [again, dismiss_command(one.task_id)]
    return Stop(
        StopReason.PARENT_REVIEW_REQUIRED,
        _text(held, due.leaves),
        tuple(dict.fromkeys(steps)),
        held[0].task_id if held else due.leaves[0].parent,
        held=held,
    )


def _text(held: tuple[HeldParent, ...], leaves: tuple[Task, ...]) -> str:
    if not held:
        named = ", ".join(leaf.id for leaf in leaves)
        return f"{named} has open review feedback"
    failed = ", ".join(one.task_id for one in held if one.fault is None)
    none = "; ".join(f"no verdict on {one.task_id}: {one.fault}" for one in held if one.fault is not None)
    told = (f"parent review failed for {failed}" if failed else "", none)
    return "; ".join(filter(None, told))
