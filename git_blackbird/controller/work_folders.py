"""A run's private folder for its prompt and its TMPDIR, outside the repository and removed afterwards."""

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from git_blackbird.agents.environment import RUN_FOLDER_PREFIX
from git_blackbird.errors import UnusableError
from git_blackbird.model.ids import RunId
from git_blackbird.model.run import Run
from git_blackbird.model.system_faults import refusal_hint
from git_blackbird.model.timestamps import parse_timestamp
from git_blackbird.storage.layout import Layout

_OWNER = "worktree"


@contextlib.contextmanager
def work_folder(layout: Layout, run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run; it says whose it is, so that it can be found after a crash.

    Raises UnusableError when it cannot be made.
    """
    folder = Path(tempfile.gettempdir(), f"{RUN_FOLDER_PREFIX}{run_id}")
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        message = f"cannot make {folder}: {error.strerror}"
        raise UnusableError(message, hint=refusal_hint(error)) from error
    try:
        (folder / _OWNER).write_bytes(os.fsencode(layout.private))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_work_folders(layout: Layout) -> None:
    """Remove the folders that killed programs left of this worktree's runs.

    Needs the controller lock, and every run closed: then none of them is in use.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{RUN_FOLDER_PREFIX}*"):
        if _owner(folder) == os.fsencode(layout.private):
            shutil.rmtree(folder, ignore_errors=True)


def _owner(folder: Path) -> bytes | None:
    try:
        return (folder / _OWNER).read_bytes()
    except OSError:
        return None


def remove_litter(top: Path, run: Run, names: Sequence[str]) -> None:
    """Remove the empty folders of these names that a killed agent left at the top of the worktree.

    Those made before the run began are someone else's, as is everything that is not empty.
    """
    for name in names:
        folder = top / name
        try:
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_mtime_ns >= parse_timestamp(run.started_at):
                folder.rmdir()
        except OSError:
            # Not there, or not empty.
            continue
