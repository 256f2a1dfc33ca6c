"""Deriving the plan's statuses from the records and saving what differs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.gate import Moment
from git_blackbird.model.history import History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed_feedback import owed_feedback
from git_blackbird.model.plan import Plan, Status
from git_blackbird.model.status import apply_statuses, derive_leaves, settled_parents
from git_blackbird.storage.store import Image, Transaction


class Settled(NamedTuple):
    """What is there once every status follows from the records; of each leaf that moved, was and became."""

    image: Image
    moved: Mapping[TaskId, tuple[Status, Status]]


def save_statuses(workspace: Workspace, transaction: Transaction) -> Settled:
    """Derive every status again and save the plan where it differs.

    Raises SaveError.
    """
    return _save(workspace, transaction, transaction.image())


def save_status(workspace: Workspace, transaction: Transaction, task_id: TaskId) -> None:
    """Do the same for one task and all parents, when only its records have changed: no other is read.

    Raises SaveError.
    """
    _save(workspace, transaction, transaction.image_of(task_id))


def _save(workspace: Workspace, transaction: Transaction, image: Image) -> Settled:
    settled, wanted = derived(image.plan, image.histories, workspace.moment(image.histories))
    if settled is image.plan:
        return Settled(image, {})
    save_progress(transaction, image, settled)
    moved = {task_id: (image.plan.tasks[task_id].status, status) for task_id, status in wanted.items()}
    return Settled(image._replace(plan=settled, feedback=transaction.feedback()), moved)


def derived(
    plan: Plan, histories: Mapping[TaskId, History], moment: Moment
) -> tuple[Plan, Mapping[TaskId, Status]]:
    """Give the plan with every status that follows from the records, and which leaves became what."""
    wanted = derive_leaves(plan, histories)
    followed = apply_statuses(plan, wanted, moment) if wanted else plan
    return settled_parents(followed, moment), wanted


def save_progress(transaction: Transaction, image: Image, after: Plan) -> None:
    """Save what ``image`` became, where leaves may be ``done`` now: they have heard what reviews left owed.

    Each file is marked first, so that it is known after a crash whether the plan was saved. Raises SaveError.
    """
    owed = owed_feedback(image.plan, image.histories, image.feedback)
    heard = [
        task_id
        for task_id in sorted(owed)
        if task_id in after.tasks
        and image.plan.tasks[task_id].status != Status.DONE == after.tasks[task_id].status
    ]
    for task_id in heard:
        settled_at = after.tasks[task_id].updated_at
        transaction.save_feedback(task_id, replace(owed[task_id], settled_at=settled_at))
    transaction.save_plan(after)
    for task_id in heard:
        transaction.drop_feedback(task_id)
