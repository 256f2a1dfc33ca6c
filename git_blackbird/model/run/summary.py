"""The change that a run, or all runs of a task since its last approval, made to the worktree."""

from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.base.record import Record

MAX_FILES = 25
MAX_DIFFSTAT_BYTES = 4000
MAX_SNIPPETS = 3
MAX_SNIPPET_LINES = 20
MAX_SNIPPET_BYTES = 800
MAX_CHANGES = 1000
MAX_OUTSIDE = 200
MAX_SUBMODULE_FILES = 25


class FileStatus(StrEnum):
    """The letters of ``git status --porcelain`` for one path of a change."""

    ADDED = "A"
    MODIFIED = "M"
    DELETED = "D"
    RENAMED = "R"
    TYPE_CHANGED = "T"


class FileChange(Record):
    """One path of a change.

    ``path`` is plain text with U+FFFD if the name is not UTF-8; ``path_b64`` then holds the exact bytes.
    ``additions`` and ``deletions`` are lines, 0 for binary files.
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


class Snippet(Record):
    """A bounded excerpt of one file's diff."""

    file: str
    snippet: str


class Totals(Record):
    """Counts over the whole change, including what is not listed."""

    files: int = 0
    additions: int = 0
    deletions: int = 0


class SkippedPath(Record):
    """A path that is missing in a snapshot, and why."""

    path: str
    reason: str


class InterleavedEdit(Record):
    """A path of the change that another run touched between two runs of this task."""

    path: str
    task: str
    run: str


class OutsideMove(Record):
    """A move of HEAD during a run that the run may not have made: a commit, a pull, another branch.

    ``text`` is git's word for it, ``old`` the previous commit, None if nothing. What it changed is not part
    of the change, unless its origin is unknown (``in_change``). ``paths`` are those of the change that it
    changed as well.
    """

    old: ObjectId | None = None
    new: ObjectId
    text: str
    paths: tuple[str, ...] = ()
    in_change: bool = False


class SwitchedBranch(Record):
    """Where an agent went that left the commit which the worktree of its task began with.

    Its change is what is there since ``since``, a commit from before; all that differs where that is None.
    ``branch`` is None for a detached HEAD. ``unmerged`` are paths at which the change does not merge with
    what the worktree began with.
    """

    branch: str | None = None
    since: ObjectId | None = None
    unmerged: tuple[str, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether a person has to say what the change is."""
        return self.since is None or bool(self.unmerged)


class SubmoduleChange(Record):
    """A submodule that a run moved to another commit, or in which it left something uncommitted.

    ``files`` are the first paths in it that are not committed, ``more_files`` how many others there are.
    """

    path: str
    commits: bool = False
    content: bool = False
    files: tuple[str, ...] = ()
    more_files: int = 0


class Summary(Record):
    """``review_summary`` of a run record, bounded; ``cut`` says what was omitted.

    ``takes_back``: paths at which the change takes back what was in the worktree, and in no commit.
    """

    files: tuple[str, ...] = ()
    diffstat: str = ""
    snippets: tuple[Snippet, ...] = ()
    changes: tuple[FileChange, ...] = ()
    totals: Totals = Field(default_factory=Totals)
    cut: tuple[str, ...] = ()
    left_out: tuple[SkippedPath, ...] = ()
    between: tuple[InterleavedEdit, ...] = ()
    outside: tuple[OutsideMove, ...] = ()
    submodules: tuple[SubmoduleChange, ...] = ()
    switched: SwitchedBranch | None = None
    takes_back: tuple[str, ...] = ()
    minimal: str | None = None


class Trees(NamedTuple):
    """Two git trees of the worktree: before and after."""

    base: str
    head: str

    @property
    def is_empty(self) -> bool:
        """Whether both trees are the same."""
        return self.base == self.head


class KeptPath(Record):
    """A path that undo or redo left as it was, and why; a person changes it by hand."""

    path: str
    reason: str
