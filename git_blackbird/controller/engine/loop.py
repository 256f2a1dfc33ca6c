"""The loop: perform the next action until none is due or someone must decide (DESIGN.md 5)."""

from collections.abc import Awaitable, Callable
from typing import assert_never

from git_blackbird import trace
from git_blackbird.controller.core.agents import require_reviewers
from git_blackbird.controller.core.drafts import drop_arrived
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.actions.ask import ask_paused, ask_questions
from git_blackbird.controller.engine.actions.decide import decide
from git_blackbird.controller.engine.actions.review import review_change, review_parent
from git_blackbird.controller.engine.actions.run_tasks import (
    apply_change_request,
    continue_run,
    restart_task,
    send_feedback,
    start_task,
)
from git_blackbird.controller.engine.actions.stop import idle_stop, parent_review_stop
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.recovery import recover
from git_blackbird.controller.engine.stops import (
    NotAgreedError,
    interrupted_stop,
    not_started_stop,
    notify_paused,
    notify_waiting,
)
from git_blackbird.controller.runs.agent_process import sweep_scratch_dirs
from git_blackbird.controller.runs.instructions import Instruction, Restart
from git_blackbird.controller.runs.plan_guard import settle_watch
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.rules.attention import PendingDecision
from git_blackbird.model.rules.next_action import (
    ApplyChangeRequest,
    AskPaused,
    AskQuestions,
    CallScope,
    ContinueRun,
    Idle,
    NextAction,
    ParentReviewRequired,
    ReviewChange,
    ReviewParent,
    SendFeedback,
    StartTask,
    next_action,
)
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop

FirstStep = Callable[[PlanState], Instruction | AskQuestions | Restart | PlanState | None]
"""What a call begins with after the first recovery: an action, or the state it wrote for the next action."""


class Loop:
    """One call of execute, resume, restart or review; it begins with ``first``, or with the next action."""

    def __init__(
        self, workspace: Workspace, ui: UserInterface, scope: CallScope, first: FirstStep | None = None
    ) -> None:
        self._workspace = workspace
        self._engine = Engine(workspace, ui, scope)
        self._first = first

    def interrupt(self) -> None:
        """Pause what runs and stop; a second interrupt kills it."""
        self._engine.interrupt()

    async def run(self) -> Stop:
        """Perform actions until the call ends; needs the controller lock.

        Raises BlackbirdError when something cannot go on at all.
        """
        workspace, engine = self._workspace, self._engine
        drop_arrived(workspace)
        try:
            stop = await self._turn(self._begin)
            while stop is None:
                stop = await self._turn(self._next)
        except (AgentUnavailableError, NotAgreedError) as error:
            stop = not_started_stop(error)
        drop_arrived(workspace)
        # No agent is at work from here on, a review may just have been interrupted.
        settle_watch(workspace, engine.ui)
        state = workspace.plan_state()
        notify_waiting(workspace, engine.ui, state, engine.scope, stop)
        stop = stop.with_options(workspace.call_options)
        engine.ui.end(stop, state)
        return stop

    async def _turn(self, act: Callable[[PlanState], Awaitable[Stop | None]]) -> Stop | None:
        engine = self._engine
        state = None
        if not engine.is_interrupted:
            work = run_in_thread(lambda: recover(self._workspace, engine.ui))
            state = await engine.interruptible(work)
        return interrupted_stop() if state is None else await act(state)

    async def _begin(self, state: PlanState) -> Stop | None:
        engine = self._engine
        sweep_scratch_dirs(self._workspace.paths)
        require_reviewers(self._workspace, state, engine.scope)
        first = None if self._first is None else self._first(state)
        notify_paused(engine.ui, state, engine.scope)
        match first:
            case Restart():
                return await restart_task(engine, first, state)
            case Instruction():
                return await engine.run_task(first)
            case AskQuestions():
                return await perform(engine, first, state)
            case PlanState() | None:
                return await self._next(first or state)

    async def _next(self, state: PlanState) -> Stop | None:
        if self._engine.is_interrupted:
            return interrupted_stop()
        return await perform(self._engine, next_action(state, self._engine.scope), state)


async def perform(engine: Engine, action: NextAction, state: PlanState) -> Stop | None:  # noqa: PLR0911, C901  # a table
    """Hand an action to its handler."""
    about = "" if isinstance(action, ParentReviewRequired | Idle) else action.task.id
    trace.event("next action", type(action).__name__, about)
    match action:
        case ApplyChangeRequest():
            return await apply_change_request(engine, action, state)
        case ReviewChange():
            return await review_change(engine, action, state)
        case PendingDecision():
            return await decide(engine, action, state)
        case AskQuestions():
            return await ask_questions(engine, action, state)
        case SendFeedback():
            return await send_feedback(engine, action, state)
        case ReviewParent():
            return await review_parent(engine, action, state)
        case ParentReviewRequired():
            return parent_review_stop(state, action)
        case ContinueRun():
            return await continue_run(engine, action, state)
        case AskPaused():
            return await ask_paused(engine, action, state)
        case StartTask():
            return await start_task(engine, action, state)
        case Idle():
            return idle_stop(engine, action, state)
        case _:
            assert_never(action)
