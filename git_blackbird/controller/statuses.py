"""Deriving the plan's statuses from the records and saving what differs."""

from collections.abc import Mapping

from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status
from git_blackbird.model.status import apply_statuses, derive_leaves, settled_parents
from git_blackbird.storage.store import Transaction


def save_statuses(workspace: Workspace, transaction: Transaction) -> Mapping[TaskId, tuple[Status, Status]]:
    """Derive every status again and save the plan where it differs; gives what was and what became.

    Raises SaveError.
    """
    image = transaction.image()
    wanted = derive_leaves(image.plan, image.histories)
    now = workspace.world.timestamp()
    plan = apply_statuses(image.plan, wanted, now) if wanted else image.plan
    settled = settled_parents(plan, now)
    if settled is not image.plan:
        transaction.save_plan(settled)
    return {task_id: (image.plan.tasks[task_id].status, status) for task_id, status in wanted.items()}
