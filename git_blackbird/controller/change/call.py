"""One call, as the steps of the loop share it: its scope, who starts agents, and what an interrupt stops."""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.check.programs import CheckSlots
from git_blackbird.controller.change.stops import (
    NotAgreedError,
    agent_refused_stop,
    budget_stop,
    execute_again,
    go_on_command,
    interrupted_stop,
    refused_session_text,
)
from git_blackbird.controller.change.work.worktree_setup import SetUp, SetupError
from git_blackbird.controller.core.agents import (
    adding_way_out,
    review_with_other_agent,
    reviewer_of,
)
from git_blackbird.controller.core.notify import Prompter
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.waiting import finish_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.launch import Launcher, ThisMachine
from git_blackbird.controller.launch.ledger import Ledger
from git_blackbird.controller.place.slots import Slot, Slots
from git_blackbird.controller.place.snapshots import EndSnapshot
from git_blackbird.messages.display.dialogue import confirm_rights
from git_blackbird.messages.display.events import rights_lines
from git_blackbird.messages.document import plain
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.base.next_steps import restart_command
from git_blackbird.model.change.stages import AgentOf, Due
from git_blackbird.model.config.layers import OnLimit
from git_blackbird.model.rules.limits import AgentModel, LimitHold, repeats
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.rules.spending import BudgetLine, BudgetScope
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.agent_io import RightsQuestion, agent_in_text
from git_blackbird.model.run.findings import Source
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, TerminalReason
from git_blackbird.model.views.events import Level, LimitsHeld, Notice
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.notes import AgreementKind, load_agreements, save_agreement

T = TypeVar("T")
Charge = Callable[[], Stop | None]


class Call:
    """One call of a command that runs agents: its scope, what it has touched, and what runs.

    ``touched`` are the tasks that it worked on, ``starting`` those about to start, of which agents of other
    tasks are told before there is a record, ``rejected`` those that were rejected in it. Each path of
    ``left_out`` was named as not in a snapshot. ``launcher`` starts the agents that work on tasks. ``held``
    are the tasks that get no more agents in it, since a budget is spent. ``stand_ins`` are agents that may
    start tasks whose own is at a usage limit. ``half_done`` are the tasks of which was said that others do
    not start over their edits. ``declined`` are digests of rights and criteria that nobody agreed to in it.
    """

    def __init__(self, workspace: Workspace, ui: UserInterface, scope: CallScope) -> None:
        self.workspace = workspace
        self.ui = ui
        self.prompter = Prompter(workspace, ui)
        self.scope = scope
        self.force_stop = asyncio.Event()
        self.is_interrupted = False
        self.touched: set[TaskId] = set()
        self.starting: set[TaskId] = set()
        self.left_out: set[str] = set()
        self.lost_sessions: list[Run] = []
        self.refused_decisions = 0
        self.rejected: set[TaskId] = set()
        self.slots = Slots(workspace)
        self.end_snapshot = EndSnapshot()
        self.check_slots = CheckSlots(workspace, ui)
        self.not_set_up: dict[TaskId, SetupError] = {}
        # Reviewers work here, whoever works on tasks.
        self.here: Launcher = ThisMachine(workspace)
        self.launcher: Launcher = self.here
        self.empty_starts = EmptyStarts()
        self.ledger = Ledger(workspace)
        self.held: set[TaskId] = set()
        self.half_done: set[TaskId] = set()
        self.stand_ins: tuple[Agent, ...] = ()
        self._limits: tuple[LimitHold, ...] = ()
        # One at a time: where several agents start at once, the first answer is for all.
        self.consenting = asyncio.Lock()
        self.declined: frozenset[str] = frozenset()
        self._agreed: set[RightsQuestion] = set()
        self._steps: set[asyncio.Future[Any]] = set()
        self._running: dict[TaskId, tuple[str, str]] = {}
        self._clearing: dict[TaskId, asyncio.Future[None]] = {}

    def interrupt(self) -> None:
        """Pause what runs and stop; a second interrupt kills it."""
        if self.is_interrupted:
            self.force_stop.set()
        elif self._running:
            what = [
                f"{stopping} {'the planning' if task_id == PLANNING else task_id}"
                for task_id, (stopping, _) in self._running.items()
            ]
            killed = [each for _, each in self._running.values()]
            names = killed[0] if len(killed) == 1 else "them"
            task_id = next(iter(self._running)) if len(killed) == 1 else None
            inform(self.ui, f"{', '.join(what)}; a second Ctrl+C kills {names}", task_id)
        self.is_interrupted = True
        for step in self._steps:
            step.cancel()

    async def reviewers(self) -> dict[Source, Agent]:
        """Return who makes both reviews of a change. Raises AgentUnavailableError, RequestError."""
        found = {}
        for source in Source:
            with adding_way_out(self.workspace, review_with_other_agent(source)):
                found[source] = reviewer_of(self.workspace, source)
                await self.here.version_of(found[source])
        return found

    def count_start(self, number: int = 1) -> None:
        """Count starts of tasks, where the call may start only so many; -1 is one that was in vain."""
        if (left := self.scope.starts_left) is not None:
            self.scope = self.scope._replace(starts_left=left - number)

    def awaits_enough(self, state: PlanState) -> bool:
        """Whether so many decisions wait for a person that no more tasks start."""
        config = self.workspace.config.execution
        pending = sum(self.scope.covers(task.id) for task, _ in state.due[Due.DECIDE])
        return pending >= (config.max_pending_decisions or 2 * config.jobs)

    @property
    def on_limit(self) -> OnLimit:
        """What to do at a usage limit; by default it waits on a terminal or with --until."""
        waits = self.ui.is_on_terminal or self.scope.until is not None
        return self.workspace.config.execution.on_limit or ("wait" if waits else "stop")

    @property
    def is_time_up(self) -> bool:
        """Whether nothing more starts, since the call has reached the time that it was given."""
        until = self.scope.until
        return until is not None and self.workspace.environment.now() >= until

    def goes_on_after(self, run: Run) -> bool:
        """Whether a usage limit ended a run, and the call goes on once that is over."""
        is_refused = run.terminal_reason is TerminalReason.AGENT_UNAVAILABLE
        return is_refused and run.limit is not None and self.on_limit != "stop"

    def show_limits(self, holds: Sequence[LimitHold] = ()) -> None:
        """Show for which usage limits the call waits, or that the first of them is over."""
        if self._limits == tuple(holds):
            return
        now = self.workspace.environment.now()
        if holds or any(hold.until <= now for hold in self._limits):
            self._limits = tuple(holds)
            self.ui.notify(LimitsHeld(self._limits, now))

    def may_begin(self, item: Item) -> bool:
        """Whether time and budgets are left for an item; without agents only decisions are asked for."""
        if not self.scope.starts_agents:
            return item.due is Due.DECIDE
        is_free = item.due.agent is AgentOf.NOBODY or not self.ledger.spent_lines(item.task.id)
        return is_free and not self.is_time_up

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

    async def require_consent(self, *agents: Agent, as_reviewer: bool = False) -> None:
        """Ask about each agent that may do more than edit the worktree, once about the same rights.

        Whether it stops after each task is a part of what is agreed to. Where nobody can be asked, its rights
        are shown instead, the first time. Raises NotAgreedError.
        """
        stops = self.workspace.config.execution.stop_after_each_task
        for agent in agents:
            if agent.rights is not None and not (as_reviewer and agent.abilities.read_only):
                await self.interruptible(self._consent(RightsQuestion(agent.name, agent.rights, stops)))

    async def _consent(self, question: RightsQuestion) -> None:
        paths, digest = self.workspace.paths, _digest(question)
        async with self.consenting:
            if question in self._agreed:
                return
            # Also who agreed to it without a stop after each task.
            enough = {digest, _digest(question._replace(stops_after_each=False))}
            if not load_agreements(paths, AgreementKind.AGREED) & enough:
                is_declined = digest in self.declined
                answer = False if is_declined else await self.prompter.agree(confirm_rights(question))
                if answer is True:
                    save_agreement(paths, AgreementKind.AGREED, digest)
                elif answer is not None:
                    self.declined |= {digest}
                    text = f"{agent_in_text(question.agent)} was not started"
                    raise NotAgreedError(text, hint=question.rights.calmer)
                elif digest not in load_agreements(paths, AgreementKind.TOLD):
                    warn(self.ui, " ".join(plain(rights_lines(question))))
                    save_agreement(paths, AgreementKind.TOLD, digest)
            self._agreed.add(question)

    def stop_after_run(self, run: Run, resumed: Run | None = None) -> Stop | None:
        """Return the stop that follows from the end of a run.

        A lost session ends the call only where resuming it would be the next action again.
        """
        if run.terminal_reason is TerminalReason.INTERRUPTED:
            self.is_interrupted = True
            return interrupted_stop("", go_on_command(run), task_id=run.task_id)
        if run.terminal_reason is TerminalReason.BUDGET:
            self.held.add(run.task_id)
            return None
        if run.terminal_reason is TerminalReason.NOT_STARTED:
            if self.is_interrupted:
                return interrupted_stop(f"before {run.task_id} was started")
            if resumed is not None:
                return agent_refused_stop(self.workspace, run)
            # Others go on.
            self.skip_task(run.task_id, SetupError(run.error or "", hint=run.way_out))
            return None
        if run.terminal_reason is TerminalReason.AGENT_UNAVAILABLE:
            return None if self.goes_on_after(run) else agent_refused_stop(self.workspace, run)
        is_resumed_next = resumed is not None and (
            resumed.status is RunStatus.PAUSED or resumed.decision_state is DecisionState.CHANGES_REQUESTED
        )
        if run.terminal_reason is TerminalReason.SESSION_LOST and not is_resumed_next:
            self.lost_sessions.append(run)
            hint = restart_command(run.task_id).with_options(self.workspace.call_options)
            text = f"{run.task_id}: {refused_session_text(run)}"
            self.ui.notify(Notice(Level.ERROR, text, hint, run.task_id))
        if run.status is RunStatus.WAITING_USER:
            self.scope = self.scope._replace(asked=self.scope.asked | {run.id})
        return None

    @property
    def held_stop(self) -> Stop:
        return self.budget_stop([line for task_id in self.held for line in self.ledger.spent_lines(task_id)])

    def budget_stop(self, lines: Sequence[BudgetLine]) -> Stop:
        return budget_stop(self.workspace, lines, execute_again(sorted(self.scope.only or ())))

    def within_budget(self, scope: CallScope, item: Item) -> CallScope:
        """Return the scope without the task of an item that no budget is left for.

        Nothing else starts either where that is no budget of its own, or where it would be over files in the
        user's worktree that the item would have gone on with.
        """
        if item.due.agent is AgentOf.NOBODY:
            return scope
        task_id = item.task.id
        lines = self.ledger.spent_lines(task_id)
        if not lines and task_id not in self.held:
            return scope
        self.held.add(task_id)
        is_of_task = all(line.scope is BudgetScope.TASK for line in lines)
        run = item.run
        is_apart = is_of_task and (run is None or run.is_review or not run.is_in_place)
        starts_left = scope.starts_left if is_apart else 0
        return scope._replace(busy=scope.busy | {task_id}, starts_left=starts_left)

    def skip_task(self, task_id: TaskId, error: SetupError) -> None:
        """Skip a task whose set-up failed for the rest of this call."""
        self.ui.notify(Notice(Level.ERROR, error.message, error.ways_out, task_id))
        self.not_set_up[task_id] = error
        self.scope = self.scope._replace(elsewhere=self.scope.elsewhere | {task_id})

    @contextlib.contextmanager
    def at_work(self, stopping: str, task_id: TaskId, what: str = "its agent") -> Iterator[None]:
        """Register a running program: an interrupt reports ``stopping``, a second one kills ``what``."""
        self._running[task_id] = stopping, what
        try:
            yield
        finally:
            del self._running[task_id]

    async def interruptible(self, work: Awaitable[T]) -> T | None:
        """Await a step that an interrupt may cancel; return None if one did."""
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


class EmptyStarts:
    """Which agents refuse every task, and which may, by their starts without work.

    ``stopped`` are the agents that refuse every task: they start nothing more. ``doubted`` have shown no
    work since their last start without work: they start nothing more while one of them is at work.
    ``seen_at_work`` is set when an agent is seen at work that was in doubt.
    """

    def __init__(self) -> None:
        self.seen_at_work = asyncio.Event()
        self.stopped: set[AgentModel] = set()
        self.doubted: set[AgentModel] = set()
        self._starts: list[Run] = []
        self._charges: dict[TaskId, Charge] = {}

    @property
    def held(self) -> frozenset[TaskId]:
        """The tasks that are not started until the cause is known."""
        return frozenset(self._charges)

    def see_work(self, by: AgentModel) -> None:
        """Note that a start of an agent has shown work, or has ended with some."""
        if by in self.doubted:
            self.doubted.discard(by)
            self.seen_at_work.set()

    def note_end(self, run: Run) -> None:
        by = AgentModel.of(run)
        if run.terminal_reason is not TerminalReason.WITHOUT_WORK:
            self.see_work(by)
            return
        if any(repeats(run, other) for other in self._starts):
            self.stopped.add(by)
        self._starts.append(run)
        self.doubted.add(by)

    def hold(self, task_id: TaskId, charge: Charge) -> None:
        """Hold a task back; ``charge`` records its start as the task's failure."""
        self._charges[task_id] = charge

    def charge_failures(self) -> list[Stop | None]:
        """Count starts without work as failures of their tasks, unless the agent refuses every task.

        Return the stop of each, if it has one.
        """
        refused = {run.task_id for runs in self.refused for run in runs}
        return [self._charges.pop(task_id)() for task_id in [*self._charges] if task_id not in refused]

    @property
    def refused(self) -> list[list[Run]]:
        agents = dict.fromkeys(by for by in map(AgentModel.of, self._starts) if by in self.stopped)
        return [[start for start in self._starts if AgentModel.of(start) == by] for by in agents]


def _digest(question: RightsQuestion) -> str:
    """Digest the question: an agent command may hold secrets, so it is not stored."""
    asked = [question.agent, question.rights.terms, question.stops_after_each]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
