"""What the handlers of the next actions share: starting, resuming and interrupting runs."""

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from git_blackbird.controller.approval_commits import uncommitted_notice
from git_blackbird.controller.blocking import run_in_thread
from git_blackbird.controller.conduct import Crew
from git_blackbird.controller.consent import Consent
from git_blackbird.controller.crews import Crews
from git_blackbird.controller.face import Face
from git_blackbird.controller.finishing import interrupted, lost_session, refused
from git_blackbird.controller.leg import run_leg
from git_blackbird.controller.orders import Order
from git_blackbird.controller.other_worktrees import runs_elsewhere
from git_blackbird.controller.repair import repair
from git_blackbird.controller.summons import Summoning
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.due import Call
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.ids import TaskId
from git_blackbird.model.run import DecisionState, Run, RunStatus, TerminalReason
from git_blackbird.model.stop import Stop, StopReason
from git_blackbird.storage.store import Image

T = TypeVar("T")


class Engine:
    """Own what runs in one call; interrupting it once pauses, twice kills."""

    def __init__(self, workspace: Workspace, face: Face, call: Call) -> None:
        self._workspace = workspace
        self._face = Summoning(workspace, face)
        self._crews = Crews(workspace, self._face)
        self._consent = Consent(workspace, self._face)
        self._call = call
        self._hurry = asyncio.Event()
        self._interrupted = False
        self._step: asyncio.Task[object] | None = None
        self._touched: set[TaskId] = set()
        self._at_work: tuple[str, TaskId] | None = None
        self._lost: list[Run] = []
        self._refusals = 0

    def interrupt(self) -> None:
        """Pause what runs and stop; asked a second time, kill it."""
        if self._interrupted:
            self._hurry.set()
        elif self._at_work is not None:
            stopping, task_id = self._at_work
            text = f"{stopping} {task_id}; a second Ctrl+C kills its agent"
            self._face.notify(Notice(Weight.INFO, text, task_id=task_id))
        self._interrupted = True
        if self._step is not None:
            self._step.cancel()

    async def _repair(self) -> Image | None:
        """Recover what a crash left; None when that was interrupted."""
        return await self._stoppable(run_in_thread(lambda: repair(self._workspace, self._face)))

    async def _leg(self, order: Order) -> Stop | None:
        """Carry out one order; a refusing agent ends the call, a lost session is named and passed by."""
        crew = self._crews.of_order(order)
        await self._agreed(crew)
        if not self._touched and (notice := uncommitted_notice(self._workspace)) is not None:
            self._face.notify(notice)
        if order.task.id not in self._touched:
            self._name_elsewhere(order.task.id)
        self._touched.add(order.task.id)
        self._at_work = "pausing", order.task.id
        run = await self._stoppable(run_leg(crew, order, self._hurry))
        self._at_work = None
        if run is None:
            return Stop(StopReason.INTERRUPTED, f"interrupted before {order.task.id} was started")
        return self._after(run, order.resumes)

    def _name_elsewhere(self, task_id: TaskId) -> None:
        for one in runs_elsewhere(self._workspace, {task_id}):
            self._face.notify(Notice(Weight.WARNING, f"{task_id}: {one.text}", task_id=task_id))

    async def _agreed(self, *crews: Crew, as_reviewer: bool = False) -> None:
        """Ask about each agent that may do more than edit the worktree. Raises NotAgreedError."""
        for crew in crews:
            await self._stoppable(self._consent.require(crew.agent, as_reviewer=as_reviewer))

    def _after(self, run: Run, resumed: Run | None = None) -> Stop | None:
        """Return the stop that the end of a run means; a lost session that comes first next stops there."""
        if run.terminal_reason is TerminalReason.INTERRUPTED:
            self._interrupted = True
            return interrupted(run)
        if run.terminal_reason is TerminalReason.AGENT_UNAVAILABLE:
            return refused(run)
        if run.terminal_reason is TerminalReason.SESSION_LOST and not _comes_first(resumed):
            self._lost.append(run)
            self._face.notify(lost_session(self._workspace, run))
        if run.status is RunStatus.WAITING_USER:
            self._call = replace(self._call, asked=self._call.asked | {run.id})
        return None

    async def _stoppable(self, work: Awaitable[T]) -> T | None:
        """Await one step so that an interrupt cancels it alone; None when it had nothing to give then."""
        step: asyncio.Future[T] = asyncio.ensure_future(work)
        self._step = step  # type: ignore[assignment]  # a coroutine's future is a task
        if self._interrupted:
            step.cancel()
        try:
            return await step
        except asyncio.CancelledError:
            if not self._interrupted:
                raise
            return None
        finally:
            self._step = None


def _comes_first(resumed: Run | None) -> bool:
    """Whether what was to be told in a session is the next action still, now that the session is gone."""
    return resumed is not None and (
        resumed.status is RunStatus.PAUSED or resumed.decision_state is DecisionState.CHANGES_REQUESTED
    )
