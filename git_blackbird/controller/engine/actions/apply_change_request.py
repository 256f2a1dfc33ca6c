"""Send a change request, of a person or of the reviewers, to the session that did the work."""

from git_blackbird.controller.decisions.checkpoint import change_of
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import undeliverable_stop
from git_blackbird.controller.reviews.change import ask_instead
from git_blackbird.controller.runs.instructions import order_changes
from git_blackbird.model.entities.history import runs_in_change
from git_blackbird.model.rules.next_action import ApplyChangeRequest
from git_blackbird.model.rules.reviews import BY_REVIEWERS
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def apply_change_request(engine: Engine, action: ApplyChangeRequest, state: PlanState) -> Stop | None:
    """Resume the session with the request.

    Where that is impossible, a request of the reviewers becomes a decision of a person; one of a person
    stops the call.
    """
    workspace, task, run = engine.workspace, action.task, action.run
    stop = undeliverable_stop(workspace, state, action)
    if stop is None:
        _, summary = change_of(workspace, state, run, runs_in_change(state.history(task.id)))
        pending = state.pending_messages(task.id)
        return await engine.resume(action, order_changes(run, task, pending, None, summary))
    if run.requested_by != BY_REVIEWERS:
        return stop
    ask_instead(workspace, run)
    return None
