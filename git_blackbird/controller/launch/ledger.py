"""The ledger of a call: what its runs spend while they work, and the budgets that this uses up."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from git_blackbird.controller.core.spending import spent_on_plan, spent_on_task
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.budgets import spent_text
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.rules.spending import (
    BudgetLine,
    BudgetScope,
    BudgetUnit,
    Spent,
    budget_lines,
    total_of,
)
from git_blackbird.model.run.parts import Usage
from git_blackbird.model.run.run import Run

_NANOSECONDS = 1_000_000_000


class BudgetSpentError(RequestError):
    """A budget is spent: no agent starts."""

    def __init__(self, lines: tuple[BudgetLine, ...]) -> None:
        super().__init__(spent_text(lines))
        self.lines = lines


@dataclass
class RunMeter:
    """The newest figures of one run; ``began`` is in nanoseconds since 1970."""

    run: Run
    began: int
    usage: Usage | None = None
    cost_usd: float | None = None

    def update(self, usage: Usage | None, cost_usd: float | None) -> None:
        """Take newer figures, each of which may be missing."""
        self.usage = usage or self.usage
        self.cost_usd = self.cost_usd if cost_usd is None else cost_usd


class Ledger:
    """Adds up what the runs of one call spend, and what was spent before on their tasks and the plan.

    Earlier runs are read from their records once, and only where a budget counts them.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._at_work: dict[RunId, RunMeter] = {}
        self._ended: dict[TaskId, Spent] = defaultdict(Spent)
        self._known: set[RunId] = set()
        self._before: dict[TaskId | None, Spent] = {}

    @contextmanager
    def run(self, run: Run) -> Iterator[RunMeter]:
        """Count a run as at work within the block, and then as ended."""
        meter = self._at_work[run.id] = RunMeter(run, self._workspace.environment.now())
        self._known.add(run.id)
        try:
            yield meter
        finally:
            del self._at_work[run.id]
            self._ended[run.task_id] += self._spent_by(meter)

    def spent_lines(self, task_id: TaskId) -> tuple[BudgetLine, ...]:
        """Return the limits that a run of the task would go beyond; none where it may work."""
        return tuple(line for line in self.lines(task_id) if line.is_spent)

    def require(self, task_id: TaskId) -> None:
        """Refuse to start an agent on a task whose budget is spent. Raises BudgetSpentError."""
        if lines := self.spent_lines(task_id):
            raise BudgetSpentError(lines)

    def usd_left(self, task_id: TaskId) -> float | None:
        """Return how many dollars a run of the task may cost; None without a limit."""
        left = (line.limit - line.spent for line in self.lines(task_id) if line.unit is BudgetUnit.USD)
        return min(left, default=None)

    def nearest_line(self, task_id: TaskId) -> tuple[BudgetLine, ...]:
        """Return the limit that counts for a task and of which least is left, if there is any.

        A run that was paused at its budget may say in the end that it spent a little less.
        """
        return tuple(sorted(self.lines(task_id), key=lambda line: line.spent / line.limit)[-1:])

    def lines(self, task_id: TaskId) -> Iterator[BudgetLine]:
        """Yield every limit that counts for a task, with what is spent of it by now."""
        for scope in BudgetScope:
            amounts = getattr(self._workspace.config.budget, scope)
            if (amounts.usd, amounts.tokens, amounts.minutes) != (None, None, None):
                about = task_id if scope is BudgetScope.TASK else None
                parts = [*self._of_call(about), *self._earlier(scope, about)]
                yield from budget_lines(scope, amounts, total_of(parts), about)

    def _of_call(self, task_id: TaskId | None) -> Iterator[Spent]:
        """Yield what the runs of this call took, of one task or of all."""
        for owner, spent in self._ended.items():
            if task_id in {None, owner}:
                yield spent
        for meter in self._at_work.values():
            if task_id in {None, meter.run.task_id}:
                yield self._spent_by(meter)

    def _earlier(self, scope: BudgetScope, task_id: TaskId | None) -> Iterable[Spent]:
        """Return what earlier calls spent, as far as it counts."""
        if scope is BudgetScope.CALL:
            return ()
        if task_id not in self._before:
            self._before[task_id] = (
                spent_on_plan(self._workspace, self._known)
                if task_id is None
                else spent_on_task(self._workspace, task_id, self._known)
            )
        return (self._before[task_id],)

    def _spent_by(self, meter: RunMeter) -> Spent:
        seconds = (self._workspace.environment.now() - meter.began) / _NANOSECONDS
        return Spent.of(meter.run.provider, max(seconds, 0.0), meter.usage, meter.cost_usd)
