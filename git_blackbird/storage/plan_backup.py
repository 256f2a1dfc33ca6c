"""The plan while agents work: as our commands saved it last, against what was written past them."""

import os
import stat
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol, Self

from git_blackbird.model.base.system import is_exhausted
from git_blackbird.model.plan.plan import Plan
from git_blackbird.storage.files import load_bytes, load_inside, write_private
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.plan_file import InvalidPlanError, parse_plan


class PlanInGit(Protocol):
    def position(self) -> str:
        """Return the present end of git's log of HEAD."""

    def since(self, position: str) -> tuple[list[tuple[bytes | None, bytes | None, bool]], bytes | None]:
        """Return the plan file before and after each later move, and as HEAD has it now.

        With each move is whether an agent may have made the commit.
        """

    def stashed(self, data: bytes) -> bytes | None:
        """Return the plan in git's stash, where that has left the file as it is; else None."""


# What follows the plan in its backup; the program wrote it alone once.
_ADDED = 2


class _Backup(NamedTuple):
    """The content of the file, and its parts."""

    content: bytes
    plan: bytes
    where: str = ""
    position: str = ""

    @classmethod
    def of(cls, content: bytes) -> Self:
        plan, *added = content.rsplit(b"\0", _ADDED)
        return cls(content, plan, *map(os.fsdecode, added if len(added) == _ADDED else ()))


class _Counting(NamedTuple):
    known: bytes
    data: bytes
    position: str
    plan: Plan


class PlanBackup:
    """The backup of the plan in the git directory, where an agent at work does not change it by mistake.

    After it, behind NULs, is where the plan file was then, if it was a link, and how far git's log of HEAD
    went when the first of the agents at work began. Changing it requires the store lock.
    """

    def __init__(self, paths: Paths, find_in_git: Callable[[], PlanInGit | None]) -> None:
        # Only what is compared with the backup loads it.
        self._paths, self._in_git = paths, cache(find_in_git)
        self._counting: _Counting | None = None
        # As it was last: a large plan is not copied each time.
        self._last: _Backup | None = None

    @property
    def exists(self) -> bool:
        return os.path.lexists(self._paths.known_plan)

    def load(self) -> bytes | None:
        """Return the backup; None if no agent works."""
        return None if (found := self._found()) is None else found.plan

    def _found(self) -> _Backup | None:
        last = self._last
        try:
            content = load_bytes(self._paths.known_plan, known=last.content if last else b"")
        except FileNotFoundError:
            return None
        if last is None or content is not last.content:
            last = self._last = _Backup.of(content)
        return last

    def begin(self, data: bytes) -> None:
        """Back up the plan as it is, before an agent works; of one that is stashed, what will come back."""
        in_git = self._in_git()
        known = None if in_git is None else in_git.stashed(data)
        self._save(known or data, "" if in_git is None else in_git.position())

    def is_stashed(self, data: bytes) -> bool:
        """Whether git's stash has the plan, and the file is as HEAD has it until that is back."""
        in_git = self._in_git()
        return in_git is not None and in_git.stashed(data) is not None

    def follow(self, data: bytes) -> None:
        """Replace the backup, if there is one, by what a command of ours makes of it."""
        if (found := self._found()) is not None:
            self._save(data, found.position)

    def _save(self, data: bytes, position: str) -> None:
        where = os.path.realpath(self._paths.plan)
        content = b"\0".join((data, os.fsencode(where), position.encode()))
        write_private(self._paths.known_plan, content)
        self._last = _Backup(content, data, where, position)

    def drop(self) -> None:
        self._paths.known_plan.unlink(missing_ok=True)

    def replacement(self) -> str | None:
        """Describe what has replaced the plan file, or the link in its place.

        None if nothing has, or if the file is missing.
        """
        plan = self._paths.plan
        try:
            kind = plan.lstat().st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISREG(kind):
            try:
                load_inside(self._paths.state_root, plan, limit=1)
            except OSError as error:
                if is_exhausted(error):
                    raise
                return "a file that cannot be read"
            return None
        if not stat.S_ISLNK(kind):
            return "a folder" if stat.S_ISDIR(kind) else "not a file"
        where = os.path.realpath(plan)
        found = self._found()
        return None if found and found.where == where and plan.is_file() else f"a link to {where}"

    def counting(self, data: bytes, plan: Plan) -> Plan:
        """Return what counts of the plan file, whose content ``data`` is ``plan``.

        While agents work only what commands of ours wrote there does, and git. Raises UnusableError.
        """
        known = self.load()
        if known is None or known == data:
            return plan
        in_git = self._in_git()
        position = "" if in_git is None else in_git.position()
        last = self._counting
        if last is None or (last.known, last.data, last.position) != (known, data, position):
            last = self._counting = _Counting(known, data, position, self._without_edits(known, plan))
        return last.plan

    def _without_edits(self, known: bytes, plan: Plan) -> Plan:
        from git_blackbird.model.rules.written_plan import PlanMove, counting_plan  # rarely needed

        try:
            before = parse_plan(known, str(self._paths.known_plan))
        except InvalidPlanError:
            # Another program wrote there.
            return plan
        in_git, began = self._in_git(), self._found()
        if in_git is None or began is None or not began.position:
            return counting_plan(before, plan, (), None)
        moves, head = in_git.since(began.position)
        read = ((_parsed(old), _parsed(new), by_agent) for old, new, by_agent in moves if old != new)
        usable = [PlanMove(old, new, by_agent) for old, new, by_agent in read if old and new]
        return counting_plan(before, plan, usable, None if head is None else _parsed(head))


def _parsed(data: bytes | None) -> Plan | None:
    """Parse a plan in git; None if that fails, an empty plan if git has none."""
    if data is None:
        return Plan()
    try:
        return parse_plan(data, "")
    except InvalidPlanError:
        return None
