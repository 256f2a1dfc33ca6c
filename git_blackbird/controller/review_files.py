"""Feedback files kept in step with the verdicts they are copies of (DESIGN.md 8)."""

from dataclasses import replace

from git_blackbird.errors import UnusableError
from git_blackbird.model.owed_feedback import owed_feedback
from git_blackbird.storage.store import Image, Transaction


def finish_reviews(transaction: Transaction) -> None:
    """Finish what a crash cut off between a verdict, its feedback and the plan, before all other changes.

    Raises SaveError.
    """
    image = _parents_image(transaction)
    if image is None:
        return
    owed = owed_feedback(image.plan, image.histories, image.feedback)
    for task_id, feedback in owed.items():
        if image.feedback.get(task_id) != feedback or feedback.settled_at is not None:
            transaction.save_feedback(task_id, replace(feedback, settled_at=None))
    for task_id in image.feedback:
        if task_id in image.plan.tasks and task_id not in owed:
            transaction.drop_feedback(task_id)


def _parents_image(transaction: Transaction) -> Image | None:
    """Give the plan, the feedback and the records of parents alone; None when there is no plan to be read.

    Then nothing can be owed that is not owed later, and whoever needs the plan says what is wrong with it.
    """
    try:
        return transaction.image_of()
    except UnusableError:
        return None
