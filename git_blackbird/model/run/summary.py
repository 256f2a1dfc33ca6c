"""What a run, or a whole change, made of its worktree, and what happened outside its place meanwhile."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from operator import not_
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.base.record import Part, Record, Unmasked
from git_blackbird.model.base.shown import Shown

MAX_FILES = 25
MAX_DIFFSTAT_BYTES = 4000
MAX_SNIPPETS = 3
MAX_SNIPPET_LINES = 20
MAX_SNIPPET_BYTES = 800
MAX_CHANGES = 1000
MAX_HEAD_MOVES = 200
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


class EditedTest(FileChange):
    """A file of tests from which a change takes something away; ``weaker`` are tests that assert less."""

    weaker: tuple[str, ...] = ()


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

    path: Unmasked[str]
    reason: str


class InterleavedEdit(Record):
    """A path of the change that another run touched between two runs of this task."""

    path: Unmasked[str]
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
    paths: Unmasked[tuple[str, ...]] = ()
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
    def is_unclear(self) -> bool:
        """Whether a person has to say what the change is."""
        return self.since is None or bool(self.unmerged)


class SubmoduleChange(Record):
    """A submodule that a run moved to another commit, or in which it left something uncommitted.

    ``files`` are the first paths in it that are not committed, ``more_files`` how many others there are.
    """

    path: Unmasked[str]
    commits: bool = False
    content: bool = False
    files: Unmasked[tuple[str, ...]] = ()
    more_files: int = 0


class Summary(Record):
    """``review_summary`` of a run record, bounded; ``cut`` says what was omitted.

    ``takes_back``: paths at which the change takes back what was in the worktree, and in no commit.
    """

    files: Unmasked[tuple[str, ...]] = ()
    diffstat: Unmasked[str] = ""
    snippets: Unmasked[tuple[Snippet, ...]] = ()
    changes: Unmasked[tuple[FileChange, ...]] = ()
    totals: Totals = Field(default_factory=Totals)
    cut: tuple[str, ...] = ()
    left_out: tuple[SkippedPath, ...] = ()
    between: tuple[InterleavedEdit, ...] = ()
    head_moves: tuple[OutsideMove, ...] = Field(default=(), alias="outside")
    submodules: tuple[SubmoduleChange, ...] = ()
    switched: SwitchedBranch | None = None
    takes_back: Unmasked[tuple[str, ...]] = ()
    minimal: str | None = None


class Trees(NamedTuple):
    """Two git trees of the worktree: before and after."""

    base: Annotated[str, Shown("The tree before.")]
    head: Annotated[str, Shown("The tree after.")]

    @property
    def is_empty(self) -> bool:
        return self.base == self.head


class Extent(NamedTuple):
    """How much of a change a diff shows: lines of context, white space or not, only some paths if any."""

    context: int = 3
    ignores_space: bool = False
    paths: tuple[str, ...] = ()


class ChangedLines(NamedTuple):
    """Lines of a file that become others.

    They are ``old_count`` after the first ``old`` lines, and become ``new_count`` after the first ``new``.
    """

    old: int
    old_count: int
    new: int
    new_count: int

    @property
    def reversed(self) -> "ChangedLines":
        return ChangedLines(self.new, self.new_count, self.old, self.old_count)


class ChangePart(NamedTuple):
    """A file or folder of a change, below the top of the worktree; of a file only these ``lines``, if any.

    ``old_path`` is what a renamed file was called before, which is then a part as well.
    """

    path: str
    lines: tuple[ChangedLines, ...] | None = None
    old_path: str | None = None


WHOLE = Extent()
"""What git shows of a change."""


class KeptPath(Record):
    """A path that undo or redo left as it was, and why; a person changes it by hand."""

    path: str
    reason: str


T = TypeVar("T")
MAX_RECORDED = 200
# Settings by which git takes other files, runs other programs or talks to other servers.
_NAMED_SETTING = (
    r"core\.(bare|worktree|hookspath|attributesfile|excludesfile)|include\.path|diff\.external"
    r"|(filter|merge|diff|url|includeif)\..+\..+"
)


class Subject(StrEnum):
    """What of a repository may change outside the place of a run; a ``PLACE`` is a run's own worktree."""

    PLACE = "place"
    WORKTREE = "worktree"
    BRANCH = "branch"
    SETTING = "setting"
    GIT_FILE = "git_file"
    TAG = "tag"
    REMOTE_BRANCH = "remote_branch"
    REFERENCE = "reference"


class OutsideChange(Part):
    """Something that is another than before; None where it is absent.

    ``before`` and ``after`` are a commit, the value of a setting, or a digest. ``name`` is that of a branch
    or a setting, the path of a worktree, or one below the git directory.
    """

    subject: Subject
    name: str
    before: str | None = None
    after: str | None = None

    @property
    def is_named(self) -> bool:
        """Whether people are to know of it: it changes what git does, or where work is."""
        match self.subject:
            case Subject.SETTING:
                return is_named_setting(self.name)
            case Subject.WORKTREE:
                return self.before is None
            case subject:
                return subject in {Subject.PLACE, Subject.BRANCH, Subject.GIT_FILE}


def is_named_setting(key: str) -> bool:
    return re.fullmatch(_NAMED_SETTING, key) is not None


class OutsideCommit(Part):
    """A commit that a run made outside its place, and the worktree in which it made it."""

    commit: ObjectId
    worktree: Unmasked[str]


class Outside(Part):
    """What happened outside a run's place.

    Its own are the ``paths`` that edits in its output name, and the ``commits`` that our hook saw it make.
    ``seen`` is what it or anybody else did while agents worked, ``other`` what raises no word. ``more`` is
    how much of all that is not listed.
    """

    paths: Unmasked[tuple[str, ...]] = ()
    commits: tuple[OutsideCommit, ...] = ()
    seen: tuple[OutsideChange, ...] = ()
    other: tuple[OutsideChange, ...] = ()
    more: int = Field(default=0, exclude_if=not_)

    @property
    def is_own(self) -> bool:
        """Whether the run itself did something there."""
        return bool(self.paths or self.commits)

    def adding(self, more: "Outside") -> "Outside":
        """Return both together, each thing once, bounded."""
        paths, commits = _union(self.paths, more.paths), _union(self.commits, more.commits)
        seen, other = _union(self.seen, more.seen), _union(self.other, more.other)
        left_out = sum(len(each[MAX_RECORDED:]) for each in (paths, commits, seen, other))
        return Outside(
            paths=paths[:MAX_RECORDED],
            commits=commits[:MAX_RECORDED],
            seen=seen[:MAX_RECORDED],
            other=other[:MAX_RECORDED],
            more=self.more + more.more + left_out,
        )

    def beyond(self, known: "Outside") -> "Outside":
        """Return what is not in another, of what people are told."""
        return Outside(
            paths=tuple(path for path in self.paths if path not in known.paths),
            commits=tuple(commit for commit in self.commits if commit not in known.commits),
            seen=tuple(change for change in self.seen if change not in known.seen),
        )


def _union(values: tuple[T, ...], more: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*values, *more)))


Surroundings = Mapping[str, Mapping[str, str]]
"""What lies outside the places of runs, at one moment: by subject and name, a text that changes with it."""


def differences(before: Surroundings, after: Surroundings) -> Iterator[OutsideChange]:
    """Yield what differs; a subject that is known at one moment only is not compared."""
    for subject in Subject:
        old, new = before.get(subject), after.get(subject)
        if old is None or new is None or old == new:
            continue
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                yield OutsideChange(subject=subject, name=name, before=old.get(name), after=new.get(name))
