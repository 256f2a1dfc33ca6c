"""Whether a task that is asked for by name may start, and what to do when it may not."""

from git_blackbird.controller.deferred_commits import deferred_commit_of
from git_blackbird.controller.unreadable import require_readable
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.model.commands import decide_run_command, task_command
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import DecisionState
from git_blackbird.model.standing import Standing
from git_blackbird.model.unreadable import full_readiness

_WAYS = {Status.WAITING_USER: "resume", Status.FAILED: "retry"}


class NoLongerReadyError(RequestError):
    """A task changed between its choice and its start."""


def require_recorded(workspace: Workspace, task_id: TaskId) -> None:
    """Refuse to start an agent on a task that a commit of a person's did, and that is not recorded yet.

    Raises NoLongerReadyError, GitError.
    """
    oid = deferred_commit_of(workspace, task_id)
    if oid is not None:
        raise NoLongerReadyError(
            f"{task_id} was not started: commit {oid[:10]} is work on it that is still to be recorded",
            hint="`git blackbird execute` records it; its first lines say what stands in the way",
        )


def require_ready(standing: Standing, task: Task) -> Task:
    """Give the task when it is ready, or a change request to it waits to be carried out.

    Raises RequestError with its reasons and the ways out, UnreadableRecordError.
    """
    require_readable(standing, task)
    found = full_readiness(standing, task)
    if found.is_ready:
        return task
    run = standing.latest(task.id)
    if run is not None and run.decision_state is DecisionState.CHANGES_REQUESTED:
        return task  # carrying it out is what is due
    ways = [*found.ways_out]
    if run is not None and run.is_pending:
        ways.append(decide_run_command(run))
    elif task.status in _WAYS:
        ways.append(task_command(_WAYS[task.status], task.id))
    raise RequestError(
        f"{task.id} is not ready: {'; '.join(found.reasons)}",
        hint="\n".join(ways) or task_command("show", task.id),
    )
