"""The logs of a run: where they are, and when they move to where people find them."""

import os
from pathlib import Path

from git_blackbird.agents.process.logs import LogFiles, cut_saved, mask_saved
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.storage.copies import move_log
from git_blackbird.storage.paths import Paths

_STREAMS = ("stdout", "stderr")
LOG_BYTES = 256 * 1024 * 1024
"""How much of each output stream of a run is kept."""


def log_files(workspace: Workspace, stdout: Path, stderr: Path) -> LogFiles:
    """Return the logs of what is about to start, bounded and redacted as configured."""
    return LogFiles(stdout, stderr, LOG_BYTES, workspace.store.redactor())


def finish_log(workspace: Workspace, path: Path) -> None:
    """Cut a log to its bound, and mask the secrets that were passed over when it was read."""
    cut_saved(path, LOG_BYTES)
    mask_saved(path, workspace.store.redactor())


def publish_logs(workspace: Workspace, run: Run) -> None:
    """Finish the logs of a run, and move them to where people find them.

    Not before its record is saved: until that says how much was printed beyond it, the files alone do.
    """
    for name in _STREAMS:
        stream, log = workspace.paths.logs(run.task_id, run.id, name)
        finish_log(workspace, stream)
        move_log(workspace.paths, stream, log)


def publish_leftover_logs(workspace: Workspace) -> None:
    """Cut and move the logs of ended runs after a crash; needs the controller lock."""
    records, streams = workspace.store.records, workspace.paths.streams
    names = sorted(os.listdir(streams)) if streams.is_dir() else []
    for task_id, run_id in dict.fromkeys(tuple(name.rsplit(".", 2)[:2]) for name in names):
        runs = (*records.history(TaskId(task_id)).runs, *records.reviews(TaskId(task_id)).runs)
        run = next((run for run in runs if run.id == run_id), None)
        if run is not None and run.status is not RunStatus.RUNNING:
            publish_logs(workspace, run)


def log_paths(paths: Paths, run: Run) -> tuple[Path, Path]:
    """Return where a run at work prints its standard output and standard error."""
    stdout, stderr = (paths.stream(run.task_id, run.id, name) for name in _STREAMS)
    return stdout, stderr
