"""Recovery: finish what a crash left half done, and report each repair in one line."""

import gc
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from git_blackbird import trace
from git_blackbird.agents.process import signals
from git_blackbird.agents.process.logs import count_beyond, mask_saved, read_saved, read_tail
from git_blackbird.controller.change.commit.approval import recover_approval
from git_blackbird.controller.change.work.close import (
    change_of_run,
    drop_stale_plan_backup,
    save_closed,
)
from git_blackbird.controller.change.work.manual_commits import record_deferred
from git_blackbird.controller.change.work.starts import recorded_reader
from git_blackbird.controller.change.work.watch import (
    edited_outside,
    remove_observed,
    stop_tracking,
)
from git_blackbird.controller.core.agents import find_agent_for_run
from git_blackbird.controller.core.guards import HalfWrittenError, is_of_other_worktree, processes_at_work
from git_blackbird.controller.core.status_sync import save_feedback_and_statuses
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.launch import stop_command
from git_blackbird.controller.launch.run_files import (
    LOG_BYTES,
    log_files,
    log_paths,
    publish_leftover_logs,
    remove_litter,
)
from git_blackbird.controller.place.worktrees import workspace_of
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.change.work import decide_run_command
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import LocalProcess
from git_blackbird.model.run.run import Run, RunChange
from git_blackbird.model.run.states import ReviewState, RunStatus, RunType, TerminalReason
from git_blackbird.model.run.summary import Summary
from git_blackbird.storage.files import changed_at, sweep_temporaries

_UNDER_REVIEW = frozenset({ReviewState.DUE, ReviewState.BY_HAND})


def recover(workspace: Workspace, ui: UserInterface, scope: CallScope) -> PlanState:
    """Close runs whose process is gone, stop orphans, derive statuses; needs the controller lock.

    ``scope`` is what the call does afterwards. Return the state after that.
    """
    with gc_paused():
        # By the records alone: an agent whose program was killed may have broken the plan as well.
        histories = workspace.store.records.histories()
        for run in lost_runs(workspace, histories.open, scope):
            _close_lost(workspace, ui, run, scope)
        state = scan(workspace, ui, scope)
        # Plan and records stay: they need not be searched for garbage again and again.
        gc.freeze()
    return state


def scan(workspace: Workspace, ui: UserInterface, scope: CallScope) -> PlanState:
    """Do the light part of a recovery: sweep, derive statuses, return the state.

    The records are read once. If one shows an agent at work that this call did not start, recover.
    """
    if not scope.busy:
        # No agent is at work: what runs left that have ended.
        stop_tracking(workspace)
        remove_observed(workspace)
        publish_leftover_logs(workspace)
        if workspace.store.backup.exists:
            drop_stale_plan_backup(workspace)
    try:
        if (text := recover_approval(workspace)) is not None:
            inform(ui, text)
    except UnusableError as error:
        text = Sentence("an interrupted approval cannot be completed yet: ", error.message)
        warn(ui, text, hint=error.ways_out)
    for text in record_deferred(workspace):
        inform(ui, text)
    with workspace.transaction() as transaction:
        state = transaction.state()
        is_lost = any(lost_runs(workspace, state.open_histories, scope))
        settled = None if is_lost else save_feedback_and_statuses(transaction, state)
        sweep_temporaries(workspace.paths)
    if settled is None:
        return recover(workspace, ui, scope)
    for task_id, (was, became) in sorted(settled.moved.items()):
        trace.event("derive", task_id, was, "to", became)
        text = f"{task_id}: the plan said {was}; its runs say {became}"
        inform(ui, text, task_id, Sentence(TaskCommand("set-status", task_id), " sets one by hand"))
    return settled.state


def lost_runs(workspace: Workspace, histories: Mapping[TaskId, History], scope: CallScope) -> Iterator[Run]:
    """Yield the runs recorded as running here, which nobody runs if the controller lock is free."""
    suspects = {task_id: history for task_id, history in histories.items() if task_id not in scope.busy}
    yield from (run for run in running_records(suspects) if not run.is_remote)
    for task_id, history in suspects.items():
        # Reviews also of superseded changes.
        if any(run.review_state in _UNDER_REVIEW for run in history.recent):
            reviews = workspace.store.records.reviews(task_id).runs
            yield from (run for run in reviews if run.status is RunStatus.RUNNING)
    yield from workspace.store.records.history(PLANNING).at_work


def running_records(histories: Mapping[TaskId, History]) -> Iterator[Run]:
    """Yield the runs recorded as running, also of tasks that left the plan."""
    for task_id in sorted(task_id for task_id, history in histories.items() if history.at_work):
        yield from histories[task_id].at_work


def _close_lost(workspace: Workspace, ui: UserInterface, run: Run, scope: CallScope) -> None:
    trace.event("recover", "run", run.id, "of", run.task_id, "whose process is gone")
    _stop_orphans(workspace, ui, run)
    place = workspace_of(workspace, run)
    if place is not None:
        with suppress(RequestError):  # no agent of ours has that name, and none of ours left anything
            remove_litter(place.repo.top, run, find_agent_for_run(place, run).leftover_dirs)
    if run.is_review:
        _close_lost_review(workspace, ui, run)
        return
    read = read_log(workspace, run)
    session = run.session_after(read)
    status = RunStatus.PAUSED if session else RunStatus.FAILED
    ended = _lost_end(workspace, run, read)._replace(
        status=status,
        session=read.session,
        final_text=read.final_text,
        woken_texts=read.woken_texts,
        raw_totals=read.raw_totals,
        notes=("it was interrupted; edits made before that was noticed are in its summary",),
    )
    change = RunChange(Summary(minimal=f"{run.worktree_path} is gone"))
    if place is not None:
        change = change_of_run(place, ui, run)
    closed = run.ended(ended).changed(change)
    outside = edited_outside(workspace, run, read.edited)
    closed = closed.updated(head_taken_late=True, outside=outside)
    save_closed(workspace, ui, closed)
    if place is not None:
        stop_tracking(place)
    is_continued = scope.covers(run.task_id) and scope.review is None and (session or scope.is_resume)
    counts = not run.is_superseded and not is_continued
    hint = TaskCommand("resume" if session else "retry", run.task_id) if counts else None
    became = f"is now {status}" if not run.is_superseded else "no longer counts"
    warn(ui, f"{run.task_id}: run {run.id} was interrupted; it {became}", run.task_id, hint)


def _close_lost_review(workspace: Workspace, ui: UserInterface, run: Run) -> None:
    """Close a review, or planning, whose controller is gone: it gave no answer."""
    save_closed(workspace, ui, run.ended(_lost_end(workspace, run, read_log(workspace, run))))
    latest = workspace.store.records.history(run.task_id).latest
    # The review of a parent is due in any case.
    is_due = run.run_type is RunType.REVIEW or (
        latest is not None and (latest.id, latest.review_state) == (run.reviewed_run, ReviewState.DUE)
    )
    again = "; it is made again" if is_due else ""
    what = "planning in run" if run.run_type is RunType.PLANNING else "its review"
    warn(ui, f"{run.task_id}: {what} {run.id} was interrupted{again}", run.task_id)


def _stop_orphans(workspace: Workspace, ui: UserInterface, run: Run) -> None:
    pids, process = processes_at_work(workspace.paths, run), run.process
    if pids:
        listed = ", ".join(map(str, pids))
        text = f"{run.task_id}: the agent of run {run.id} is still running (process {listed}); stopping it"
        warn(ui, text, run.task_id)
        signals.stop_tree(
            process.pid if isinstance(process, LocalProcess) else 0,
            run.id,
            identity=process.identity if isinstance(process, LocalProcess) else None,
            grace_seconds=workspace.config.execution.stop_grace_seconds,
        )
    if is_of_other_worktree(workspace.paths, run):
        return
    # A container that a daemon runs is at work also where no process of ours is left.
    fault = signals.run_stop_command(stop_command(workspace, run))
    if fault is not None:
        warn(ui, f"{run.task_id}: {fault}", run.task_id)


def read_log(workspace: Workspace, run: Run) -> Ended:
    """Parse a run's saved output, as it would have been parsed live."""
    try:
        agent = find_agent_for_run(workspace, run)
    except RequestError:
        return Ended(succeeded=False)
    paths = log_paths(workspace.paths, run)
    if not all(map(_is_log, paths)):
        # An agent put something else in its place, which might never end.
        return Ended(succeeded=False)
    return read_saved(recorded_reader(workspace, agent, run), log_files(workspace, *paths), None)


def _lost_end(workspace: Workspace, run: Run, read: Ended) -> Ended:
    stdout, stderr = log_paths(workspace.paths, run)
    redactor = workspace.store.redactor()
    for path in (stdout, stderr):
        mask_saved(path, redactor)
    return Ended(
        at=_last_seen(workspace, run, stdout, stderr),
        reason=TerminalReason.CONTROLLER_LOST,
        error="the program that ran it ended first",
        usage=read.usage,
        cost_usd=read.cost_usd,
        stdout_tail=read_tail(stdout),
        stderr_tail=read_tail(stderr),
        stdout_bytes=_size(stdout),
        stdout_dropped=count_beyond(stdout, LOG_BYTES),
        stderr_bytes=_size(stderr),
        stderr_dropped=count_beyond(stderr, LOG_BYTES),
        redacted={} if redactor is None else redactor.counts,
    )


def _last_seen(workspace: Workspace, run: Run, *logs: Path) -> str:
    """Return when an agent last printed something, not when it was found to be gone; now if unknown."""
    last, now = max(map(changed_at, logs)), workspace.environment.now()
    return format_timestamp(last if run.sort_key[0] < last < now else now)


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


def require_planned(state: PlanState) -> None:
    """Raise HalfWrittenError if a change is half written and its task is not in the plan."""
    for run in state.half_written:
        if run.task_id not in state.plan.tasks:
            name = shell_word(run.task_id)
            again = TaskCommand("add", rest=f" --id {name} --title {name}")
            raise HalfWrittenError(
                f"the change of {run.task_id} is half written, and the plan has no such task",
                hint=Sentence(
                    "bring back the plan that has it, or ", again, "; then ", EXECUTE, " completes it"
                ),
            )


def require_decided(state: PlanState, scope: CallScope) -> None:
    """Refuse a call about other tasks while a person is to decide on half of a change.

    Raises HalfWrittenError.
    """
    for run in state.begun:
        if run.is_pending and not scope.covers(run.task_id):
            raise HalfWrittenError(
                f"the change of {run.task_id} is in part in your worktree, and waits for you",
                hint=decide_run_command(run),
            )
