"""Do what is due on several tasks at once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any

from git_blackbird import trace
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.limits import await_limit, ended_waiting, in_time, limit_over
from git_blackbird.controller.change.stops import NotAgreedError, interrupted_stop, open_items_stop
from git_blackbird.controller.change.work.starts import Done, Start
from git_blackbird.controller.change.work.step import begin
from git_blackbird.controller.core.agents import agent_name_for, models_of, tasks_of_agents
from git_blackbird.controller.core.ui import inform
from git_blackbird.controller.core.waiting import any_change, last_written
from git_blackbird.controller.engine.stops import (
    joined_steps,
    last_stop,
    not_started_stop,
    without_agent_text,
)
from git_blackbird.controller.launch.ledger import BudgetSpentError
from git_blackbird.errors import AgentUnavailableError, BlackbirdError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.stages import Due, due_of
from git_blackbird.model.rules.limits import AgentModel, LimitHold
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.scope import ASKS, CallScope
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.events import Level, Notice
from git_blackbird.model.views.stop import Stop, StopReason, first_of

Perform = Callable[[Call, Item], Coroutine[Any, Any, Done]]
Choose = Callable[[PlanState, CallScope], tuple[Item | None, Sequence[LimitHold]]]
Scan = Callable[[CallScope], Awaitable[PlanState | None]]
# An agent, and the worker that it has to work on if it is to go on in a session there.
_AgentPlace = tuple[str, str | None]

# Resources that an item holds: an agent, the person's attention, the user's own worktree.
_AGENT, _PERSON, _WORKTREE = "agent", "person", "worktree"
_OPEN = frozenset({StopReason.DECISION_REQUIRED, StopReason.WAITING_USER})


@dataclass(frozen=True)
class _Job:
    """An item that is being done, what it holds, and the agent that it needs if that is known.

    ``models`` are all agents that it starts.
    """

    item: Item
    holds: frozenset[str]
    agent: _AgentPlace | None
    models: frozenset[AgentModel]


class Scheduler:
    """Does the items of one call, several at a time, until none is due or nothing more may begin.

    One of a task at a time. A decision that nobody is here to take is left open, and others go on.
    """

    def __init__(self, call: Call, choose: Choose, perform: Perform, scan: Scan) -> None:
        self._call = call
        self._choose = choose
        self._perform = perform
        self._scan = scan
        self._jobs: dict[asyncio.Task[Done], _Job] = {}
        self._left: dict[TaskId, Stop] = {}
        self._faults: dict[TaskId, BlackbirdError] = {}
        # Stops of tasks whose agent cannot work now, and these agents: tasks of others go on.
        self._unavailable: dict[TaskId, Stop] = {}
        self._gone: set[_AgentPlace] = set()
        self._not_started: set[TaskId] = set()
        self._stops: list[Stop] = []

    async def run(self, state: PlanState) -> Stop:
        """Return how the call ends. Raises BlackbirdError where something about a task could not go on."""
        seen = last_written(self._call.workspace)
        try:
            while True:
                self._call.empty_starts.seen_at_work.clear()
                ending = await self._begin(state)
                holds = in_time(self._call, ending or ())
                is_over = not self._jobs and (ending is None or not self._charge_failures())
                if is_over and not holds:
                    return await self._end(state, ending)
                if self._jobs or is_over:
                    await self._wait(holds, seen)
                if is_over and (stop := ended_waiting(self._call)):
                    self._stops.append(stop)
                self._collect()
                seen = last_written(self._call.workspace)
                # After an interrupt the state is read once all have ended.
                state = await self._scan(self._call.scope._replace(busy=self._busy)) or state
        finally:
            # An unexpected error: pause the running agents.
            for job in self._jobs:
                job.cancel()
            await asyncio.gather(*self._jobs, return_exceptions=True)

    async def _wait(self, holds: Sequence[LimitHold], seen: tuple[int, int]) -> None:
        """Wait until an item is done, or an agent in doubt is seen at work.

        Or until the first usage limit is over for which the call waits, or it is interrupted meanwhile. While
        a person has to decide, that may be done elsewhere.
        """
        is_open = self._left or not self._has_room(frozenset({_PERSON}))
        others = [
            asyncio.ensure_future(waiting)
            for waiting in (
                self._call.empty_starts.seen_at_work.wait(),
                *([any_change(self._call.workspace, seen)] if is_open else []),
                *([self._call.interruptible(limit_over(self._call, holds))] if holds else []),
            )
        ]
        try:
            await asyncio.wait({*self._jobs, *others}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    def _charge_failures(self) -> bool:
        """Count starts that no agent refused as failures of their tasks; return whether there were any."""
        stops = self._call.empty_starts.charge_failures()
        self._stops += filter(None, stops)
        return bool(stops)

    @property
    def _busy(self) -> frozenset[TaskId]:
        return frozenset(job.item.task.id for job in self._jobs.values())

    async def _begin(self, state: PlanState) -> Sequence[LimitHold] | None:
        """Begin what may begin; return the limits that what is left waits for, None if the call has ended."""
        self._left = {task_id: stop for task_id, stop in self._left.items() if _is_still_left(state, task_id)}
        waiting: frozenset[TaskId] = frozenset((*self._left, *self._faults, *self._unavailable))
        while not self._call.is_interrupted and not self._stops:
            item, limits = self._choose(state, self._scope(state, waiting))
            if item is None:
                return limits
            job = self._job_of(item)
            if job.agent in self._gone:
                self._not_started.add(item.task.id)
            if job.agent in self._gone or not self._has_room(job.holds) or job.models & self._doubted_at_work:
                waiting |= {item.task.id}
                continue
            trace.event("begin", item.due.name.lower(), item.task.id)
            self._jobs[asyncio.create_task(self._perform(self._call, item))] = job
            # It takes what it needs of the scope, such as one of the starts, before it waits for anything.
            await asyncio.sleep(0)
        return None

    def _job_of(self, item: Item) -> _Job:
        models = models_of(self._call.workspace, item)
        return _Job(item, _resources_of(item), self._agent_of(item), models)

    def _scope(self, state: PlanState, waiting: frozenset[TaskId]) -> CallScope:
        """Return the scope for the next choice, without tasks that are at work or have to wait."""
        scope = self._call.scope
        if doubted := self._doubted_at_work:
            held = tasks_of_agents(self._call.workspace, state.plan, doubted)
            scope = scope._replace(elsewhere=scope.elsewhere | held)
        if not self._has_room(frozenset({_AGENT})):
            scope = scope._replace(starts_left=0)
        at_work = frozenset[str]().union(*(job.holds for job in self._jobs.values()))
        return scope._replace(busy=self._busy | waiting, keeps_slots=not at_work <= {_PERSON})

    def _agent_of(self, item: Item) -> _AgentPlace | None:
        match item.due:
            case Due.START:
                return agent_name_for(self._call.workspace, item.task), None
            case Due.REVIEW_PARENT | Due.REVIEW_AGAIN:
                return self._call.workspace.config.agent, None
            case Due.REQUEST | Due.CONTINUE | Due.FEEDBACK:
                return item.of_run.provider, item.of_run.worker
            case _:
                return None

    @property
    def _doubted_at_work(self) -> frozenset[AgentModel]:
        at_work = frozenset[AgentModel]().union(*(job.models for job in self._jobs.values()))
        return at_work & self._call.empty_starts.doubted

    def _has_room(self, holds: frozenset[str]) -> bool:
        held = Counter(each for job in self._jobs.values() for each in job.holds)
        jobs = self._call.workspace.config.execution.jobs
        return all(held[each] < (jobs if each == _AGENT else 1) for each in holds)

    def _collect(self) -> None:
        for task in [task for task in self._jobs if task.done()]:
            job = self._jobs.pop(task)
            task_id = job.item.task.id
            try:
                done = task.result()
            except (AgentUnavailableError, NotAgreedError) as error:
                done = replace(not_started_stop(error), task_id=task_id)
                self._not_started.add(task_id)
            except BudgetSpentError:
                self._call.held.add(task_id)
                continue
            except BlackbirdError as error:
                self._faults[task_id], error.is_told = error, True
                self._call.ui.notify(Notice(Level.ERROR, error.message, error.ways_out, task_id))
                continue
            if isinstance(done, Stop):
                self._note_stop(done, job)
            elif done is not None:
                # A person asked for it: it waits for no room, and the next question not for it.
                run = done.resumes if isinstance(done, Start) else None
                item = replace(job.item, due=Due.START if run is None else Due.CONTINUE, run=run)
                self._jobs[asyncio.create_task(begin(self._call, done))] = self._job_of(item)

    def _note_stop(self, stop: Stop, job: _Job) -> None:
        call = self._call
        if stop.reason in _OPEN:
            self._left[job.item.task.id] = stop
            return
        if stop.reason is StopReason.AGENT_UNAVAILABLE:
            self._unavailable[job.item.task.id] = stop
            self._gone |= {job.agent} if job.agent is not None else set()
            return
        if not self._stops and self._jobs and stop.reason is not StopReason.INTERRUPTED:
            goes = "goes on to its end" if len(self._jobs) == 1 else "go on to their end"
            inform(call.ui, f"no more tasks start; {', '.join(sorted(self._busy))} {goes}")
        self._stops.append(stop)
        if stop.reason is StopReason.INTERRUPTED and not call.is_interrupted:
            call.interrupt()

    async def _end(self, state: PlanState, limits: Sequence[LimitHold] | None) -> Stop:
        """Return the stop that comes first in the order of exit codes."""
        if self._unavailable and self._not_started:
            inform(self._call.ui, without_agent_text(sorted(self._not_started)))
        if self._faults:
            raise next(iter(self._faults.values()))
        stops = [*self._stops, *self._unavailable.values()]
        if self._call.is_interrupted and not stops:
            stops.append(interrupted_stop())
        if self._left:
            stops.append(open_items_stop(list(self._left.values())))
        if limits and (stop := await await_limit(self._call, limits)) is not None:
            stops.append(stop)
        elif limits is not None:
            stops.append(last_stop(self._call, state))
        first = first_of(stops)
        steps = (step for stop in stops if stop.reason is first.reason for step in stop.next_steps)
        return replace(first, next_steps=tuple(joined_steps(steps, self._call.scope.only)))


def _is_still_left(state: PlanState, task_id: TaskId) -> bool:
    run = state.history(task_id).latest
    return run is not None and due_of(run) in {*ASKS, Due.CONTINUE}


def _resources_of(item: Item) -> frozenset[str]:
    match item.due:
        case due if due in ASKS:
            return frozenset({_PERSON})
        case Due.LAND | Due.FINISH:
            return frozenset({_WORKTREE})
        case Due.RECHECK:
            # In the order of the landings.
            return frozenset({Due.RECHECK})
        case Due.REVIEW_PARENT | Due.REVIEW_AGAIN:
            # It looks at the user's worktree, where nothing may land meanwhile.
            return frozenset({_AGENT, _WORKTREE})
        case Due.REQUEST | Due.CONTINUE | Due.FEEDBACK if item.of_run.is_in_place:
            return frozenset({_AGENT, _WORKTREE})
        case _:
            return frozenset({_AGENT})
