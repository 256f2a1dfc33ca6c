"""Continue an interrupted run in its session."""

from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import undeliverable_stop
from git_blackbird.controller.runs.instructions import order_continue
from git_blackbird.model.rules.next_action import ContinueRun
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def continue_run(engine: Engine, action: ContinueRun, state: PlanState) -> Stop | None:
    """Resume the session; stop with the command that restarts the task where that is impossible."""
    stop = undeliverable_stop(engine.workspace, state, action)
    if stop is not None:
        return stop
    pending = state.pending_messages(action.task.id)
    return await engine.resume(action, order_continue(action.run, action.task, pending, None))
