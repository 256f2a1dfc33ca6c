"""The files of a run: its private folder, its logs, and what a killed agent leaves in its worktree."""

import contextlib
import itertools
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_blackbird.agents.process.logs import LogFiles, cut_saved, mask_saved
from git_blackbird.agents.protocol import RUN_FOLDER_PREFIX
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.worktree.folders import remove_tree
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.storage.copies import move_log
from git_blackbird.storage.paths import Paths

_TRIES = 100


@contextlib.contextmanager
def scratch_dir(paths: Paths, run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run; its mark in the git directory outlives it, to find it by after a crash.

    It has another name where what a killed or foreign process left cannot be removed. Raises UnusableError
    when it cannot be made.
    """
    name = f"{RUN_FOLDER_PREFIX}{run_id}"
    folder = Path(tempfile.gettempdir(), name)
    numbers = itertools.count(1)
    try:
        paths.make_private(paths.scratch)
        while not _claim(paths, folder):
            if (number := next(numbers)) == _TRIES:
                text = f"cannot make {folder}: it is there, as are those before it"
                raise UnusableError(text, hint="remove them")
            folder = folder.with_name(f"{name}.{number}")
    except OSError as error:
        message = f"cannot make {folder}: {error.strerror}"
        raise UnusableError(message, hint=refusal_hint(error)) from error
    try:
        yield folder
    finally:
        _remove(paths, folder)


def _claim(paths: Paths, folder: Path) -> bool:
    """Make a folder that is not there yet, the mark first. Raises OSError."""
    mark = paths.scratch / folder.name
    try:
        with mark.open("xb") as file:
            file.write(_owner(paths))
    except FileExistsError:
        return False
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        mark.unlink()
        return False
    return True


def _owner(paths: Paths) -> bytes:
    # A copy of the git directory has the marks of the original, whose folders are not its own.
    return os.fsencode(paths.private)


def _remove(paths: Paths, folder: Path) -> None:
    """Remove a folder of ours, and its mark once nothing of it is left."""
    with contextlib.suppress(UnusableError, OSError):  # the next call tries again
        remove_tree(folder)
        if not os.path.lexists(folder):
            (paths.scratch / folder.name).unlink(missing_ok=True)


def sweep_scratch_dirs(paths: Paths) -> None:
    """Remove the folders that killed runs of this worktree left.

    Needs the controller lock, and every run closed: then none of them is in use.
    """
    for folder in _marked(paths):
        _remove(paths, folder)


def scratch_dirs(paths: Paths) -> Iterator[Path]:
    return filter(os.path.lexists, _marked(paths))


def _marked(paths: Paths) -> Iterator[Path]:
    for mark in sorted(paths.scratch.glob(f"{RUN_FOLDER_PREFIX}*")):
        # A mark without its owner is of a process that was killed before it made the folder.
        with contextlib.suppress(OSError):
            if mark.read_bytes() in {_owner(paths), b""}:
                yield Path(tempfile.gettempdir(), mark.name)


def is_in_scratch(path: str) -> bool:
    folder = Path(os.path.realpath(tempfile.gettempdir()))
    below = Path(path)
    return below.is_relative_to(folder) and any(
        part.startswith(RUN_FOLDER_PREFIX) for part in below.relative_to(folder).parts[:1]
    )


def remove_litter(top: Path, run: Run, names: Sequence[str]) -> None:
    """Remove the empty folders of these names that a killed agent left at the top of the worktree.

    Those made before the run began are someone else's, as is everything that is not empty.
    """
    for name in names:
        folder = top / name
        with contextlib.suppress(OSError):  # not there, or not empty
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_mtime_ns >= parse_timestamp(run.started_at):
                folder.rmdir()


_STREAMS = ("stdout", "stderr")
LOG_BYTES = 256 * 1024 * 1024
"""How much of each output stream of a run is kept."""


def log_files(workspace: Workspace, stdout: Path, stderr: Path) -> LogFiles:
    """Return the logs of what is about to start, bounded and redacted as configured."""
    return LogFiles(stdout, stderr, LOG_BYTES, workspace.store.redactor())


def finish_log(workspace: Workspace, path: Path) -> None:
    """Cut a log to its bound, and mask secrets that were missed when it was read."""
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
