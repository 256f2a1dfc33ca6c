"""Start ``notify.command`` when a person is needed."""

from typing import NamedTuple

from git_blackbird.agents.environment import RUN_ID_VARIABLE, TASK_ID_VARIABLE
from git_blackbird.agents.notify import NotifyProcess, start_notification
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.plan import Task

_LIMIT_SECONDS = 30.0


class Notification(NamedTuple):
    """Why a person is needed, in a word and in a line, with the task and run, if any."""

    event: str
    text: str
    task_id: str = ""
    run_id: str = ""


def calling_for_decision(task: Task, run_id: str) -> Notification:
    """Return the notification that a run waits for a decision."""
    return Notification("decision", f"a decision is due on {task.id}: {task.title}", task.id, run_id)


def send_notification(workspace: Workspace, calling: Notification) -> NotifyProcess | None:
    """Start the command, which nobody waits for and which outlives this process; None where there is none."""
    command = workspace.config.notify.command
    if not command:
        return None
    repo = workspace.repo
    environ = {name: value for name, value in repo.environ.items() if name != RUN_ID_VARIABLE}
    variables = {
        "BLACKBIRD_EVENT": calling.event,
        "BLACKBIRD_TEXT": clean_line(calling.text),
        TASK_ID_VARIABLE: calling.task_id,
        "BLACKBIRD_NOTIFY_RUN": calling.run_id,
    }
    return start_notification(command, cwd=repo.top, environ=environ | variables, seconds=_LIMIT_SECONDS)
