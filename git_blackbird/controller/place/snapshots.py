"""Snapshots, and the change of a run without what others committed meanwhile."""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError, UnusableError
from git_blackbird.git.change.changes import Carrier, changed_paths, files_before, without_paths
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.repository import head
from git_blackbird.git.hooks.attribution import moves_of_others
from git_blackbird.git.submodules.edits import Uncommitted, uncommitted
from git_blackbird.git.worktree.log import commits_between, log_size
from git_blackbird.git.worktree.snapshot import Snapshot, SnapshotLimits, snapshot_of_checkout, take_snapshot
from git_blackbird.git.writing.path_writer import Signature
from git_blackbird.git.writing.write_back import Present, add_ignored
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.run.commits import HeadMove, LogSpan, Mover
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import MAX_HEAD_MOVES, OutsideMove, Summary, Trees


def submodules(workspace: Workspace) -> dict[str, Uncommitted]:
    """Return uncommitted changes in submodules; empty if unreadable. Raises GitStoppedError."""
    try:
        return uncommitted(workspace.repo, limits_of(workspace))
    except GitStoppedError:
        raise
    except BlackbirdError:
        # The snapshot itself does not depend on it.
        return {}


def snapshot(workspace: Workspace, since: str | None = None) -> Snapshot:
    """Take a snapshot of the worktree, without the program's own state.

    What the tree ``since`` held and the worktree still has stays in, also when it is ignored by now.
    Raises SnapshotError, or UnusableError for a repository that cannot be read.
    """
    return take_snapshot(workspace.repo, limits=limits_of(workspace), since=since)


class EndSnapshot:
    """The snapshot with which the last run in place ended: the next begins with it if it begins at once.

    What anybody writes between the two is in the change of the next then, as what is written during it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: tuple[Snapshot, int, float] | None = None

    def keep(self, workspace: Workspace, taken: Snapshot, log_end: int) -> None:
        """Keep the snapshot of a worktree; ``log_end`` is the size that git's log of HEAD had then."""
        is_whole = not workspace.is_task_worktree and not taken.has_unlisted
        self._kept = (taken, log_end, self._clock()) if is_whole else None

    def drop(self) -> None:
        """Drop what is kept: something else than a run may write into the worktree."""
        self._kept = None

    def take(self, workspace: Workspace) -> Snapshot | None:
        """Return what is kept, once; None if it is too old, or HEAD was moved since."""
        kept, self._kept = self._kept, None
        if kept is None or workspace.is_task_worktree:
            return None
        taken, log_end, moment = kept
        is_as_then = log_size(workspace.repo.git_dir) == log_end
        return taken if is_as_then and self._clock() - moment < _AT_ONCE_SECONDS else None


def snapshot_with_ignored(
    workspace: Workspace, changes: Sequence[Trees], expected: Mapping[bytes, Signature], since: str
) -> Present:
    """Take a snapshot that also has the ignored files at the paths of these changes, to merge them with.

    ``expected`` was taken before. Raises as ``snapshot`` does, GitError.
    """
    return add_ignored(workspace.repo, snapshot(workspace, since), changes, expected)


def snapshot_of_new_worktree(workspace: Workspace, tree: str) -> Snapshot | None:
    """Return the snapshot of a worktree just made from ``tree``; None if one has to be taken."""
    try:
        return snapshot_of_checkout(workspace.repo, tree, limits=limits_of(workspace))
    except UnusableError:  # the snapshot says it
        return None


def limits_of(workspace: Workspace) -> SnapshotLimits:
    return SnapshotLimits(
        timeout_seconds=float(workspace.config.snapshot.timeout_seconds),
        max_untracked_bytes=workspace.config.snapshot.max_untracked_bytes,
    )


_MAX_PATHS = 100
# Nobody sees an agent's end, and writes something, within this time.
_AT_ONCE_SECONDS = 0.2


class OwnChange(NamedTuple):
    """A run's trees without the changes of others, and the notes on that for the summary.

    ``began`` is the tree with which the whole change of its task begins in a worktree of its own.
    """

    pair: Trees
    beside: Summary = Summary()
    began: str | None = None


def own_change(workspace: Workspace, run: Run, pair: Trees, log_end: int) -> OwnChange:
    """Remove commits of others from the trees of a run in place.

    ``log_end`` is the size of git's log of HEAD when the later tree was taken. Raises UnusableError, OSError.
    """
    span = LogSpan(run.reflog_size, log_end, run.start_commit)
    others = moves_of_others(workspace.repo, run.id, span)
    if not others:
        return OwnChange(pair)
    carrier = Carrier(workspace.repo)
    base = pair.base
    for move in _in_history(workspace, run, others):
        base = carrier.carry(base, pair.head, move)
    own = Trees(base, pair.head)
    changed = changed_paths(workspace.repo, own)
    moves = tuple(
        OutsideMove(
            old=move.old,
            new=move.new,
            text=move.message,
            paths=first_paths(sorted(carrier.changed_by(move.old, move.new) & changed)),
            in_change=mover is Mover.UNKNOWN,
        )
        for move, mover in others[-MAX_HEAD_MOVES:]
    )
    return OwnChange(own, Summary(head_moves=moves))


def _in_history(workspace: Workspace, run: Run, others: Sequence[tuple[HeadMove, Mover]]) -> list[HeadMove]:
    """Return the commits of others that HEAD still has, or had until they were amended."""
    made = [move for move, mover in others if mover is Mover.OTHER]
    end = head(workspace.repo).commit
    if not made or end is None:
        return []
    there, found = set(commits_between(workspace.repo, run.start_commit, end)), list[HeadMove]()
    for move in reversed(made):
        if move.new in there:
            found.append(move)
            there.update([move.old] if move.is_amending and move.old else [])
    return found[::-1]


def first_paths(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(path.decode(errors="replace") for path in itertools.islice(paths, _MAX_PATHS))


def own_commits(workspace: Workspace, run: Run) -> frozenset[str]:
    """Return the commits of a run; without the hook its record names none, but HEAD's moves tell."""
    listed = frozenset(run.commits)
    if run.end_commit is None or run.end_commit == run.start_commit:
        return listed
    reached = commits_between(workspace.repo, run.start_commit, run.end_commit)
    moves = () if run.review_summary is None else run.review_summary.head_moves
    return listed | reached.difference(
        *(commits_between(workspace.repo, move.old, move.new) for move in moves if not move.in_change)
    )


def without_earlier_files(workspace: Workspace, run: Run, own: OwnChange) -> OwnChange:
    """Return the change of a run without files that were there before it, but ignored.

    A run that changes what git ignores has not added them. Raises UnusableError.
    """
    began = parse_timestamp(run.started_at)
    earlier = files_before(workspace.repo, own.pair, began, workspace.environment.now())
    if not earlier:
        return own
    base, whole = (
        base and without_paths(workspace.repo, Trees(base, own.pair.head), earlier).base
        for base in (own.pair.base, own.began)
    )
    return own._replace(pair=own.pair._replace(base=base or own.pair.base), began=whole)
