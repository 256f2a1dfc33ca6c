"""The own worktree of a task, from its start until its change has landed."""

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird import trace
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.slots import stop_interrupted_setup
from git_blackbird.controller.place.snapshots import limits_of, snapshot, snapshot_of_new_worktree
from git_blackbird.errors import BlackbirdError, RequestError, UnusableError
from git_blackbird.git.change.changes import submodule_sides
from git_blackbird.git.change.merging import require_merge_tree
from git_blackbird.git.core.process import GitError, GitStoppedError
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.submodules.checkout import check_out_submodules
from git_blackbird.git.submodules.edits import (
    PRUNE_AFTERWARDS,
    keep_commits,
    new_commits,
    require_committed,
    require_no_repository,
)
from git_blackbird.git.worktree.base_commits import base_tree, stray_commits, write_commit
from git_blackbird.git.worktree.linked import (
    add_task_worktree,
    begin_checkout,
    begin_removal,
    end_checkout,
    find_task_worktree,
    incomplete_tree,
    is_checkout_incomplete,
    is_locked,
    is_place_free,
    lost_worktrees,
    move_back,
    owner_of,
    remove_worktree,
    set_aside,
)
from git_blackbird.git.worktree.log import only_in_worktree
from git_blackbird.git.worktree.saved_trees import WORKTREE_REFS, keep_commit, save_pair
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.git.writing.write_back import take_signatures, write_all_paths, writing_lock
from git_blackbird.model.base.ids import RunId, TaskId, build_run_id
from git_blackbird.model.base.next_steps import Sentence, ShellLine, TaskCommand, restart_command
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.timestamps import SECOND
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import SkippedPath, Trees
from git_blackbird.model.views.events import Phase


@dataclass(frozen=True)
class Opened:
    """The place of a run, ready for work.

    ``base`` is the tree that its task's change begins with, taken at ``base_at``; None for the worktree as
    the run finds it. ``start_snapshot`` is that of a new worktree, if that needs no look. ``left_out`` are
    paths of the user's worktree that a new one does not have; ``notices`` is what people are to be told of
    the place. ``variables`` are what its agent is given beside the usual ones; it works in ``checkout`` where
    it is not to be in the worktree itself.
    """

    workspace: Workspace
    base: str | None = None
    base_at: str | None = None
    start_snapshot: Snapshot | None = None
    left_out: tuple[SkippedPath, ...] = ()
    notices: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    checkout: Path | None = None

    @property
    def folder(self) -> Path:
        return self.checkout or self.workspace.repo.top


def workspace_of(workspace: Workspace, run: Run) -> Workspace | None:
    """Return the workspace with the worktree that a run worked in; None where that is gone."""
    if run.is_in_place:
        return workspace
    found = find_task_worktree(workspace.repo, run.task_id)
    return None if found is None else workspace.in_worktree(found.repo)


def merge_in_worktree(run: Run, linked: Repository) -> Trees | None:
    """Return the merge that the worktree of a run was brought to; None if there is none."""
    brought = run.brought
    return brought.merge if brought is not None and base_tree(linked) == brought.merge.base else None


def base_commit(workspace: Workspace, task_id: TaskId, tree: str) -> str:
    """Write the commit that the worktree of a task stands on. Raises UnusableError."""
    at = head(workspace.repo).commit
    parents = () if at is None else (at,)
    message = f"The files that {task_id} begins with\n"
    return write_commit(workspace.repo, tree, parents, message, workspace.environment.now() // SECOND)


def folder_for(workspace: Workspace, task_id: TaskId) -> Path:
    """Return where the worktree of a task belongs. Raises UnusableError for a folder that cannot be it."""
    above, top = worktrees_folder(workspace), workspace.paths.state_root
    for inside, what in ((workspace.repo.common_dir, "the git directory"), (top, "the worktree itself")):
        if above.is_relative_to(os.path.realpath(inside)):
            raise UnusableError(
                f"worktree.dir is {above}, inside {what}", hint="agents need a folder outside of both"
            )
    return above / task_id


def worktrees_folder(workspace: Workspace) -> Path:
    top, given = workspace.paths.state_root, workspace.config.worktree.dir
    beside = f"../{top.name}.worktrees"
    return Path(os.path.realpath(top / Path(given or beside).expanduser()))


def open_place(workspace: Workspace, task_id: TaskId, resumed: Run | None) -> Opened:
    """Return the place of work on a task: in place, or a worktree, made if needed.

    A session goes on where it was: agents find theirs by the path. What is started anew has a worktree again
    if it had one. Raises GitTooOldError, SnapshotError, RequestError where the place of a worktree is taken,
    GitError.
    """
    if not workspace.gets_worktree(workspace.store.records.history(task_id), resumed):
        return Opened(workspace)
    if resumed is not None:
        return _reopen(workspace, resumed)
    require_merge_tree(workspace.repo)
    return _make(workspace, task_id, _release_old(workspace, task_id))


def reopen_place(workspace: Workspace, run: Run) -> Workspace:
    """Return the workspace with the worktree of a run, made again where it is gone.

    Raises RequestError, GitError.
    """
    linked, _ = _worktree_in_place(workspace, run)
    return workspace.in_worktree(linked)


def _reopen(workspace: Workspace, run: Run) -> Opened:
    if not run.has_landed:
        linked, notices = _worktree_in_place(workspace, run)
        merged = merge_in_worktree(run, linked)
        base = run.worktree_base if merged is None else merged.base
        return Opened(workspace.in_worktree(linked), base, notices=notices)
    return _make(workspace, run.task_id, _release_old(workspace, run.task_id))


def _worktree_in_place(workspace: Workspace, run: Run) -> tuple[Repository, tuple[str, ...]]:
    """Return the worktree of a task at the path that its session expects, and notices."""
    found = find_task_worktree(workspace.repo, run.task_id)
    if found is not None and is_checkout_incomplete(found.repo):
        release(workspace, found.repo)
        found = None
    if found is None:
        return _restore(workspace, run, folder_for(workspace, run.task_id)), ()
    linked, folder = found.repo, found.made_at
    if linked.top == folder or not folder.parent.is_dir():
        return linked, ()
    if os.path.lexists(folder):
        raise RequestError(
            f"the worktree of {run.task_id} is at {linked.top}, and its session looks for it at {folder}",
            hint=f"move what is at {folder} away",
        )
    back = move_back(workspace.repo, linked, folder)
    return back, (f"the worktree of {run.task_id} is back at {folder}, where its session looks for it",)


def _release_old(workspace: Workspace, task_id: TaskId) -> tuple[str, ...]:
    """Remove the worktree of a task that starts again or whose change has landed; return notices.

    If it cannot be removed, or its content cannot be kept, it is set aside.
    """
    found = find_task_worktree(workspace.repo, task_id)
    if found is None:
        return ()
    stop_interrupted_setup(found.repo)
    try:
        kept = release(workspace, found.repo)
    except GitStoppedError:
        raise
    except BlackbirdError as error:
        set_aside(found.repo)
        text = f"{task_id} gets another worktree: {error.message}"
        return (Sentence(text, "; ", TaskCommand("worktrees prune"), " tries again to remove that"),)
    return () if kept is None else (kept_text(task_id, kept),)


def kept_text(task_id: str, kept: str) -> str:
    """Say where files edited in a removed worktree are kept, and how to get them."""
    name = kept.rpartition("/")[2]
    command = TaskCommand("restore", rest=f" {kept} --branch kept-{name}")
    return Sentence(
        f"what was edited in the worktree of {task_id} is kept in {kept}:head; ", command, " has it"
    )


def _make(workspace: Workspace, task_id: TaskId, notices: tuple[str, ...]) -> Opened:
    with trace.measured(Phase.WORKTREE, task_id):
        # First, because the worktree of an earlier task that is being removed would keep it waiting later.
        began = time.monotonic()
        _forget_lost(workspace, task_id)
        linked = add_task_worktree(workspace.repo, task_id, _free_folder(workspace, task_id))
        try:
            taken = _base_snapshots.take(workspace, began)
            _begin_checkout(workspace, linked, task_id, taken.tree)
            failed = check_out_submodules(workspace.repo, linked)
        except BlackbirdError:
            remove_worktree(workspace.repo, linked)
            raise
        end_checkout(linked)
        place = workspace.in_worktree(linked)
        started = snapshot_of_new_worktree(place, taken.tree)
    return Opened(
        place,
        start_snapshot=started,
        left_out=taken.left_out,
        notices=(*notices, *_empty_texts(task_id, failed)),
    )


def _begin_checkout(workspace: Workspace, linked: Repository, task_id: TaskId, tree: str) -> None:
    """Check out a base. Raises UnusableError with an alternative if git or a filter fails."""
    commit = base_commit(workspace, task_id, tree)
    try:
        begin_checkout(linked, commit)
    except GitStoppedError:
        raise
    except GitError as error:
        raise UnusableError(
            f"the files of {task_id} cannot be checked out in its worktree: {error.message}",
            hint=Sentence(TaskCommand("execute", rest=" --jobs 1 --no-worktrees"), " works on it in place"),
        ) from error


def _empty_texts(task_id: TaskId, failed: Mapping[str, str]) -> Iterator[str]:
    for path, reason in failed.items():
        yield f"the submodule {path} is empty in the worktree of {task_id}: {reason}"


def _free_folder(workspace: Workspace, task_id: TaskId) -> Path:
    first = folder_for(workspace, task_id)
    others = (first.with_name(f"{first.name}.{number}") for number in itertools.count(2))
    return next(each for each in itertools.chain([first], others) if is_place_free(workspace.repo, each))


def _forget_lost(workspace: Workspace, task_id: TaskId) -> None:
    for lost in list(lost_worktrees(workspace.repo)):
        if lost.task_id == task_id and not lost.is_set_aside:
            try:
                prune_worktree(workspace, lost.repo)
            except RequestError:
                set_aside(lost.repo)  # `worktrees prune` says why


class _BaseSnapshots:
    """Snapshots of the user's worktree, shared by tasks that begin at the same time."""

    def __init__(self) -> None:
        self._taking = threading.Lock()
        self._top: Path | None = None
        self._began = 0.0
        self._last: Snapshot | None = None

    def take(self, workspace: Workspace, since: float) -> Snapshot:
        """Return a snapshot that began after ``since`` by the monotonic clock, perhaps another task's."""
        with self._taking:
            if self._last is None or self._top != workspace.repo.top or self._began < since:
                self._top, self._began = workspace.repo.top, time.monotonic()
                with writing_lock(workspace.repo.top):
                    self._last = snapshot(workspace)
            return self._last


_base_snapshots = _BaseSnapshots()


def _restore(workspace: Workspace, run: Run, folder: Path) -> Repository:
    """Make a worktree again that somebody removed, with the files as a run left them."""
    tree, base = run.head_tree or run.base_tree, run.worktree_base
    if tree is None or base is None or tree not in TreeStore(workspace.repo):
        raise RequestError(
            f"the worktree {folder} of run {run.id} is gone, and no snapshot of its files is left",
            hint=restart_command(run.task_id),
        )
    _forget_lost(workspace, run.task_id)
    linked = add_task_worktree(workspace.repo, run.task_id, folder)
    begin_checkout(linked, base_commit(workspace, run.task_id, base))
    trees = TreeStore(linked)
    sides = {path: both for path, both in submodule_sides(trees, Trees(base, tree)) if None not in both}
    files = trees.edited(tree, {path: before for path, (before, _) in sides.items()})
    expected = take_signatures(linked, trees.changed_paths(base, files))
    seconds = float(workspace.config.snapshot.timeout_seconds)
    write_all_paths(linked, base, files, expected, timeout_seconds=seconds)
    moved = {os.fsdecode(path): after.oid for path, (_, after) in sides.items() if after is not None}
    check_out_submodules(workspace.repo, linked, moved)
    end_checkout(linked)
    return linked


def release(workspace: Workspace, linked: Repository) -> str | None:
    """Remove a task's worktree, once all that is in it is reachable by a reference.

    Return the reference of what was edited there after the last run, if anything was.

    Raises RequestError where a file cannot be kept, SnapshotError, GitError; the worktree stays then.
    """
    taken = take_whole(workspace, linked)
    keep_submodules(workspace, linked)
    name = _keep_strays(workspace, linked)
    owner = owner_of(linked)
    runs = () if owner is None else workspace.store.records.history(TaskId(owner.task_id)).work_runs
    known = set[str | None]().union(*(_known_trees(run) for run in runs))
    is_edited = taken.tree not in known and not _is_incomplete_checkout(linked, taken.tree, known)
    is_named = bool(runs) or taken.tree != base_tree(linked)
    if is_edited:
        save_pair(workspace.repo, WORKTREE_REFS + name, Trees(taken.tree, taken.tree))
    begin_removal(linked, taken.tree)
    remove_worktree(workspace.repo, linked)
    return WORKTREE_REFS + name if is_edited and is_named else None


def _keep_strays(workspace: Workspace, linked: Repository) -> RunId:
    """Keep the commits made in a worktree that nothing else reaches, and return under which name."""
    environment, strays = workspace.environment, stray_commits(linked)
    name = build_run_id(environment.now(), environment.random_bits(16))
    if left := sorted(only_in_worktree(workspace.repo, strays)):
        keep_commit(workspace.repo, name, *left)
    return name


def _is_incomplete_checkout(linked: Repository, tree: str, known: Collection[str | None]) -> bool:
    """Whether a tree is an incomplete checkout, with nothing beside it but parts of known trees."""
    if not is_checkout_incomplete(linked):
        return False
    trees = TreeStore(linked)
    sources = [one for one in known if one is not None and one in trees]
    return all(
        trees.entry(tree, path) in {None, *(trees.entry(one, path) for one in sources)}
        for path in trees.changed_paths(incomplete_tree(linked), tree)
    )


def prune_worktree(workspace: Workspace, lost: Repository) -> None:
    """Make git forget a task's worktree whose folder is gone, once its commits are kept.

    Raises RequestError where it cannot be kept, GitError.
    """
    keep_submodules(workspace, lost)
    _keep_strays(workspace, lost)
    remove_worktree(workspace.repo, lost)


def keep_submodules(workspace: Workspace, linked: Repository) -> None:
    """Bring what is committed in the submodules of a task's worktree to the user's own repositories of them.

    Raises RequestError where there is none, GitError.
    """
    for new in new_commits(linked, workspace.repo):
        keep_commits(linked, new)


def bring_submodules(workspace: Workspace, run: Run) -> None:
    """Bring the commits of submodules that a run's change names to the user's own repositories of them.

    Where there is none they stay where they are. Raises GitError.
    """
    change = run.change_elsewhere
    if change is None or not any(submodule_sides(TreeStore(workspace.repo), change)):
        return
    place = workspace_of(workspace, run)
    if place is not None:
        with contextlib.suppress(RequestError):
            keep_submodules(workspace, place.repo)


def take_whole(workspace: Workspace, linked: Repository) -> Snapshot:
    """Return a snapshot with every file of a task's worktree; submodules have commits for theirs.

    Raises RequestError if it lacks a file, if submodules or other repositories in it have what cannot be
    kept, or if somebody locked the worktree; SnapshotError.
    """
    if is_locked(linked):
        unlock = ShellLine(f"git worktree unlock {shell_word(str(linked.top))}")
        raise RequestError(f"{linked.top} stays: it is locked", hint=Sentence(unlock, ", ", PRUNE_AFTERWARDS))
    # No agent has worked in one that is not whole yet.
    is_whole = not is_checkout_incomplete(linked)
    if is_whole:
        require_no_repository(linked, limits_of(workspace))
    taken = snapshot(workspace.in_worktree(linked))
    if taken.left_out:
        names = ", ".join(skipped.path for skipped in taken.left_out[:5])
        raise RequestError(
            f"{linked.top} stays: no snapshot has {names}", hint="move what you need, and remove the worktree"
        )
    if is_whole:
        require_committed(linked, limits_of(workspace))
        new_commits(linked, workspace.repo)
    return taken


def _known_trees(run: Run) -> set[str | None]:
    """Return the known trees of a worktree: at both ends of a run, at its decision, after a merge."""
    merged = None if run.brought is None else run.brought.merge
    others = (None if pair is None else pair.head for pair in (run.shown, merged))
    return {run.base_tree, run.head_tree, *others}
