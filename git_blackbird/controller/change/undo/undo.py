"""Take the change of one task back out of the worktree, or bring it back, and leave all later edits."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Literal, NamedTuple

from git_blackbird.controller.change.commit.carried import (
    at_commit,
)
from git_blackbird.controller.change.undo.commit import NO_COMMIT, UndoCommit, UndoCommitter
from git_blackbird.controller.change.undo.expected import Expectation, Expected
from git_blackbird.controller.change.undo.selection import runs_to_redo, runs_to_undo
from git_blackbird.controller.core.guards import require_usable
from git_blackbird.controller.core.status_sync import save_statuses, update_run
from git_blackbird.controller.core.workspace import Workspace, find_task, hold_controller
from git_blackbird.controller.place.snapshots import snapshot_with_ignored
from git_blackbird.errors import RequestError
from git_blackbird.git.change.both_added import resolve_additions
from git_blackbird.git.change.changes import Carrier, changed_paths
from git_blackbird.git.change.merging import OVERLAPS, Merged, merge_sides, sides_of, with_earlier_attempt
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.git.writing.journal import Journal
from git_blackbird.git.writing.obstacles import find_obstacles
from git_blackbird.git.writing.path_writer import Signature
from git_blackbird.git.writing.write_back import take_signatures, write_paths
from git_blackbird.messages.display.format import bulleted_lines
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.moves import moves_since
from git_blackbird.model.plan.graph import dependents
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import PastUndo, Undoing, Undone
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import KeptPath, Trees
from git_blackbird.model.views.undo import UndoResult

_MAX_NAMED = 20


def undo_task(workspace: Workspace, task_id: str, *, dry_run: bool = False) -> UndoResult:
    """Take out of the worktree what the runs of a task changed in it.

    Each run is taken back by a three-way merge, the last one first: what anyone did since stays, and a path
    where that overlaps is left alone. Where the branch has commits of the change, a commit takes them back.
    A task that was done counts as failed then. Repeating it after a crash completes it. Raises RequestError
    where there is nothing to take back, or all of it has to be left, SnapshotError, WriteBackError,
    LockedError.
    """
    return _undo_or_redo(workspace, task_id, is_redo=False, dry_run=dry_run)


def begin_undo(workspace: Workspace, task_id: str) -> None:
    """Record that the change of a rejected task is to be taken back.

    The next turn of a loop, or ``undo_task``, does it. Raises RequestError where there is nothing to do.
    """
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    require_usable(task.id, state.history(task.id))
    _Undo(workspace, state, task, runs_to_undo(state, task), is_redo=False).begin()


def redo_task(workspace: Workspace, task_id: str, *, dry_run: bool = False) -> UndoResult:
    """Bring back what ``undo_task`` took out last, in the same way. Raises as that does."""
    return _undo_or_redo(workspace, task_id, is_redo=True, dry_run=dry_run)


def complete_undo(workspace: Workspace, run: Run) -> UndoResult:
    """Complete an interrupted undo or redo; needs the controller lock.

    Raises as ``undo_task`` does.
    """
    return _perform(workspace, run.task_id, is_redo=run.is_redoing, dry_run=False)


def _undo_or_redo(workspace: Workspace, task_id: str, *, is_redo: bool, dry_run: bool) -> UndoResult:
    command = "redo" if is_redo else "undo"
    workspace.environment.forbid_agents(command)
    with hold_controller(workspace, f"{command} {task_id}"):
        return _perform(workspace, task_id, is_redo=is_redo, dry_run=dry_run)


def _perform(workspace: Workspace, task_id: str, *, is_redo: bool, dry_run: bool) -> UndoResult:
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    require_usable(task.id, state.history(task.id))
    runs = runs_to_redo(state, task) if is_redo else runs_to_undo(state, task)
    return _Undo(workspace, state, task, runs, is_redo=is_redo).perform(dry_run=dry_run)


class _Prepared(NamedTuple):
    """The worktree ``now``, that with the changes taken out, and the files found in ``now``."""

    now: str
    merged: Merged
    found: Mapping[bytes, Signature]


@dataclass(frozen=True)
class _Undo:
    workspace: Workspace
    state: PlanState
    task: Task
    runs: Sequence[Run]
    is_redo: bool

    @cached_property
    def _expectation(self) -> Expectation:
        work, moves = moves_since(self.state.histories, self._marked)
        undone = self._marked.undone
        taken = self._marked.undo_trees if undone is None else undone.trees
        return Expectation(self.workspace.repo, moves, work, taken, self.is_redo)

    @cached_property
    def _expected(self) -> Expected:
        return self._expectation.find()

    def begin(self) -> None:
        """Record what is to be taken back, without writing a file."""
        now, merged, _ = self._prepare()
        self._require_some(merged, now)
        self._mark_begun(self._whole_pair(Trees(now, merged.tree), merged.left))

    def perform(self, *, dry_run: bool) -> UndoResult:
        repo, (now, merged, found) = self.workspace.repo, self._prepare()
        if dry_run:
            return self._result(Trees(now, merged.tree), merged.left)
        self._require_some(merged, now)
        pair = self._whole_pair(Trees(now, merged.tree), merged.left)
        self._mark_begun(pair)
        seconds = float(self.workspace.config.snapshot.timeout_seconds)
        change = Trees(now, merged.tree)
        refused = write_paths(repo, change, found, self._journal, timeout_seconds=seconds)
        left, after = {**merged.left, **refused}, merged.tree
        if refused:
            after = Carrier(repo).without(Trees(merged.tree, now), refused).base
        last = self._expectation.moves.last_runs.values()
        others = {run.undo_commit for run in last if run.undo_commit is not None}
        committer = UndoCommitter(self.workspace, self.task, self.runs, self._marked, self.is_redo, others)
        commit = committer.commit(
            pair, partial(self._after, self._undo_trees(pair), left), is_whole=not refused
        )
        is_whole = not refused and not commit.is_locked
        self._record(pair, left, commit, is_whole=is_whole)
        result = self._result(Trees(now, after), left, commit, is_dry_run=False)
        return replace(result, is_whole=is_whole and not (self.is_redo and left))

    def _prepare(self) -> _Prepared:
        repo, begun = self.workspace.repo, self._begun_trees
        # What is there of them now comes first: a snapshot keeps of it what git ignores by now.
        pairs = self._expectation.pairs if begun is None else [begun]
        paths = frozenset[bytes]().union(*(changed_paths(repo, each) for each in pairs))
        found = take_signatures(repo, paths)
        now, unknown = snapshot_with_ignored(self.workspace, pairs, found, pairs[0].base)
        return _Prepared(now, self._merge(now, unknown, found), found)

    def _merge(self, now: str, unknown: Mapping[bytes, str], found: Mapping[bytes, Signature]) -> Merged:
        repo, trees, written = self.workspace.repo, TreeStore(self.workspace.repo), self._journal.written()
        begun, changes, left = self._begun_trees, self._expected.changes, dict(self._expected.left)
        if begun is not None:
            begun_sides = sides_of(trees, begun)
            for path, (_, after) in chain.from_iterable(map(Mapping.items, changes)):
                if path not in begun_sides and trees.entry(now, path) != after:
                    left[path] = OVERLAPS  # it was left when this began
            changes = [begun_sides]
        merged = merge_sides(repo, now, changes, unknown, written, resolve_additions)
        while obstacles := find_obstacles(repo, Trees(now, merged.tree), found):
            unknown = {**unknown, **obstacles}
            merged = merge_sides(repo, now, changes, unknown, written, resolve_additions)
        left = {**left, **merged.left}
        if not self.is_redo:
            # Of what a person removed since nothing is there; what a task removed comes back with its undo.
            left = {
                path: why
                for path, why in left.items()
                if path in unknown
                or trees.entry(now, path) is not None
                or self._expected.left.get(path, OVERLAPS) != OVERLAPS
            }
        return Merged(merged.tree, left)

    @property
    def _verb(self) -> Literal["undo", "redo"]:
        return "redo" if self.is_redo else "undo"

    @property
    def _journal(self) -> Journal:
        return Journal(self.workspace.repo, f"{self._verb} {self._marked.id}")

    @property
    def _begun_trees(self) -> Trees | None:
        """The pair of an undo or redo that has begun; turned round, if that was the other."""
        undoing = self._marked.undoing
        return None if undoing is None else self._turned(undoing.trees)

    def _turned(self, undo: Trees) -> Trees:
        """Return the trees of an undo as this goes from one to the other."""
        return Trees(undo.head, undo.base) if self.is_redo else undo

    def _undo_trees(self, pair: Trees) -> Trees:
        """Return the trees of the undo that the record is to name, which a redo keeps."""
        undone, undoing = self._marked.undone, self._marked.undoing
        if not self.is_redo and (undoing is None or undoing.verb == self._verb):
            return pair
        return undone.trees if undone is not None else self._turned(pair)

    def _mark_begun(self, pair: Trees) -> None:
        """Record that the undo has begun, for the next execute to complete it."""
        undoing = Undoing(verb=self._verb, trees=self._turned(pair))
        update_run(self.workspace, self._marked, lambda stored: stored.updated(undoing=undoing))

    def _require_some(self, merged: Merged, now: str) -> None:
        """Raise RequestError where every path has to be left as it is."""
        if self._begun_trees is not None:
            return  # what is left may be what an earlier attempt left
        if merged.tree == now and merged.left:
            verb = "brought back" if self.is_redo else "taken back"
            listed = sorted(f"{path.decode(errors='replace')}: {why}" for path, why in merged.left.items())
            why = bulleted_lines(listed, _MAX_NAMED)
            others = "bring back what it builds on" if self.is_redo else "take back what others did since"
            hint = f"change these files by hand, or {others} first"
            raise RequestError(f"nothing of {self.task.id} can be {verb}\n{why}", hint=hint)

    @property
    def _earlier_trees(self) -> Trees | None:
        """What an earlier attempt at the same did."""
        repo, undone, landing = self.workspace.repo, self._marked.undone, self._marked.landing_pair
        if landing is not None and self._marked.landing_begun:
            return Trees(landing.head, landing.base)
        if undone is None or undone.redone is not self.is_redo:
            return None
        left = (path for path in changed_paths(repo, undone.trees) if undone.has(path) is not self.is_redo)
        return Carrier(repo).without(self._turned(undone.trees), left)

    def _whole_pair(self, pair: Trees, left: Collection[bytes]) -> Trees:
        """Return the whole pair of this undo or redo, including what an earlier attempt did."""
        repo, earlier = self.workspace.repo, self._earlier_trees
        if self._begun_trees is not None:
            return Carrier(repo).without(self._begun_trees, left)
        return pair if earlier is None else with_earlier_attempt(repo, pair, earlier)

    def _done(self, whole: Trees, left: Collection[bytes]) -> Trees:
        """Return what of a whole pair is done and not recorded yet."""
        work, moves = self._expectation.work, self._expectation.moves
        known = (
            path
            for path in changed_paths(self.workspace.repo, whole)
            if path in left or moves.is_there(work, path) is self.is_redo
        )
        return Carrier(self.workspace.repo).without(whole, known)

    @property
    def _marked(self) -> Run:
        """The last of the runs, whose record notes the undo."""
        return self.runs[-1] if self.is_redo else self.runs[0]

    def _record(self, pair: Trees, left: Mapping[bytes, str], commit: UndoCommit, *, is_whole: bool) -> None:
        """Record the result. A change that was not brought back in full still counts as taken back.

        If a file could not be written, the undo stays begun, as after a crash.
        """
        workspace = at_commit(self.workspace, commit.oid, self.task.id)
        now, trees, done = workspace.environment.timestamp(), self._undo_trees(pair), self._done(pair, left)
        with workspace.transaction() as transaction:
            stored = workspace.store.records.history(self.task.id).find(self._marked.id) or self._marked
            after = self._after(trees, left, stored, now, commit, is_whole=is_whole)
            if not done.is_empty:
                after = after.updated(undos=(*stored.undos, PastUndo(at=now, trees=done)))
            for run, undone in self._settled_elsewhere(left) if is_whole else ():
                other = workspace.store.records.history(run.task_id).find(run.id) or run
                transaction.save_run(other.updated(undone=undone))
            transaction.save_run(after)
            save_statuses(transaction)
        if is_whole:
            self._journal.clear()

    def _settled_elsewhere(self, left: Collection[bytes]) -> Iterator[tuple[Run, Undone | None]]:
        """Yield the runs of other works of which this does what had to be left, and what is left of that."""
        settled = {path.decode(errors="replace") for path in self._expected.settled.difference(left)}
        for run in self._expectation.moves.last_runs.values():
            undone = run.undone
            if undone is not None and run.id != self._marked.id and not settled.isdisjoint(undone.left):
                yield run, undone.settled(settled)

    def _completes(self, left: Collection[bytes]) -> Iterator[str]:
        for run, _ in self._settled_elsewhere(left):
            yield f"{'redo' if run.undone and run.undone.redone else 'undo'} {run.task_id}"

    def _after(
        self,
        trees: Trees,
        left: Mapping[bytes, str],
        stored: Run,
        at: str,
        commit: UndoCommit = NO_COMMIT,
        *,
        is_whole: bool = True,
    ) -> Run:
        """Return the record of a run after its undo or redo."""
        is_back = self.is_redo and is_whole and not left and not commit.is_refused
        before = self._marked.undone
        is_again = before is not None and (self.is_redo or not before.redone)
        undone = Undone(
            at=(self._marked.undone_at if is_again else None) or at,
            trees=trees,
            left=tuple(sorted(path.decode(errors="replace") for path in left)),
            commit=(None if self.is_redo else commit.oid) or self._marked.undo_commit,
            uncommitted=commit.is_refused,
            redone=self.is_redo,
        )
        return stored.landed_at_last(at).updated(
            undone=None if is_back else undone, undoing=None if is_whole else stored.undoing
        )

    def _result(
        self,
        written: Trees,
        left: Mapping[bytes, str],
        commit: UndoCommit = NO_COMMIT,
        *,
        is_dry_run: bool = True,
    ) -> UndoResult:
        kept = (
            KeptPath(path=path.decode(errors="replace"), reason=why)
            for path, why in sorted({**self._expected.shared, **left}.items())
        )
        return UndoResult(
            task=self.task,
            run=self._marked,
            is_redo=self.is_redo,
            summary=summarize(self.workspace.repo, written),
            kept=tuple(kept),
            dependents=tuple(_later_dependents(self.state, self.task, self._marked)),
            completes=tuple(self._completes(left)),
            commit=commit.oid,
            uncommitted=commit.why_not,
            behind=commit.behind,
            is_dry_run=is_dry_run,
        )


def _later_dependents(state: PlanState, task: Task, run: Run) -> list[TaskId]:
    """Return the tasks that depend on a task and have run since."""
    return [other.id for other in dependents(state.plan, task.id) if state.history(other.id).since(run)]
