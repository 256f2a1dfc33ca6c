"""The loop: perform the next action until none is due or someone must decide."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Protocol, assert_never

from git_blackbird import trace
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.decide.adopt import settle_adoption
from git_blackbird.controller.change.land.slots import next_to_land
from git_blackbird.controller.change.limits import (
    agree_to_stand_ins,
    await_limit,
    holds_of,
    name_half_done,
    with_stand_ins,
)
from git_blackbird.controller.change.stops import NotAgreedError, interrupted_stop
from git_blackbird.controller.change.work.questions import ask_paused, ask_questions
from git_blackbird.controller.change.work.starts import Done, Restart, Start
from git_blackbird.controller.change.work.step import (
    apply_change_request,
    begin,
    continue_run,
    send_feedback,
    start_task,
)
from git_blackbird.controller.change.work.task_run import session_locks
from git_blackbird.controller.core.agents import models_of, require_reviewers, tasks_of_agents
from git_blackbird.controller.core.drafts import drop_recorded_drafts
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.waiting import any_change, last_written, run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.recovery import recover, require_decided, require_planned, scan
from git_blackbird.controller.engine.stops import (
    agent_stopped_stop,
    end_of_call,
    last_stop,
    lost_sessions_stop,
    not_started_stop,
    notify_paused,
    notify_waiting,
    notify_without_agent,
)
from git_blackbird.controller.launch.launch import Launcher
from git_blackbird.controller.launch.ledger import BudgetSpentError
from git_blackbird.controller.launch.run_files import sweep_scratch_dirs
from git_blackbird.controller.place.listing import remove_landed
from git_blackbird.errors import AgentUnavailableError, BlackbirdError
from git_blackbird.git.writing.path_writer import Journal
from git_blackbird.messages.display.format import adopted_text
from git_blackbird.model.change.stages import AgentOf, Due, Stage, stage_of
from git_blackbird.model.rules.limits import AgentModel, LimitHold
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.scope import ASKS, CallScope, next_item
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.events import Level, Notice, Phase
from git_blackbird.model.views.stop import Stop, StopReason, first_of
from git_blackbird.storage.locks import remove_lock_folders

FirstStep = Callable[[PlanState], Start | tuple[Item, str | None] | Restart | PlanState | None]
"""What a call begins with after the first recovery, or the state it wrote.

It is what an agent is told, a restart, or questions to ask, with a message that goes with the answers.
"""


_ReadState = Callable[[Workspace, UserInterface, CallScope], PlanState]


class Machines(Launcher, Protocol):
    @property
    def workspace(self) -> Workspace:
        """The workspace with as many jobs as they have room for."""
        ...

    @property
    def about(self) -> str: ...

    async def take_up(self, call: Call) -> None:
        """Follow the runs of earlier calls there to their ends."""
        ...

    async def clear(self) -> None:
        """Remove what ended runs left there; what cannot be removed is said."""
        ...


Join = Callable[[Workspace, UserInterface], contextlib.AbstractAsyncContextManager[Machines]]


class Loop:
    """One call of execute, resume, restart or review; it begins with ``first``, or with the next action."""

    def __init__(
        self, workspace: Workspace, ui: UserInterface, scope: CallScope, first: FirstStep | None = None
    ) -> None:
        config = workspace.config.execution
        rules = config.questions == "rule"
        # Where these are accepted, a decision on one has another reason.
        goes_past = not config.stop_after_each_task and not config.accept_no_change
        self._call = Call(workspace, ui, scope._replace(rules=rules, goes_past_unchanged=goes_past))
        self._first = first

    @property
    def scope(self) -> CallScope:
        """What the call may do."""
        return self._call.scope

    def interrupt(self) -> None:
        """Pause what runs and stop; a second interrupt kills it."""
        self._call.interrupt()

    async def run(self, join: Join) -> Stop:
        """Perform actions until the call ends; needs the controller lock.

        ``join`` connects the machines of a cluster, where one is configured. Raises BlackbirdError when
        something cannot go on at all.
        """
        call = self._call
        async with contextlib.AsyncExitStack() as machines:
            if call.workspace.config.cluster.address and call.scope.starts_agents:
                await self._join(join, machines)
            workspace = call.workspace
            drop_recorded_drafts(workspace)
            try:
                state = await self._scan(call.scope, recover)
                begun = interrupted_stop() if state is None else await self._begin(state)
                stop = await self._next(begun) if isinstance(begun, PlanState) else begun
                while stop is None:
                    state = await self._scan(call.scope)
                    stop = interrupted_stop() if state is None else await self._next(state)
                if stop.reason is not StopReason.INTERRUPTED:
                    stop = self._with_charges(stop)
            except (AgentUnavailableError, NotAgreedError) as error:
                stop = not_started_stop(error)
            except BudgetSpentError as error:
                stop = call.budget_stop(error.budgets)
            finally:
                await call.finish_background_work()
                drop_recorded_drafts(workspace)
                remove_lock_folders(workspace.repo.common_dir, session_locks(workspace))
            state = await run_in_thread(call.workspace.plan_state)
            if call.scope.starts_agents:
                notify_waiting(call.workspace, call.ui, state, call.scope, stop)
            stop = end_of_call(stop, call.scope, state).with_options(call.workspace.call_options)
            stop = replace(stop, unblocked=state.unblocked)
            call.prompter.end(stop, state)
            return stop

    async def _join(self, join: Join, stack: contextlib.AsyncExitStack) -> None:
        """Start agents on the machines of a cluster until ``stack`` is closed."""
        call = self._call
        machines = await call.interruptible(stack.enter_async_context(join(call.workspace, call.ui)))
        if machines is not None:
            call.workspace, call.launcher = machines.workspace, machines
            inform(call.ui, machines.about)
            await call.interruptible(machines.take_up(call))
            stack.push_async_callback(machines.clear)

    def _with_charges(self, stop: Stop) -> Stop:
        """Charge starts without work to agents or tasks; return the stop whose exit code comes first."""
        call = self._call
        call.empty_starts.charge_failures()
        refusals = [agent_stopped_stop(call.workspace, runs) for runs in call.empty_starts.refused]
        lost = [lost_sessions_stop(call.lost_sessions)] if call.lost_sessions else []
        spent = [call.held_stop] if call.held else []
        first = first_of((stop, *refusals, *lost, *spent))
        for refusal in refusals:
            if refusal is not first:
                warn(call.ui, refusal.text, refusal.task_id, refusal.next_steps[0])
        return replace(first, blocked=stop.blocked)

    async def _scan(self, scope: CallScope, read: _ReadState = scan) -> PlanState | None:
        """Return the state as it is now; None where the call is interrupted."""
        call = self._call
        return await call.interruptible(run_in_thread(lambda: read(call.workspace, call.ui, scope)))

    async def _begin(self, state: PlanState) -> Stop | PlanState | None:
        """Complete what was interrupted, and do what the call begins with; return a state to go on with."""
        call = self._call
        sweep_scratch_dirs(call.workspace.paths)
        await run_in_thread(lambda: remove_landed(call.workspace))
        if call.scope.starts_agents:
            require_reviewers(call.workspace, state, call.scope)
        while state.half_written:
            require_planned(state)
            half = self._confirmed(state, call.scope, frozenset())
            if half is None or half.due is not Due.FINISH:
                break
            stop = await begin(call, await perform(call, half))
            scanned = None if stop is not None else await self._scan(call.scope)
            if scanned is None:
                return stop or interrupted_stop()
            state = scanned
        adopted = await call.interruptible(settle_adoption(call.workspace, state, call.prompter.agree))
        if adopted is None:
            return interrupted_stop()
        for one in adopted:
            inform(call.ui, adopted_text(one.item, one.status), one.item.task_id)
        if adopted:
            state = call.workspace.plan_state()
        if call.scope.starts_agents:
            await agree_to_stand_ins(call)
        if not state.begun:
            # Left by a call that was killed once all was recorded.
            Journal(call.workspace.repo, "").clear()
        require_decided(state, call.scope)
        first = None if self._first is None else self._first(state)
        notify_paused(call.ui, state, call.scope)
        match first:
            case Start() | Restart():
                return await begin(call, first)
            case item, message:
                return await self._ask(item, ask_questions(call, item, message))
            case PlanState() | None:
                return first or state

    async def _next(self, state: PlanState) -> Stop | None:
        call = self._call
        if call.is_interrupted:
            return interrupted_stop()
        if call.workspace.config.execution.jobs > 1:
            from git_blackbird.controller.engine.scheduler import Scheduler  # one job needs none

            return await Scheduler(call, self._choose, perform, self._scan).run(state)
        item, holds = self._choose(state, call.scope)
        if item is None and (stops := call.empty_starts.charge_failures()):
            return next(filter(None, stops), None)
        if item is None:
            return await await_limit(call, holds) if holds else last_stop(call, state)
        doing = perform(call, item)
        try:
            return await (self._ask(item, doing) if item.due in ASKS else begin(call, await doing))
        except AgentUnavailableError:
            if item.due is Due.START:
                notify_without_agent(call.workspace, call.ui, state, call.scope, item.task)
            raise

    async def _ask(self, item: Item, doing: Coroutine[Any, Any, Done]) -> Stop | None:
        """Ask a person, and do as they say; what is accepted elsewhere lands beside the question."""
        call = self._call
        scope = call.scope._replace(starts_agents=False, decisions_left=0, busy=frozenset({item.task.id}))
        seen, asking = last_written(call.workspace), asyncio.ensure_future(doing)
        try:
            while not await _is_over(asking, any_change(call.workspace, seen)):
                seen = last_written(call.workspace)
                state = await self._scan(scope)
                other = None if state is None else self._choose_by_slots(state, scope, frozenset())
                if other is None:
                    continue
                try:
                    await perform(call, other)
                except BlackbirdError as error:
                    # The next turn tries it again, and ends with it.
                    call.ui.notify(Notice(Level.ERROR, error.message, error.ways_out, other.task.id))
                    scope = scope._replace(busy=scope.busy | {other.task.id})
            done = asking.result()
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        return await begin(call, done)

    def _choose(self, state: PlanState, scope: CallScope) -> tuple[Item | None, Sequence[LimitHold]]:
        """Return the next item, or without one the usage limits that all that is left waits for."""
        call = self._call
        held = holds_of(call, state)
        if call.stand_ins:
            call.workspace = with_stand_ins(call, held.keys())
        scope = scope._replace(busy=scope.busy | call.empty_starts.held)
        if call.is_time_up or call.awaits_enough(state):
            scope = scope._replace(starts_left=0)
        chosen = self._choose_by_slots(state, scope, call.empty_starts.stopped | held.keys())
        if held and (chosen is None or scope.goes_past(chosen)):
            wanted = self._choose_by_slots(state, scope, call.empty_starts.stopped)
            if wanted is not None and held.keys() & models_of(call.workspace, wanted):
                if self._is_half_done(wanted):
                    name_half_done(call, state, held.keys(), wanted.task.id)
                return None, tuple(held.values())
        call.show_limits()
        return chosen, ()

    def _choose_by_slots(
        self, state: PlanState, scope: CallScope, left_out: AbstractSet[AgentModel]
    ) -> Item | None:
        """Return the next item of other agents. A landing waits for its slot.

        It lands before its slot if nothing else can be done without a person.
        """
        workspace = self._call.workspace
        if left_out:
            elsewhere = scope.elsewhere | tasks_of_agents(workspace, state.plan, left_out)
            scope = scope._replace(elsewhere=elsewhere)
        item = first = self._confirmed(state, scope, left_out)
        while (
            item is not None
            and item.due is Due.LAND
            and next_to_land(workspace, item.state, item.of_run) is not None
        ):
            scope = scope._replace(busy=scope.busy | {item.task.id})
            item = self._confirmed(state, scope, left_out)
        # With several jobs, people are asked beside other work.
        needs_person = item is None or (item.due in ASKS and workspace.config.execution.jobs == 1)
        is_over = needs_person and not scope.keeps_slots
        return first if is_over and first is not None and first.due is Due.LAND else item

    def _confirmed(
        self, state: PlanState, scope: CallScope, left_out: AbstractSet[AgentModel]
    ) -> Item | None:
        """Return the next item, confirmed with every record of its task.

        Agents in ``left_out``, and those that no budget is left for, do nothing; where one of them is to go
        on in the user's worktree, no task starts over what it left there. Once the time of the call is up,
        only what no agent or person does is done.
        """
        call = self._call
        while (item := next_item(state, scope)) is not None:
            task_id = item.task.id
            if call.is_time_up and (item.due in ASKS or item.due.agent is not AgentOf.NOBODY):
                scope = scope._replace(busy=scope.busy | {task_id})
            elif (within := call.within_budget(scope, item)) is not scope:
                scope = within
            elif left_out and left_out & models_of(call.workspace, item):
                left = 0 if self._is_half_done(item) else scope.starts_left
                scope = scope._replace(busy=scope.busy | {task_id}, starts_left=left)
            elif state.history(task_id).is_whole:
                break
            else:
                whole = call.workspace.store.records.history(task_id)
                state = replace(state, histories={**state.histories, task_id: whole})
        return item

    def _is_half_done(self, item: Item) -> bool:
        """Whether tasks that start now would start over what a run is to go on with."""
        is_begun = item.due in {Due.REQUEST, Due.CONTINUE} and item.of_run.is_in_place
        return is_begun and not self._call.workspace.uses_worktrees


async def _is_over(asking: asyncio.Future[Done], news: Coroutine[Any, Any, None]) -> bool:
    """Wait until a question is answered or there is news; return whether it is answered."""
    waiting = asyncio.ensure_future(news)
    both: set[asyncio.Future[Any]] = {asking, waiting}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return asking.done()
    finally:
        waiting.cancel()


async def _check(call: Call, item: Item) -> Done:
    from git_blackbird.controller.change.check.step import check_change

    with trace.measured(Phase.CHECK, item.task.id):
        if not call.workspace.config.check.prove:
            return await check_change(call, item, None)
        from git_blackbird.controller.proof.prove import prove

        return await check_change(call, item, prove)


async def _recheck(call: Call, item: Item) -> Done:
    from git_blackbird.controller.proof.done import recheck_done

    with trace.measured(Phase.CHECK, item.task.id):
        return await recheck_done(call, item)


async def perform(call: Call, item: Item) -> Done:  # noqa: C901, PLR0911, PLR0912  # a table
    """Do what is due, or return what a person wants to be begun; a step is loaded when it is."""
    task_id = item.task.id
    trace.event("next action", item.due.name.lower(), task_id)
    if item.due is not Due.START:
        call.end_snapshot.drop()
    match item.due:
        case Due.REQUEST:
            return await apply_change_request(call, item)
        case Due.CHECK:
            return await _check(call, item)
        case Due.FINISH if stage_of(item.of_run) is not Stage.LANDING:
            from git_blackbird.controller.change.undo.step import finish_undo

            await finish_undo(call, item)
            return None
        case Due.LAND | Due.FINISH:
            with trace.measured(Phase.LANDING, task_id):
                from git_blackbird.controller.change.land.step import land_change

                return await land_change(call, item)
        case Due.RECHECK:
            return await _recheck(call, item)
        case Due.REVIEW:
            with trace.measured(Phase.REVIEWS, task_id):
                from git_blackbird.controller.change.review.step import review_change

                return await review_change(call, item)
        case Due.DECIDE:
            from git_blackbird.controller.change.decide.step import decide

            return await decide(call, item)
        case Due.ANSWER:
            return await ask_questions(call, item)
        case Due.FEEDBACK:
            return await send_feedback(call, item)
        case Due.REVIEW_PARENT | Due.REVIEW_AGAIN:
            with trace.measured(Phase.REVIEWS, task_id):
                from git_blackbird.controller.reviews.parent import review_parent

                return await review_parent(call, item)
        case Due.CONTINUE:
            return await continue_run(call, item)
        case Due.ASK_PAUSED:
            return await ask_paused(call, item)
        case Due.START:
            return await start_task(call, item)
        case (
            Due.FINISH_APPROVAL
            | Due.REVIEW_FAILED
            | Due.BROKEN
            | Due.FAILED
            | Due.STUCK
            | Due.UNREADABLE
            | Due.CLOSE
        ):
            raise ValueError(f"no call does this: {item.due}")
        case _:
            assert_never(item.due)
