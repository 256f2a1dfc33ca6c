"""Stop: a person must go on with parents without a passing review, or leaves with open feedback."""

from collections.abc import Sequence

from git_blackbird.controller.queries.parent_reviews import parent_review_status
from git_blackbird.model.entities.cli_hints import EXECUTE, dismiss_command, task_command
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.rules.attention import pending_items, resume_command
from git_blackbird.model.rules.next_action import ParentReviewRequired
from git_blackbird.model.rules.state import ParentReviewStatus, PlanState, feedback_below
from git_blackbird.model.views.stop import Stop, StopReason


def parent_review_stop(state: PlanState, action: ParentReviewRequired) -> Stop:
    """Name the parents and leaves, with the commands that go on with each."""
    parents = tuple(parent_review_status(state, parent) for parent in action.parents)
    commands = {item.task.id: item.command for item in pending_items(state)}

    def resume(leaf: Task) -> str:
        return commands.get(leaf.id) or resume_command(state, leaf)

    steps = [resume(leaf) for leaf in action.leaves]
    for parent in parents:
        if parent.fault is not None:
            leaves = feedback_below(state, state.plan.tasks[parent.task_id])
            again = task_command("review run", parent.task_id) if leaves else EXECUTE
            steps += [*(resume(leaf) for leaf in leaves), again, dismiss_command(parent.task_id)]
    return Stop(
        StopReason.PARENT_REVIEW_REQUIRED,
        _text(parents, action.leaves),
        tuple(dict.fromkeys(steps)),
        parents[0].task_id if parents else action.leaves[0].parent,
        held=parents,
    )


def _text(parents: Sequence[ParentReviewStatus], leaves: Sequence[Task]) -> str:
    if not parents:
        return f"{', '.join(leaf.id for leaf in leaves)} has open review feedback"
    failed = ", ".join(parent.task_id for parent in parents if parent.fault is None)
    without_verdict = (
        f"no verdict on {parent.task_id}: {parent.fault}" for parent in parents if parent.fault is not None
    )
    return "; ".join([*([f"parent review failed for {failed}"] if failed else []), *without_verdict])
