"""Take the change of one task back out of the worktree, or bring it back, and leave all later edits."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from git_blackbird.controller.change.commit.carried import at_commit
from git_blackbird.controller.change.move import Move, Prepared, make, prepare, record_begun
from git_blackbird.controller.change.undo.commit import NO_COMMIT, UndoCommit, UndoCommitter
from git_blackbird.controller.change.undo.expected import Expectation, Expected
from git_blackbird.controller.core.guards import is_alive, require_usable
from git_blackbird.controller.core.status_sync import save_statuses
from git_blackbird.controller.core.workspace import Workspace, find_task, hold_controller
from git_blackbird.errors import RequestError
from git_blackbird.git.change.changes import changed_paths, without_paths
from git_blackbird.git.change.merging import OVERLAPS, with_earlier_attempt
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.format import bulleted_lines
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, ShellLine, TaskCommand
from git_blackbird.model.change.moves import moves_since
from git_blackbird.model.change.work import Work
from git_blackbird.model.plan.graph import dependents
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import IN_HAND
from git_blackbird.model.rules.queue import UNWATCHED
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import Moving, PastUndo, Undone
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, Verb
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
    return _undo_or_redo(workspace, task_id, Verb.UNDO, dry_run=dry_run)


def redo_task(workspace: Workspace, task_id: str, *, dry_run: bool = False) -> UndoResult:
    """Bring back what ``undo_task`` took out last. Raises as that does."""
    return _undo_or_redo(workspace, task_id, Verb.REDO, dry_run=dry_run)


def preview_rejection(workspace: Workspace, task_id: str) -> UndoResult:
    """Return what taking a change back would do on which a decision is pending; writes only objects.

    Raises as ``undo_task`` does.
    """
    return _undo_of(workspace, task_id, Verb.UNDO, is_rejected=True).preview()


def begin_undo(workspace: Workspace, task_id: str) -> None:
    """Record that the change of a rejected task is to be taken back.

    The next turn of a loop, or ``undo_task``, does it. Raises RequestError where there is nothing to do.
    """
    undo = _undo_of(workspace, task_id, Verb.UNDO)
    undo.begin(prepare(undo.move))


def complete_undo(workspace: Workspace, run: Run) -> UndoResult:
    """Complete an undo or redo that has begun, or take out half of a landing that a person gave up.

    Needs the controller lock. Raises as ``undo_task`` does.
    """
    if run.moving is None:
        raise RequestError(f"nothing of {run.task_id} is half done")
    return _undo_of(workspace, run.task_id, run.moving.ended_by).perform()


def _undo_or_redo(workspace: Workspace, task_id: str, verb: Verb, *, dry_run: bool) -> UndoResult:
    command = VERBS[verb].command
    workspace.environment.forbid_agents(command)
    with hold_controller(workspace, f"{command} {task_id}"):
        undo = _undo_of(workspace, task_id, verb)
        return undo.preview() if dry_run else undo.perform()


def _undo_of(workspace: Workspace, task_id: str, verb: Verb, *, is_rejected: bool = False) -> "_Undo":
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    require_usable(task.id, state.history(task.id))
    takes_back = VERBS[verb].takes_back
    runs = runs_to_undo(state, task, is_rejected=is_rejected) if takes_back else runs_to_redo(state, task)
    return _Undo(workspace, state, task, runs, verb)


def runs_to_undo(state: PlanState, task: Task, *, is_rejected: bool = False) -> Sequence[Run]:
    """Return the runs to take back, the last one first; ``is_rejected``: also where a decision is pending.

    Raises RequestError.
    """
    history = state.history(task.id)
    if history.latest is not None and history.latest.is_pending and not is_rejected:
        hint = TaskCommand("decide", task.id, " --reject --undo", remark="rejects it and takes it back")
        raise RequestError(f"a decision on {task.id} is pending", hint=hint)
    is_half_done = history.moving is not None
    if task.status in IN_HAND and not is_half_done and not is_rejected:
        gives_up = TaskCommand("retry", task.id, remark="gives up what it was doing; then undo it")
        is_at_work = history.live is not None and is_alive(history.live)
        raise RequestError(
            f"{task.id} is not finished: it is {task.status.value}",
            hint=Sentence(UNWATCHED, "; ", EXECUTE, " stops it") if is_at_work else gives_up,
        )
    work = Work(history)
    undone = work.undone
    runs = [run for run in work.runs if run.has_changed_worktree]
    marked = undone[-1] if undone else None
    if not runs and marked and (is_half_done or _is_incomplete(marked.undone)):
        # The obstacle may be gone, or the change is half brought back.
        runs = [run for run in undone if run.has_changed_worktree]
    if not runs:
        next_step: str = Sentence(TaskCommand("runs"), " shows what tasks changed")
        if undone:
            next_step = TaskCommand("redo", task.id, remark="brings back what was taken back")
        raise RequestError(f"{task.id} has changed nothing that could be taken back", hint=next_step)
    return runs[::-1]


def _is_incomplete(undone: Undone | None) -> bool:
    return undone is not None and bool(undone.left or undone.uncommitted)


def runs_to_redo(state: PlanState, task: Task) -> Sequence[Run]:
    """Return the runs to bring back, the first one first. Raises RequestError."""
    history = state.history(task.id)
    work, half = Work(history), history.moving
    undone, later = work.undone, work.runs
    is_half_moved = half is not None and half.verb is not Verb.LAND
    if is_half_moved and any(run.has_changed_worktree for run in later):
        # It is half taken back, or brought back as its record says.
        undone, later = later, ()
    runs = [run for run in undone if run.has_changed_worktree]
    if not runs:
        is_there = any(run.has_changed_worktree for run in later)
        hint = (
            TaskCommand("undo", task.id, remark="takes its change back, or completes that")
            if is_there
            else ShellLine("git blackbird redo", "says whose change can come back")
        )
        raise RequestError(f"nothing of {task.id} was taken back", hint=hint)
    if any(run.tree_pair is None or run.has_changed_worktree for run in later):
        hint = TaskCommand("undo", task.id, remark="takes back what it did since")
        raise RequestError(f"{task.id} has run again since it was taken back", hint=hint)
    return runs


def tasks_to_undo(state: PlanState, verb: Verb) -> Iterator[Task]:
    """Yield the tasks whose change can be taken back, or brought back, in the order of the plan."""
    runs_of = runs_to_undo if VERBS[verb].takes_back else runs_to_redo
    for task in state.plan.leaves():
        with suppress(RequestError):
            if runs_of(state, task):
                yield task


def has_anything_to_undo(state: PlanState, run: Run) -> bool:
    """Whether anything of a task may be in the user's worktree, by its records."""
    runs = Work(state.history(run.task_id)).runs
    return run.is_in_place or any(one.has_changed_worktree for one in runs)


@dataclass(frozen=True)
class _Undo:
    """An undo or a redo; ``runs`` in the order in which it goes through them."""

    workspace: Workspace
    state: PlanState
    task: Task
    runs: Sequence[Run]
    verb: Verb

    @property
    def is_redo(self) -> bool:
        return not VERBS[self.verb].takes_back

    @property
    def marked(self) -> Run:
        """The newest of the runs, whose record notes the undo."""
        return self.runs[-1] if self.is_redo else self.runs[0]

    @cached_property
    def latest(self) -> Run:
        """The run whose record notes that it has begun: one that is read however many there are."""
        latest = self.state.history(self.task.id).latest
        return self.marked if latest is None or latest.is_pending else latest

    @cached_property
    def half(self) -> Moving | None:
        return self.state.history(self.task.id).moving

    @cached_property
    def expectation(self) -> Expectation:
        work, moves = moves_since(self.state.histories, self.marked)
        undone, begun = self.marked.undone, self.begun
        taken = undone.trees if undone is not None else begun and self._turned(begun)
        return Expectation(self.workspace.repo, moves, work, taken, self.is_redo)

    @cached_property
    def expected(self) -> Expected:
        return self.expectation.find()

    @property
    def begun(self) -> Trees | None:
        """The trees of what has begun, in the direction of this verb."""
        return None if self.half is None else self.half.trees_for(self.verb)

    @cached_property
    def move(self) -> Move:
        if self.begun is not None:
            return Move(self.verb, self.workspace, self.latest, [self.begun], goes_on=True)
        pairs, sides = self.expectation.pairs, self.expected.changes
        return Move(self.verb, self.workspace, self.latest, pairs, sides)

    def preview(self) -> UndoResult:
        prepared = prepare(self.move)
        return self._result(prepared.written, self._left(prepared))

    def begin(self, prepared: Prepared) -> None:
        """Record that it has begun, if anything of it can be done. Raises RequestError."""
        self._require_some(prepared)
        record_begun(self.move, self._whole_pair(prepared))

    def perform(self) -> UndoResult:
        prepared, refused = make(self.move, self.begin)
        left, pair = {**self._left(prepared), **refused}, self._whole_pair(prepared)
        last = self.expectation.moves.last_runs.values()
        others = {run.undo_commit for run in last if run.undo_commit is not None}
        committer = UndoCommitter(
            self.workspace, self.task, self.runs, self.marked, self.verb, others, self.move.goes_on
        )
        trees, latest, is_marked = self._undo_trees(pair), self.latest, self.latest.id == self.marked.id

        def becomes(stored: Run, at: str) -> Run:
            return self._after(trees, left, stored, at) if is_marked else stored.updated(moving=None)

        commit = committer.commit(pair, latest, becomes, is_whole=not refused)
        is_whole = not refused and not commit.is_locked
        self._record(pair, left, commit, is_whole=is_whole)
        now, after = prepared.written
        if refused:
            after = without_paths(self.workspace.repo, Trees(after, now), refused).base
        result = self._result(Trees(now, after), left, commit)
        return result._replace(is_dry_run=False, is_whole=is_whole and not (self.is_redo and left))

    def _left(self, prepared: Prepared) -> Mapping[bytes, str]:
        trees, left = TreeStore(self.workspace.repo), dict(self.expected.left)
        if self.begun is not None:
            written = changed_paths(self.workspace.repo, self.begun)
            for path, (_, after) in chain.from_iterable(map(Mapping.items, self.expected.changes)):
                if path not in written and trees.entry(prepared.now, path) != after:
                    left[path] = OVERLAPS  # it was left when this began
        left |= prepared.conflicts
        if self.is_redo:
            return left
        # Of what a person removed since nothing is there; what a task removed comes back with its undo.
        return {
            path: why
            for path, why in left.items()
            if path in prepared.left
            or trees.entry(prepared.now, path) is not None
            or self.expected.left.get(path, OVERLAPS) != OVERLAPS
        }

    def _require_some(self, prepared: Prepared) -> None:
        """Raise RequestError where every path has to be left as it is."""
        left = self._left(prepared)
        if self.begun is None and prepared.written.is_empty and left:
            listed = sorted(f"{path.decode(errors='replace')}: {why}" for path, why in left.items())
            others = "bring back what it builds on" if self.is_redo else "take back what others did since"
            raise RequestError(
                (
                    f"nothing of {self.task.id} can be {VERBS[self.verb].done}",
                    *bulleted_lines(listed, _MAX_NAMED),
                ),
                hint=f"change these files by hand, or {others} first",
            )

    def _whole_pair(self, prepared: Prepared) -> Trees:
        """Return the trees of this undo or redo, together with an earlier attempt at the same."""
        repo, undone = self.workspace.repo, self.marked.undone
        if self.begun is not None:
            return without_paths(repo, self.begun, self._left(prepared))
        if undone is None or undone.redone is not self.is_redo:
            return prepared.pair
        left = (path for path in changed_paths(repo, undone.trees) if undone.has(path) is not self.is_redo)
        earlier = without_paths(repo, self._turned(undone.trees), left)
        return with_earlier_attempt(repo, prepared.pair, earlier)

    def _turned(self, undo: Trees) -> Trees:
        """Return the trees of an undo as this goes from one to the other."""
        return Trees(undo.head, undo.base) if self.is_redo else undo

    def _undo_trees(self, pair: Trees) -> Trees:
        """Return the trees of the undo that the record is to name, which a redo keeps."""
        undone, half = self.marked.undone, self.half
        if not self.is_redo and (half is None or VERBS[half.verb].takes_back):
            return pair
        return undone.trees if undone is not None else self._turned(pair)

    def _done(self, whole: Trees, left: Collection[bytes]) -> Trees:
        """Return what of a whole pair is done and not recorded yet."""
        work, moves = self.expectation.work, self.expectation.moves
        known = (
            path
            for path in changed_paths(self.workspace.repo, whole)
            if path in left or moves.is_there(work, path) is self.is_redo
        )
        return without_paths(self.workspace.repo, whole, known)

    def _record(self, pair: Trees, left: Mapping[bytes, str], commit: UndoCommit, *, is_whole: bool) -> None:
        """Record the result. A change that was not brought back in full still counts as taken back.

        If a file could not be written, the undo stays begun, as after a crash.
        """
        workspace = at_commit(self.workspace, commit.oid, self.task.id)
        now, trees, done = workspace.environment.timestamp(), self._undo_trees(pair), self._done(pair, left)
        with workspace.transaction() as transaction:
            stored = workspace.store.records.history(self.task.id).find(self.marked.id) or self.marked
            after = self._after(trees, left, stored, now, commit, is_whole=is_whole)
            if not done.is_empty:
                after = after.updated(undos=(*stored.undos, PastUndo(at=now, trees=done)))
            for run, undone in self._settled_elsewhere(left) if is_whole else ():
                other = workspace.store.records.history(run.task_id).find(run.id) or run
                transaction.save_run(other.updated(undone=undone))
            transaction.save_run(after)
            history = workspace.store.records.history(self.task.id)
            for run in history.work_runs if is_whole and history.moving is not None else ():
                if run.moving is not None:
                    transaction.save_run(run.updated(moving=None))
            save_statuses(transaction)
        if is_whole:
            self.move.journal.clear()

    def _settled_elsewhere(self, left: Collection[bytes]) -> Iterator[tuple[Run, Undone | None]]:
        """Yield the runs of other works of which this does what had to be left, and what is left of that."""
        settled = {path.decode(errors="replace") for path in self.expected.settled.difference(left)}
        for run in self.expectation.moves.last_runs.values():
            undone = run.undone
            if undone is not None and run.id != self.marked.id and not settled.isdisjoint(undone.left):
                yield run, undone.settled(settled)

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
        is_back = self.is_redo and is_whole and not left and not commit.is_refused
        before = self.marked.undone
        is_again = before is not None and (self.is_redo or not before.redone)
        undone = Undone(
            at=(self.marked.undone_at if is_again else None) or at,
            trees=trees,
            left=tuple(sorted(path.decode(errors="replace") for path in left)),
            commit=(None if self.is_redo else commit.oid) or self.marked.undo_commit,
            uncommitted=commit.is_refused,
            redone=self.is_redo,
        )
        return stored.updated(undone=None if is_back else undone, moving=None if is_whole else stored.moving)

    def _result(
        self, written: Trees, left: Mapping[bytes, str], commit: UndoCommit = NO_COMMIT
    ) -> UndoResult:
        kept = (
            KeptPath(path=path.decode(errors="replace"), reason=why)
            for path, why in sorted({**self.expected.shared, **left}.items())
        )
        later = (
            other.id
            for other in dependents(self.state.plan, self.task.id)
            if self.state.history(other.id).since(self.marked)
        )
        completes = (
            f"{VERBS[run.undone.verb].command} {run.task_id}"
            for run, _ in self._settled_elsewhere(left)
            if run.undone is not None
        )
        return UndoResult(
            task=self.task,
            run=self.marked,
            verb=self.verb,
            summary=summarize(self.workspace.repo, written),
            kept=tuple(kept),
            dependents=tuple(later),
            completes=tuple(completes),
            commit=commit.oid,
            uncommitted=commit.why_not,
            behind=commit.behind,
            is_dry_run=True,
        )
