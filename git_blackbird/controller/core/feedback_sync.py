"""Feedback files kept in step with the verdicts they are copies of (DESIGN.md 8)."""

from git_blackbird.errors import UnusableError
from git_blackbird.model.rules.state import PlanState
from git_blackbird.storage.store import Transaction


def sync_feedback_files(transaction: Transaction) -> None:
    """Finish what a crash cut off between a verdict, its feedback and the plan, before all other changes.

    Raises SaveError.
    """
    state = _parents_state(transaction)
    if state is None:
        return
    saved = state.saved_feedback.by_leaf
    for task_id, feedback in state.feedback.items():
        if saved.get(task_id) != feedback or feedback.settled_at is not None:
            transaction.save_feedback(task_id, feedback.settled(None))
    for task_id in saved:
        if task_id in state.plan.tasks and task_id not in state.feedback:
            transaction.drop_feedback(task_id)


def _parents_state(transaction: Transaction) -> PlanState | None:
    """Return the plan, the feedback and the records of parents alone; None when there is no plan to be read.

    Then nothing can be owed that is not owed later, and whoever needs the plan says what is wrong with it.
    """
    try:
        return transaction.state_of()
    except UnusableError:
        return None
