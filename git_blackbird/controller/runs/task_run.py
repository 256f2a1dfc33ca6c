"""One run: snapshot, gate, record, agent, closed record (DESIGN.md 5, step by step)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from git_blackbird.agents.process.launch import GatedProcess
from git_blackbird.agents.protocol import RunRequest
from git_blackbird.controller.core.blocking import finish_in_thread, run_in_thread
from git_blackbird.controller.core.git_access import snapshot, submodules
from git_blackbird.controller.core.locks import hold_session
from git_blackbird.controller.core.record_watch import NOT_WATCHED
from git_blackbird.controller.core.status_sync import supersede_runs
from git_blackbird.controller.core.unreadable import require_usable
from git_blackbird.controller.runs.agent_process import (
    RunContext,
    WorkingDir,
    open_run,
    record_then_start,
    remove_litter,
    scratch_dir,
    spawn_agent,
    supervise_agent,
)
from git_blackbird.controller.runs.commit_tracking import start_tracking, stop_tracking
from git_blackbird.controller.runs.config_guard import remember_config
from git_blackbird.controller.runs.finish import RunEnd, close_run
from git_blackbird.controller.runs.instructions import Instruction
from git_blackbird.controller.runs.outside_moves import forget_trace, keep_trace_short, trace_git
from git_blackbird.controller.runs.readying import StaleTaskError, require_recorded
from git_blackbird.git.core.reflog import log_size
from git_blackbird.git.worktree.saved_trees import save_run_ref
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.model.entities.change import SkippedPath
from git_blackbird.model.entities.run import Run, RunFields
from git_blackbird.model.entities.status import Status
from git_blackbird.model.plan.graph import readiness
from git_blackbird.model.rules.status import apply_statuses
from git_blackbird.model.views.events import Level, Notice, RunEnded, RunStarted

_RECORDS_GONE = "the run records were removed or replaced during the run: earlier ones are gone"


async def run_task(context: RunContext, instruction: Instruction, force_stop: asyncio.Event) -> Run:
    """Run an agent, from the first snapshot to the closed record, which is returned.

    Cancelling it stops the agent and closes the record as paused; then the record is returned all the
    same. Raises SaveError, SnapshotError, AgentUnavailableError, LockedError or RequestError with nothing
    left running.
    """
    _name_other_agent(context, instruction)
    # Before the snapshot: what is committed from here on, and not by the agent, is no part of its change.
    size = log_size(context.workspace.repo.git_dir)
    base = await run_in_thread(lambda: snapshot(context.workspace))
    _name_left_out(context, base.left_out)
    inside = await run_in_thread(lambda: submodules(context.workspace))
    before = RunFields(head_log=size, base_submodules=inside or None)
    initial_run = _initial_run(context, instruction, base).with_fields(before)
    with (
        hold_session(context.workspace, context.ui, initial_run),
        scratch_dir(context.workspace.paths, initial_run.id) as folder,
    ):
        return await _TaskRun(context, instruction, initial_run, folder).run(force_stop)


def _name_other_agent(context: RunContext, order: Instruction) -> None:
    """Warn that another agent takes over a task: its rights and its knowledge differ."""
    name, newest = context.agent.name, context.workspace.store.records.history(order.task.id).newest
    if order.resumes is not None or newest is None or newest.provider in {"", name}:
        return
    text = f"{order.task.id} was started with {newest.provider}; {name} starts a new session"
    hint = f"--agent {newest.provider} keeps its agent"
    context.ui.notify(Notice(Level.INFO, text, hint, order.task.id))


def _name_left_out(context: RunContext, left_out: Sequence[SkippedPath]) -> None:
    for left in left_out:
        if left.path not in context.left_out:
            context.left_out.add(left.path)
            text = f"not in the snapshot: {left.path} ({left.reason})"
            context.ui.notify(Notice(Level.WARNING, text))


def _initial_run(context: RunContext, order: Instruction, base: Snapshot) -> Run:
    """Make the record as it is before the agent works."""
    initial_run, resumed = open_run(context, order.task.id, base.tree), order.resumes
    session = (
        context.agent.new_session(f"{context.workspace.environment.random_bits(128):032x}")
        if resumed is None
        else resumed.provider_session_ref
    )
    return initial_run.with_fields(
        RunFields(
            provider_session_ref=session,
            context=order.context,
            resumes=None if resumed is None else resumed.id,
            last_completion_status=None if resumed is None else resumed.status,
            prompt=None if resumed is None else order.prompt,
            message=order.message,
            answers=order.answers,
        )
    )


class _TaskRun:
    def __init__(self, context: RunContext, order: Instruction, initial_run: Run, folder: Path) -> None:
        self._context = context
        self._instruction = order
        self._post = WorkingDir(context.workspace.repo.top, folder, trace_git(context.workspace))
        self._run = initial_run
        self._recorded_in: tuple[int, int] | None = None
        self._assignment = self._assign()

    def _assign(self) -> RunRequest:
        resumed = self._instruction.resumes
        return RunRequest(
            task_id=self._run.task_id,
            run_id=self._run.id,
            session=self._run.provider_session_ref,
            prompt=self._instruction.prompt,
            context=self._instruction.context,
            resume=resumed is not None,
            folder=str(self._post.cwd),
            scratch=str(self._post.folder),
            previous_totals={} if resumed is None else resumed.raw_totals or {},
        )

    async def run(self, force_stop: asyncio.Event) -> Run:
        child = spawn_agent(self._context, self._assignment, self._post)
        record_then_start(child, lambda: self._record(child), lambda: self._tell_start(child))
        context, run = self._context, self._run
        shortening = asyncio.ensure_future(keep_trace_short(context.workspace))
        try:
            ended = await supervise_agent(context, self._assignment, child, force_stop)
        finally:
            shortening.cancel()
        remove_litter(context.workspace.repo.top, run, context.agent.leftover_dirs)
        if self._records_folder() != self._recorded_in:
            context.ui.notify(Notice(Level.WARNING, _RECORDS_GONE, task_id=run.task_id))
        if not context.workspace.store.ledger.is_watching():
            context.ui.notify(Notice(Level.WARNING, NOT_WATCHED, task_id=run.task_id))
        closing = RunEnd(
            context.agent.abilities,
            ended,
            gated=context.stops_after_each or self._instruction.gated,
            order=self._instruction,
        )
        closed = await finish_in_thread(
            lambda: close_run(context.workspace, context.ui, self._run, closing), force_stop
        )
        stop_tracking(context.workspace)
        forget_trace(context.workspace)
        if closed.review_summary is not None:
            _name_left_out(context, closed.review_summary.left_out)
        context.ui.notify(RunEnded(closed, self._instruction.task.title, ended.duration_seconds))
        return closed

    def _tell_start(self, child: GatedProcess) -> None:
        run, title = self._run, self._instruction.task.title
        self._context.ui.notify(RunStarted(run.task_id, title, run.id, run.provider, run.resumes, child.pid))

    def _records_folder(self) -> tuple[int, int] | None:
        """Which folder holds the records now: an agent may have taken it away."""
        try:
            found = self._context.workspace.paths.runs.lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _record(self, child: GatedProcess) -> None:
        """Write record, then plan, under one lock; whether the task may start is judged under it too."""
        workspace = self._context.workspace
        self._run = self._run.with_fields(RunFields(pid=child.pid, process_identity=child.identity))
        assert self._run.base_tree is not None  # noqa: S101  # set where the record was made
        save_run_ref(workspace.repo, self._run.id, self._run.base_tree, None)
        remember_config(workspace)
        with workspace.transaction() as transaction:
            plan = transaction.plan()
            task = plan.tasks.get(self._run.task_id)
            if task is None:
                raise StaleTaskError(f"{self._run.task_id} was removed from the plan meanwhile")
            require_usable(task.id, transaction.history(task.id))
            reasons = readiness(plan, task).reasons
            if self._instruction.resumes is None and reasons:
                raise StaleTaskError(f"{task.id} is no longer ready: {'; '.join(reasons)}")
            if self._instruction.resumes is None:
                require_recorded(workspace, task.id)
            # No parent above a leaf that is worked on is judged by its gate.
            moment = workspace.transition({})
            transaction.save_run(self._run)
            if self._instruction.resumes is None:
                supersede_runs(transaction, task.id, self._run.id, moment.now)
            transaction.save_plan(apply_statuses(plan, {task.id: Status.IN_PROGRESS}, moment))
            transaction.begin_watch(self._run)
            transaction.backup_plan()
        # Before the agent works: the first thing it does may be to take them away.
        self._recorded_in = self._records_folder()
        start_tracking(workspace, self._context.ui, self._run)
