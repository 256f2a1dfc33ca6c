"""Read files that a clone or an agent may have put in place, and save files so that a crash loses none."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.system import make_own_folder, refusal_hint
from git_blackbird.storage.paths import Paths

_PIECE_BYTES = 64 * 1024
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# How many bytes are read of a file that a person names.
MOST_NAMED = 64 * 1024 * 1024


class OutsideError(OSError):
    """A link in the path leads out of the worktree, to ``where``."""

    def __init__(self, path: Path | str, where: str) -> None:
        super().__init__(errno.ELOOP, f"leads out of the worktree, to {where}", str(path))
        self.where = where


def load_bytes(path: Path, *, known: bytes = b"") -> bytes:
    """Return the content of a regular file of the user's own, or of a link to one; or that very ``known``.

    A pipe or a device in its place would block the reader or never end. Raises OSError.
    """
    return _load(os.open(path, _READ), path, known)


def load_in(folder: int, name: str) -> bytes:
    """Return the content of a regular file in an open folder; a link is not followed. Raises OSError."""
    return _load(os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder), name)


def load_inside(top: Path, path: Path, *, known: bytes = b"", limit: int | None = None) -> bytes:
    """Return the content of a regular file of the worktree at ``top``; links within it are followed.

    If the content equals ``known``, return that object, so that a large unchanged file is not stored twice.
    With a ``limit`` at most so many bytes are read. Raises OSError, and OutsideError for a path that leads
    out of the worktree.
    """
    return _load(_open_inside(top, path), path, known, limit)


def load_named(path: str | None, within: Path | None = None) -> bytes:
    """Return what is in a file that a person named, which may be a pipe, or in standard input for None.

    ``within`` is the folder that was named in its stead: it must be a regular file there then, and links
    are followed within that folder alone. Raises OSError, and OutsideError for a link that leads out.
    """
    if path is None:
        descriptor = os.dup(0)
    elif within is None:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    else:
        descriptor = _open_inside(within.absolute(), Path(path).absolute())
    with open(descriptor, "rb") as file:  # noqa: PTH123  # an open descriptor
        if within is not None:
            _require_file(descriptor, str(path))
        data = file.read(MOST_NAMED + 1)
    if len(data) > MOST_NAMED:
        raise OSError(errno.EFBIG, f"larger than {MOST_NAMED >> 20} MB", path)
    return data


@contextlib.contextmanager
def opened_folder(folder: Path | str, top: Path | None = None) -> Iterator[int]:
    """Open a folder that is no link; with ``top`` through no link below that either. Raises OSError."""
    if top is None:
        descriptor = os.open(folder, _FOLDER | os.O_NOFOLLOW)
    else:
        descriptor = _open_below(top, folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_inside(top: Path, path: Path) -> int:
    """Open a file without following links, or its real path if that is inside."""
    try:
        return _open_below(top, path, _READ)
    except OutsideError:
        raise
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise
    where = _real_path(top, path)
    if os.path.islink(where):  # noqa: PTH114  # it is a text
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return _open_below(os.path.realpath(top), where, _READ)


def _real_path(top: Path, path: Path) -> str:
    """Return the real path of one of the worktree at ``top``, which may not exist.

    The git directory is not part of the worktree, because it may hold secrets. Raises OutsideError.
    """
    where = os.path.realpath(path)
    steps = _steps(os.path.realpath(top), where)
    if steps is None or ".git" in map(str.lower, steps):
        raise OutsideError(path, where)
    return where


def _open_below(top: Path | str, path: Path | str, flags: int) -> int:
    """Open a path below ``top`` component by component, so that a link created meanwhile is not followed.

    Raises OutsideError for a path that is not below it.
    """
    steps = _steps(top, path)
    if steps is None:
        raise OutsideError(path, str(path))
    *folders, name = steps
    here = os.open(top, _FOLDER)
    try:
        for step in folders:
            below = os.open(step, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name or ".", flags | os.O_NOFOLLOW, dir_fd=here)
    finally:
        os.close(here)


def _steps(top: Path | str, path: Path | str) -> list[str] | None:
    """Split the way from a folder to a normal path below it; None if the path is elsewhere.

    In place of pathlib, which takes longer than opening the file.
    """
    folder, place = f"{top}/".replace("//", "/"), f"{path}/".replace("//", "/")
    return place[len(folder) : -1].split("/") if place.startswith(folder) else None


def _load(descriptor: int, path: Path | str, known: bytes = b"", limit: int | None = None) -> bytes:
    """Read an open file, and close it."""
    try:
        status = _require_file(descriptor, path)
        if limit is not None:
            return os.read(descriptor, limit)
        if known and status.st_size == len(known):
            place = 0
            while (piece := os.read(descriptor, _PIECE_BYTES)) and piece == known[place : place + len(piece)]:
                place += len(piece)
            if not piece and place == len(known):
                return known
            os.lseek(descriptor, 0, os.SEEK_SET)
        return b"".join(iter(lambda: os.read(descriptor, status.st_size + 1), b""))
    finally:
        os.close(descriptor)


def _require_file(descriptor: int, path: Path | str) -> os.stat_result:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return status


def changed_at(path: Path | str) -> int:
    """Return when a file or folder last changed, in nanoseconds since 1970; 0 if that is unknown."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116  # many of them
    except OSError:
        return 0


_counter = iter(range(1 << 62))


class SaveError(UnusableError):
    """A file could not be saved; the old one is unchanged."""

    def __init__(self, path: Path, error: OSError | UnusableError) -> None:
        hint = error.hint if isinstance(error, UnusableError) else refusal_hint(error)
        why = getattr(error, "strerror", None) or error
        hint = f"nothing was half-written; {hint or 'make it writable, then repeat the command'}"
        super().__init__(f"cannot save {path}: {why}", hint=hint)


def write_atomic(paths: Paths, path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Save ``data`` as ``path``: temporary file in the git directory, fsync, rename, fsync of the folder.

    Raises SaveError; the old content then stays.
    """
    try:
        paths.make_private(paths.private_tmp)
        # Compared as texts: pathlib takes longer than the system.
        if f"{path}".startswith(f"{paths.private}/"):
            paths.make_private(path.parent)
        elif f"{path}".startswith(f"{paths.state}/"):
            paths.make_folder(path.parent)
        # The plan may be a link within the worktree; a link inside the state is hostile and is replaced.
        target = path if path != paths.plan else Path(_real_path(paths.state_root, path))
        try:
            _write_and_rename(paths.private_tmp / _temporary_name(target), target, data, mode)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            # A rename across file systems, such as a mount inside the worktree, is not possible.
            _replace_beside(target, data, mode)
    except OSError as error:
        raise SaveError(path, error) from error


def write_copy(paths: Paths, copy: Path, data: bytes, changed: int) -> None:
    """Replace a file below ``.blackbird/`` that nothing depends on, by rename alone and through no link.

    ``changed`` is the modification time to give it, in nanoseconds since 1970. Raises OSError, and
    UnusableError for a link in the way.
    """
    paths.make_folder(paths.tmp)
    paths.make_folder(copy.parent)
    name = _temporary_name(copy)
    with (
        opened_folder(paths.tmp, paths.state_root) as tmp,
        opened_folder(copy.parent, paths.state_root) as folder,
    ):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(name, flags, 0o600, dir_fd=tmp), "wb") as file:
                file.write(data)
                file.flush()
                os.utime(file.fileno(), ns=(changed, changed))
            os.rename(name, copy.name, src_dir_fd=tmp, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=tmp)
            raise


def remove_copy(paths: Paths, copy: Path) -> None:
    """Remove a file below ``.blackbird/``, if it is there, through no link. Raises OSError."""
    with contextlib.suppress(FileNotFoundError), opened_folder(copy.parent, paths.state_root) as folder:
        os.unlink(copy.name, dir_fd=folder)


def replace_durably(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Save a file outside of ``.blackbird/`` atomically; a link stays a link. Raises OSError."""
    _replace_beside(Path(os.path.realpath(path)), data, mode)


def write_named(path: Path, data: bytes) -> None:
    """Replace a regular file that a user named as a whole, write into anything else. Raises OSError."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | 0o644
    if stat.S_ISREG(mode):
        try:
            replace_durably(path, data, mode=stat.S_IMODE(mode))
        except OSError as error:
            if error.errno != errno.EBUSY:  # something is mounted there
                raise
        else:
            return
    with path.open("wb") as file:
        file.write(data)


def _replace_beside(target: Path, data: bytes, mode: int) -> None:
    _write_and_rename(target.with_name(f".{_temporary_name(target)}"), target, data, mode)


def _temporary_name(target: Path) -> str:
    return f"{target.name}.{os.getpid()}.{next(_counter)}.tmp"


def _write_and_rename(
    temporary: Path, target: Path, data: bytes, mode: int, *, is_durable: bool = True
) -> None:
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(temporary, flags, mode), "wb") as file:
            file.write(data)
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        os.rename(temporary, target)  # noqa: PTH104  # the plain system call, as its name in traces
        if is_durable:
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_private(path: Path, data: bytes) -> None:
    """Save one of our files in the git directory, whole or not, but without fsync. Raises SaveError."""
    temporary = path.with_name(_temporary_name(path))
    try:
        make_own_folder(path.parent)
        _write_and_rename(temporary, path, data, 0o600, is_durable=False)
    except (OSError, UnusableError) as error:
        raise SaveError(path, error) from error


def move_aside(paths: Paths, path: Path, aside: Path) -> None:
    """Move whatever is at ``path`` to another name below ``.blackbird/``. Raises SaveError."""
    try:
        paths.make_folder(aside.parent)
        path.rename(aside)
    except OSError as error:
        raise SaveError(aside, error) from error


def sweep_temporaries(paths: Paths) -> None:
    """Remove the leftovers of crashed saves. Requires the store lock: nobody else is saving then."""
    for folder in (paths.private_tmp, paths.tmp):
        if folder.parent.is_symlink() or folder.is_symlink():
            continue
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in os.listdir(folder):
                # An agent may have put something else there.
                with contextlib.suppress(OSError):
                    if name.endswith(".tmp"):
                        (folder / name).unlink()
