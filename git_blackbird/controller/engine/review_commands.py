"""Prepare the loop for ``review run``; dismiss the review of a parent."""

from collections.abc import Callable
from typing import NamedTuple

from git_blackbird.controller.change.review.review import reopen_reviews, require_change
from git_blackbird.controller.core.agents import (
    adding_way_out,
    probe,
    require_reviewer,
)
from git_blackbird.controller.core.guards import UnreadableRecordError, require_readable
from git_blackbird.controller.core.status_sync import new_run, save_feedback_and_statuses
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.queries.reviews import find_parent
from git_blackbird.controller.reviews.parent import require_children_done
from git_blackbird.errors import RequestError
from git_blackbird.git.core.config import git_identity
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import ANOTHER_AGENT, dismiss_command
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import resume_command
from git_blackbird.model.rules.reviews import (
    allows_done,
    are_children_over,
    current_review,
    latest_verdict,
    why_incomplete,
)
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.rules.state import PlanState, feedback_below
from git_blackbird.model.run.parent_verdict import Dismissal, completion_signature
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType


def review_loop(workspace: Workspace, ui: UserInterface, asked: str) -> Loop:
    """Prepare a review by hand: of the change of a leaf, or of a parent and then its ancestors.

    An earlier review is made again. The first step raises RequestError when a leaf has no change, and when
    a child is not done or has open feedback from another review.
    """
    workspace.require_settings()
    workspace.environment.forbid_agents("have work reviewed")

    def check(state: PlanState) -> PlanState:
        task = find_task(state.plan, asked)
        _require_reviewable(state, task)
        if task.is_leaf:
            return reopen_reviews(workspace, task)
        reviewer = require_reviewer(workspace)
        with adding_way_out(workspace, ANOTHER_AGENT):
            probe(workspace, reviewer)
        return state

    task_id = TaskId(asked)
    scope = CallScope(only=frozenset({task_id}), starts_left=0, review=task_id, is_resume=True)
    return Loop(workspace, ui, scope, check)


def review_obstacle(state: PlanState, task: Task) -> str | None:
    """Say why a task cannot be reviewed now; None where its records allow it."""
    return _refusal(lambda: _require_reviewable(state, task))


def dismissal_obstacle(state: PlanState, parent: Task) -> str | None:
    """Say why a parent's review cannot be dismissed; None where it can."""
    return _refusal(lambda: _require_dismissable(state, parent))


def _refusal(require: Callable[[], object]) -> str | None:
    try:
        require()
    except (RequestError, UnreadableRecordError) as error:
        return error.message
    return None


def _require_reviewable(state: PlanState, task: Task) -> None:
    require_readable(state, task)
    if task.is_leaf:
        require_change(state.history(task.id), task)
        return
    require_children_done(state.plan.tasks, task)
    for leaf in feedback_below(state, task):
        feedback = state.feedback[leaf.id]
        if feedback.parent_task_id != task.id:
            # The verdict would replace it.
            raise RequestError(
                f"{leaf.id} has open feedback from the review of {feedback.parent_task_id}",
                hint=resume_command(state, leaf),
            )


class DismissResult(NamedTuple):
    """The parent after a dismissal, its review, and the leaves whose feedback was dropped."""

    parent: Task
    run: Run
    dropped: tuple[TaskId, ...]


def dismiss_review(workspace: Workspace, parent_id: str, reason: str) -> DismissResult:
    """Complete a parent without a passing verdict, and drop the feedback of its review.

    Raises RequestError when there is nothing to dismiss, without a reason, and for an agent.
    """
    workspace.environment.forbid_agents("dismiss a review")
    if not reason.strip():
        raise RequestError("a dismissal needs a reason", hint=dismiss_command(parent_id))
    with workspace.transaction() as transaction:
        state = transaction.state()
        parent = find_parent(state, parent_id)
        run = _require_dismissable(state, parent)
        if run is None:
            run = new_run(workspace, parent.id, RunStatus.FAILED).updated(
                run_type=RunType.REVIEW,
                error="dismissed without a verdict",
                parent_review_completion_signature=completion_signature(parent, state.plan.tasks),
            )
        now = workspace.environment.timestamp()
        dismissal = Dismissal(reason=reason.strip(), at=now, by=git_identity(workspace.repo))
        dismissed = run.updated(completed_at=run.completed_at or now, dismissed=dismissal)
        transaction.save_run(dismissed)
        dropped = [task_id for task_id, owed in state.feedback.items() if owed.parent_task_id == parent.id]
        # The feedback of a dismissed review is void.
        save_feedback_and_statuses(transaction, transaction.state())
        return DismissResult(transaction.plan().tasks[parent.id], dismissed, tuple(sorted(dropped)))


def _require_dismissable(state: PlanState, parent: Task) -> Run | None:
    """Return the review that blocks the parent; None where there was none. Raises RequestError."""
    require_readable(state, parent)
    history = state.history(parent.id)
    if any(run.status is RunStatus.RUNNING for run in history.reviews):
        raise RequestError(f"a reviewer works on {parent.id} right now", hint="wait for it, or stop it")
    verdict = latest_verdict(history)
    is_present = current_review(state.plan.tasks, parent, history) is verdict
    if not are_children_over(state.plan.tasks, parent):
        raise RequestError(
            f"there is no review of {parent.id} to dismiss: {why_incomplete(state.plan.tasks, parent)}",
            hint="its review is due when each child is done or skipped, and one is done",
        )
    if verdict is not None and not allows_done(verdict) and is_present:
        return verdict
    has_feedback = any(owed.parent_task_id == parent.id for owed in state.feedback.values())
    if not has_feedback and parent.status == Status.DONE:
        raise RequestError(f"there is no review of {parent.id} to dismiss: it is done")
    return None
