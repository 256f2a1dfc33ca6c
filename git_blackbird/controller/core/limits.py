"""Which agents are at a usage limit now, for callers that have a workspace."""

from collections.abc import Mapping

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.stages import Due
from git_blackbird.model.rules.limits import Hold, held_agents
from git_blackbird.model.rules.refusals import AgentModel
from git_blackbird.model.rules.state import PlanState


def current_holds(workspace: Workspace, state: PlanState, *reviewed: TaskId) -> Mapping[AgentModel, Hold]:
    """Return the agents at a limit, each with when it is over.

    Reviews of changes are read of the tasks whose change is under review, and of those in ``reviewed``.
    """
    tasks = {*reviewed, *(task.id for task, _ in state.due(Due.REVIEW))}
    reviews = [run for task_id in sorted(tasks) for run in workspace.store.records.reviews(task_id).runs]
    return held_agents(state, reviews, workspace.environment.now())
