"""A question that may be answered elsewhere meanwhile: by another command, on the record."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.entities.run import Run, RunStatus
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.events import Decided, Event, Level, Notice

_WATCH_SECONDS = 0.2
T = TypeVar("T")


async def race_external_change(workspace: Workspace, ask: Callable[[], Awaitable[T]], run: Run) -> T | Run:
    """Ask, and watch the record: the first answer counts, and the other is cancelled."""
    asked: asyncio.Future[T] = asyncio.ensure_future(ask())
    watched = asyncio.ensure_future(_changed(workspace, run))
    try:
        both: set[asyncio.Future[Any]] = {asked, watched}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return asked.result() if asked.done() else watched.result()
    finally:
        asked.cancel()
        watched.cancel()
        await asyncio.gather(asked, watched, return_exceptions=True)


def changed_elsewhere(state: PlanState, run: Run) -> Event | None:
    """Say what became of a run on which a decision was asked for; None where there is nothing to say."""
    if run.is_pending:
        # What was shown is not what would be approved.
        text = f"the commit of {run.task_id} was amended: its checkpoint is shown again"
        return Notice(Level.INFO, text, task_id=run.task_id)
    if run.task_id not in state.plan.tasks:
        return Notice(Level.INFO, f"{run.task_id} was deleted from another terminal")
    if run.decision_state is None:
        return None
    failed = run.status is RunStatus.FAILED
    return Decided(run.task_id, run.id, run.decision_state, elsewhere=True, is_of_failure=failed)


async def _changed(workspace: Workspace, run: Run) -> Run:
    while True:
        await asyncio.sleep(_WATCH_SECONDS)
        stored = workspace.store.records.history(run.task_id).find(run.id)
        if stored is not None and (
            stored.decision_state != run.decision_state
            or stored.superseded_at is not None
            or stored.head_tree != run.head_tree
        ):
            return stored
