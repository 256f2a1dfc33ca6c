"""A run's private folder for its prompt and its TMPDIR, outside the repository and removed afterwards."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.model.ids import RunId


@contextlib.contextmanager
def work_folder(run_id: RunId) -> Iterator[Path]:
    """Make the folder of one run, named after it so that it can be found after a crash."""
    folder = Path(tempfile.mkdtemp(prefix=_prefix(run_id)))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_work_folders(run_id: RunId) -> None:
    """Remove what a run whose program was killed left of its folder."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_prefix(run_id)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _prefix(run_id: RunId) -> str:
    return f"git-blackbird-{run_id}-"
