"""Start a task again in a new session: a first step, or the answer to a question."""

from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.plan.status_changes import reset_task
from git_blackbird.controller.runs.instructions import Restart, order_start
from git_blackbird.model.entities.run import SUPERSEDED_BY_RESTART
from git_blackbird.model.entities.status import Status
from git_blackbird.model.views.stop import Stop, StopReason


async def restart_task(engine: Engine, restart: Restart) -> Stop | None:
    """Supersede the runs of a task, once an agent can start, and start it."""
    workspace, task = engine.workspace, restart.task
    await engine.require_consent(engine.contexts.of_new_run())
    if engine.is_interrupted:
        return Stop(StopReason.INTERRUPTED, f"interrupted before {task.id} was started")
    if task.status is not Status.TODO:
        reset_task(workspace, task.id, SUPERSEDED_BY_RESTART)
    return await engine.run_task(order_start(workspace, workspace.plan_state(), task, restart.message))
