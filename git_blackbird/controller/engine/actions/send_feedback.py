"""Send the feedback of a parent review to the session that did the work."""

from dataclasses import replace

from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.runs.instructions import order_continue
from git_blackbird.model.rules.next_action import SendFeedback
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def send_feedback(engine: Engine, action: SendFeedback, state: PlanState) -> Stop | None:
    """Resume the session with the feedback, once in a call."""
    task = action.task
    engine.scope = replace(engine.scope, carries=engine.scope.carries - {task.id})
    return await engine.run_task(order_continue(action.run, task, state.pending_messages(task.id), None))
