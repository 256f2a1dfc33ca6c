"""Estimate what is left of the plan from this worktree's own records."""

from collections.abc import Collection

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.report import ReportedTask, reported_tasks
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.estimate import Estimate, Sample, estimate


def build_estimate(workspace: Workspace, task_ids: Collection[TaskId] | None = None) -> Estimate:
    """Estimate the time and cost of these leaves, or of all that are left.

    Raises UnusableError where no plan is there.
    """
    state, config = workspace.plan_state(), workspace.config
    plan = state.plan
    left = [leaf for leaf in plan.leaves() if (not leaf.is_over if task_ids is None else leaf.id in task_ids)]
    worked_on = reported_tasks(workspace, state)
    done = (task for task in worked_on if task.is_leaf and task.status is Status.DONE)
    samples = [sample for task in done if (sample := _sample(task)) is not None]
    return estimate(plan, left, samples, config.agent, config.execution.jobs)


def _sample(task: ReportedTask) -> Sample | None:
    """Return what a task took; None where no agent worked on it."""
    if task.last is None or not task.last.is_work:
        return None
    is_known = all(run.spent.cost_usd is not None for run in task.runs)
    cost = task.spent.cost_usd if is_known else None
    return Sample(task.last.provider, task.spent.runs, task.spent.seconds, cost)
