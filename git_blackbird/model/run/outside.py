"""What happened outside the place of a run while its agent worked, by how surely it was the run."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.base.record import Part

T = TypeVar("T")
MAX_RECORDED = 200
# Settings by which git takes other files, runs other programs or talks to other servers.
_NAMED_SETTING = re.compile(
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
    """Whether a change of this key of git's configuration is named to people."""
    return _NAMED_SETTING.fullmatch(key) is not None


class OutsideCommit(Part):
    """A commit that a run made outside its place, and the worktree in which it made it."""

    commit: ObjectId
    worktree: str


class Outside(Part):
    """What happened outside a run's place.

    Its own are the ``paths`` that edits in its output name, and the ``commits`` that our hook saw it make.
    ``seen`` is what it or anybody else did while agents worked, ``other`` what raises no word. ``more`` is
    how much of all that is not listed.
    """

    paths: tuple[str, ...] = ()
    commits: tuple[OutsideCommit, ...] = ()
    seen: tuple[OutsideChange, ...] = ()
    other: tuple[OutsideChange, ...] = ()
    more: int = 0

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

    def _is_left_out(self, _name: str, value: object, /) -> bool:
        return not value


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
