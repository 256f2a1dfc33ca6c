"""Remove whole folders of ours."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.errors import UnusableError


def remove_tree(folder: Path, *, keep: str | None = None) -> None:
    """Remove a folder with everything in it, read-only folders included, or all in it but one name.

    Whatever can be removed is. Raises UnusableError that names something that cannot.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    left = list(_empty(folder, keep))
    if left:
        _make_writable(folder)
        left = list(_empty(folder, keep))
    try:
        if left:
            raise left[0]
        if keep is None:
            folder.rmdir()
    except OSError as error:
        message = f"cannot remove {error.filename}: {error.strerror}"
        raise UnusableError(message, hint="make it writable") from error


def _empty(folder: Path, keep: str | None) -> Iterator[OSError]:
    """Remove what is in a folder, and yield why something stays."""
    failures: list[OSError] = []

    def fail(_call: object, path: str, info: tuple[object, BaseException, object]) -> None:
        error = info[1]
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
            failures.append(OSError(error.errno, error.strerror, path))

    try:
        entries = [entry for entry in os.scandir(folder) if entry.name != keep]
    except OSError as error:
        yield error
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, onerror=fail)
        else:
            try:
                Path(entry.path).unlink(missing_ok=True)
            except OSError as error:
                yield error
    yield from failures


def _make_writable(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    for place, names, _ in os.walk(folder):
        for inner in (Path(place, name) for name in names):
            if not inner.is_symlink():
                with contextlib.suppress(OSError):
                    inner.chmod(0o700)
