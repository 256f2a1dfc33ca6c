"""The folder of a run, and what a killed agent leaves in its worktree."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_blackbird.agents.protocol import RUN_FOLDER_PREFIX
from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.run.run import Run
from git_blackbird.storage.paths import Paths

_OWNER = "worktree"


@contextlib.contextmanager
def scratch_dir(paths: Paths, run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run; it says whose it is, so that it can be found after a crash.

    Raises UnusableError when it cannot be made.
    """
    folder = Path(tempfile.gettempdir(), f"{RUN_FOLDER_PREFIX}{run_id}")
    try:
        new = Path(tempfile.mkdtemp(prefix=f"{RUN_FOLDER_PREFIX}new-"))
        (new / _OWNER).write_bytes(os.fsencode(paths.private))
        # It gets its name only with an owner, so that none is left that nobody may remove.
        new.rename(folder)
    except OSError as error:
        message = f"cannot make {folder}: {error.strerror}"
        raise UnusableError(message, hint=refusal_hint(error)) from error
    try:
        yield folder
    finally:
        _remove_tree(folder)


def _remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it, read-only folders included."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for place, names, _ in os.walk(folder):
            for inner in (Path(place, name) for name in names):
                if not inner.is_symlink():
                    with contextlib.suppress(OSError):
                        inner.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


def sweep_scratch_dirs(paths: Paths) -> None:
    """Remove the folders that killed runs of this worktree left.

    Needs the controller lock, and every run closed: then none of them is in use.
    """
    for folder in scratch_dirs(paths):
        _remove_tree(folder)


def scratch_dirs(paths: Paths) -> Iterator[Path]:
    """Yield the folders of runs of this worktree."""
    for folder in Path(tempfile.gettempdir()).glob(f"{RUN_FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError):  # it is someone else's
            if (folder / _OWNER).read_bytes() == os.fsencode(paths.private):
                yield folder


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
