"""One run: snapshot, gate, record, agent, closed record."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from git_blackbird import trace
from git_blackbird.agents.process.outcome import ProcessResult
from git_blackbird.agents.protocol import RunRequest, new_session
from git_blackbird.controller.change.work.finish import close_run
from git_blackbird.controller.change.work.guard import (
    start_tracking,
    stop_tracking,
    store_config,
    watch_agent,
)
from git_blackbird.controller.change.work.instructions import Instruction
from git_blackbird.controller.change.work.manual_commits import deferred_commit_of, record_deferred
from git_blackbird.controller.core.guards import require_readable, require_usable
from git_blackbird.controller.core.other_worktrees import require_not_elsewhere
from git_blackbird.controller.core.status_sync import save_derived, supersede_runs
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.waiting import finish_in_thread, run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.launch import AgentStart, RunContext, open_run, run_agent
from git_blackbird.controller.launch.scratch import remove_litter, scratch_dir
from git_blackbird.controller.place.snapshots import snapshot, submodules
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.core.repository import head, other_worktrees
from git_blackbird.git.submodules.edits import Uncommitted
from git_blackbird.git.worktree.log import log_size
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.change.next_steps import decide_run_command
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.config.layers import AGENT_NAMES
from git_blackbird.model.plan.graph import readiness
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState, full_readiness
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import Worktree
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType
from git_blackbird.model.run.summary import SkippedPath
from git_blackbird.model.views.events import Phase, RunEnded
from git_blackbird.storage.config_files import global_config_path
from git_blackbird.storage.locks import remove_lock_folders, session_lock, task_lock


async def run_task(context: RunContext, instruction: Instruction, force_stop: asyncio.Event) -> Run:
    """Run an agent, from the first snapshot to the closed record, which is returned.

    Cancelling it stops the agent and closes the record as paused; then the record is returned all the
    same. Raises SaveError, SnapshotError, AgentUnavailableError, LockedError or RequestError with nothing
    left running.
    """
    _name_other_agent(context, instruction)
    # Before the snapshot: what is committed from here on, and not by the agent, is no part of its change.
    size = log_size(context.workspace.repo.git_dir)
    with trace.measured(Phase.SNAPSHOT, instruction.task.id):
        base, inside = await run_in_thread(lambda: _look(context))
        warn_left_out(context.ui, context.left_out, base.left_out)
    digests = {path: state.digest for path, state in inside.items()}
    initial_run = _initial_run(context, instruction, base).updated(
        reflog_size=size, submodule_digests=digests or None
    )
    record = partial(_record, context, instruction)
    with (
        _hold(context.workspace, context.ui, initial_run),
        scratch_dir(context.workspace.paths, initial_run.id) as folder,
    ):
        start = AgentStart(
            initial_run,
            instruction.task.title,
            _request(context, instruction, initial_run, folder),
            context.variables,
        )
        run, ended = await run_agent(context, start, record, force_stop)
        return await _close(context, instruction, run, ended, force_stop)


def _look(context: RunContext) -> tuple[Snapshot, Mapping[str, Uncommitted]]:
    """Return the worktree as a run finds it, with what is only in its submodules."""
    base = context.begins or snapshot(context.workspace)
    return base, submodules(context.workspace)


def _name_other_agent(context: RunContext, instruction: Instruction) -> None:
    # The rights and the knowledge of its agent differ.
    name, newest = context.agent.name, context.workspace.store.records.history(instruction.task.id).newest
    if instruction.resumes is not None or newest is None or newest.provider in {"", name}:
        return
    before, now = agent_in_text(newest.provider), agent_in_text(name)
    text = f"{instruction.task.id} was started with {before}; {now} starts a new session"
    hint = task_command("restart", instruction.task.id).with_agent(newest.provider, "with that agent")
    inform(context.ui, text, instruction.task.id, hint if newest.provider in AGENT_NAMES else None)


def warn_left_out(ui: UserInterface, named: set[str], left_out: Sequence[SkippedPath]) -> None:
    """Name each path left out of a snapshot, unless it is ``named`` already."""
    for skipped in left_out:
        if skipped.path not in named:
            named.add(skipped.path)
            warn(ui, f"not in the snapshot: {skipped.path} ({skipped.reason})")


def _initial_run(context: RunContext, instruction: Instruction, base: Snapshot) -> Run:
    initial_run, resumed = open_run(context, instruction.task.id, base.tree), instruction.resumes
    session = (
        new_session(context.agent, f"{context.workspace.environment.random_bits(128):032x}")
        if resumed is None
        else resumed.provider_session_ref
    )
    initial_run = initial_run.updated(
        run_type=RunType.EXECUTE,
        context=instruction.context,
        provider_session_ref=session,
        message=instruction.message,
        answers=instruction.answers,
        rulings=instruction.rulings,
        by_hand=instruction.launcher is not None,
        worktree=_worktree(context, resumed, base),
    )
    return (
        initial_run
        if resumed is None
        else initial_run.resuming(resumed, instruction.prompt, instruction.task.updated_at)
    )


def _worktree(context: RunContext, resumed: Run | None, base: Snapshot) -> Worktree | None:
    workspace = context.workspace
    if not workspace.is_task_worktree:
        return None
    before = None if resumed is None else resumed.worktree
    return Worktree(
        path=str(workspace.repo.top),
        base=context.worktree_base or base.tree,
        base_at=context.worktree_base_at,
        home_branch=(None if before is None else before.home_branch) or head(workspace.home).branch,
    )


@contextlib.contextmanager
def _hold(workspace: Workspace, ui: UserInterface, run: Run) -> Iterator[None]:
    """Hold the session of a run that is about to begin, against copies of this worktree, and its task.

    Other worktrees of the repository do not start the task meanwhile. Where the user has no place for the
    lock on the session, that is said and the run goes on. Raises LockedError, BegunElsewhereError.
    """
    holder = f"run {run.id} of {run.task_id} in {workspace.repo.top}"
    with contextlib.ExitStack() as stack:
        if any(other_worktrees(workspace.repo)):
            stack.enter_context(task_lock(workspace.repo.common_dir, run.task_id, holder))
            if run.resumes is None:
                # Another may have had the lock, and be done, since this task was chosen.
                require_not_elsewhere(workspace, run.task_id)
        folder = _session_locks(workspace)
        if run.provider_session_ref is not None and folder is not None:
            try:
                stack.enter_context(session_lock(folder, run.provider, run.provider_session_ref, holder))
            except UnusableError as error:
                text = f"{error.message}; the session is not locked against copies of this worktree"
                warn(ui, text, run.task_id, error.hint)
        yield


def release_lock_folders(workspace: Workspace) -> None:
    """Remove the folders of the locks that runs held, once a call needs them no more."""
    remove_lock_folders(workspace.repo.common_dir, _session_locks(workspace))


def _session_locks(workspace: Workspace) -> Path | None:
    config = global_config_path(workspace.environment.environ)
    return None if config is None else config.with_name("sessions")


def _request(context: RunContext, instruction: Instruction, run: Run, folder: Path) -> RunRequest:
    resumed = instruction.resumes
    return RunRequest(
        run.task_id,
        run.id,
        run.provider_session_ref,
        instruction.prompt,
        run.context,
        resume=resumed is not None,
        previous_totals={} if resumed is None else resumed.raw_totals or {},
        folder=str(context.workspace.repo.top),
        scratch=str(folder),
    )


async def _close(
    context: RunContext, instruction: Instruction, run: Run, ended: ProcessResult, force_stop: asyncio.Event
) -> Run:
    workspace = context.workspace
    trace.spent(Phase.AGENT, run.task_id, ended.duration_seconds)
    remove_litter(workspace.repo.top, run, context.agent.leftover_dirs)
    gated = workspace.config.execution.stop_after_each_task or instruction.gated
    closed = await finish_in_thread(
        lambda: close_run(workspace, context.ui, run, ended, gated=gated), force_stop
    )
    stop_tracking(workspace)
    if closed.review_summary is not None:
        warn_left_out(context.ui, context.left_out, closed.review_summary.left_out)
    context.ui.notify(RunEnded(closed, instruction.task.title, ended.duration_seconds))
    return closed


def _record(context: RunContext, instruction: Instruction, run: Run) -> None:
    """Write record, then plan, under one lock; whether the task may start is judged under it too."""
    workspace, is_new = context.workspace, instruction.resumes is None
    store_config(workspace)
    with trace.measured(Phase.RECORD, run.task_id), workspace.transaction() as transaction:
        state = transaction.state_of(run.task_id)
        plan, task = state.plan, state.plan.tasks.get(run.task_id)
        if task is None:
            raise StaleTaskError(f"{run.task_id} was removed from the plan meanwhile")
        require_usable(task.id, state.history(task.id))
        _require_all_told(instruction, state.history(task.id))
        if is_new:
            if reasons := readiness(plan, task).reasons:
                raise StaleTaskError(f"{task.id} is no longer ready: {'; '.join(reasons)}")
            require_recorded(workspace, task.id)
        transaction.save_run(run)
        if is_new:
            supersede_runs(workspace, transaction, task.id, run.id)
        started = replace(state, histories={**state.histories, task.id: History((run,))})
        save_derived(transaction, state, started.plan)
        watch_agent(workspace, transaction, run)
    start_tracking(workspace, context.ui, run)


def _require_all_told(instruction: Instruction, history: History) -> None:
    """Refuse to resume a run to which more was said than its instruction has. Raises StaleTaskError."""
    resumed = instruction.resumes
    stored = None if resumed is None else history.find(resumed.id)
    if (
        resumed is not None
        and stored is not None
        and stored.messages_while_working != resumed.messages_while_working
    ):
        way = task_command("resume", instruction.task.id)
        raise StaleTaskError(f"{instruction.task.id} was told more before it went on", hint=way)


_COMMANDS = {Status.WAITING_USER: "resume", Status.FAILED: "retry"}


class StaleTaskError(RequestError):
    """A task changed between its choice and its start."""


def require_recorded(workspace: Workspace, task_id: TaskId) -> None:
    """Refuse to start a task that a person's commit did, as long as the commit is not recorded.

    Raises StaleTaskError, GitError.
    """
    oid = deferred_commit_of(workspace, task_id)
    if oid is not None:
        raise StaleTaskError(
            f"{task_id} was not started: commit {oid[:10]} is work on it that is still to be recorded",
            hint="`git blackbird execute` records it; its first lines say what prevents that",
        )


def is_work_deferred(workspace: Workspace, ui: UserInterface, task_id: TaskId) -> bool:
    """Record a commit that does this task if the hook left one; return whether it did.

    Raises StaleTaskError where it cannot be.
    """
    if deferred_commit_of(workspace, task_id) is None:
        return False
    for text in record_deferred(workspace):
        inform(ui, text)
    require_recorded(workspace, task_id)
    return True


def require_ready(state: PlanState, task: Task) -> Task:
    """Return the task when it is ready, or when its latest run only waits for a call to go on with it.

    Raises RequestError with its reasons and the ways out, UnreadableRecordError.
    """
    require_readable(state, task)
    readiness = full_readiness(state, task)
    if readiness.is_ready:
        return task
    run = state.latest(task.id)
    if run is not None and (
        run.decision_state is DecisionState.CHANGES_REQUESTED
        or run.status is RunStatus.PAUSED
        or stage_of(run) is Stage.LANDING
    ):
        return task
    hints = [*readiness.hints]
    if run is not None and run.is_pending:
        hints.append(decide_run_command(run))
    elif task.status in _COMMANDS:
        hints.append(task_command(_COMMANDS[task.status], task.id))
    raise RequestError(
        f"{task.id} is not ready: {'; '.join(readiness.reasons)}",
        hint="\n".join(hints) or task_command("show", task.id),
    )
