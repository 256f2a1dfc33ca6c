"""Review a parent."""

from dataclasses import replace

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.core.agents import adding_way_out, require_reviewer
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.reviews.parent import StaleReviewError, run_review
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.run.states import TerminalReason
from git_blackbird.model.views.stop import Stop


async def review_parent(call: Call, item: Item) -> Stop | None:
    """Run the review, and stop where it gives no verdict, or one that a person has to act on."""
    parent = item.task
    reviewer = require_reviewer(call.workspace)
    with adding_way_out(call.workspace, task_command("review run", parent.id).with_agent()):
        await call.version_of(reviewer)
    await call.require_consent(reviewer, as_reviewer=True)
    try:
        with call.at_work("stopping the review of", parent.id):
            run = await call.interruptible(run_review(call, reviewer, parent, item.state))
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
        call.scope = replace(call.scope, tried=call.scope.tried | {parent.id})
    elif parent.id == call.scope.review:
        call.scope = replace(call.scope, is_reviewed=True)
    if is_without_work:
        call.empty_starts.hold(parent.id, lambda: None)
        return None
    return call.stop_after_run(run)
