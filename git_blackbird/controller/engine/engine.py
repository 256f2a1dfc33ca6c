"""The engine shared by the handlers of actions: the call's scope, starting and interrupting runs."""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from git_blackbird import trace
from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.check.slots import CheckSlots
from git_blackbird.controller.change.commit.approval import warn_uncommitted
from git_blackbird.controller.change.work.agent_process import OtherMachines, RunContext
from git_blackbird.controller.change.work.finish import count_as_failure
from git_blackbird.controller.change.work.instructions import Instruction
from git_blackbird.controller.change.work.task_run import run_task, warn_left_out
from git_blackbird.controller.change.work.worktree_setup import SetUp, SetupError, set_up_worktree
from git_blackbird.controller.core.agents import (
    adding_way_out,
    chosen_agent,
    find_agent_for_run,
    model_of,
    probe,
    require_session_name,
    review_with_other_agent,
    reviewer_of,
    start_with_other_agent,
)
from git_blackbird.controller.core.notify import NotifyingUI
from git_blackbird.controller.core.other_worktrees import runs_elsewhere
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.waiting import finish_in_thread, run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.empty_starts import EmptyStarts
from git_blackbird.controller.engine.stops import (
    NotAgreedError,
    agent_refused_stop,
    go_on_command,
    interrupted_stop,
    refused_session_text,
    undelivered_stop,
)
from git_blackbird.controller.place.missing_files import name_missing_files
from git_blackbird.controller.place.slots import Slot, Slots
from git_blackbird.controller.place.worktrees import open_place
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.messages.display.events import render_rights
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE, restart_command
from git_blackbird.model.rules.next_action import ApplyChangeRequest, CallScope, ContinueRun
from git_blackbird.model.rules.other_tasks import based_at, brought_at, other_tasks
from git_blackbird.model.run.agent_io import Rights, RightsQuestion, agent_in_text
from git_blackbird.model.run.findings import Source
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, TerminalReason
from git_blackbird.model.views.events import Level, Notice, Phase
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.notes import AgreementKind, load_agreements, save_agreement


def _digest(question: RightsQuestion) -> str:
    """Digest the question: an agent command may hold secrets, so it is not stored."""
    asked = [question.agent, question.rights.terms, question.stops_after_each]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


T = TypeVar("T")


class Engine:
    """One call: its scope, what it has touched, and the step that runs; used by every handler."""

    def __init__(self, workspace: Workspace, ui: UserInterface, scope: CallScope) -> None:
        self.workspace = workspace
        self.ui = NotifyingUI(workspace, ui)
        self.scope = scope
        self.force_stop = asyncio.Event()
        self.is_interrupted = False
        self.touched: set[TaskId] = set()
        self.lost_sessions: list[Run] = []
        self.refused_decisions = 0
        # Tasks that were rejected in this call, and whose change is taken back next.
        self.taking_back: set[TaskId] = set()
        self.slots = Slots(workspace)
        self.check_slots = CheckSlots(workspace, self.ui)
        self.not_set_up: dict[TaskId, SetupError] = {}
        # Where agents start that work on tasks; None for this machine.
        self.elsewhere: OtherMachines | None = None
        self.empty_starts = EmptyStarts()
        # Several tasks that start at once ask one after the other, and the first answer is for all.
        self._consent = asyncio.Lock()
        self._steps: set[asyncio.Future[Any]] = set()
        self._running: dict[TaskId, tuple[str, str]] = {}
        # Tasks about to start, of which agents of other tasks are told before there is a record.
        self._starting: set[TaskId] = set()
        self._clearing: dict[TaskId, asyncio.Future[None]] = {}
        # Each agent is probed once, each path left out of snapshots named once.
        self._versions: dict[str, str] = {}
        self._left_out: set[str] = set()

    def interrupt(self) -> None:
        """Pause what runs and stop; a second interrupt kills it."""
        if self.is_interrupted:
            self.force_stop.set()
        elif self._running:
            what = [f"{stopping} {task_id}" for task_id, (stopping, _) in self._running.items()]
            killed = [each for _, each in self._running.values()]
            names = killed[0] if len(killed) == 1 else "them"
            task_id = next(iter(self._running)) if len(killed) == 1 else None
            inform(self.ui, f"{', '.join(what)}; a second Ctrl+C kills {names}", task_id)
        self.is_interrupted = True
        for step in self._steps:
            step.cancel()

    def context_of(self, agent: Agent) -> RunContext:
        """Return the context of a run by this agent. Raises AgentUnavailableError where it cannot start."""
        if agent.name not in self._versions:
            self._versions[agent.name] = probe(self.workspace, agent)
        return self._new_context(agent, self._versions[agent.name])

    def _context_of_work(self, agent: Agent) -> RunContext:
        """Return the context of work on a task by this agent. Raises AgentUnavailableError."""
        if self.elsewhere is None:
            return self.context_of(agent)
        return replace(
            self._new_context(agent, self.elsewhere.version_of(agent.name)), elsewhere=self.elsewhere
        )

    def _new_context(self, agent: Agent, version: str) -> RunContext:
        see_work = partial(self.empty_starts.see_work, model_of(agent))
        return RunContext(self.workspace, agent, version, self.ui, self._left_out, on_work=see_work)

    def contexts_of_reviewers(self) -> dict[Source, RunContext]:
        """Return the contexts of both reviews of a change. Raises AgentUnavailableError, RequestError."""
        return {source: self._context_of_reviewer(source) for source in Source}

    def _context_of_reviewer(self, source: Source) -> RunContext:
        with adding_way_out(self.workspace, review_with_other_agent(source)):
            return self.context_of(reviewer_of(self.workspace, source))

    async def run_task(self, instruction: Instruction) -> Stop | None:
        """Run an agent on a task. Raises AgentUnavailableError, NotAgreedError, RequestError."""
        task_id = instruction.task.id
        self._starting.add(task_id)
        try:
            return await self._start_or_resume(instruction)
        finally:
            self._starting.discard(task_id)

    async def _start_or_resume(self, instruction: Instruction) -> Stop | None:
        task_id = instruction.task.id
        if instruction.resumes is None:
            agent = chosen_agent(self.workspace)
        else:
            agent = find_agent_for_run(self.workspace, instruction.resumes)
            require_session_name(agent, instruction.resumes)
        # A session stays with its agent: without that, only a start in another goes on.
        is_one_of_all = instruction.resumes is None and self.scope.only is None
        way = EXECUTE if is_one_of_all else restart_command(task_id)
        with adding_way_out(self.workspace, start_with_other_agent(self.workspace, way, agent.name)):
            context = self._context_of_work(agent)
        await self.require_consent(context)
        if not self.touched:
            warn_uncommitted(self.workspace, self.ui)
            if self.workspace.uses_worktrees and self.elsewhere is None:
                name_missing_files(self.workspace, self.ui)
        if instruction.resumes is not None and task_id not in self.touched:
            for other in runs_elsewhere(self.workspace, {task_id}):
                warn(self.ui, f"{task_id}: {other.text}", task_id)
        self.touched.add(task_id)
        await self.finish_background_work(task_id)
        placed = await self.interruptible(run_in_thread(lambda: self._context_at_place(agent, instruction)))
        run = None if placed is None else await self._run_at_place(*placed)
        if run is None:
            return interrupted_stop(f"before {task_id} was started")
        self.empty_starts.note_end(model_of(agent), run)
        if run.own.terminal_reason is TerminalReason.WITHOUT_WORK:
            gated = self.workspace.config.execution.stop_after_each_task or instruction.gated
            self.empty_starts.hold(task_id, partial(self._count_as_failure, run, gated=gated))
            return None
        return self.stop_after_run(run, instruction.resumes)

    async def _run_at_place(self, context: RunContext, instruction: Instruction) -> Run | None:
        """Set up the place of a run and run the agent; None if interrupted before."""
        place, task_id = context.workspace, instruction.task.id
        with contextlib.ExitStack() as held:
            if place.is_task_worktree and context.elsewhere is None:
                slot = held.enter_context(self.slots.take(place.repo))
                log = place.paths.setup_log(task_id)
                setup = self.set_up(task_id, f"the worktree of {task_id}", place.repo.top, log, slot)
                work = set_up_worktree(setup, place.repo)
                with trace.measured(Phase.WORKTREE, task_id):
                    is_ready = await self.run_agent("stopping the set-up of", task_id, work, "it")
                if not is_ready:
                    return None
                begins = context.begins if setup.is_empty else None
                context = replace(context, begins=begins, variables=slot.variables)
            return await self.run_agent("pausing", task_id, run_task(context, instruction, self.force_stop))

    def run_in_background(self, task_id: TaskId, work: Callable[[], Iterable[str]]) -> None:
        """Finish work on a task in the background; each line that it returns is shown.

        The task's next run waits for it, and so does the end of the call.
        """

        async def finish() -> None:
            for text in await finish_in_thread(work, self.force_stop):
                warn(self.ui, text, task_id)

        self._clearing[task_id] = asyncio.ensure_future(finish())

    async def finish_background_work(self, *task_ids: TaskId) -> None:
        """Wait for the background work of these tasks, or of all."""
        for task_id in task_ids or tuple(self._clearing):
            if task_id in self._clearing:
                await self._clearing.pop(task_id)

    def set_up(self, task_id: TaskId, what: str, folder: Path, log: Path, slot: Slot) -> SetUp:
        """Return the preparation of a folder for a task."""
        return SetUp(
            self.workspace,
            self.ui,
            task_id,
            what,
            folder,
            log,
            slot,
            is_stopped=lambda: self.is_interrupted,
            hurry=self.force_stop,
        )

    def _context_at_place(self, agent: Agent, instruction: Instruction) -> tuple[RunContext, Instruction]:
        """Return the context of a run on a task, at its place, and the note for its agent."""
        resumed, now = instruction.resumes, self.workspace.environment.timestamp()
        since, brought = (None, None) if resumed is None else (based_at(resumed), brought_at(resumed))
        place = open_place(self.workspace, instruction.task.id, instruction.resumes)
        for text in place.notices:
            inform(self.ui, text, instruction.task.id)
        warn_left_out(self.ui, self._left_out, place.left_out)
        context = replace(self._context_of_work(agent), workspace=place.workspace)
        context = replace(
            context, worktree_base=place.base, worktree_base_at=brought or now, begins=place.begins
        )
        if place.workspace.is_task_worktree:
            state, starting = self.workspace.plan_state(), frozenset(self._starting)
            instruction = instruction.with_other_tasks(
                other_tasks(state, instruction.task.id, starting, since)
            )
        return context, instruction

    async def resume(self, action: ApplyChangeRequest | ContinueRun, instruction: Instruction) -> Stop | None:
        """Run an agent in the session of an action; stop where that agent cannot start."""
        try:
            return await self.run_task(instruction)
        except AgentUnavailableError as error:
            return undelivered_stop(action, error.message, error.ways_out)

    async def require_consent(self, *contexts: RunContext, as_reviewer: bool = False) -> None:
        """Ask about each agent that may do more than edit the worktree. Raises NotAgreedError."""
        for context in contexts:
            if not (as_reviewer and context.agent.abilities.read_only):
                await self.interruptible(self.ask_consent(context.agent))

    async def ask_consent(self, agent: Agent) -> None:
        """Return once the agent may start with its rights, and with a stop after each task or without.

        Where nobody can be asked, its rights are shown instead, the first time. Raises NotAgreedError.
        """
        if agent.rights is None:
            return
        async with self._consent:
            await self._ask_consent(agent, agent.rights)

    async def _ask_consent(self, agent: Agent, rights: Rights) -> None:
        paths = self.workspace.paths
        stops = self.workspace.config.execution.stop_after_each_task
        question = RightsQuestion(agent.name, rights, stops)
        agreed = load_agreements(paths, AgreementKind.AGREED)
        # Also who agreed to it without a stop after each task.
        if agreed & {_digest(question), _digest(question._replace(stops_after_each=False))}:
            return
        answer = await self.ui.agree(question)
        if answer:
            save_agreement(paths, AgreementKind.AGREED, _digest(question))
        elif answer is not None:
            raise NotAgreedError(f"{agent_in_text(agent.name)} was not started", hint=rights.calmer)
        elif _digest(question) not in load_agreements(paths, AgreementKind.TOLD):
            warn(self.ui, " ".join(render_rights(question)))
            save_agreement(paths, AgreementKind.TOLD, _digest(question))

    def charge_failures(self) -> list[Stop | None]:
        """Count starts without work as failures of their tasks, unless the agent refuses every task.

        Return the stop of each, if it has one.
        """
        return [charge() for charge in self.empty_starts.take_charges()]

    def _count_as_failure(self, run: Run, *, gated: bool) -> None:
        count_as_failure(self.workspace, run, gated=gated)
        inform(self.ui, f"{run.task_id} counts as failed: no other task was refused like it", run.task_id)

    def stop_after_run(self, run: Run, resumed: Run | None = None) -> Stop | None:
        """Return the stop that follows from the end of a run.

        A lost session ends the call only where resuming it would be the next action again.
        """
        if run.own.terminal_reason is TerminalReason.INTERRUPTED:
            self.is_interrupted = True
            return interrupted_stop("", go_on_command(run), task_id=run.task_id)
        if run.own.terminal_reason is TerminalReason.NOT_STARTED:
            return self._stop_before_start(run, resumed)
        if run.own.terminal_reason is TerminalReason.AGENT_UNAVAILABLE:
            return agent_refused_stop(self.workspace, run)
        is_resumed_next = resumed is not None and (
            resumed.status is RunStatus.PAUSED or resumed.decision_state is DecisionState.CHANGES_REQUESTED
        )
        if run.own.terminal_reason is TerminalReason.SESSION_LOST and not is_resumed_next:
            self.lost_sessions.append(run)
            hint = restart_command(run.task_id).with_options(self.workspace.call_options)
            text = f"{run.task_id}: {refused_session_text(run)}"
            self.ui.notify(Notice(Level.ERROR, text, hint, run.task_id))
        if run.status is RunStatus.WAITING_USER:
            self.scope = replace(self.scope, asked=self.scope.asked | {run.id})
        return None

    def _stop_before_start(self, run: Run, resumed: Run | None) -> Stop | None:
        """Return the stop of a run whose agent was not started; others go on where it was not set up."""
        if self.is_interrupted:
            return interrupted_stop(f"before {run.task_id} was started")
        if resumed is not None:
            return agent_refused_stop(self.workspace, run)
        self.skip_task(run.task_id, SetupError(run.error or "", hint=run.own.way_out))
        return None

    def skip_task(self, task_id: TaskId, error: SetupError) -> None:
        """Skip a task whose set-up failed for the rest of this call."""
        self.ui.notify(Notice(Level.ERROR, error.message, error.hint, task_id))
        self.not_set_up[task_id] = error
        self.scope = replace(self.scope, elsewhere=self.scope.elsewhere | {task_id})

    async def run_agent(
        self, stopping: str, task_id: TaskId, work: Awaitable[T], what: str = "its agent"
    ) -> T | None:
        """Await a program's work; ``stopping`` tells the user what an interrupt does to it."""
        self._running[task_id] = stopping, what
        try:
            return await self.interruptible(work)
        finally:
            del self._running[task_id]

    async def interruptible(self, work: Awaitable[T]) -> T | None:
        """Await one step so that an interrupt cancels only that; None when it was cancelled."""
        step: asyncio.Future[T] = asyncio.ensure_future(work)
        self._steps.add(step)
        if self.is_interrupted:
            step.cancel()
        try:
            return await step
        except asyncio.CancelledError:
            if not self.is_interrupted:
                raise
            return None
        finally:
            self._steps.discard(step)
