"""The budgets that are set here, with what of each is spent."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from git_blackbird.controller.config.settings import TICK_NANOSECONDS
from git_blackbird.controller.core.limits import spent_before
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.budgets import raise_command
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.spending import BudgetLine, BudgetScope, budget_lines
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.spent import Spent, spent_in, total_of
from git_blackbird.storage.locks import controller_since


def read_budgets(workspace: Workspace, state: PlanState) -> Iterator[BudgetLine]:
    """Yield the limits for the plan and the call at work, and of tasks those at work or with nothing left.

    What the options of a call set is known to that call alone.
    """
    budget = workspace.config.budget
    yield from budget_lines(BudgetScope.PLAN, budget.plan, partial(spent_before, workspace, None))
    if (since := controller_since(workspace.paths)) is not None:
        yield from budget_lines(BudgetScope.CALL, budget.call, partial(_spent_since, workspace, since))
    for task_id, history in sorted(state.open_histories.items()):
        find_spent = partial(spent_before, workspace, task_id)
        lines = budget_lines(BudgetScope.TASK, budget.task, find_spent, task_id)
        yield from (line for line in lines if line.is_spent or history.at_work)


def raising_commands(budgets: Iterable[BudgetLine]) -> Mapping[TaskId | None, str]:
    """Return the command that raises each spent budget, by task; None for that of the plan."""
    spent = (line for line in budgets if line.is_spent and line.scope is not BudgetScope.CALL)
    return {line.task_id: raise_command(line) for line in spent}


def _spent_since(workspace: Workspace, since: int) -> Spent:
    now = workspace.environment.timestamp()
    found = workspace.store.records.written_since(since - TICK_NANOSECONDS)
    begun = (run for run in found if isinstance(run, Run) and run.sort_key[0] >= since)
    return total_of(spent_in(run, now) for run in begun)
