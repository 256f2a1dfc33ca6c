"""What the handlers of the next actions share: the call's scope, and starting and interrupting runs."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from git_blackbird.controller.core.notify import NotifyingUI
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.decisions.approval_commit import warn_uncommitted
from git_blackbird.controller.engine.run_contexts import Consent, RunContexts
from git_blackbird.controller.engine.stops import (
    agent_refused_stop,
    interrupted_stop,
    refused_session_text,
    run_interrupted_stop,
    undelivered_stop,
)
from git_blackbird.controller.queries.other_worktrees import runs_elsewhere
from git_blackbird.controller.runs.agent_process import RunContext
from git_blackbird.controller.runs.instructions import Instruction
from git_blackbird.controller.runs.task_run import run_task
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.cli_hints import restart_command
from git_blackbird.model.entities.run import DecisionState, Run, RunStatus, TerminalReason
from git_blackbird.model.rules.next_action import ApplyChangeRequest, CallScope, ContinueRun
from git_blackbird.model.views.events import Level, Notice
from git_blackbird.model.views.stop import Stop

T = TypeVar("T")


class Engine:
    """One call: its scope, what it has touched, and the step that runs; used by every handler."""

    def __init__(self, workspace: Workspace, ui: UserInterface, scope: CallScope) -> None:
        self.workspace = workspace
        self.ui = NotifyingUI(workspace, ui)
        self.contexts = RunContexts(workspace, self.ui)
        self.scope = scope
        self.force_stop = asyncio.Event()
        self.is_interrupted = False
        self.touched: set[TaskId] = set()
        self.lost_sessions: list[Run] = []
        self.refused_decisions = 0
        self._consent = Consent(workspace, self.ui)
        self._step: asyncio.Task[object] | None = None
        self._running: tuple[str, TaskId] | None = None

    def interrupt(self) -> None:
        """Pause what runs and stop; a second interrupt kills it."""
        if self.is_interrupted:
            self.force_stop.set()
        elif self._running is not None:
            stopping, task_id = self._running
            inform(self.ui, f"{stopping} {task_id}; a second Ctrl+C kills its agent", task_id)
        self.is_interrupted = True
        if self._step is not None:
            self._step.cancel()

    async def run_task(self, instruction: Instruction) -> Stop | None:
        """Run an agent on a task. Raises AgentUnavailableError, NotAgreedError, RequestError."""
        task_id = instruction.task.id
        context = self.contexts.of_instruction(instruction)
        await self.require_consent(context)
        if not self.touched:
            warn_uncommitted(self.workspace, self.ui)
        if task_id not in self.touched:
            for other in runs_elsewhere(self.workspace, {task_id}):
                warn(self.ui, f"{task_id}: {other.text}", task_id)
        self.touched.add(task_id)
        run = await self.run_agent("pausing", task_id, run_task(context, instruction, self.force_stop))
        if run is None:
            return interrupted_stop(f"before {task_id} was started")
        return self.stop_after_run(run, instruction.resumes)

    async def resume(self, action: ApplyChangeRequest | ContinueRun, instruction: Instruction) -> Stop | None:
        """Run an agent in the session of an action; stop where that agent cannot start."""
        try:
            return await self.run_task(instruction)
        except AgentUnavailableError as error:
            return undelivered_stop(action, error.message, error.hint)

    async def require_consent(self, *contexts: RunContext, as_reviewer: bool = False) -> None:
        """Ask about each agent that may do more than edit the worktree. Raises NotAgreedError."""
        for context in contexts:
            await self.interruptible(self._consent.require(context.agent, as_reviewer=as_reviewer))

    def stop_after_run(self, run: Run, resumed: Run | None = None) -> Stop | None:
        """Return the stop that the end of a run means.

        A lost session ends the call only where resuming it would be the next action again.
        """
        if run.terminal_reason is TerminalReason.INTERRUPTED:
            self.is_interrupted = True
            return run_interrupted_stop(run)
        if run.terminal_reason is TerminalReason.AGENT_UNAVAILABLE:
            return agent_refused_stop(run)
        if run.terminal_reason is TerminalReason.SESSION_LOST and not _is_resumed_next(resumed):
            self.lost_sessions.append(run)
            hint = restart_command(run.task_id).with_options(self.workspace.call_options)
            text = f"{run.task_id}: {refused_session_text(run)}"
            self.ui.notify(Notice(Level.ERROR, text, hint, run.task_id))
        if run.status is RunStatus.WAITING_USER:
            self.scope = replace(self.scope, asked=self.scope.asked | {run.id})
        return None

    async def run_agent(self, stopping: str, task_id: TaskId, work: Awaitable[T]) -> T | None:
        """Await an agent's work; ``stopping`` tells the user what an interrupt does to it."""
        self._running = stopping, task_id
        try:
            return await self.interruptible(work)
        finally:
            self._running = None

    async def interruptible(self, work: Awaitable[T]) -> T | None:
        """Await one step so that an interrupt cancels only that; None when it was cancelled."""
        step: asyncio.Future[T] = asyncio.ensure_future(work)
        self._step = step  # type: ignore[assignment]  # a coroutine's future is a task
        if self.is_interrupted:
            step.cancel()
        try:
            return await step
        except asyncio.CancelledError:
            if not self.is_interrupted:
                raise
            return None
        finally:
            self._step = None


def _is_resumed_next(resumed: Run | None) -> bool:
    """Whether the next action on this run is to resume it, even though its session is lost."""
    return resumed is not None and (
        resumed.status is RunStatus.PAUSED or resumed.decision_state is DecisionState.CHANGES_REQUESTED
    )
