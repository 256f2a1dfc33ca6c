"""A run's private folder for its prompt and its TMPDIR, outside the repository and removed afterwards."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.model.ids import RunId
from git_blackbird.storage.layout import Layout

_PREFIX = "git-blackbird-"
_OWNER = "worktree"


@contextlib.contextmanager
def work_folder(layout: Layout, run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run; it says whose it is, so that it can be found after a crash."""
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{run_id}-"))
    try:
        (folder / _OWNER).write_bytes(os.fsencode(layout.private))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_work_folders(layout: Layout) -> None:
    """Remove the folders that killed programs left of this worktree's runs.

    Needs the controller lock, and every run closed: then none of them is in use.
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _owner(folder) == os.fsencode(layout.private):
            shutil.rmtree(folder, ignore_errors=True)


def _owner(folder: Path) -> bytes | None:
    try:
        return (folder / _OWNER).read_bytes()
    except OSError:
        return None
