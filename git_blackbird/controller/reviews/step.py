"""Review a parent."""

from dataclasses import replace

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.core.agents import adding_way_out, require_reviewer
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.launch.launch import RunContext
from git_blackbird.controller.reviews.parent import StaleReviewError, parent_review_request, run_review
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.next_action import REVIEW_TRIES, ReviewParent
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import TerminalReason
from git_blackbird.model.views.stop import Stop


async def review_parent(call: Call, action: ReviewParent, state: PlanState) -> Stop | None:
    """Run the review; a second try in a call tells the reviewer why the first gave no verdict."""
    parent = action.task
    reviewer = require_reviewer(call.workspace)
    with adding_way_out(call.workspace, task_command("review run", parent.id).with_agent()):
        context = await call.context_of(reviewer)
    await call.require_consent(context, as_reviewer=True)
    work = _review(call, context, parent, state)
    try:
        with call.at_work("stopping the review of", parent.id):
            run = await call.interruptible(work)
    except StaleReviewError as error:
        warn(call.ui, error.message, parent.id)
        return None
    if run is None:
        return interrupted_stop(f"before {parent.id} was reviewed")
    call.empty_starts.note_end(run)
    is_without_work = run.terminal_reason is TerminalReason.WITHOUT_WORK
    if run.terminal_reason is TerminalReason.BUDGET:
        return call.stop_after_run(run)
    if call.goes_on_after(run):
        return None
    if run.parent_review_passed is None:
        # The same request would be refused again.
        tries = REVIEW_TRIES if is_without_work or run.way_out is not None else 1
        call.scope = replace(call.scope, tried=(*call.scope.tried, *[parent.id] * tries))
    elif parent.id == call.scope.review:
        call.scope = replace(call.scope, is_reviewed=True)
    if is_without_work:
        call.empty_starts.hold(parent.id, lambda: None)
        return None
    return call.stop_after_run(run)


async def _review(call: Call, context: RunContext, parent: Task, state: PlanState) -> Run:
    workspace, tries = call.workspace, state.history(parent.id).reviews
    fault = tries[-1].error if parent.id in call.scope.tried and tries else None
    top = None if context.agent.abilities.read_only else str(workspace.repo.top)
    request = await run_in_thread(
        lambda: parent_review_request(workspace, state, parent, fault=fault, top=top)
    )
    return await run_review(context, request, call.force_stop)
