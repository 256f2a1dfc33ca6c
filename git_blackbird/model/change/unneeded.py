"""Which runs of a task nothing needs any more."""

from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import Stage, is_settled, stage_of
from git_blackbird.model.change.work import Work
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run


def is_in_use(history: History) -> bool:
    """Whether an agent is at work on a task, something is due, or a record of it cannot be used."""
    latest = history.latest
    is_waiting = latest is not None and not is_settled(latest)
    is_half_written = any(run.moving is not None for run in history.runs)
    return bool(history.faults) or bool(history.at_work) or is_waiting or is_half_written


def unneeded_runs(history: History) -> tuple[Run, ...]:
    """Return the runs without which status, messages, undo, redo and branch of a task stay as they are.

    Those are attempts that brought nothing to the user's worktree: of a task that is done all in other
    sessions than the run that counts, else those before its present change. None while it is in use.
    """
    latest, change, own = history.latest, Change.of(history), history.work_runs
    if latest is None or is_in_use(history):
        return ()
    is_done = stage_of(latest) is Stage.DONE and own[-1] == latest
    session = [run for run in own if run.provider_session_ref == latest.provider_session_ref]
    present = session if is_done else change.runs
    needed = {run.id for run in (latest, *present, *change.uncommitted, *Work.of(history).undone)}
    return tuple(run for run in own if run.id not in needed and not run.has_changed_worktree)
