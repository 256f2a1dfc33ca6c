"""What a run, or all runs of a task since its last approval, did to the worktree."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.ids import ObjectId
from git_blackbird.model.recorded import Recorded

MAX_FILES = 25
MAX_DIFFSTAT_BYTES = 4000
MAX_SNIPPETS = 3
MAX_SNIPPET_LINES = 20
MAX_SNIPPET_BYTES = 800
MAX_CHANGES = 1000
MAX_OUTSIDE = 200


class FileStatus(StrEnum):
    """The letters of ``git status --porcelain`` for one path of a change."""

    ADDED = "A"
    MODIFIED = "M"
    DELETED = "D"
    RENAMED = "R"
    TYPE_CHANGED = "T"


@dataclass(frozen=True, kw_only=True)
class FileChange(Recorded):
    """One path of a change.

    ``path`` is plain text with U+FFFD where the name is not UTF-8; ``path_b64`` then holds the
    exact bytes. ``additions`` and ``deletions`` are lines, 0 for binary files.
    """

    status: FileStatus
    path: str
    old_path: str | None = None
    path_b64: str | None = None
    additions: int = 0
    deletions: int = 0
    binary: bool = False
    old_mode: str | None = None
    new_mode: str | None = None


@dataclass(frozen=True, kw_only=True)
class Snippet(Recorded):
    """A bounded excerpt of one file's diff."""

    file: str
    snippet: str


@dataclass(frozen=True, kw_only=True)
class Totals(Recorded):
    """Counts over the whole change, whatever of it is listed."""

    files: int = 0
    additions: int = 0
    deletions: int = 0


@dataclass(frozen=True, kw_only=True)
class LeftOut(Recorded):
    """A path a snapshot does not hold, and why."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Between(Recorded):
    """A path of the change that another run touched between two runs of this task."""

    path: str
    task: str
    run: str


@dataclass(frozen=True, kw_only=True)
class OutsideMove(Recorded):
    """A move of HEAD during a run that is not known to be the run's: a commit, a pull, another branch.

    ``text`` is git's own word for it, ``old`` what HEAD named before, None if nothing. What it brought is no
    part of the change, unless it is not known whose it was (``in_change``). ``paths`` are those of the
    change that it changed as well.
    """

    old: ObjectId | None = None
    new: ObjectId
    text: str
    paths: tuple[str, ...] = ()
    in_change: bool = False


@dataclass(frozen=True, kw_only=True)
class SubmoduleChange(Recorded):
    """A submodule that a run moved to another commit, or inside which it left something uncommitted."""

    path: str
    commits: bool = False
    content: bool = False


@dataclass(frozen=True, kw_only=True)
class Summary(Recorded):
    """``review_summary`` of a run record (spec 2), bounded; ``cut`` says what was left away."""

    files: tuple[str, ...] = ()
    diffstat: str = ""
    snippets: tuple[Snippet, ...] = ()
    changes: tuple[FileChange, ...] = ()
    totals: Totals = Totals()
    cut: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    between: tuple[Between, ...] = ()
    outside: tuple[OutsideMove, ...] = ()
    submodules: tuple[SubmoduleChange, ...] = ()
    minimal: str | None = None


class TreePair(NamedTuple):
    """Two git trees of the worktree: how it was and how it became."""

    base: str
    head: str

    @property
    def is_empty(self) -> bool:
        """Whether the worktree became no other."""
        return self.base == self.head
