"""Values for ``runs``: lists, one run, its session, its saved streams."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from git_blackbird.agents.registry import DECLARATIONS
from git_blackbird.controller.core.guards import UnreadableRecordError, is_alive, require_usable
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import PLANNING, TaskId, owner_fault
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.rules.reviews import reviews_about
from git_blackbird.model.run.history import NO_HISTORY, History, RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.storage.locks import controller_holder

STREAMS = ("stdout", "stderr")
_TAIL_BYTES = 16 * 1024
_POLL_SECONDS = 0.2
Piece = TypeVar("Piece")


class RunList(NamedTuple):
    """Runs, newest first, each before the reviews of its change.

    ``more`` counts the older runs that are not listed; None where there are some, not counted.
    """

    runs: tuple[Run, ...]
    faults: tuple[RecordError, ...]
    more: int | None = 0


def newest_runs(workspace: Workspace, limit: int) -> RunList:
    """Return the newest runs over all tasks; the other records are not read."""
    recent = workspace.store.records.recent(limit + 1, workspace.environment.now())
    is_cut = len(recent.recent) + len(recent.faults) > limit
    return RunList(recent.recent[::-1][:limit], recent.faults, None if is_cut else 0)


def runs_of_task(workspace: Workspace, task_id: str, limit: int | None) -> RunList:
    """Return the runs of one task, also of one that is no longer in the plan.

    Raises RequestError for an id that names neither a task nor records.
    """
    history = task_history(workspace, task_id)
    newest_first = history.runs[::-1]
    shown = newest_first if limit is None else newest_first[:limit]
    reviews = workspace.store.records.reviews(TaskId(task_id))
    listed = tuple(one for run in shown for one in (run, *reviews_about(reviews.runs, run)))
    faults = tuple(dict.fromkeys((*history.faults, *reviews.faults)))
    return RunList(listed, faults, len(newest_first) - len(shown))


def task_history(workspace: Workspace, task_id: str) -> History:
    """Return everything recorded of a task.

    Raises RequestError for an id that names neither a task nor records, UnusableError without a plan.
    """
    if owner_fault(task_id) is None:
        history = workspace.store.records.history(TaskId(task_id))
        if history != NO_HISTORY:
            return history
    if task_id != PLANNING:
        find_task(workspace.store.plan(), task_id)
    return NO_HISTORY


def find_run(workspace: Workspace, history: History, task_id: str, run_id: str | None) -> Run:
    """Return the run whose id starts with ``run_id``; without one the newest, a review if need be.

    With an id, the reviews of changes are among the runs.

    Raises RequestError when there is none, or more than one.
    """
    if run_id is None:
        if not history.runs:
            require_usable(TaskId(task_id), history)
            raise RequestError(f"no runs found for {task_id}", hint=TaskCommand("show", task_id))
        return history.newest or history.runs[-1]
    reviews = workspace.store.records.reviews(TaskId(task_id)).runs
    found = [run for run in (*history.runs, *reviews) if run.id.startswith(run_id)]
    if len(found) != 1:
        faults = [fault for fault in history.faults if Path(fault.path).stem.startswith(run_id)]
        if faults and not found:
            raise UnreadableRecordError(TaskId(task_id), faults)
        what = f"{len(found)} runs begin with" if found else "there is no run"
        raise RequestError(
            f"{task_id}: {what} {run_id}", hint=TaskCommand("runs", task_id, remark="lists them")
        )
    return found[0]


def attach_command(workspace: Workspace, run: Run) -> str | None:
    """Return the shell command that opens a run's session where its files are; None where there is none."""
    declared, session = DECLARATIONS.get(run.provider), run.provider_session_ref or "-"
    if declared is None or not declared.attach or session.startswith("-") or run.is_remote:
        return None
    folder = str(workspace.paths.state_root) if run.is_in_place else workspace.worktree_of(run)
    program = getattr(workspace.config, run.provider).path
    opens = " ".join(map(shell_word, (program, *declared.attach, session)))
    return f"cd {shell_word(folder)} && {opens}" if folder is not None and Path(folder).is_dir() else None


def log_places(workspace: Workspace, run: Run) -> dict[str, str]:
    """Say where the saved streams of a run lie, by stream; the Go program keeps them in the record alone."""
    paths = workspace.paths
    found = [(name, path) for name in STREAMS for path in reversed(paths.logs(run.task_id, run.id, name))]
    found += [(name, paths.check_log(run.task_id, run.id, name)) for name in run.check_streams]
    return {name: str(path) for name, path in found if path.exists()}


class SavedOutput(NamedTuple):
    """The kept part of a stream: its size, its pieces, and how many bytes were not kept."""

    name: str
    size: int
    pieces: Iterator[bytes]
    missing: int


def saved_outputs(workspace: Workspace, run: Run) -> list[SavedOutput]:
    """Open the saved streams of a run; without a log, those parts that the record has."""
    from git_blackbird.agents.process.logs import LogReader  # no list needs it

    logs, outputs = log_places(workspace, run), []
    for name in STREAMS:
        missing = 0 if run.unlogged_bytes is None else int(getattr(run.unlogged_bytes, name))
        if name in logs:
            stream = LogReader(workspace.paths.logs(run.task_id, run.id, name))
            outputs.append(SavedOutput(name, stream.size, stream.pieces(), missing))
        else:
            data = (getattr(run, name) or "").encode(errors="replace")
            outputs.append(SavedOutput(name, len(data), iter([data]), missing))
    return outputs


class FollowedOutput:
    """The output of a run by stream, from its last part on."""

    def __init__(self, workspace: Workspace, run: Run) -> None:
        from git_blackbird.agents.process.logs import LogReader  # no list needs it

        paths = workspace.paths
        self._streams = [
            (name, LogReader(paths.logs(run.task_id, run.id, name), tail=_TAIL_BYTES)) for name in STREAMS
        ]

    def arrived(self) -> Iterator[tuple[str, bytes]]:
        """Yield the output since the last call, without waiting."""
        for name, stream in self._streams:
            for piece in stream.pieces():
                yield name, piece


def follow(workspace: Workspace, run: Run) -> Iterator[tuple[str, bytes]]:
    """Yield the output of a live run until its record is closed or nobody is left to close it."""
    return until_closed(workspace, run, FollowedOutput(workspace, run).arrived)


def until_closed(workspace: Workspace, run: Run, arrived: Callable[[], Iterable[Piece]]) -> Iterator[Piece]:
    """Yield pieces of a run until its record is closed or nobody is left to close it."""
    over = False
    while not over:
        over = not is_at_work(workspace, run)
        yield from arrived()
        if not over:
            time.sleep(_POLL_SECONDS)


def is_at_work(workspace: Workspace, run: Run) -> bool:
    """Whether a run may print more: its record is open, and its agent or controller is alive."""
    if reread(workspace, run).status != RunStatus.RUNNING:
        return False
    return is_alive(run) or controller_holder(workspace.paths) is not None


def reread(workspace: Workspace, run: Run) -> Run:
    records = workspace.store.records
    history = (records.reviews if run.is_of_change else records.history)(run.task_id)
    return history.find(run.id) or run


def page_text(workspace: Workspace, pieces: Iterable[bytes]) -> bool:
    """Show the text in the user's pager; False when there is none, and nothing was shown."""
    from git_blackbird.git.core.user_programs import page, pager_command  # only long text pays for it

    pager = pager_command(workspace.repo)
    if pager is None:
        return False
    page(workspace.repo, pager, pieces)
    return True
