"""Move a worktree from tree to tree: the one way of a landing, an undo, a redo, and of bringing a merge.

Each is prepared on objects alone: the files are signed, the worktree is snapshot, the changes are merged into
that, and what is in the way is found. Only then a record says what has begun, and the files are written path
by path with a journal. After a kill the move goes on with the trees that the record names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot_with_ignored
from git_blackbird.controller.place.worktrees import base_commit
from git_blackbird.errors import UnusableError
from git_blackbird.git.change.both_added import resolve_additions, with_additions
from git_blackbird.git.change.merging import (
    OVERLAPS,
    Sides,
    TreeMerge,
    make_edits,
    merge_sides,
    merge_trees,
    nothing_resolved,
    sides_of,
)
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import SUBMODULE, TreeStore
from git_blackbird.git.worktree.base_commits import base_tree, move_base
from git_blackbird.git.writing.path_writer import Journal, Signature
from git_blackbird.git.writing.write_back import (
    WriteBackError,
    describe_unwritten,
    find_edited,
    find_obstacles,
    require_written,
    take_signatures,
    write_paths,
)
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, TaskCommand
from git_blackbird.model.run.parts import ConflictMerge, Moving
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, Verb
from git_blackbird.model.run.summary import Trees

_TRIES = 3
UNSTEADY = "your worktree changes all the time, so that nothing can be written into it"
AGAIN = Sentence("resolve that; ", EXECUTE, " goes on with it")
_MOVED_TOO = "you have moved its submodule as well: merge its commit by hand"


@dataclass(frozen=True)
class Move:
    """A move of the files of a worktree, about the change of a run, whose record notes it.

    ``changes`` are merged into the worktree: as git merges branches, or path by path where ``sides`` says
    what of them is to be done. One that ``goes_on`` has one change, what had begun.
    """

    verb: Verb
    workspace: Workspace
    run: Run
    changes: Sequence[Trees]
    sides: Sequence[Sides] | None = None
    goes_on: bool = False

    @property
    def journal(self) -> Journal:
        return Journal(self.workspace.repo, f"{self.verb} {self.run.id}")

    @property
    def hint(self) -> Sentence:
        """What to do where it cannot be made."""
        if self.verb in {Verb.LAND, Verb.BRING}:
            return AGAIN
        again = TaskCommand(VERBS[self.verb].command, self.run.task_id)
        return Sentence("resolve that; then ", again)


@dataclass(frozen=True)
class Prepared:
    """A move merged with its worktree, before anything of it is written.

    ``now`` is the worktree, and ``merge`` what it is to be. ``pair`` is the whole move: the worktree before
    its first file was written and after its last. ``left`` are paths that cannot be written, ``conflicts``
    those that cannot be merged, each with the reason; of a verb that leaves paths ``conflicts`` also has what
    of ``left`` it is about. ``found`` are the files in ``now``.
    """

    now: str
    merge: TreeMerge
    pair: Trees
    left: Mapping[bytes, str]
    conflicts: Mapping[bytes, str]
    found: Mapping[bytes, Signature]

    @property
    def written(self) -> Trees:
        """The worktree without and with what is still to be written."""
        return Trees(self.now, self.merge.tree)


def prepare(move: Move) -> Prepared:
    """Merge the changes of a move with its worktree as it is now; writes only objects.

    Raises UnusableError where the worktree keeps changing, SnapshotError, GitError.
    """
    repo, rules = move.workspace.repo, VERBS[move.verb]
    trees = TreeStore(repo)
    paths = {path for change in move.changes for path in trees.changed_paths(*change)}
    for _ in range(_TRIES):
        # Taken before the snapshot: a later edit changes them.
        found = take_signatures(repo, sorted(paths))
        now, unknown = snapshot_with_ignored(move.workspace, move.changes, found, move.changes[0].base)
        merge, conflicts = _merge(move, now, unknown)
        paths = set(trees.changed_paths(now, merge.tree))
        if not paths <= found.keys():
            continue
        if rules.leaves:
            left = dict(unknown)
            while not rules.exact and (obstacles := find_obstacles(repo, Trees(now, merge.tree), found)):
                left |= obstacles
                merge, conflicts = _merge(move, now, left)
        else:
            left = {path: reason for path, reason in unknown.items() if path in paths}
            left |= {path: _MOVED_TOO for path in conflicts if _is_submodule(trees, now, path)}
            left |= find_obstacles(repo, Trees(now, merge.tree), found)
        pair = move.changes[0] if move.goes_on else Trees(now, merge.tree)
        return Prepared(now, merge, pair, left, conflicts, found)
    raise UnusableError(UNSTEADY, hint=move.hint)


def _merge(move: Move, now: str, unknown: Mapping[bytes, str]) -> tuple[TreeMerge, Mapping[bytes, str]]:
    """Return the merge of a move with a tree, and why paths of it stay as they are."""
    repo, rules, sides = move.workspace.repo, VERBS[move.verb], move.sides
    trees, written = TreeStore(repo), frozenset[bytes]()
    if move.goes_on:
        sides, written = [sides_of(trees, move.changes[0])], move.journal.written()
    if sides is None:
        (change,) = move.changes
        merge = TreeMerge(change.head) if now == change.base else _merge_branches(repo, change, now)
        return merge, dict.fromkeys(merge.conflicts, OVERLAPS)
    if rules.exact:
        # What is as a change begins becomes what it ends with, submodules too: nothing is merged.
        edits = {
            path: after
            for each in sides
            for path, (before, after) in each.items()
            if path not in unknown and trees.entry(now, path) == before
        }
        merged = make_edits(trees, now, edits)
    else:
        resolve = resolve_additions if rules.resolves else nothing_resolved
        merged = merge_sides(repo, now, sides, unknown if rules.leaves else {}, written, resolve)
    return TreeMerge(merged.tree, tuple(sorted(merged.left))), merged.left


def _merge_branches(repo: Repository, change: Trees, now: str) -> TreeMerge:
    (merge,) = merge_trees(repo, change.base, [(now, change.head)])
    return with_additions(repo, merge)


def _is_submodule(trees: TreeStore, tree: str, path: bytes) -> bool:
    entry = trees.entry(tree, path)
    return entry is not None and entry.mode == SUBMODULE


def write(move: Move, prepared: Prepared, begin: Callable[[Prepared], object]) -> Mapping[bytes, str] | None:
    """Write a prepared move, and return the paths that stay as they are, each with the reason.

    ``begin`` records what has begun. None where a file was edited since it was prepared, and nothing is
    recorded or written: it is to be prepared again. Raises WriteBackError, also where a move that leaves
    nothing has a path that cannot be written.
    """
    unwritten = {**prepared.left, **prepared.conflicts}
    if unwritten and not VERBS[move.verb].leaves:
        raise WriteBackError(describe_unwritten(unwritten), hint=move.hint)
    repo, written = move.workspace.repo, prepared.written
    paths = TreeStore(repo).changed_paths(*written)
    if find_edited(repo, {path: prepared.found[path] for path in paths}):
        return None
    begin(prepared)
    seconds = float(move.workspace.config.snapshot.timeout_seconds)
    return write_paths(repo, written, prepared.found, move.journal, timeout_seconds=seconds)


def make(move: Move, begin: Callable[[Prepared], object]) -> tuple[Prepared, Mapping[bytes, str]]:
    """Prepare and write a move, again where a file is edited in between. Raises as these do."""
    for _ in range(_TRIES):
        prepared = prepare(move)
        refused = write(move, prepared, begin)
        if refused is not None:
            return prepared, refused
    raise UnusableError(UNSTEADY, hint=move.hint)


def record_begun(move: Move, pair: Trees) -> None:
    """Record that a move has begun, for the next call to complete it."""
    now, moving = move.workspace.environment.timestamp(), Moving(verb=move.verb, trees=pair)
    update_run(move.workspace, move.run, lambda stored: stored.beginning(moving, now))


def take_back(workspace: Workspace, run: Run, moving: Moving) -> bool:
    """Turn round the written part of a move that cannot go on; the user's later edits stay.

    Return whether all of it is out: else nothing was done. Raises UnusableError, WriteBackError.
    """
    verb = VERBS[moving.verb].back
    trees, back = TreeStore(workspace.repo), moving.trees_for(verb)
    move = Move(verb, workspace, run, (back,), (sides_of(trees, back),))
    prepared = prepare(move)
    known = replace(move, verb=moving.verb).journal.written()
    # What was not written, and is edited: it stays.
    edited = {
        path
        for path in prepared.found.keys() - known
        if trees.entry(prepared.now, path) != trees.entry(moving.trees.head, path)
    }
    if not edited.issuperset((*prepared.left, *prepared.conflicts)):
        return False
    kept = trees.edited(prepared.merge.tree, {path: trees.entry(prepared.now, path) for path in edited})
    if write(move, replace(prepared, merge=TreeMerge(kept)), lambda _: None) != {}:
        return False
    update_run(workspace, run, lambda stored: stored.updated(moving=None))
    move.journal.clear()
    return True


def bring_merge(workspace: Workspace, run: Run, linked: Repository, base: str) -> None:
    """Bring a task's worktree to the merge of its change with the user's worktree ``base``.

    Files that somebody edited since the run stay as they are. HEAD comes last, so that it can be repeated.
    Raises SnapshotError, WriteBackError, SaveError, GitError.
    """
    change = run.change_elsewhere
    if change is None or base_tree(linked) == base:
        return
    # By the attributes in the user's worktree, as it is merged there.
    (merge,) = merge_trees(workspace.repo, change.base, [(base, change.head)])
    earlier = () if run.brought is None else (run.brought.merge.head,)
    known = (change.head, run.head_tree or change.head, *earlier)
    changes = tuple(Trees(tree, merge.tree) for tree in known)
    sides = [sides_of(TreeStore(linked), each) for each in changes]
    move = Move(Verb.BRING, workspace.in_worktree(linked), run, changes, sides)
    brought = ConflictMerge(change=change, merge=Trees(base, merge.tree))
    _, refused = make(move, lambda _: update_run(workspace, run, lambda stored: stored.bringing(brought)))
    move.journal.clear()
    require_written(linked, refused)
    move_base(linked, base_commit(workspace, run.task_id, base), merge.unmerged)
