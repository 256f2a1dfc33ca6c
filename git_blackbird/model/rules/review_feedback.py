"""Which feedback of parent reviews is owed to which leaf (DESIGN.md 8).

The files are a copy of the verdicts that can be made again; what a crash left between two writes of either
is seen here, and nowhere else.
"""

from collections.abc import Iterator, Mapping

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.history import NO_HISTORY, History
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.plan import Plan, Status, Task
from git_blackbird.model.entities.run import Run
from git_blackbird.model.plan.graph import subtree_leaves
from git_blackbird.model.rules.review_gate import allows_done, current_review, latest_verdict

_OF_ALL = "Of all tasks that were reviewed together, it says:"


def outstanding_feedback(
    plan: Plan, histories: Mapping[TaskId, History], saved: Mapping[TaskId, Feedback]
) -> dict[TaskId, Feedback]:
    """Return what each leaf is owed: what its file says, less what is void, and what was not yet written."""
    owed: dict[TaskId, Feedback] = {}
    for task_id, feedback in saved.items():
        task = plan.tasks.get(task_id)
        if task is None or is_delivered(task, feedback) or _is_void(histories, feedback):
            continue
        # A leaf that was given children stands for them.
        for leaf in subtree_leaves(plan, task):
            owed.setdefault(leaf.id, feedback)
    for parent in _parents_with_reviews(plan, histories):
        review = current_review(plan.tasks, parent, histories[parent.id])
        if review is not None and not allows_done(review):
            for task_id, feedback in feedback_of(plan, parent, review).items():
                owed.setdefault(task_id, feedback)
    return owed


def _parents_with_reviews(plan: Plan, histories: Mapping[TaskId, History]) -> Iterator[Task]:
    for task_id, history in histories.items():
        task = plan.tasks.get(task_id)
        if task is not None and task.children and history.reviews and not history.faults:
            yield task


def is_delivered(task: Task, feedback: Feedback) -> bool:
    """Whether the leaf was saved as ``done`` after it had heard this: only the file is still there."""
    return task.status == Status.DONE and feedback.settled_at == task.updated_at


def _is_void(histories: Mapping[TaskId, History], feedback: Feedback) -> bool:
    """Whether the review it comes from counts no longer, or a later one of that parent has spoken.

    Of a review that has no record, or one that cannot be read, it is not known: it stands.
    """
    history = histories.get(feedback.parent_task_id, NO_HISTORY)
    if history.faults:
        return False
    review = history.find(feedback.review_run_id)
    if review is not None and review.superseded_at is not None:
        return True
    said = latest_verdict(history)
    return said is not None and (said.id != feedback.review_run_id or allows_done(said))


def feedback_of(plan: Plan, parent: Task, review: Run) -> dict[TaskId, Feedback]:
    """Return what a failing review leaves owed, by leaf.

    A flagged child that is a parent stands for its leaves; one that is no longer the parent's is left out.
    """
    at = review.completed_at or review.started_at
    return {
        leaf.id: Feedback(
            parent_task_id=parent.id,
            review_run_id=review.id,
            feedback=text_for(review, child),
            created_at=at,
            updated_at=at,
        )
        for child in review.parent_review_resume_task_ids
        if child in parent.children
        for leaf in subtree_leaves(plan, plan.tasks[child])
    }


def text_for(review: Run, child: TaskId) -> str:
    """Return what a failing review says to one child: of its own work first, then of all of them."""
    result = (review.parent_review_results or {}).get(child)
    own = (result.feedback if result is not None else None) or ""
    shared = review.parent_review_feedback or ""
    if not own or not shared or shared.strip() == own.strip():
        return own or shared
    return f"{own.rstrip()}\n\n{_OF_ALL}\n\n{shared}"
