"""Naming a run by its start."""

from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.ids import RunId, TaskId, build_run_id
from git_blackbird.model.timestamps import format_timestamp

_MILLISECOND = 1_000_000


def number_run(workspace: Workspace, task_id: TaskId) -> tuple[RunId, str]:
    """Give id and start of a new run: later than the task's last even when the clock was set back."""
    history = workspace.store.records.history(task_id)
    newest = max((run.sort_key[0] for run in history.runs), default=0)
    started = max(workspace.world.now(), newest + _MILLISECOND)
    return build_run_id(started, workspace.world.random_bits(16)), format_timestamp(started)
