"""Review a parent whose children are all done (DESIGN.md 8)."""

from dataclasses import replace

from git_blackbird.controller.core.agents import require_reviewer
from git_blackbird.controller.core.blocking import run_in_thread
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import interrupted_stop
from git_blackbird.controller.reviews.parent import StaleReviewError, order_review, run_review
from git_blackbird.controller.runs.agent_process import RunContext
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Run
from git_blackbird.model.rules.next_action import ReviewParent
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def review_parent(engine: Engine, action: ReviewParent, state: PlanState) -> Stop | None:
    """Run the review; a second try in a call tells the reviewer why the first gave no verdict."""
    parent = action.task
    context = engine.contexts.of(require_reviewer(engine.workspace))
    await engine.require_consent(context, as_reviewer=True)
    work = _review(engine, context, parent, state)
    try:
        run = await engine.run_agent("stopping the review of", parent.id, work)
    except StaleReviewError as error:
        warn(engine.ui, error.message, parent.id)
        return None
    if run is None:
        return interrupted_stop(f"before {parent.id} was reviewed")
    if run.parent_review_passed is None:
        engine.scope = replace(engine.scope, tried=(*engine.scope.tried, parent.id))
    elif parent.id == engine.scope.review:
        engine.scope = replace(engine.scope, is_reviewed=True)
    return engine.stop_after_run(run)


async def _review(engine: Engine, context: RunContext, parent: Task, state: PlanState) -> Run:
    workspace, tries = engine.workspace, state.history(parent.id).reviews
    fault = tries[-1].error if parent.id in engine.scope.tried and tries else None
    top = None if context.agent.abilities.read_only else str(workspace.repo.top)
    request = await run_in_thread(lambda: order_review(workspace, state, parent, fault=fault, top=top))
    return await run_review(context, request, engine.force_stop)
