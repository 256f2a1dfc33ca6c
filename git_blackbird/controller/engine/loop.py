"""The loop: perform the next action until none is due or someone must decide."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Protocol, assert_never

from git_blackbird import trace
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.check.step import check_change
from git_blackbird.controller.change.decide.adopt import settle_adoption
from git_blackbird.controller.change.decide.step import decide
from git_blackbird.controller.change.land.step import land_change
from git_blackbird.controller.change.land.turns import next_to_land
from git_blackbird.controller.change.limits import (
    agree_to_stand_ins,
    await_limit,
    holds_of,
    name_half_done,
    with_stand_ins,
)
from git_blackbird.controller.change.review.step import review_change
from git_blackbird.controller.change.stops import NotAgreedError, interrupted_stop
from git_blackbird.controller.change.undo.step import finish_undo
from git_blackbird.controller.change.work.questions import ask_paused, ask_questions
from git_blackbird.controller.change.work.starts import Restart, Start
from git_blackbird.controller.change.work.step import (
    apply_change_request,
    continue_run,
    restart_task,
    send_feedback,
    start_task,
)
from git_blackbird.controller.change.work.task_run import release_lock_folders, work_on
from git_blackbird.controller.core.agents import models_of, require_reviewers, tasks_of_agents
from git_blackbird.controller.core.drafts import drop_recorded_drafts
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.ending import end_of_call, idle_stop
from git_blackbird.controller.engine.recovery import recover, require_decided, require_planned, scan
from git_blackbird.controller.engine.scheduler import Scheduler
from git_blackbird.controller.engine.stops import (
    agent_stopped_stop,
    lost_sessions_stop,
    not_started_stop,
    notify_paused,
    notify_waiting,
    notify_without_agent,
    parent_review_stop,
)
from git_blackbird.controller.launch.launch import Launcher
from git_blackbird.controller.launch.ledger import BudgetSpentError
from git_blackbird.controller.launch.scratch import sweep_scratch_dirs
from git_blackbird.controller.place.listing import remove_landed
from git_blackbird.controller.reviews.step import review_parent
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.git.writing.journal import Journal
from git_blackbird.messages.display.format import adopted_text
from git_blackbird.model.change.stages import is_half_written
from git_blackbird.model.rules.attention import PendingDecision
from git_blackbird.model.rules.next_action import (
    ApplyChangeRequest,
    AskPaused,
    AskQuestions,
    AwaitLimit,
    CallAction,
    CallScope,
    CheckChange,
    ContinueRun,
    FinishUndo,
    Idle,
    LandChange,
    LastAction,
    NextAction,
    ParentReviewRequired,
    ReviewChange,
    ReviewParent,
    SendFeedback,
    StartTask,
    TaskAction,
    is_passed,
    next_action,
)
from git_blackbird.model.rules.refusals import AgentModel
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.events import Phase
from git_blackbird.model.views.stop import Stop, StopReason, first_of

FirstStep = Callable[[PlanState], Start | AskQuestions | Restart | PlanState | None]
"""What a call begins with after the first recovery: an action, or the state it wrote for the next action."""


_ReadState = Callable[[Workspace, UserInterface, CallScope], PlanState]


class Machines(Launcher, Protocol):
    """Machines on which agents start while a call uses them."""

    @property
    def workspace(self) -> Workspace:
        """The workspace with as many jobs as they have room for."""
        ...

    @property
    def about(self) -> str:
        """What they are, in one line."""
        ...

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
        self._workspace = workspace
        config = workspace.config.execution
        rules = config.questions == "rule"
        # Where these are accepted, a decision on one has another reason.
        goes_past = not config.stop_after_each_task and not config.accept_no_change
        self._call = Call(workspace, ui, replace(scope, rules=rules, goes_past_unchanged=goes_past))
        self._first = first

    def interrupt(self) -> None:
        """Pause what runs and stop; a second interrupt kills it."""
        self._call.interrupt()

    async def run(self, join: Join) -> Stop:
        """Perform actions until the call ends; needs the controller lock.

        ``join`` connects the machines of a cluster, where one is configured. Raises BlackbirdError when
        something cannot go on at all.
        """
        async with self._launcher(join):
            workspace, call = self._workspace, self._call
            drop_recorded_drafts(workspace)
            try:
                state = await self._read(recover)
                begun = interrupted_stop() if state is None else await self._begin(state)
                stop = await self._next(begun) if isinstance(begun, PlanState) else begun
                while stop is None:
                    state = await self._read(scan)
                    stop = interrupted_stop() if state is None else await self._next(state)
                if stop.reason is not StopReason.INTERRUPTED:
                    stop = self._with_charges(stop)
            except (AgentUnavailableError, NotAgreedError) as error:
                stop = not_started_stop(error)
            except BudgetSpentError as error:
                stop = call.budget_stop(error.lines)
            finally:
                await call.finish_background_work()
                drop_recorded_drafts(workspace)
                release_lock_folders(workspace)
            state = await run_in_thread(self._workspace.plan_state)
            return self._ended(stop, state)

    @contextlib.asynccontextmanager
    async def _launcher(self, join: Join) -> AsyncIterator[None]:
        """Start agents on the machines of a cluster within the block, where one is configured."""
        call = self._call
        async with contextlib.AsyncExitStack() as stack:
            if self._workspace.config.cluster.address and call.scope.starts_agents:
                joining = stack.enter_async_context(join(self._workspace, call.ui))
                machines = await call.interruptible(joining)
                if machines is not None:
                    self._workspace = call.workspace = machines.workspace
                    call.launcher = machines
                    inform(call.ui, machines.about)
                    await call.interruptible(machines.take_up(call))
                    stack.push_async_callback(machines.clear)
            yield

    def _ended(self, stop: Stop, state: PlanState) -> Stop:
        """Report the end of the call, and return its stop as it is shown."""
        workspace, call = self._workspace, self._call
        if call.scope.starts_agents:
            notify_waiting(workspace, call.ui, state, call.scope, stop)
        stop = end_of_call(stop, call.scope, state)
        stop = replace(stop.with_options(workspace.call_options), unblocked=state.unblocked)
        call.ui.end(stop, state)
        return stop

    def _with_charges(self, stop: Stop) -> Stop:
        """Charge starts without work to agents or tasks; return the stop whose exit code comes first."""
        call = self._call
        call.charge_failures()
        refusals = [agent_stopped_stop(self._workspace, runs) for runs in call.empty_starts.refused]
        lost = [lost_sessions_stop(call.lost_sessions)] if call.lost_sessions else []
        spent = [call.held_stop] if call.held else []
        first = first_of((stop, *refusals, *lost, *spent))
        for refusal in refusals:
            if refusal is not first:
                warn(call.ui, refusal.text, refusal.task_id, refusal.next_steps[0])
        return replace(first, blocked=stop.blocked)

    async def _read(self, read_state: _ReadState) -> PlanState | None:
        """Read the state of the plan; None where the call is interrupted."""
        call = self._call
        if call.is_interrupted:
            return None
        work = run_in_thread(lambda: read_state(self._workspace, call.ui, call.scope))
        return await call.interruptible(work)

    async def _begin(self, state: PlanState) -> Stop | PlanState | None:
        """Complete what was interrupted, and do what the call begins with; return a state to go on with."""
        call = self._call
        sweep_scratch_dirs(self._workspace.paths)
        await run_in_thread(lambda: remove_landed(self._workspace))
        if call.scope.starts_agents:
            require_reviewers(self._workspace, state, call.scope)
        while (half := self._half_written(state)) is not None:
            stop = await perform(call, *half)
            scanned = None if stop is not None else await self._scan(call.scope)
            if scanned is None:
                return stop or interrupted_stop()
            state = scanned
        settled = await call.interruptible(self._settle_adoption(state))
        if settled is None:
            return interrupted_stop()
        state = settled
        if call.scope.starts_agents:
            await agree_to_stand_ins(call)
        if not state.begun:
            # Left by a call that was killed once all was recorded.
            Journal(self._workspace.repo, "").clear()
        require_decided(state, call.scope)
        first = None if self._first is None else self._first(state)
        notify_paused(call.ui, state, call.scope)
        match first:
            case Restart():
                return await restart_task(call, first, state)
            case Start():
                return await work_on(call, first)
            case AskQuestions():
                return await perform(call, first, state)
            case PlanState() | None:
                return first or state

    async def _settle_adoption(self, state: PlanState) -> PlanState:
        """Ask whether what other programs did counts, and return the state that follows."""
        adopted = await settle_adoption(self._workspace, state, self._call.ui.agree)
        for one in adopted:
            inform(self._call.ui, adopted_text(one.item, one.status), one.item.task_id)
        return self._workspace.plan_state() if adopted else state

    def _half_written(self, state: PlanState) -> tuple[NextAction, PlanState] | None:
        """Return the action that completes an interrupted landing or undo, if there is one.

        Raises RequestError for a task that has left the plan.
        """
        require_planned(state)
        action, state = self._confirmed_action(state, self._call.scope, frozenset())
        is_half = isinstance(action, FinishUndo | LandChange) and is_half_written(action.run)
        return (action, state) if is_half else None

    async def _next(self, state: PlanState) -> Stop | None:
        if self._call.is_interrupted:
            return interrupted_stop()
        if self._workspace.config.execution.jobs > 1:
            return await Scheduler(self._call, self._choose, perform, self._scan).run(state)
        action, state = self._choose(state, self._call.scope)
        if isinstance(action, LastAction) and (stops := self._call.charge_failures()):
            return next(filter(None, stops), None)
        try:
            return await perform(self._call, action, state)
        except AgentUnavailableError:
            if isinstance(action, StartTask):
                notify_without_agent(self._workspace, self._call.ui, state, self._call.scope, action.task)
            raise

    async def _scan(self, scope: CallScope) -> PlanState | None:
        work = run_in_thread(lambda: scan(self._workspace, self._call.ui, scope))
        return await self._call.interruptible(work)

    def _choose(self, state: PlanState, scope: CallScope) -> tuple[CallAction, PlanState]:
        """Return the next action with its state; it waits where all that is left is at a usage limit."""
        call = self._call
        held = holds_of(call, state)
        if call.stand_ins:
            self._workspace = call.workspace = with_stand_ins(call, held.keys())
        scope = replace(scope, busy=scope.busy | call.empty_starts.held)
        if self._is_time_up or call.awaits_enough(state):
            scope = replace(scope, starts_left=0)
        chosen = self._choose_turn(state, scope, call.empty_starts.stopped | held.keys())
        is_last = isinstance(chosen[0], Idle | ParentReviewRequired) or is_passed(chosen[0], scope)
        if held and is_last:
            wanted, _ = self._choose_turn(state, scope, call.empty_starts.stopped)
            if held.keys() & models_of(self._workspace, wanted):
                if not isinstance(wanted, LastAction) and self._is_half_done(wanted):
                    name_half_done(call, state, held.keys(), wanted.task.id)
                return AwaitLimit(tuple(held.values())), state
        call.show_limits()
        return chosen

    @property
    def _is_time_up(self) -> bool:
        until = self._call.scope.until
        return until is not None and self._workspace.environment.now() >= until

    def _choose_turn(
        self, state: PlanState, scope: CallScope, left_out: frozenset[AgentModel]
    ) -> tuple[NextAction, PlanState]:
        """Return the next action of other agents with its state. A landing waits for its turn.

        It lands out of turn if nothing else can be done without a person.
        """
        if left_out:
            elsewhere = scope.elsewhere | tasks_of_agents(self._workspace, state.plan, left_out)
            scope = replace(scope, elsewhere=elsewhere)
        action, state = first = self._confirmed_action(state, scope, left_out)
        while isinstance(action, LandChange) and next_to_land(self._workspace, state, action.run) is not None:
            scope = replace(scope, busy=scope.busy | {action.task.id})
            action, state = self._confirmed_action(state, scope, left_out)
        is_over = not scope.keeps_turns and self._needs_person(action)
        return first if is_over and isinstance(first[0], LandChange) else (action, state)

    def _needs_person(self, action: NextAction) -> bool:
        """Whether only a person can go on; with several jobs, people are asked beside other work."""
        is_asked = isinstance(action, PendingDecision | AskQuestions | AskPaused)
        is_last = isinstance(action, Idle | ParentReviewRequired)
        return is_last or (is_asked and self._workspace.config.execution.jobs == 1)

    def _confirmed_action(
        self, state: PlanState, scope: CallScope, left_out: frozenset[AgentModel]
    ) -> tuple[NextAction, PlanState]:
        """Return the next action, confirmed with every record of its task, and the state with these.

        Agents in ``left_out``, and those that no budget is left for, do nothing; where one of them is to go
        on in the user's worktree, no task starts over what it left there. Once the time of the call is up,
        only what no agent or person does is done.
        """
        action = next_action(state, scope)
        while not isinstance(action, LastAction):
            task_id = action.task.id
            if self._is_time_up and not isinstance(action, CheckChange | LandChange | FinishUndo):
                scope = replace(scope, busy=scope.busy | {task_id})
            elif (within := self._call.within_budget(scope, action)) is not scope:
                scope = within
            elif left_out and left_out & models_of(self._workspace, action):
                left = 0 if self._is_half_done(action) else scope.starts_left
                scope = replace(scope, busy=scope.busy | {task_id}, starts_left=left)
            elif state.history(task_id).is_whole:
                break
            else:
                whole = self._workspace.store.records.history(task_id)
                state = replace(state, histories={**state.histories, task_id: whole})
            action = next_action(state, scope)
        return action, state

    def _is_half_done(self, action: TaskAction) -> bool:
        """Whether tasks that start now would start over what a run is to go on with."""
        is_begun = isinstance(action, ApplyChangeRequest | ContinueRun) and action.run.is_in_place
        return is_begun and not self._workspace.uses_worktrees


async def perform(call: Call, action: CallAction, state: PlanState) -> Stop | None:  # noqa: PLR0911, PLR0912, C901  # a table
    """Hand an action to its handler."""
    about = "" if isinstance(action, LastAction) else action.task.id
    trace.event("next action", type(action).__name__, about)
    match action:
        case ApplyChangeRequest():
            return await apply_change_request(call, action, state)
        case CheckChange():
            with trace.measured(Phase.CHECK, action.task.id):
                return await check_change(call, action, state)
        case LandChange():
            with trace.measured(Phase.LANDING, action.task.id):
                return await land_change(call, action, state)
        case FinishUndo():
            return await finish_undo(call, action)
        case ReviewChange():
            with trace.measured(Phase.REVIEWS, action.task.id):
                return await review_change(call, action, state)
        case PendingDecision():
            return await decide(call, action, state)
        case AskQuestions():
            return await ask_questions(call, action, state)
        case SendFeedback():
            return await send_feedback(call, action, state)
        case ReviewParent():
            with trace.measured(Phase.REVIEWS, action.task.id):
                return await review_parent(call, action, state)
        case ParentReviewRequired():
            return parent_review_stop(state, action)
        case ContinueRun():
            return await continue_run(call, action, state)
        case AskPaused():
            return await ask_paused(call, action, state)
        case StartTask():
            return await start_task(call, action, state)
        case AwaitLimit():
            return await await_limit(call, action)
        case Idle():
            return idle_stop(call, action, state)
        case _:
            assert_never(action)
