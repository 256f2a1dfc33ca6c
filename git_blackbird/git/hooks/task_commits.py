"""Decide whether a commit is a person's work on a task, and not a copy of an earlier commit.

The answer depends only on the commit and the reflog of HEAD, so it is the same at any time. This module
imports little, because the hook loads it for every commit that names a task.
"""

import contextlib
import os
from collections.abc import Callable

TASK = "Blackbird-Task"
RUN = "Blackbird-Run"
# The prefix of the hook's files; the commit's id and, during a bisection, ``BISECT`` follow.
PREFIX = "deferred-commit-"
BISECT = "-bisect"
# Runs git with arguments and returns its output; raises an error if it fails.
Git = Callable[..., str]

# Beginnings of reflog messages for moves of HEAD by a person's own `git commit`.
_OWN = ("commit", "commit (initial)", "commit (amend)")
_AMEND = "commit (amend)"
# Those that reuse an earlier commit with its message.
_REPEATS = frozenset({"am", "cherry-pick", "rebase", "revert"})
_TAIL_BYTES = 4 * 1024 * 1024
_HEX = frozenset("0123456789abcdef")
_SHOW = ("log", "-1", "--no-walk", "--ignore-missing", "--no-show-signature", "--encoding=UTF-8")
_FORMAT = (
    f"--format=%H %P%x00%(trailers:key={TASK},valueonly,separator=%x1f)%x00%(trailers:key={RUN},valueonly)"
)


class Verdict:
    """What to do with a commit.

    It is recorded if it has ``tasks`` or replaces a commit that had (``replaced``), and there is no
    ``reason`` against it; without either it is ignored.
    """

    __slots__ = ("reason", "replaced", "tasks")

    def __init__(
        self, tasks: list[str] | None = None, replaced: str | None = None, reason: str | None = None
    ) -> None:
        self.tasks = tasks or []
        self.replaced = replaced
        self.reason = reason

    @property
    def is_work(self) -> bool:
        return self.reason is None and bool(self.tasks or self.replaced)

    @property
    def remark(self) -> str | None:
        """The line that says why a commit which names tasks is not recorded; None for others."""
        return None if self.reason is None else f"no manual run of {', '.join(self.tasks)}: {self.reason}"


def parse_name(name: str) -> tuple[str, bool] | None:
    """Parse the name of a file of the hook: the commit, and whether a bisection was under way."""
    if not name.startswith(PREFIX):
        return None
    oid = name.removeprefix(PREFIX).removesuffix(BISECT)
    return (oid, name.endswith(BISECT)) if len(oid) in {40, 64} and _HEX.issuperset(oid) else None


def list_names(private: str) -> list[str]:
    """Return the names of the hook's files in a folder, oldest first; the folder may be missing."""
    try:
        with os.scandir(private) as entries:
            files = [
                entry for entry in entries if parse_name(entry.name) and entry.is_file(follow_symlinks=False)
            ]
            return [entry.name for entry in sorted(files, key=lambda entry: entry.stat().st_mtime_ns)]
    except OSError:
        return []


def list_deferred(private: str) -> tuple[str, ...]:
    """Return the commits that have a file, oldest first, without reading them."""
    return tuple(dict.fromkeys(parsed[0] for name in list_names(private) if (parsed := parse_name(name))))


def drop(private: str, name: str) -> None:
    """Remove the file of a handled commit; another process may have done so already. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(private, name))  # noqa: PTH108, PTH118  # pathlib is slow


def load_moves(git_dir: str) -> bytes:
    """Return the end of the reflog of HEAD; empty if there is none."""
    try:
        with open(os.path.join(git_dir, "logs", "HEAD"), "rb") as log:  # noqa: PTH118, PTH123  # pathlib is slow
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return log.read()
    except OSError:
        return b""


def find_move(moves: bytes, oid: str) -> tuple[int, str, str]:
    """Return where a commit first was HEAD, the commit before, and the reflog message.

    Later moves to it only came back. ``(-1, "", "")`` if it is not in the log.
    """
    named = f" {oid} ".encode()
    place = moves.find(named)
    while place >= 0:
        start = moves.rfind(b"\n", 0, place) + 1
        old = moves[start:place].decode(errors="replace")
        if len(old) == len(oid) and _HEX.issuperset(old):
            line = moves[start:].partition(b"\n")[0].decode(errors="replace")
            return start, old, line.partition("\t")[2].partition(":")[0]
        place = moves.find(named, place + 1)
    return -1, "", ""


def judge(git: Git, moves: bytes, oid: str, *, in_bisect: bool) -> Verdict:
    """Decide what to do with a commit that was HEAD when its hook ran."""
    _, old, action = find_move(moves, oid)
    if action == "commit (cherry-pick)" or action.partition(" ")[0] in _REPEATS:
        return Verdict()
    (_, *parents), tasks = _names_in(git, oid)
    replaced = old if action == _AMEND else None
    if not tasks and not (replaced and _names_in(git, replaced)[1]):
        return Verdict()
    reason = None
    if tasks and in_bisect:
        reason = "a bisection is under way"
    elif tasks and len(parents) > 1:
        reason = "the commit is a merge"
    elif tasks and action not in ("", *_OWN):
        reason = f"the commit came from `{action}`"
    return Verdict(tasks, replaced, reason)


def _names_in(git: Git, oid: str) -> tuple[list[str], list[str]]:
    """Return the ids of a commit and its parents, and the tasks of its trailers; none for one of ours."""
    output = git(*_SHOW, _FORMAT, "--end-of-options", oid, "--")
    oids, _, rest = output.partition("\0")
    tasks, _, run = rest.partition("\0")
    named = [] if run.strip() else list(filter(None, map(str.strip, tasks.split("\x1f"))))
    return oids.split() or [""], named
