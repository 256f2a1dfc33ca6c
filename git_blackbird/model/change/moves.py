"""The recorded moves of the user's worktree: the work of tasks, and its undos and redos."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import PastUndo, Undone
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType
from git_blackbird.model.run.summary import Trees

WorkId = tuple[TaskId, RunId]
"""The work of a task between two undos, named by its first run."""
_UNFINISHED = 2**63


class PastMove(NamedTuple):
    """The worktree before and after something was done to it.

    ``made`` is what the agents of these works made, of which some may have been there before. A move without
    works took one back, or brought it back. Of a person's commit ``trees`` are not of the worktree.
    """

    trees: Trees
    made: Trees
    works: frozenset[WorkId] = frozenset()
    is_commit: bool = False


class Moves(NamedTuple):
    """Moves, oldest first, and the last run of each work in them, which says if that was taken back.

    A work without a move is all the time as it was before the first of these.
    """

    moves: tuple[PastMove, ...]
    last_runs: Mapping[WorkId, Run]

    def is_there(self, work: WorkId, path: bytes) -> bool:
        """Whether the worktree has a work at a path of its own."""
        undone = self.last_runs[work].undone
        return undone is None or undone.has(path)

    def is_wanted(self, work: WorkId) -> bool:
        """Whether a work was not to be taken back, or to be brought back, even where that was refused."""
        undone = self.last_runs[work].undone
        return undone is None or undone.redone

    def of(self, work: WorkId) -> tuple[PastMove, ...]:
        return tuple(move for move in self.moves if work in move.works)


class DatedMove(NamedTuple):
    """A move with its time, and the run and work that it was recorded with."""

    at: int
    run: Run
    work: WorkId
    move: PastMove


class Recorded(NamedTuple):
    """What a task is recorded to have done to the user's worktree, and how that was taken back since.

    Of a person's commit ``trees`` are not of the worktree.
    """

    task_id: TaskId
    trees: Trees
    is_commit: bool
    undone: Undone | None

    def is_there(self, path: bytes) -> bool:
        """Whether it is still in the worktree at a path of its own."""
        return self.undone is None or self.undone.has(path)


def recorded_by_others(
    histories: Mapping[TaskId, History], task_id: TaskId, commits: Collection[str]
) -> tuple[Recorded, ...]:
    """Return what tasks beside this one did to the worktree, oldest first, these commits aside."""
    dated = [
        (each, runs[-1].undone)
        for other in histories.keys() - {task_id}
        for work, runs in _works(histories[other].work_runs)
        for run in runs
        if set(commits).isdisjoint(run.commits) or run.run_type is not RunType.MANUAL
        for each in _moves_of(run, work)
        if each.move.works
    ]
    dated.sort(key=lambda pair: (pair[0].at, pair[0].run.sort_key))
    return tuple(
        Recorded(each.work[0], each.move.trees, each.move.is_commit, undone) for each, undone in dated
    )


def moves_after(histories: Mapping[TaskId, History], at: int) -> Sequence[DatedMove]:
    """Return the moves of the user's worktree after a time, oldest first, commits of persons aside."""
    later = (each for each in _dated(histories, at) if each.at > at and not each.move.is_commit)
    return sorted(later, key=lambda each: (each.at, each.run.sort_key))


def came_at(run: Run) -> int | None:
    """Return when a run's change came into the user's worktree; None where it did not."""
    moves = (each for each in _moves_of(run, (run.task_id, run.id)) if each.move.works)
    return next((each.at for each in moves), None)


def moves_since(histories: Mapping[TaskId, History], run: Run) -> tuple[WorkId, Moves]:
    """Return the work that a run is of, and the moves since its agents began.

    They begin earlier if something older was taken back, or brought back, since then; and with the first of
    all for a person's commit, which may have what was in the worktree before.
    """
    work = next(
        each for each, runs in _works(histories[run.task_id].work_runs) if run.id in {one.id for one in runs}
    )
    works, before = {work}, set[WorkId]()
    start, since = _UNFINISHED, list[DatedMove]()
    while works != before:
        before = set(works)
        own = [each for each in _moves_in(histories, works) if each.move.works]
        began = (0 if each.move.is_commit else min(each.at, each.run.sort_key[0]) for each in own)
        start = min(began, default=start)
        since = [each for each in _dated(histories, start) if each.at >= start]
        works |= {each.work for each in since if not each.move.works}
    since.sort(key=lambda each: (each.at, each.run.sort_key))
    found = {work, *(each.work for each in since)}
    last_runs = {
        each: runs[-1]
        for task_id in {task_id for task_id, _ in found}
        for each, runs in _works(histories[task_id].work_runs)
        if each in found
    }
    return work, Moves(tuple(_with_shared_commits(since)), last_runs)


def _works(own: Iterable[Run]) -> Iterator[tuple[WorkId, tuple[Run, ...]]]:
    """Yield the works of one task, each with its runs; what was taken back ends one."""
    runs: list[Run] = []
    for run in own:
        runs.append(run)
        if run.undone is not None:
            yield (run.task_id, runs[0].id), tuple(runs)
            runs = []
    if runs:
        yield (runs[0].task_id, runs[0].id), tuple(runs)


def _moves_in(histories: Mapping[TaskId, History], works: set[WorkId]) -> Iterator[DatedMove]:
    for task_id in {task_id for task_id, _ in works}:
        for work, runs in _works(histories[task_id].work_runs):
            if work in works:
                yield from (each for run in runs for each in _moves_of(run, work))


def _dated(histories: Mapping[TaskId, History], start: int) -> Iterator[DatedMove]:
    """Yield the moves of all works of which some are later than that; older records are read where needed."""
    for history in histories.values():
        recent = [run for run in history.recent if not run.is_review]
        is_later = any(each.at >= start for run in recent for each in _moves_of(run, (run.task_id, run.id)))
        if is_later or (recent and recent[0].sort_key[0] >= start):
            for work, runs in _works(history.work_runs):
                yield from (each for run in runs for each in _moves_of(run, work))


def _moves_of(run: Run, work: WorkId) -> Iterator[DatedMove]:
    """Yield what a run did to the user's worktree, and each undo and redo that its record notes."""
    trees, made = run.change_in_place or run.landing_pair, run.made
    if trees is not None and made is not None:
        ended = run.completed_at if run.is_in_place else run.landed_at
        is_half_landed = not run.is_in_place and not run.has_landed
        at = _UNFINISHED if is_half_landed else _time(ended or run.started_at)
        yield DatedMove(
            at, run, work, PastMove(trees, made, frozenset({work}), is_commit=run.run_type is RunType.MANUAL)
        )
    undone = run.undone
    last = () if undone is None else (PastUndo(at=undone.at, trees=undone.trees),)
    for undo in run.undos or last:
        yield DatedMove(_time(undo.at), run, work, PastMove(undo.trees, undo.trees))


def _time(stamp: str) -> int:
    moment = moment_of(stamp)
    return 0 if moment is None else moment.nanoseconds


def _with_shared_commits(since: Iterable[DatedMove]) -> Iterator[PastMove]:
    """Yield the moves; a person's commit that is work on several tasks is one move of them all."""
    found: dict[object, PastMove] = {}
    for number, each in enumerate(since):
        key = (each.run.commits, each.move.trees) if each.move.is_commit else number
        known = found.get(key)
        works = each.move.works if known is None else each.move.works | known.works
        found[key] = each.move._replace(works=works)
    yield from found.values()
