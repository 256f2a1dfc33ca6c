"""What depends on where a run's files are: in the user's worktree, or in one of its task's own."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import OwnChange, first_paths, own_change, snapshot
from git_blackbird.controller.place.worktrees import merge_in_worktree, workspace_of
from git_blackbird.errors import BlackbirdError, UnusableError
from git_blackbird.git.change.both_added import paths_with_markers
from git_blackbird.git.change.changes import changed_paths
from git_blackbird.git.change.merging import TreeMerge, merge_trees
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.repository import head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import (
    base_commit_of,
    base_tree,
    commit_diff,
    find_fork_point,
    unmerged_paths,
)
from git_blackbird.model.base.timestamps import SECOND, parse_timestamp
from git_blackbird.model.change.change import Change
from git_blackbird.model.run.parts import ConflictMerge, LandingBlocked, LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DETACHED, RunStatus
from git_blackbird.model.run.summary import Summary, SwitchedBranch, Trees
from git_blackbird.model.views.checkpoint import OtherBranch


class TaskEdits(NamedTuple):
    """The change of a task with what a person edited in its worktree since, at these paths."""

    pair: Trees
    paths: tuple[str, ...]


def find_edits(workspace: Workspace, run: Run) -> TaskEdits | None:
    """Return the edits in a run's worktree since its end; None if there are none, or it has landed.

    Resolving a conflict only by ``git add`` counts as an edit. Raises SnapshotError, GitError.
    """
    change = run.change_elsewhere
    place = None if change is None or run.has_landed else workspace_of(workspace, run)
    if change is None or place is None:
        return None
    tree = snapshot(place, since=run.head_tree).tree
    merged = merge_in_worktree(run, place.repo)
    if merged is None:
        if tree in {run.head_tree, change.head} or run.worktree_base is None or run.head_tree is None:
            return None
        return _edits(workspace, Trees(run.worktree_base, tree), run.head_tree)
    pair = Trees(merged.base, tree)
    if pair == change:
        return None
    is_untouched = tree == merged.head and bool(unmerged_paths(place.repo))
    return None if is_untouched else _edits(workspace, pair, merged.head)


def _edits(workspace: Workspace, pair: Trees, known: str) -> TaskEdits:
    paths = sorted(changed_paths(workspace.repo, Trees(known, pair.head)))
    return TaskEdits(pair, tuple(path.decode(errors="replace") for path in paths))


class _Conflicts(NamedTuple):
    """The merge that a task's worktree was brought to, and git's merge of its sides."""

    brought: ConflictMerge
    merge: TreeMerge


def unresolved_paths(
    workspace: Workspace, run: Run, change: Trees, only: Iterable[str] = ()
) -> tuple[bytes, ...]:
    """Return the conflicts of the last merge that a change of the run's task leaves unresolved.

    That is a file with markers of the merge; one that is as git left it, until somebody adds it to the index
    of the task's worktree; and one that git made under a name of its own for what was in the way, as long as
    it is there. With ``only`` those at these paths and below them; a name of git's own may be among them.
    Raises UnusableError, GitError.
    """
    left = {
        *paths_with_markers(workspace.repo, change),
        *_untouched_conflicts(workspace, run, change, set(only)),
    }
    return tuple(path for path in sorted(left) if not only or is_below(path, only))


def unresolved_text(paths: Iterable[bytes]) -> str | None:
    """Name the unresolved conflicts; None if there are none."""
    names = ", ".join(path.decode(errors="replace") for path in paths)
    return f"the conflict in {names} is not resolved" if names else None


def is_conflict_shown(workspace: Workspace, run: Run, change: Trees | None) -> bool:
    """Whether the task's worktree has the conflicts of this very change, so that landing it repeats them."""
    last, place = _last_merge(workspace, run), workspace_of(workspace, run)
    if last is None or place is None or base_tree(place.repo) != last.brought.merge.base:
        return False
    return last.brought.change == change and bool(last.merge.conflicts)


def is_below(path: bytes, names: Iterable[str]) -> bool:
    """Whether a path is among files and folders that were named."""
    return any(name == "." or (path + b"/").startswith(os.fsencode(name) + b"/") for name in names)


def _untouched_conflicts(workspace: Workspace, run: Run, change: Trees, named: set[str]) -> Iterator[bytes]:
    last = _last_merge(workspace, run)
    if last is None or last.brought.change == change or not last.merge.conflicts:
        return
    trees, place = TreeStore(workspace.repo), workspace_of(workspace, run)
    unmerged = last.merge.conflicts if place is None else unmerged_paths(place.repo)
    sides = (*last.brought.change, last.brought.merge.base)
    for path in last.merge.conflicts:
        entry = trees.entry(change.head, path)
        if entry is None:
            continue
        is_named_by_git = not any(trees.entry(tree, path) for tree in sides)
        is_untouched = path in unmerged and entry == trees.entry(last.merge.tree, path)
        if os.fsdecode(path) not in named if is_named_by_git else is_untouched:
            yield path


def _last_merge(workspace: Workspace, run: Run) -> _Conflicts | None:
    brought = Change.of(workspace.store.records.history(run.task_id)).last_merge
    if brought is None:
        return None
    change, now = brought.change, brought.merge.base
    (merge,) = merge_trees(workspace.repo, change.base, [(now, change.head)])
    return _Conflicts(brought, merge)


def own_change_in_worktree(workspace: Workspace, run: Run, pair: Trees) -> OwnChange:
    """Return the change of a run in its task's worktree: everything done there is the task's own.

    Where its agent went to another branch, that is what was done on it. Raises UnusableError.
    """
    repo, base = workspace.repo, base_commit_of(workspace.repo)
    if base is None:
        return OwnChange(pair, began=run.worktree_base)
    history = workspace.store.records.history(run.task_id)
    there = [one for one in (*Change.of(history).runs, run) if one.worktree_path == run.worktree_path]
    began = min(parse_timestamp(one.started_at) for one in there)
    since, began_with = find_fork_point(repo, base, began // SECOND), commit_diff(repo, base).pair
    if since == base:
        # The paths whose uncommitted edits were taken back to the user's commit.
        trees = TreeStore(repo)
        changed = {*trees.changed_paths(began_with.base, pair.head)}
        took_back = first_paths(sorted({*trees.changed_paths(*began_with)} - changed))
        begins, beside = began_with.head, Summary(takes_back=took_back)
    else:
        begins = began_with.head if since is None else commit_diff(repo, since).pair.head
        (merge,) = merge_trees(repo, begins, [(began_with.head, pair.head)])
        unmerged = first_paths(merge.conflicts)
        beside = Summary(switched=SwitchedBranch(branch=head(repo).branch, since=since, unmerged=unmerged))
    resumed = None if run.resumes is None else history.find(run.resumes)
    before = None if resumed is None else resumed.review_summary
    if _fork_commit(beside) == _fork_commit(before):
        return OwnChange(pair, beside, run.worktree_base)
    return OwnChange(Trees(begins, pair.head), beside, begins)


def _fork_commit(summary: Summary | None) -> str | None:
    return None if summary is None or summary.switched is None else summary.switched.since


class Place(Protocol):
    """What depends on the place of one run; every kind of place implements it."""

    @property
    def landing(self) -> LandingDue | LandingBlocked | None:
        """What is due of its change once it is approved, before the task is done; None for nothing."""

    @property
    def commit_branch(self) -> str | None:
        """Where an approval's commit is made once the change has landed; None if it is made at once."""

    def own_change(self, ui: UserInterface, pair: Trees, log_end: int) -> OwnChange:
        """Return what the run itself changed from the first of two trees of its files to the second.

        ``log_end`` is the size of the log of HEAD at the second. Raises UnusableError, GitStoppedError.
        """

    def unlanded_change(self) -> Trees | None:
        """Return what its task has changed so far and has yet to land. Raises SnapshotError, GitError."""

    def edits(self) -> TaskEdits | None:
        """Return the change with what a person edited since. Raises SnapshotError, GitError."""

    def conflicts(self, change: Trees, only: tuple[str, ...] = ()) -> tuple[bytes, ...]:
        """Return the paths of ``only``, or all, with unresolved conflicts. Raises UnusableError, GitError."""

    def files_now(self, change: Trees) -> str | None:
        """Return the tree of the user's worktree if the change is in it, as it is now; None if unknown."""

    def other_branch(self) -> OtherBranch | None:
        """Return both branches if HEAD has left that of the run; None if not, or if unknown."""


@dataclass(frozen=True)
class InPlace:
    """The run worked in the user's worktree: its change is there, beside what anybody else does."""

    workspace: Workspace
    run: Run
    landing = None
    commit_branch = None

    def own_change(self, ui: UserInterface, pair: Trees, log_end: int) -> OwnChange:
        """Leave out what others committed; all of it counts, with a warning, if HEAD's moves are unknown."""
        run = self.run
        try:
            return own_change(self.workspace, run, pair, log_end)
        except GitStoppedError:
            raise
        except (UnusableError, OSError) as error:
            why = error.message if isinstance(error, UnusableError) else error.strerror
            text = (
                f"what you committed during run {run.id} is part of its change: the moves of HEAD are unknown"
            )
            warn(ui, f"{text}: {why}", run.task_id)
            return OwnChange(pair)

    def unlanded_change(self) -> Trees | None:
        return None

    def edits(self) -> TaskEdits | None:
        return None

    def conflicts(self, change: Trees, only: tuple[str, ...] = ()) -> tuple[bytes, ...]:
        return ()

    def files_now(self, change: Trees) -> str | None:
        return _files_now(self.workspace, change)

    def other_branch(self) -> OtherBranch | None:
        """Return also a branch that the agent itself went to."""
        began = self.run.start_branch
        if began is None:
            return None
        left_on, now = self.run.end_branch or began, head(self.workspace.home).branch
        if now != left_on:
            return OtherBranch(left_on, now)
        return None if left_on == began else OtherBranch(began, now, by_agent=True)


@dataclass(frozen=True)
class InWorktree:
    """The run worked in its task's own worktree: its change is brought to the user's once it is approved."""

    workspace: Workspace
    run: Run

    @property
    def landing(self) -> LandingDue | LandingBlocked | None:
        path = self.run.worktree_path or ""
        if self.run.head_tree is not None or self.run.is_remote or os.path.lexists(path):
            return LandingDue()
        return LandingBlocked(reason=f"its worktree {path} is gone, with what it changed", gone=True)

    @property
    def commit_branch(self) -> str | None:
        return head(self.workspace.repo).branch or DETACHED

    def own_change(self, ui: UserInterface, pair: Trees, log_end: int) -> OwnChange:
        return own_change_in_worktree(self.workspace, self.run, pair)

    def unlanded_change(self) -> Trees | None:
        """Return the change as the files are at this moment while the agent is at work."""
        run, base = self.run, self.run.worktree_base or self.run.base_tree
        if base is None:
            return None
        files = workspace_of(self.workspace, run) if run.status is RunStatus.RUNNING else None
        return run.change_elsewhere if files is None else Trees(base, snapshot(files, since=base).tree)

    def edits(self) -> TaskEdits | None:
        return None if self.run.has_landed else find_edits(self.workspace, self.run)

    def conflicts(self, change: Trees, only: tuple[str, ...] = ()) -> tuple[bytes, ...]:
        return () if self.run.has_landed else unresolved_paths(self.workspace, self.run, change, only)

    def files_now(self, change: Trees) -> str | None:
        return _files_now(self.workspace, change) if self.run.has_landed else None

    def other_branch(self) -> OtherBranch | None:
        worktree, now = self.run.worktree, head(self.workspace.home).branch
        began = None if worktree is None else worktree.home_branch
        return None if began is None or now == began else OtherBranch(began, now)


def place_of(workspace: Workspace, run: Run) -> Place:
    return InPlace(workspace, run) if run.is_in_place else InWorktree(workspace, run)


def _files_now(workspace: Workspace, change: Trees) -> str | None:
    try:
        return snapshot(workspace, since=change.head).tree
    except GitStoppedError:
        raise
    except BlackbirdError:
        # Without a snapshot nothing can be compared; taking one is tried again, aloud, by the next run.
        return None
