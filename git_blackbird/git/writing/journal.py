"""Note which paths of a change are written into a worktree, to tell them from edits after a kill."""

import json
import os
import secrets
from collections.abc import Iterator
from typing import Any

from git_blackbird.git.core.repository import Repository
from git_blackbird.model.base.system import boot_id


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
        return frozenset(
            os.fsencode(path) for kind, path, *inode in lines if self._is_written(kind, path, inode)
        )

    def _is_written(self, kind: str, path: str, inode: list[int]) -> bool:
        if kind == "after":
            return True
        try:
            return (self._top / path).lstat().st_ino == inode[0]
        except OSError:
            return False

    def _add(self, line: list[Any]) -> None:
        with self._file.open("a", encoding="ascii") as file:
            file.write(f"{json.dumps(line)}\n")

    def _lines(self) -> Iterator[list[Any]]:
        """Return the lines that are whole: a kill may have cut the last one."""
        try:
            lines = self._file.read_text(encoding="ascii").split("\n")[:-1]
        except FileNotFoundError:
            return
        yield from map(json.loads, lines)
