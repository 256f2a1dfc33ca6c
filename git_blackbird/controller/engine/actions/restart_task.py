"""Start a task again in a new session: a first step, or the answer to a question."""

from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import interrupted_stop
from git_blackbird.controller.plan.status_changes import reset_task
from git_blackbird.controller.runs.instructions import Restart, order_start
from git_blackbird.model.entities.run import SUPERSEDED_BY_RESTART
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def restart_task(engine: Engine, restart: Restart, state: PlanState) -> Stop | None:
    """Supersede the runs of a task, once an agent can start, and start it."""
    workspace, task = engine.workspace, restart.task
    await engine.require_consent(engine.contexts.of_new_run())
    if engine.is_interrupted:
        return interrupted_stop(f"before {task.id} was started")
    if task.status is not Status.TODO:
        reset_task(workspace, task.id, SUPERSEDED_BY_RESTART)
        state = workspace.plan_state()
    return await engine.run_task(order_start(workspace, state, task, restart.message))
