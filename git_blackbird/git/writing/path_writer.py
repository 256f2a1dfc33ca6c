"""The only writer of files in a worktree: it follows no link, and replaces only files in a known state.

Its journal tells after a kill which paths it has written, from later edits.
"""

import contextlib
import ctypes
import errno
import json
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

from git_blackbird.git.core.repository import Repository
from git_blackbird.model.base.system import TEMPORARY, boot_id


class Journal:
    """The journal of one worktree, about one change at a time, which ``mark`` names.

    Its lines are not made durable: after another start of the system they do not count, nor where it is not
    known which start it is.
    """

    def __init__(self, repo: Repository, mark: str) -> None:
        self._top = repo.top
        self._file = repo.private_dir / "journal"
        self._header = [mark, boot_id() or secrets.token_hex(8)]

    def open(self) -> None:
        """Continue the journal of this change, or start a new one. Raises OSError."""
        if next(self._lines(), None) != self._header:
            self._file.unlink(missing_ok=True)
            self._add(self._header)

    def note_write(self, path: bytes, inode: int) -> None:
        """Note that a path is about to be a file of this inode; 0 where it is removed. Raises OSError."""
        self._add(["before", os.fsdecode(path), inode])

    def note_written(self, path: bytes) -> None:
        """Note that it has been written. Raises OSError."""
        self._add(["after", os.fsdecode(path)])

    def clear(self) -> None:
        """Remove it, once the written paths are recorded."""
        self._file.unlink(missing_ok=True)

    def written(self) -> frozenset[bytes]:
        """Return the paths that were written, whatever is at them by now."""
        lines = self._lines()
        if next(lines, None) != self._header:
            return frozenset()
        written = set()
        for kind, path, *inode in lines:
            with contextlib.suppress(OSError):
                if kind == "after" or (self._top / path).lstat().st_ino == inode[0]:
                    written.add(os.fsencode(path))
        return frozenset(written)

    def _add(self, line: list[Any]) -> None:
        with self._file.open("a", encoding="ascii") as file:
            file.write(f"{json.dumps(line)}\n")

    def _lines(self) -> Iterator[list[Any]]:
        """Yield the complete lines; a kill may have cut the last one."""
        try:
            lines = self._file.read_text(encoding="ascii").split("\n")[:-1]
        except FileNotFoundError:
            return
        yield from map(json.loads, lines)


EDITED = "it was edited at the same moment"
_FOLDER = "a folder with other files is in its place"
_BEYOND_LINK = "a symbolic link leads elsewhere"
NESTED = "a git repository of its own is in its path"
_EXECUTABLE = 0o111
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_SWAP = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})
_AT_FDCWD = -100 if sys.platform == "linux" else -2
_SWAP = 2

Signature = tuple[int, ...]


def signature_of(place: Path | bytes, folder: int | None = None) -> Signature:
    """Return a signature that every write changes; empty if there is nothing, or a folder."""
    try:
        status = os.stat(place, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return ()
    if stat.S_ISDIR(status.st_mode):
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


class PathWriter:
    """Writes paths of one worktree, each from the descriptor of its top, one folder after the other.

    What is replaced or removed is moved to ``private`` first, and put back if it is not what was expected.
    """

    def __init__(self, repo: Repository, private: Path, journal: Journal) -> None:
        self._repo = repo
        self._private = private
        self._journal = journal
        self._temporary_files = repo.private_dir / "temporary-files"
        # The inodes of the written files.
        self._written: set[Signature] = set()

    def __enter__(self) -> Self:
        self._sweep()
        # Its top itself may be reached through a link.
        self._top = os.open(self._repo.top, _OPEN_FOLDER & ~os.O_NOFOLLOW)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._top)
        self._sweep()

    def _sweep(self) -> None:
        """Remove what a killed command may have left beside the files that it wrote."""
        with contextlib.suppress(FileNotFoundError):
            for line in self._temporary_files.read_bytes().splitlines():
                if line.rpartition(b"/")[2].startswith(os.fsencode(TEMPORARY)):
                    Path(os.fsdecode(line)).unlink(missing_ok=True)
            self._temporary_files.unlink()

    def write(self, path: bytes, new: Path | None, expected: Signature) -> str | None:
        """Put a file in the place of a path, or remove it with None; return why it stays as it is."""
        *folders, name = path.split(b"/")
        try:
            with self._opened(folders, is_made=new is not None) as folder:
                now = signature_of(name, folder)
                if now != expected:
                    # A file system that folds case has what was just written under the removed name, too.
                    return None if new is None and now[3:4] in self._written else EDITED
                if new is None:
                    self._journal.note_write(path, 0)
                    reason = self._remove(folder, folders, name, expected)
                else:
                    reason = self._put(folder, path, new, expected)
                    self._written.add(signature_of(name, folder)[3:4])
                if reason is None:
                    self._journal.note_written(path)
                return reason
        except _BlockedError as error:
            return str(error)
        except FileExistsError:
            return EDITED
        except OSError as error:
            return f"it cannot be written: {error.strerror}"

    @contextlib.contextmanager
    def _opened(self, folders: Sequence[bytes], *, is_made: bool) -> Iterator[int]:
        here = os.dup(self._top)
        try:
            for name in folders:
                below = _open_below(here, name, is_made=is_made)
                os.close(here)
                here = below
                with contextlib.suppress(FileNotFoundError):
                    os.stat(".git", dir_fd=here, follow_symlinks=False)
                    raise _BlockedError(NESTED)
            yield here
        finally:
            os.close(here)

    def _put(self, folder: int, path: bytes, new: Path, expected: Signature) -> str | None:
        *folders, name = path.split(b"/")
        source, is_beside = self._on_same_device(folder, folders, new)
        place = folder if is_beside else None
        try:
            self._journal.note_write(path, os.stat(source, dir_fd=place, follow_symlinks=False).st_ino)
            if not expected:
                # An empty folder is not in the way.
                if _is_folder(folder, name) and not _try_remove_folder(folder, name):
                    return _FOLDER
                os.link(source, name, src_dir_fd=place, dst_dir_fd=folder, follow_symlinks=False)
                return None
            _keep_permissions(source, place, expected[4])
            return _replace(source, place, name, folder, expected)
        finally:
            if is_beside:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(source, dir_fd=folder)

    def _on_same_device(self, folder: int, folders: Sequence[bytes], new: Path) -> tuple[bytes, bool]:
        """Return a file on the file system of a folder: the file itself, or a copy beside its target."""
        source = os.fsencode(new)
        if os.fstat(folder).st_dev == os.lstat(source).st_dev:
            return source, False
        beside = self._temporary_name(folders)
        if new.is_symlink():
            os.symlink(new.readlink(), os.fsdecode(beside), dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with new.open("rb") as reader:
                mode = stat.S_IMODE(os.fstat(reader.fileno()).st_mode)
                with os.fdopen(os.open(beside, flags, 0o600, dir_fd=folder), "wb") as writer:
                    shutil.copyfileobj(reader, writer)
                    os.fchmod(writer.fileno(), mode)
        return beside, True

    def _temporary_name(self, folders: Sequence[bytes]) -> bytes:
        """Return a name for a temporary file in a folder, and note it, to be removed after a kill."""
        beside = os.fsencode(f"{TEMPORARY}{secrets.token_hex(8)}")
        above = b"/".join((os.fsencode(self._repo.top), *folders))
        with self._temporary_files.open("ab") as names:
            names.write(above + b"/" + beside + b"\n")
        return beside

    def _remove(self, folder: int, folders: Sequence[bytes], name: bytes, expected: Signature) -> str | None:
        aside, place = os.fsencode(self._private / secrets.token_hex(8)), None
        try:
            os.rename(name, aside, src_dir_fd=folder)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            aside, place = self._temporary_name(folders), folder
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        is_expected = _is_as_expected(aside, place, expected)
        if not is_expected:
            # Where there is another by now, that one is the later.
            with contextlib.suppress(FileExistsError):
                os.link(aside, name, src_dir_fd=place, dst_dir_fd=folder, follow_symlinks=False)
        if place is not None:
            os.unlink(aside, dir_fd=place)
        if not is_expected:
            return EDITED
        # The folders above go too, innermost first, as long as they are empty.
        with contextlib.suppress(OSError, _BlockedError):
            for end in range(len(folders), 0, -1):
                with self._opened(folders[: end - 1], is_made=False) as above:
                    os.rmdir(folders[end - 1], dir_fd=above)
        return None


class _BlockedError(Exception):
    """A path cannot be reached; the message says why."""


def _open_below(here: int, name: bytes, *, is_made: bool) -> int:
    """Open a folder, made if need be, through no link. Raises _BlockedError, OSError."""
    try:
        return os.open(name, _OPEN_FOLDER, dir_fd=here)
    except FileNotFoundError:
        if not is_made:
            raise
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=here)
        return os.open(name, _OPEN_FOLDER, dir_fd=here)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise
        if stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            raise _BlockedError(_BEYOND_LINK) from error
        raise FileExistsError(errno.EEXIST, "a file is in the way", os.fsdecode(name)) from error


def _replace(source: bytes, place: int | None, name: bytes, folder: int, expected: Signature) -> str | None:
    """Replace a file if it is as expected; else leave both and return why."""
    own = signature_of(source, place)[3]
    if _swap(source, place, name, folder):
        if _is_as_expected(source, place, expected):
            return None
        _swap(source, place, name, folder)
        if signature_of(source, place)[3:4] != (own,):
            # Saved once more between the two: the later one stays.
            _swap(source, place, name, folder)
        return EDITED
    # Moved aside and linked: never written over.
    aside = source + b".old"
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=place)
    wanted = source if _is_as_expected(aside, place, expected) else aside
    os.link(wanted, name, src_dir_fd=place, dst_dir_fd=folder, follow_symlinks=False)
    if place is not None:
        os.unlink(aside, dir_fd=place)
    return None if wanted is source else EDITED


def _is_as_expected(name: bytes, folder: int | None, expected: Signature) -> bool:
    """Whether a moved file is the one that was noted: moving it changes only the time of its inode."""
    found = signature_of(name, folder)
    return found[:1] + found[2:] == expected[:1] + expected[2:]


def _swap(source: bytes, place: int | None, name: bytes, folder: int) -> bool:
    """Exchange two files at once; False where the system cannot. Raises OSError."""
    exchange = _exchange()
    if exchange is None:
        return False
    # As for every other change of a file: traces see it.
    sys.audit("os.rename", source, name, place, folder)
    if exchange(_AT_FDCWD if place is None else place, source, folder, name, _SWAP) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_SWAP:
        return False
    raise OSError(code, os.strerror(code), os.fsdecode(name))


@cache
def _exchange() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "renameat2" if sys.platform == "linux" else "renameatx_np", None)
    if function is not None:
        function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function


def _keep_permissions(source: bytes, place: int | None, old: int) -> None:
    """Give a new file the permissions to read and write of the old one; git keeps only the executable bit."""
    mode = os.stat(source, dir_fd=place, follow_symlinks=False).st_mode
    if stat.S_ISREG(old) and stat.S_ISREG(mode):
        kept = stat.S_IMODE(old) & ~_EXECUTABLE
        os.chmod(source, kept | (kept >> 2 & _EXECUTABLE if mode & stat.S_IXUSR else 0), dir_fd=place)


def _is_folder(folder: int, name: bytes) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _try_remove_folder(folder: int, name: bytes) -> bool:
    """Remove a folder with nothing but folders in it; return whether it was one."""
    with contextlib.suppress(OSError):
        for _, folders, _, below in os.fwalk(name, topdown=False, dir_fd=folder):
            for each in folders:
                os.rmdir(each, dir_fd=below)
        os.rmdir(name, dir_fd=folder)
        return True
    return False
