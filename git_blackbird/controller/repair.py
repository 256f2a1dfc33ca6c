"""Repair: what a crash left half done is finished, and each thing done is said in one line (DESIGN.md 5)."""

import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from git_blackbird.agents import processes
from git_blackbird.agents.logs import LogFiles, count_beyond, read_saved, read_tail
from git_blackbird.controller.agents import agent_of
from git_blackbird.controller.approval_commits import mend_cut_off
from git_blackbird.controller.assignments import recorded_assignment
from git_blackbird.controller.claims import forget_noted
from git_blackbird.controller.closing import not_kept, save_closed, summarize_leg, tail_of
from git_blackbird.controller.conduct import log_bytes
from git_blackbird.controller.config_guard import forget_config
from git_blackbird.controller.deferred_commits import deferred_commit_of, record_deferred
from git_blackbird.controller.face import Face
from git_blackbird.controller.liveness import processes_at_work
from git_blackbird.controller.outside_moves import forget_trace
from git_blackbird.controller.plan_guard import settle_plan
from git_blackbird.controller.readying import require_recorded
from git_blackbird.controller.record_watch import settle_watch
from git_blackbird.controller.statuses import save_statuses
from git_blackbird.controller.work_folders import remove_litter
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.model.commands import task_command
from git_blackbird.model.conversation import Reading
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.history import History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.run import ReviewState, Run, RunStatus, TerminalReason
from git_blackbird.storage.store import Image

_UNDER_REVIEW = frozenset({ReviewState.DUE, ReviewState.BY_HAND})


def repair(workspace: Workspace, face: Face) -> Image:
    """Close runs whose process is gone, stop orphans, derive statuses, sweep; needs the controller lock.

    Gives what is there then. Raises SaveError, UnusableError.
    """
    # By the records alone: an agent whose program was killed may have broken the plan as well.
    histories = workspace.store.records.histories()
    for run in [*running_records(histories), *_running_reviews(workspace, histories)]:
        _close_lost(workspace, face, run)
    forget_noted(workspace)
    forget_trace(workspace)
    forget_config(workspace)
    _mend_approval(workspace, face)
    with workspace.transaction() as transaction:
        settle_plan(transaction)
    settle_watch(workspace, face)
    _record_deferred(workspace, face)
    with workspace.transaction() as transaction:
        settled = save_statuses(workspace, transaction)
        transaction.sweep()
    for task_id, (was, became) in sorted(settled.moved.items()):
        text = f"{task_id}: the plan said {was}; its runs say {became}"
        hint = f"`{task_command('set-status', task_id, ' STATUS')}` sets one by hand"
        face.notify(Notice(Weight.INFO, text, hint, task_id))
    return settled.image


def _record_deferred(workspace: Workspace, face: Face) -> None:
    """Record the commits that their hooks did not record, and say what became of each."""
    for text in record_deferred(workspace):
        face.notify(Notice(Weight.INFO, text))


def is_work_deferred(workspace: Workspace, face: Face, task_id: TaskId) -> bool:
    """Whether a commit that does a task was written down since the last repair; it is recorded now.

    Raises NoLongerReadyError where it cannot be.
    """
    if deferred_commit_of(workspace, task_id) is None:
        return False
    _record_deferred(workspace, face)
    require_recorded(workspace, task_id)
    return True


def _mend_approval(workspace: Workspace, face: Face) -> None:
    try:
        mended = mend_cut_off(workspace)
    except UnusableError as error:
        text = f"an interrupted approval cannot be completed yet: {error.message}"
        face.notify(Notice(Weight.WARNING, text, error.hint))
        return
    if mended is not None:
        face.notify(Notice(Weight.INFO, mended))


def running_records(histories: Mapping[TaskId, History]) -> Iterator[Run]:
    """Every record that says an agent is at work, of tasks in the plan or not."""
    for task_id in sorted(histories):
        for run in histories[task_id].runs:
            if run.status == RunStatus.RUNNING:
                yield run


def _running_reviews(workspace: Workspace, histories: Mapping[TaskId, History]) -> Iterator[Run]:
    """Every review of a change that says a reviewer is at work, of changes that were overtaken as well."""
    for task_id, history in histories.items():
        if any(run.review_state in _UNDER_REVIEW for run in history.runs):
            reviews = workspace.store.records.reviews(task_id).runs
            yield from (run for run in reviews if run.status is RunStatus.RUNNING)


def _close_lost(workspace: Workspace, face: Face, run: Run) -> None:
    _stop_orphans(workspace, face, run)
    _remove_litter(workspace, run)
    if run.is_review:
        _close_lost_review(workspace, face, run)
        return
    reading, files = read_log(workspace, run), _saved_streams(workspace, run)
    session = reading.session or (run.provider_session_ref if run.resumes else None)
    status = RunStatus.PAUSED if session else RunStatus.FAILED
    save_closed(
        workspace,
        face,
        run,
        {
            "completed_at": workspace.world.timestamp(),
            "status": status,
            "terminal_reason": TerminalReason.CONTROLLER_LOST,
            "error": "the program that ran it ended first",
            "provider_session_ref": session,
            **summarize_leg(workspace, face, run),
            "head_late": True,
            "notes": ("it was interrupted; edits made before that was noticed are in its summary",),
            "result": reading.final_text or None,
            "usage": reading.usage,
            "cost_usd": reading.cost_usd,
            "raw_totals": reading.raw_totals or None,
            **_streams(workspace, files),
        },
    )
    way = "resume" if session else "retry"
    face.notify(
        Notice(
            Weight.WARNING,
            f"{run.task_id}: run {run.id} was interrupted; it is now {status}",
            task_command(way, run.task_id),
            run.task_id,
        )
    )


def _close_lost_review(workspace: Workspace, face: Face, run: Run) -> None:
    """Close a review that nobody is left to read: it gave no verdict."""
    reading, files = read_log(workspace, run), _saved_streams(workspace, run)
    fields = {
        "completed_at": workspace.world.timestamp(),
        "status": RunStatus.FAILED,
        "terminal_reason": TerminalReason.CONTROLLER_LOST,
        "error": "the program that ran it ended first",
        "usage": reading.usage,
        "cost_usd": reading.cost_usd,
        **_streams(workspace, files),
    }
    save_closed(workspace, face, run, fields)
    again = "; it is made again" if _is_owed(workspace, run) else ""
    text = f"{run.task_id}: its review {run.id} was interrupted{again}"
    face.notify(Notice(Weight.WARNING, text, task_id=run.task_id))


def _is_owed(workspace: Workspace, review: Run) -> bool:
    """Whether what a review was about is to be reviewed in any case."""
    if review.reviewed_run is None:
        return True
    latest = workspace.store.records.history(review.task_id).latest
    return latest is not None and (latest.id, latest.review_state) == (review.reviewed_run, ReviewState.DUE)


def _stop_orphans(workspace: Workspace, face: Face, run: Run) -> None:
    pids = processes_at_work(workspace.layout, run)
    if not pids:
        return
    listed = ", ".join(map(str, pids))
    text = f"{run.task_id}: the agent of run {run.id} is still running (process {listed}); stopping it"
    face.notify(Notice(Weight.WARNING, text, task_id=run.task_id))
    processes.stop_tree(
        run.pid or 0,
        run.id,
        identity=run.process_identity,
        grace_seconds=workspace.settings.number("execution.stopGraceSeconds"),
    )


def _remove_litter(workspace: Workspace, run: Run) -> None:
    with suppress(RequestError):  # no agent of ours has that name, and none of ours left anything
        remove_litter(workspace.repo.top, run, agent_of(workspace, run).litter)


def read_log(workspace: Workspace, run: Run) -> Reading:
    """Read what a run's saved output says, as it would have been read live."""
    try:
        agent = agent_of(workspace, run)
    except RequestError:
        return Reading(succeeded=False)
    files = _saved_streams(workspace, run)
    if not all(_is_log(path) for path in (files.stdout, files.stderr)):
        # An agent put something else in its place, which might never end.
        return Reading(succeeded=False)
    return read_saved(agent.reader(recorded_assignment(workspace, run)), files, None)


def _saved_streams(workspace: Workspace, run: Run) -> LogFiles:
    stdout, stderr = (workspace.layout.log(run.task_id, run.id, name) for name in ("stdout", "stderr"))
    return LogFiles(stdout, stderr, 0)


def _streams(workspace: Workspace, files: LogFiles) -> dict[str, Any]:
    """Give what a record says of what was printed."""
    fields: dict[str, Any] = {"stdout": _tail(files.stdout), "stderr": _tail(files.stderr)}
    fields |= tail_of(_size(files.stdout), _size(files.stderr))
    bound = log_bytes(workspace)
    return fields | not_kept(count_beyond(files.stdout, bound), count_beyond(files.stderr, bound))


def _tail(path: Path) -> str | None:
    return read_tail(path) or None


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _is_log(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True
