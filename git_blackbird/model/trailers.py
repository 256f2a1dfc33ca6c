"""Trailers that tie a commit to a task and a run, and the message of an approval's commit (DESIGN.md 10)."""

from git_blackbird.model.ids import RunId
from git_blackbird.model.plan import Task
from git_blackbird.model.text import clean

TASK_TRAILER = "Blackbird-Task"
RUN_TRAILER = "Blackbird-Run"


def render_commit_message(task: Task, run_id: RunId) -> str:
    """Write the message of the commit that an approval makes: the title on one line, then the trailers."""
    title = " ".join(clean(task.title).split()) or task.id
    return f"{title}\n\n{TASK_TRAILER}: {task.id}\n{run_trailer(run_id)}\n"


def run_trailer(run_id: RunId) -> str:
    """Write the trailer that names a run, as it stands in a message."""
    return f"{RUN_TRAILER}: {run_id}"
