"""``review run`` and ``review dismiss``: a parent's review as a person asks for it."""

from collections.abc import Callable
from typing import NamedTuple

from git_blackbird.controller.agents import probe, require_reviewer
from git_blackbird.controller.face import Face
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.numbering import number_run
from git_blackbird.controller.parent_review import require_children_done
from git_blackbird.controller.review_files import finish_reviews
from git_blackbird.controller.review_views import find_parent
from git_blackbird.controller.statuses import save_statuses
from git_blackbird.controller.task_reviews import require_change, review_again
from git_blackbird.controller.unreadable import UnreadableRecordError, require_readable
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.git.settings import person_name
from git_blackbird.model.due import Call
from git_blackbird.model.gate import last_word, lets_go, open_children, present_review
from git_blackbird.model.graph import ancestors
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import resume_command
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.review import Dismissal, completion_signature
from git_blackbird.model.run import RECORDER, Run, RunStatus, RunType
from git_blackbird.model.standing import Standing
from git_blackbird.storage.store import Image


def review_loop(workspace: Workspace, face: Face, asked: str) -> tuple[Loop, Opening]:
    """Prepare a review by hand: of the change of a leaf, or of a parent and then its ancestors.

    What was reviewed before is reviewed again. Raises RequestError when a leaf has no change, and when a
    child is not done, or has not heard yet what another review found.
    """
    workspace.require_settings()
    workspace.require_person("have work reviewed")

    def check(image: Image) -> None:
        standing = workspace.standing(image)
        task = find_task(standing.plan, asked)
        _require_reviewable(standing, task)
        if task.is_leaf:
            review_again(workspace, task)
        else:
            probe(workspace, require_reviewer(workspace))

    task_id = TaskId(asked)
    call = Call(only=frozenset({task_id}), starts_left=0, review=task_id)
    return Loop(workspace, face, call), Opening(check)


def review_obstacle(standing: Standing, task: Task) -> str | None:
    """Say why a task cannot be reviewed now; None where it can, as far as its records say."""
    return _refusal(lambda: _require_reviewable(standing, task))


def dismissal_obstacle(standing: Standing, parent: Task) -> str | None:
    """Say why a parent's review cannot be dismissed; None where it can."""
    return _refusal(lambda: _require_dismissable(standing, parent))


def _refusal(require: Callable[[], object]) -> str | None:
    try:
        require()
    except (RequestError, UnreadableRecordError) as error:
        return error.message
    return None


def _require_reviewable(standing: Standing, task: Task) -> None:
    require_readable(standing, task)
    if task.is_leaf:
        require_change(standing.history(task.id), task)
    else:
        require_children_done(standing.plan.tasks, task)
        _require_nothing_of_others(standing, task)


def _require_nothing_of_others(standing: Standing, parent: Task) -> None:
    """A verdict of this parent would take the place of what another review left owed to its leaves."""
    for task_id, feedback in sorted(standing.feedback.items()):
        task = standing.plan.tasks[task_id]
        below = any(above.id == parent.id for above in ancestors(standing.plan, task))
        if below and feedback.parent_task_id != parent.id:
            raise RequestError(
                f"{task_id} has not yet been sent what the review of {feedback.parent_task_id} found",
                hint=resume_command(standing, task),
            )


class Dismissed(NamedTuple):
    """What a dismissal did: the parent as it is now, its review, and the leaves that owe nothing any more."""

    parent: Task
    run: Run
    dropped: tuple[TaskId, ...]


def dismiss_review(workspace: Workspace, parent_id: str, reason: str) -> Dismissed:
    """Let a parent go without a passing verdict on its children as they are, and drop what it left owed.

    Raises RequestError when there is nothing to dismiss, without a reason, and for an agent.
    """
    workspace.require_person("dismiss a review")
    if not reason.strip():
        raise RequestError("a dismissal needs a reason", hint="--reason TEXT")
    with workspace.transaction() as transaction:
        image = transaction.image()
        standing = workspace.standing(image)
        parent = find_parent(standing, parent_id)
        run = _to_dismiss(workspace, standing, parent)
        now = workspace.world.timestamp()
        dismissal = Dismissal(reason=reason.strip(), at=now, by=person_name(workspace.repo))
        dismissed = run.with_fields(parent_review_dismissed=dismissal, completed_at=run.completed_at or now)
        transaction.save_run(dismissed)
        dropped = [one for one, owed in standing.feedback.items() if owed.parent_task_id == parent.id]
        # What a dismissed review left owed is void: with that, its files go.
        finish_reviews(transaction)
        save_statuses(workspace, transaction)
        return Dismissed(transaction.plan().tasks[parent.id], dismissed, tuple(sorted(dropped)))


def _to_dismiss(workspace: Workspace, standing: Standing, parent: Task) -> Run:
    """Give the review that holds the parent back; where none was made, a record that says so."""
    return _require_dismissable(standing, parent) or _unreviewed(workspace, parent, standing)


def _require_dismissable(standing: Standing, parent: Task) -> Run | None:
    """Give the review that holds the parent back; None where none was made. Raises RequestError."""
    require_readable(standing, parent)
    history = standing.history(parent.id)
    if any(run.status is RunStatus.RUNNING for run in history.reviews):
        raise RequestError(f"a reviewer works on {parent.id} right now", hint="wait for it, or stop it")
    owes = any(owed.parent_task_id == parent.id for owed in standing.feedback.values())
    said = last_word(history)
    is_present = present_review(standing.plan.tasks, parent, history) is said
    _require_complete(standing, parent)
    if said is not None and not lets_go(said) and is_present:
        return said
    if not owes and parent.status == Status.DONE:
        raise RequestError(f"there is no review of {parent.id} to dismiss: it is done")
    return None


def _require_complete(standing: Standing, parent: Task) -> None:
    """A parent is let go as its children are; what one of them is owed while it is worked on stays owed."""
    open_ones = open_children(standing.plan.tasks, parent)
    if open_ones:
        raise RequestError(
            f"there is no review of {parent.id} to dismiss: not done: {', '.join(open_ones)}",
            hint="its review is due when its children are done",
        )


def _unreviewed(workspace: Workspace, parent: Task, standing: Standing) -> Run:
    """Make the record of a review that a person does without."""
    run_id, started = number_run(workspace, parent.id)
    return Run(
        id=run_id,
        task_id=parent.id,
        run_type=RunType.REVIEW,
        started_at=started,
        status=RunStatus.FAILED,
        error="dismissed without a verdict",
        parent_review_completion_signature=completion_signature(parent, standing.plan.tasks),
        recorder=RECORDER,
        repo_root=str(workspace.repo.top),
    )
