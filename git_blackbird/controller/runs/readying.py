"""Whether a task that is asked for by name may start, and what to do when it may not."""

from git_blackbird.controller.core.unreadable import require_readable
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.deferred_commits import deferred_commit_of
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.cli_hints import decide_run_command, task_command
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import DecisionState
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.state import PlanState, full_readiness

_WAYS = {Status.WAITING_USER: "resume", Status.FAILED: "retry"}


class StaleTaskError(RequestError):
    """A task changed between its choice and its start."""


def require_recorded(workspace: Workspace, task_id: TaskId) -> None:
    """Refuse to start an agent on a task that a commit of a person's did, and that is not recorded yet.

    Raises StaleTaskError, GitError.
    """
    oid = deferred_commit_of(workspace, task_id)
    if oid is not None:
        raise StaleTaskError(
            f"{task_id} was not started: commit {oid[:10]} is work on it that is still to be recorded",
            hint="`git blackbird execute` records it; its first lines say what prevents that",
        )


def require_ready(state: PlanState, task: Task) -> Task:
    """Return the task when it is ready, or a change request to it waits to be carried out.

    Raises RequestError with its reasons and the ways out, UnreadableRecordError.
    """
    require_readable(state, task)
    readiness = full_readiness(state, task)
    if readiness.is_ready:
        return task
    run = state.latest(task.id)
    if run is not None and run.decision_state is DecisionState.CHANGES_REQUESTED:
        return task  # carrying it out is what is due
    hints = [*readiness.hints]
    if run is not None and run.is_pending:
        hints.append(decide_run_command(run))
    elif task.status in _WAYS:
        hints.append(task_command(_WAYS[task.status], task.id))
    raise RequestError(
        f"{task.id} is not ready: {'; '.join(readiness.reasons)}",
        hint="\n".join(hints) or task_command("show", task.id),
    )
