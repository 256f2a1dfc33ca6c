"""Save a file so that a crash leaves either the old or the new one."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.storage.files import require_inside
from git_blackbird.storage.paths import Paths

_counter = iter(range(1 << 62))


class SaveError(UnusableError):
    """A file could not be saved; the old one is unchanged."""

    def __init__(self, path: Path, error: OSError) -> None:
        hint = refusal_hint(error) or "make it writable, then repeat the command"
        super().__init__(
            f"cannot save {path}: {error.strerror or error}", hint=f"nothing was half-written; {hint}"
        )


def write_atomic(paths: Paths, path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Save ``data`` as ``path``: temporary file, fsync, rename, fsync of the folder.

    Raises SaveError; the old content then stays.
    """
    try:
        paths.make_folder(paths.tmp)
        if path.is_relative_to(paths.state):
            paths.make_folder(path.parent)
        _replace(paths, path, data, mode)
    except OSError as error:
        raise SaveError(path, error) from error


def _replace(paths: Paths, path: Path, data: bytes, mode: int) -> None:
    # The plan may be a link within the worktree; a link inside the state is hostile and is replaced.
    target = path if path.is_relative_to(paths.state) else Path(require_inside(paths.state_root, path))
    try:
        _write_and_rename(paths.tmp / _temporary_name(target), target, data, mode)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # A rename across file systems, such as a mount inside the worktree, is not possible.
        _replace_beside(target, data, mode)


def replace_durably(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Save a file outside of ``.blackbird/`` atomically, through a temporary file beside it.

    A link stays a link. Raises OSError.
    """
    _replace_beside(Path(os.path.realpath(path)), data, mode)


def _replace_beside(target: Path, data: bytes, mode: int) -> None:
    _write_and_rename(target.with_name(f".{_temporary_name(target)}"), target, data, mode)


def _temporary_name(target: Path) -> str:
    return f"{target.name}.{os.getpid()}.{next(_counter)}.tmp"


def _write_and_rename(temporary: Path, target: Path, data: bytes, mode: int) -> None:
    try:
        with _created(temporary, mode) as descriptor:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        os.rename(temporary, target)  # noqa: PTH104  # the plain system call, as its name in traces
        fsync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _created(path: Path, mode: int) -> Iterator[int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(path, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def fsync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, data: bytes) -> None:
    """Save one of our files in the git directory: whole or not at all, but without fsync.

    Raises SaveError.
    """
    temporary = path.with_name(_temporary_name(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _created(temporary, 0o600) as descriptor:
            _write_all(descriptor, data)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise SaveError(path, error) from error


def move_aside(paths: Paths, path: Path, aside: Path) -> None:
    """Move whatever is at ``path`` to another name below ``.blackbird/``.

    Raises SaveError.
    """
    try:
        paths.make_folder(aside.parent)
        path.rename(aside)
    except OSError as error:
        raise SaveError(aside, error) from error


def sweep_temporaries(paths: Paths) -> int:
    """Remove leftovers of crashed saves from the temporary folder; return their number.

    Requires the store lock: nobody else is saving then.
    """
    if paths.state.is_symlink() or paths.tmp.is_symlink() or not paths.tmp.is_dir():
        return 0
    return sum(_is_removed(path) for path in paths.tmp.glob("*.tmp"))


def _is_removed(path: Path) -> bool:
    """Remove a file and return whether it is gone; an agent may have put something else there."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
