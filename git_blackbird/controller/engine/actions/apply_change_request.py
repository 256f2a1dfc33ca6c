"""Send a change request, of a person or of the reviewers, to the session that did the work."""

from git_blackbird.controller.decisions.checkpoint import change_of
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import agent_missing_stop, undeliverable_stop
from git_blackbird.controller.reviews.change import ask_instead
from git_blackbird.controller.runs.instructions import Instruction, order_changes
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.entities.history import runs_in_change
from git_blackbird.model.rules.next_action import ApplyChangeRequest
from git_blackbird.model.rules.review_rounds import BY_REVIEWERS
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def apply_change_request(engine: Engine, action: ApplyChangeRequest, state: PlanState) -> Stop | None:
    """Resume the session with the request.

    Where that is impossible, a request of the reviewers becomes a decision of a person; one of a person
    stops the call.
    """
    stop = undeliverable_stop(engine.workspace, state, action)
    if stop is None:
        try:
            return await engine.run_task(_instruction(engine, action, state))
        except AgentUnavailableError as error:
            return agent_missing_stop(action, error)
    if action.run.requested_by != BY_REVIEWERS:
        return stop
    ask_instead(engine.workspace, action.run)
    return None


def _instruction(engine: Engine, action: ApplyChangeRequest, state: PlanState) -> Instruction:
    task, run = action.task, action.run
    runs = runs_in_change(state.history(task.id))
    _, summary = change_of(engine.workspace, state, run, runs)
    return order_changes(run, task, state.pending_messages(task.id), None, summary)
