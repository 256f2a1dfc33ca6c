"""Whole folders: copy ignored files elsewhere, sharing their content where possible, and remove ours."""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.output import texts
from git_blackbird.git.core.process import nul_ended, operands
from git_blackbird.git.core.repository import Repository
from git_blackbird.model.base.system import HIDDEN, refusal_hint

_FICLONE = 0x40049409
_PIECE_BYTES = 1 << 20
# What programs are started by, and find their libraries by, is near the top.
_MOST_LOOKED_AT = 1000
_MOST_READ_BYTES = 64 * 1024
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def list_ignored(repo: Repository, patterns: Sequence[str]) -> list[str]:
    """List the files and whole folders, but ours, that git ignores and that patterns match.

    Patterns are as in ``.gitignore``. Raises GitError.
    """
    if not patterns:
        return []
    matched = _listed(repo, *(f"--exclude={pattern}" for pattern in patterns))
    matched = [name for name in matched if name.split("/")[0] not in HIDDEN]
    stdin = nul_ended(map(os.fsencode, matched))
    answer = repo.git("check-ignore", "-z", "--stdin", stdin=stdin, check=False)
    ignored = set(answer.records(texts))
    # Of a folder that git does not ignore, what it ignores below.
    others = [name for name in matched if name not in ignored and name.endswith("/")]
    below = _listed(repo, "--exclude-standard", *operands(*others)) if others else []
    return sorted({*(ignored & set(matched)), *below})


def list_all_ignored(repo: Repository) -> list[str]:
    """List the files and whole folders, but ours, that git ignores. Raises GitError."""
    names = sorted(_listed(repo, "--exclude-standard"))
    # Git lists a folder beside what it ignores there, where that is all that the folder has.
    whole = (name for name, following in pairwise([*names, ""]) if not following.startswith(name))
    return [name for name in whole if name.split("/")[0] not in HIDDEN]


def _listed(repo: Repository, *options: str) -> list[str]:
    listing = ("--literal-pathspecs", "ls-files", "-z", "--others", "--ignored", "--directory")
    return repo.git(*listing, *options).records(texts)


def count_bytes(top: Path, names: Sequence[str], target: Path) -> int:
    """Return how many bytes a copy in another folder takes: none if it can share the content of files.

    The first file with content is tried. Raises UnusableError.
    """
    with _naming_failures():
        first = next((path for path, status in _files(top, names) if status.st_size), None)
        if first is None:
            return 0
        source = os.open(first, _READ)
        try:
            with tempfile.TemporaryFile(dir=target) as probe:
                is_shared = _share(source, probe.fileno())
        finally:
            os.close(source)
        return 0 if is_shared else sum(status.st_size for _, status in _files(top, names))


def _files(top: Path, names: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every regular file of these; files that disappear meanwhile are left out."""
    pending = [os.path.join(top, name.rstrip("/")) for name in reversed(names)]  # noqa: PTH118  # faster
    while pending:
        path = pending.pop()
        try:
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode):
                yield path, status
            elif stat.S_ISDIR(status.st_mode):
                pending += (entry.path for entry in os.scandir(path))
        except FileNotFoundError:
            continue


def first_naming(top: Path, name: str) -> str | None:
    """Return a file at or below a path of a worktree that names the worktree's own folder, or None.

    A copy of it would lead back to that worktree, as programs of a virtual environment do. Text files and
    links are read, those nearest to the top first, up to a number of them. Raises UnusableError.
    """
    whole = re.compile(re.escape(os.fsencode(top)) + rb"(?![\w.-])")
    level, looked_at = [os.path.join(top, name.rstrip("/"))], 0  # noqa: PTH118  # faster
    with _naming_failures():
        while level and looked_at < _MOST_LOOKED_AT:
            for path in level[: _MOST_LOOKED_AT - looked_at]:
                if whole.search(_beginning(path)):
                    return os.path.relpath(path, top)
            looked_at += len(level)
            level = [below for path in level for below in _entries(path)]
    return None


def _beginning(path: str) -> bytes:
    """Return where a link leads, or the beginning of a text file; nothing of anything else."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(path))  # noqa: PTH115
        if not stat.S_ISREG(status.st_mode):
            return b""
        with open(os.open(path, _READ), "rb") as file:  # noqa: PTH123  # not through a link
            content = file.read(_MOST_READ_BYTES)
    except (FileNotFoundError, PermissionError):
        return b""
    return b"" if b"\0" in content else content


def _entries(path: str) -> list[str]:
    try:
        return [] if os.path.islink(path) else sorted(entry.path for entry in os.scandir(path))  # noqa: PTH114
    except OSError:
        return []


def copy_files(top: Path, names: Sequence[str], target: Path, is_stopped: Callable[[], bool]) -> None:
    """Copy these files and folders of one worktree into another, with modes, times and links.

    What is there already stays, and nothing is written through a link; sockets and the like are left out.
    ``is_stopped`` is asked again and again. Raises UnusableError.
    """
    copier = _Copier(is_stopped)
    with _naming_failures():
        for name in names:
            copier.copy_at(f"{top}", f"{target}", name.rstrip("/").split("/"))


@contextlib.contextmanager
def _naming_failures() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        message = f"cannot copy{where}: {error.strerror or error}"
        raise UnusableError(message, hint=refusal_hint(error)) from error


class _Copier:
    def __init__(self, is_stopped: Callable[[], bool]) -> None:
        self._is_stopped = is_stopped

    def copy_at(self, source: str, target: str, steps: Sequence[str]) -> None:
        """Copy what is at a path, step by step: a folder on the way may be a link, or missing."""
        for step in steps[:-1]:
            source, target = f"{source}/{step}", f"{target}/{step}"
            status = os.lstat(source)
            if not os.path.lexists(target):
                os.mkdir(target, stat.S_IMODE(status.st_mode))  # noqa: PTH102  # texts, as below
            if not stat.S_ISDIR(os.lstat(target).st_mode):
                return
        self._copy(f"{source}/{steps[-1]}", f"{target}/{steps[-1]}")

    def _copy(self, source: str, target: str) -> None:
        self._require_going_on()
        try:
            status = os.lstat(source)
        except FileNotFoundError:
            # Something else works there.
            return
        if stat.S_ISDIR(status.st_mode):
            self._copy_folder(source, target, status)
        elif os.path.lexists(target):
            return
        elif stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)
        elif stat.S_ISREG(status.st_mode):
            self._copy_file(source, target, status)

    def _require_going_on(self) -> None:
        if self._is_stopped():
            raise UnusableError("the copying was interrupted")

    def _copy_folder(self, source: str, target: str, status: os.stat_result) -> None:
        is_new = not os.path.lexists(target)
        if is_new:
            os.mkdir(target, 0o700)  # noqa: PTH102
        elif not stat.S_ISDIR(os.lstat(target).st_mode):
            return
        for name in os.listdir(source):
            self._copy(f"{source}/{name}", f"{target}/{name}")
        if is_new:
            os.chmod(target, stat.S_IMODE(status.st_mode))  # noqa: PTH101
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _copy_file(self, source: str, target: str, status: os.stat_result) -> None:
        reader = os.open(source, _READ)
        try:
            writer = os.open(target, _CREATE, 0o600)
            try:
                is_shared = _share(reader, writer)
                while not is_shared and (piece := os.read(reader, _PIECE_BYTES)):
                    self._require_going_on()
                    while piece:
                        piece = piece[os.write(writer, piece) :]
                os.fchmod(writer, stat.S_IMODE(status.st_mode))
                os.utime(writer, ns=(status.st_atime_ns, status.st_mtime_ns))
            finally:
                os.close(writer)
        finally:
            os.close(reader)


def _share(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def remove_tree(folder: Path, *, keep: str | None = None) -> None:
    """Remove a folder of ours with everything in it, read-only folders included, or all in it but one name.

    Whatever can be removed is. Raises UnusableError that names something that cannot.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    left = list(_empty(folder, keep))
    if left:
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
        for place, names, _ in os.walk(folder):
            for inner in (Path(place, name) for name in names):
                if not inner.is_symlink():
                    with contextlib.suppress(OSError):
                        inner.chmod(0o700)
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
    """Remove what is in a folder, and yield the errors."""
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
