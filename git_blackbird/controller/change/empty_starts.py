"""Starts without work in one call: tell an agent's refusal from a task's failure."""

import asyncio
from collections.abc import Callable

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.limits import AgentModel, repeats
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import TerminalReason
from git_blackbird.model.views.stop import Stop

Charge = Callable[[], Stop | None]


class EmptyStarts:
    """Which agents refuse every task, and which may, by their starts without work.

    ``stopped`` are the agents that refuse every task: they start nothing more. ``doubted`` have shown no
    work since their last start without work: they start nothing more while one of them is at work.
    ``seen_at_work`` is set when an agent is seen at work that was in doubt.
    """

    def __init__(self) -> None:
        self.seen_at_work = asyncio.Event()
        self.stopped: set[AgentModel] = set()
        self.doubted: set[AgentModel] = set()
        self._starts: list[Run] = []
        self._charges: dict[TaskId, Charge] = {}

    @property
    def held(self) -> frozenset[TaskId]:
        """The tasks that are not started until the cause is known."""
        return frozenset(self._charges)

    def see_work(self, by: AgentModel) -> None:
        """Note that a start of an agent has shown work, or has ended with some."""
        if by in self.doubted:
            self.doubted.discard(by)
            self.seen_at_work.set()

    def note_end(self, run: Run) -> None:
        by = AgentModel.of(run)
        if run.terminal_reason is not TerminalReason.WITHOUT_WORK:
            self.see_work(by)
            return
        if any(repeats(run, other) for other in self._starts):
            self.stopped.add(by)
        self._starts.append(run)
        self.doubted.add(by)

    def hold(self, task_id: TaskId, charge: Charge) -> None:
        """Hold a task back; ``charge`` records its start as the task's failure."""
        self._charges[task_id] = charge

    def charge_failures(self) -> list[Stop | None]:
        """Count starts without work as failures of their tasks, unless the agent refuses every task.

        Return the stop of each, if it has one.
        """
        refused = {run.task_id for runs in self.refused for run in runs}
        return [self._charges.pop(task_id)() for task_id in [*self._charges] if task_id not in refused]

    @property
    def refused(self) -> list[list[Run]]:
        agents = dict.fromkeys(by for by in map(AgentModel.of, self._starts) if by in self.stopped)
        return [[start for start in self._starts if AgentModel.of(start) == by] for by in agents]
