"""Start a ready leaf."""

from dataclasses import replace

from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.recovery import is_work_deferred
from git_blackbird.controller.runs.instructions import order_start
from git_blackbird.controller.runs.task_run import StaleTaskError
from git_blackbird.model.rules.next_action import StartTask
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def start_task(engine: Engine, action: StartTask, state: PlanState) -> Stop | None:
    """Start a task; one that changed since the turn began is named and left to the next turn."""
    workspace, task = engine.workspace, action.task
    if workspace.reviews_changes:
        # Fail before the work is done where its reviewers are missing.
        engine.contexts.of_reviewers()
    if is_work_deferred(workspace, engine.ui, task.id):
        return None
    if (left := engine.scope.starts_left) is not None:
        engine.scope = replace(engine.scope, starts_left=left - 1)
    try:
        return await engine.run_task(order_start(workspace, state, task, None))
    except StaleTaskError as error:
        warn(engine.ui, error.message, task.id)
        return None
