"""The folder of a run, and what a killed agent leaves in its worktree."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_blackbird.agents.protocol import RUN_FOLDER_PREFIX
from git_blackbird.errors import UnusableError
from git_blackbird.git.worktree.folders import remove_tree
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.run.run import Run
from git_blackbird.storage.paths import Paths

_TRIES = 100


@contextlib.contextmanager
def scratch_dir(paths: Paths, run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run; its mark in the git directory outlives it, to find it by after a crash.

    Raises UnusableError when it cannot be made.
    """
    folder = _make(paths, run_id)
    try:
        yield folder
    finally:
        _remove(paths, folder)


def _make(paths: Paths, run_id: RunId) -> Path:
    """Make the folder of a run: another one where what a killed or foreign process left cannot be removed."""
    name = f"{RUN_FOLDER_PREFIX}{run_id}"
    folder = Path(tempfile.gettempdir(), name)
    try:
        paths.make_private(paths.scratch)
        for number in range(_TRIES):
            folder = folder.with_name(f"{name}.{number}" if number else name)
            if _claim(paths, folder):
                return folder
    except OSError as error:
        message = f"cannot make {folder}: {error.strerror}"
        raise UnusableError(message, hint=refusal_hint(error)) from error
    raise UnusableError(f"cannot make {folder}: it is there, as are those before it", hint="remove them")


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
    """Yield the folders of runs of this worktree."""
    return filter(os.path.lexists, _marked(paths))


def _marked(paths: Paths) -> Iterator[Path]:
    for mark in sorted(paths.scratch.glob(f"{RUN_FOLDER_PREFIX}*")):
        # A mark without its owner is of a process that was killed before it made the folder.
        with contextlib.suppress(OSError):
            if mark.read_bytes() in {_owner(paths), b""}:
                yield Path(tempfile.gettempdir(), mark.name)


def is_in_scratch(path: str) -> bool:
    """Whether a path is in the temporary folder of a run."""
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
