"""Deriving the plan's statuses from the records and saving what differs."""

from collections.abc import Mapping

from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.history import History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status
from git_blackbird.model.status import apply_statuses, derive_leaves, settled_parents
from git_blackbird.storage.store import Transaction


def save_statuses(workspace: Workspace, transaction: Transaction) -> Mapping[TaskId, tuple[Status, Status]]:
    """Derive every status again and save the plan where it differs; gives what was and what became.

    Raises SaveError.
    """
    image = transaction.image()
    now = workspace.world.timestamp()
    settled, wanted = derived(image.plan, image.histories, now)
    if settled is not image.plan:
        transaction.save_plan(settled)
    return {task_id: (image.plan.tasks[task_id].status, status) for task_id, status in wanted.items()}


def derived(
    plan: Plan, histories: Mapping[TaskId, History], now: str
) -> tuple[Plan, Mapping[TaskId, Status]]:
    """Give the plan with every status that follows from the records, and which leaves became what."""
    wanted = derive_leaves(plan, histories)
    followed = apply_statuses(plan, wanted, now) if wanted else plan
    return settled_parents(followed, now), wanted
