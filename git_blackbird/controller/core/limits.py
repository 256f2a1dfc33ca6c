"""What may hold starts: which agents are at a usage limit now, and what was spent, by the records."""

from collections.abc import Collection, Mapping

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId
from git_blackbird.model.change.stages import Due
from git_blackbird.model.rules.limits import AgentModel, LimitHold, held_agents
from git_blackbird.model.rules.spending import Spent, spent_in, total_of
from git_blackbird.model.rules.state import PlanState


def current_holds(
    workspace: Workspace, state: PlanState, *reviewed: TaskId
) -> Mapping[AgentModel, LimitHold]:
    """Return the agents at a limit, each with when it is over.

    Reviews of changes are read of the tasks whose change is under review, and of those in ``reviewed``.
    """
    tasks = {*reviewed, *(task.id for task, _ in state.due(Due.REVIEW))}
    reviews = [run for task_id in sorted(tasks) for run in workspace.store.records.reviews(task_id).runs]
    return held_agents(state, reviews, workspace.environment.now())


def spent_before(workspace: Workspace, task_id: TaskId | None, without: Collection[RunId] = ()) -> Spent:
    """Return what the runs of a task took, its reviews and those at work included; None: of all tasks.

    Tasks that left the plan are among them, records that cannot be read are not.
    """
    records, now = workspace.store.records, workspace.environment.timestamp()
    tasks = (*records.tasks(), PLANNING) if task_id is None else (task_id,)
    found = (run for one in tasks for run in (*records.history(one).runs, *records.reviews(one).runs))
    return total_of(spent_in(run, now) for run in found if run.id not in without)
