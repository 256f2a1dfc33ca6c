"""The loop: do what is due, step by step, until nothing is or someone must decide (DESIGN.md 5)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.agents import agent_of, chosen_agent, probe
from git_blackbird.controller.approval_commits import ApprovalRefusedError
from git_blackbird.controller.checkpoints import build_checkpoint, change_of
from git_blackbird.controller.decide import record_decision
from git_blackbird.controller.decision_stops import decision_left_open, decision_required, stop_after
from git_blackbird.controller.face import Face, LeftOpen
from git_blackbird.controller.leg import Crew, NoLongerReadyError, run_leg
from git_blackbird.controller.orders import Order, order_answers, order_changes, order_start
from git_blackbird.controller.repair import repair
from git_blackbird.controller.summons import Summoning
from git_blackbird.controller.work_folders import sweep_work_folders
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import AgentUnavailableError, LockedError
from git_blackbird.messages.answers import match_answers
from git_blackbird.messages.questions import questions_of
from git_blackbird.model.choices import Decision
from git_blackbird.model.commands import answer_options, restart_command, task_command
from git_blackbird.model.due import (
    Ask,
    Call,
    CarryOut,
    Decide,
    Due,
    Nothing,
    Start,
    next_due,
    owed_by_person,
    stuck_tasks,
)
from git_blackbird.model.events import Decided, Notice, Weight
from git_blackbird.model.graph import ready
from git_blackbird.model.history import since_done
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import Run, RunStatus, TerminalReason
from git_blackbird.model.stop import Stop, StopReason
from git_blackbird.model.text import clean_line
from git_blackbird.storage.store import Image

_WATCH_SECONDS = 0.2
_MAX_REFUSALS = 10
_LIMITS = frozenset({TerminalReason.WALL_LIMIT, TerminalReason.IDLE_LIMIT})
T = TypeVar("T")


@dataclass(frozen=True)
class Opening:
    """What a call begins with, found once repair is done; without ``first`` simply what is due."""

    first: Callable[[Image], Order | Ask | None] | None = None


class Loop:
    """One call: it owns what runs; interrupting it once pauses, twice kills."""

    def __init__(self, workspace: Workspace, face: Face, call: Call) -> None:
        self._workspace = workspace
        self._face = Summoning(workspace, face)
        self._call = call
        self._hurry = asyncio.Event()
        self._interrupted = False
        self._step: asyncio.Task[object] | None = None
        self._touched: set[TaskId] = set()
        self._versions: dict[str, str] = {}
        self._left_out: set[str] = set()
        self._at_work: TaskId | None = None
        self._lost: list[Run] = []
        self._refusals = 0

    def interrupt(self) -> None:
        """Pause what runs and stop; asked a second time, kill it."""
        if self._interrupted:
            self._hurry.set()
        elif self._at_work is not None:
            text = f"pausing {self._at_work}; a second Ctrl+C kills its agent"
            self._face.notify(Notice(Weight.INFO, text, task_id=self._at_work))
        self._interrupted = True
        if self._step is not None:
            self._step.cancel()

    async def run(self, opening: Opening) -> Stop:
        """Do what is due until the call ends; needs the controller lock.

        Raises BlackbirdError when something cannot go on at all.
        """
        repair(self._workspace, self._face)
        sweep_work_folders(self._workspace.layout)
        try:
            stop = await self._open(opening)
            while stop is None:
                stop = await self._turn()
        except AgentUnavailableError as error:
            stop = self._unavailable(error)
        self._name_what_others_owe()
        self._face.end(stop)
        return stop

    def _name_what_others_owe(self) -> None:
        """A call that is about some tasks only names what the others wait for, and asks nothing of it."""
        if self._call.only is None:
            return
        image = self._workspace.store.image()
        for owed in owed_by_person(image.plan, image.histories):
            if not self._call.covers(owed.task.id):
                text = f"{owed.task.id} waits for you as well"
                self._face.notify(Notice(Weight.INFO, text, owed.command, owed.task.id))

    async def _open(self, opening: Opening) -> Stop | None:
        if opening.first is None:
            return None
        image = self._workspace.store.image()
        first = opening.first(image)
        if first is None:
            return None
        return await (self._perform(first, image) if isinstance(first, Ask) else self._leg(first))

    async def _turn(self) -> Stop | None:
        if self._interrupted:
            return Stop(StopReason.INTERRUPTED, "interrupted")
        repair(self._workspace, self._face)
        image = self._workspace.store.image()
        return await self._perform(next_due(image.plan, image.histories, self._call), image)

    async def _perform(self, due: Due, image: Image) -> Stop | None:
        match due:
            case CarryOut(task, run):
                return await self._leg(self._change_order(image, task, run))
            case Decide(task, run):
                return await self._decide(image, task, run)
            case Ask(task, run):
                return await self._ask(image, task, run)
            case Start(task):
                return await self._start(image, task)
            case Nothing():
                return self._finish(due, image)

    async def _start(self, image: Image, task: Task) -> Stop | None:
        left = self._call.starts_left
        self._call = replace(self._call, starts_left=None if left is None else left - 1)
        try:
            return await self._leg(
                order_start(self._workspace, image.plan, task, image.history(task.id), None)
            )
        except NoLongerReadyError as error:
            self._face.notify(Notice(Weight.WARNING, error.message, task_id=task.id))
            return None

    def _change_order(self, image: Image, task: Task, run: Run) -> Order:
        history = image.history(task.id)
        _, summary = change_of(self._workspace, image, run, since_done(history))
        return order_changes(run, task, history, None, summary)

    async def _leg(self, order: Order) -> Stop | None:
        """Carry out one order; a refusing agent ends the call, a lost session is named and passed by."""
        agent = self._agent(order)
        self._name_other_agent(order, agent)
        self._touched.add(order.task.id)
        crew = Crew(
            self._workspace,
            agent,
            self._versions[agent.name],
            self._face,
            self._workspace.settings.flag("execution.stopAfterEachTask"),
            self._left_out,
        )
        self._at_work = order.task.id
        run = await self._stoppable(run_leg(crew, order, self._hurry))
        self._at_work = None
        if run is None:
            return Stop(StopReason.INTERRUPTED, f"interrupted before {order.task.id} was started")
        return self._after(run)

    def _name_other_agent(self, order: Order, agent: Agent) -> None:
        """Say that another agent goes on with a task: what it may do, and what it knows, differs."""
        newest = self._workspace.store.records.history(order.task.id).newest
        if order.resumes is not None or newest is None or newest.provider in {"", agent.name}:
            return
        text = f"{order.task.id} was {newest.provider}'s before; {agent.name} begins anew with it"
        hint = f"--agent {newest.provider} keeps the one it had"
        self._face.notify(Notice(Weight.INFO, text, hint, order.task.id))

    def _agent(self, order: Order) -> Agent:
        if order.resumes is None:
            agent = chosen_agent(self._workspace)
        else:
            agent = agent_of(self._workspace, order.resumes)
            _require_session_name(agent, order.resumes)
        if agent.name not in self._versions:
            self._versions[agent.name] = probe(self._workspace, agent)
        return agent

    def _after(self, run: Run) -> Stop | None:
        if run.terminal_reason is TerminalReason.INTERRUPTED:
            self._interrupted = True
            return Stop(StopReason.INTERRUPTED, "interrupted", (_again(run),), run.task_id)
        if run.terminal_reason is TerminalReason.AGENT_UNAVAILABLE:
            return self._refused(run)
        if run.terminal_reason is TerminalReason.SESSION_LOST:
            self._lost.append(run)
            text, hint = f"{run.task_id}: {_refused_session(run)}", restart_command(run.task_id)
            self._face.notify(Notice(Weight.ERROR, text, hint, run.task_id))
        if run.status is RunStatus.WAITING_USER:
            self._call = replace(self._call, asked=self._call.asked | {run.id})
        return None

    def _refused(self, run: Run) -> Stop:
        paused = run.status is RunStatus.PAUSED
        state = "is paused" if paused else "was not charged"
        again = _again(run) if paused else "git blackbird execute"
        # The end of the run has told it whole.
        why = clean_line(run.error or (run.notes[0] if run.notes else "it refused to work"), 100)
        return Stop(
            StopReason.AGENT_UNAVAILABLE,
            f"{run.provider}: {why}; {run.task_id} {state}",
            (run.way_out, again) if run.way_out else (again,),
            run.task_id,
        )

    def _unavailable(self, error: AgentUnavailableError) -> Stop:
        return Stop(StopReason.AGENT_UNAVAILABLE, error.message, (error.hint,) if error.hint else ())

    async def _decide(self, image: Image, task: Task, run: Run) -> Stop | None:
        checkpoint = await asyncio.to_thread(build_checkpoint, self._workspace, image, task, run)
        reply = await self._stoppable(self._or_elsewhere(self._face.decide(checkpoint), run))
        if isinstance(reply, Decision):
            return await self._record(task, run, reply)
        if isinstance(reply, Run):
            if reply.is_pending:
                # Its commit was amended: what was shown is not what would be approved.
                text = f"the commit of {task.id} was amended: its checkpoint comes again"
                self._face.notify(Notice(Weight.INFO, text, task_id=task.id))
                return None
            if reply.decision_state is not None:
                self._face.notify(Decided(task.id, run.id, reply.decision_state, elsewhere=True))
            return stop_after(self._workspace, reply)
        if isinstance(reply, LeftOpen) or self._interrupted:
            return decision_left_open(task, run)
        return decision_required(self._workspace, task, run)

    async def _record(self, task: Task, run: Run, decision: Decision) -> Stop | None:
        """Record a decision; one that is refused for now is due again, and the face is told why."""
        try:
            # In a thread: the commit of an approval takes as long as the user's hooks do.
            recorded = await asyncio.to_thread(record_decision, self._workspace, task.id, decision, run.id)
        except (ApprovalRefusedError, LockedError) as error:
            self._face.notify(Notice(Weight.ERROR, error.message, error.hint, task.id))
            self._refusals += 1
            # A pipe that says the same for ever is nobody.
            return None if self._refusals < _MAX_REFUSALS else decision_required(self._workspace, task, run)
        self._face.notify(Decided(task.id, run.id, decision.state, elsewhere=False, commit=recorded.commit))
        for text in () if recorded.commit is None else recorded.commit.warnings:
            self._face.notify(Notice(Weight.WARNING, text, task_id=task.id))
        for line in recorded.undo:
            self._face.notify(Notice(Weight.INFO, f"to take the change back: {line}", task_id=task.id))
        return stop_after(self._workspace, recorded.run)

    async def _ask(self, image: Image, task: Task, run: Run) -> Stop | None:
        questions = questions_of(run)
        reply = await self._stoppable(self._or_elsewhere(self._face.answer(task, questions), run))
        if isinstance(reply, Run):
            return None
        if isinstance(reply, Mapping):
            answers = match_answers(questions, reply)
            return await self._leg(order_answers(run, task, image.history(task.id), answers))
        reason = (
            StopReason.INTERRUPTED
            if isinstance(reply, LeftOpen) or self._interrupted
            else StopReason.WAITING_USER
        )
        return Stop(
            reason,
            f"{task.id} waits for answers",
            (task_command("resume", task.id, answer_options(questions)),),
            task.id,
        )

    async def _or_elsewhere(self, asking: Awaitable[T], run: Run) -> T | Run:
        """Ask, and watch the record: who answers first is taken, the other is cancelled."""
        asked: asyncio.Future[T] = asyncio.ensure_future(asking)
        watched = asyncio.ensure_future(self._changed(run))
        try:
            both: set[asyncio.Future[Any]] = {asked, watched}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() else watched.result()
        finally:
            asked.cancel()
            watched.cancel()
            await asyncio.gather(asked, watched, return_exceptions=True)

    async def _changed(self, run: Run) -> Run:
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            history = self._workspace.store.records.history(run.task_id)
            stored = history.find(run.id)
            if stored is not None and (
                stored.decision_state != run.decision_state
                or stored.superseded_at is not None
                or stored.head_tree != run.head_tree
            ):
                return stored

    async def _stoppable(self, work: Awaitable[T]) -> T | None:
        """Await one step so that an interrupt cancels it alone; None when it had nothing to give then."""
        step: asyncio.Future[T] = asyncio.ensure_future(work)
        self._step = step  # type: ignore[assignment]  # a coroutine's future is a task
        if self._interrupted:
            step.cancel()
        try:
            return await step
        except asyncio.CancelledError:
            if not self._interrupted:
                raise
            return None
        finally:
            self._step = None

    def _finish(self, due: Nothing, image: Image) -> Stop:
        if self._lost:
            run = self._lost[0]
            steps = tuple(restart_command(one.task_id) for one in self._lost)
            return Stop(StopReason.AGENT_UNAVAILABLE, _refused_session(run), steps, run.task_id, due.blocked)
        failed = [task_id for task_id in sorted(self._touched) if _counts_as_failed(image, task_id)]
        if failed:
            steps = tuple(task_command("runs", task_id) for task_id in failed)
            return Stop(StopReason.FAILED, f"failed: {', '.join(failed)}", steps, blocked=due.blocked)
        owed = owed_by_person(image.plan, image.histories)
        waits = {one.task.id: one.command for one in owed}
        waits |= {one.task.id: one.command for one in stuck_tasks(image.plan, image.histories)}
        steps = tuple(command for task_id, command in waits.items() if self._call.covers(task_id))
        steps += tuple(task_command("retry", one.id) for one in self._failed_before(image))
        if ready(image.plan):
            steps = (*steps, "git blackbird execute")
        return Stop(StopReason.COMPLETED, _completed_text(image), steps, blocked=due.blocked)

    def _failed_before(self, image: Image) -> list[Task]:
        """Leaves that failed in earlier calls: no failure of this one, but nothing gets on with them."""
        return [
            task
            for task in image.plan.leaves()
            if task.status == Status.FAILED and self._call.covers(task.id)
        ]


def _again(run: Run) -> str:
    """Give the command that goes on with a paused run: in its session, if its agent came to have one."""
    return task_command("resume" if run.provider_session_ref else "restart", run.task_id)


def _require_session_name(agent: Agent, run: Run) -> None:
    """Never hand on what is no session's name: a program may take it for a title, or begin a new one."""
    session = run.provider_session_ref or ""
    if not agent.accepts_session(session):
        raise AgentUnavailableError(
            f"{run.task_id}: {session!a} of run {run.id} is no session of {agent.name}",
            hint=restart_command(run.task_id),
        )


def _refused_session(run: Run) -> str:
    return f"{run.provider} refuses session {run.provider_session_ref} of run {run.resumes}"


def _counts_as_failed(image: Image, task_id: TaskId) -> bool:
    latest = image.history(task_id).latest
    task = image.plan.tasks.get(task_id)
    hit_limit = latest is not None and latest.terminal_reason in _LIMITS
    return hit_limit or (task is not None and task.status == Status.FAILED)


def _completed_text(image: Image) -> str:
    leaves = image.plan.leaves()
    if all(task.status == Status.DONE for task in leaves):
        return "every task is done" if leaves else "the plan has no tasks"
    left = len(ready(image.plan))
    if left:
        return f"this call is done; {left} {'task is' if left == 1 else 'tasks are'} ready"
    return "no ready tasks remaining"
