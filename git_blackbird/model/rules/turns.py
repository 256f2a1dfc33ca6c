"""Turns of landing: a task that was sent back with a conflict lands before those that would conflict then."""

from collections.abc import Iterator

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.change import Change
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Requester, RunStatus, TerminalReason


def runs_before(state: PlanState, run: Run) -> Iterator[Run]:
    """Yield the newest run of each task that was sent back before the task of this run, first come first."""
    own = _place(run)
    holders = (one for _, one in state.open_runs if _has_turn(one) and one.task_id != run.task_id)
    yield from sorted((one for one in holders if _place(one) < own), key=_place)


def _has_turn(run: Run) -> bool:
    is_lost = run.terminal_reason is TerminalReason.WORKER_LOST and run.status is RunStatus.PAUSED
    return run.landing_slot is not None and isinstance(run.landing, LandingDue | None) and not is_lost


def _place(run: Run) -> tuple[bool, str, TaskId]:
    return run.landing_slot is None, run.landing_slot or "", run.task_id


def count_landing_rounds(change: Change) -> int:
    """Count the rounds that a change was sent back for by its landing before its newest run.

    They count since a person's last request. A conflict with what overtook it in its turn is no round.
    """
    requests = change.requests_before_newest
    return sum(one.requested_by is Requester.LANDING and not _was_overtaken(one) for one in requests)


def _was_overtaken(run: Run) -> bool:
    is_conflict = run.brought is not None and run.landing_check is None
    return is_conflict and run.landing_slot != run.decision_requested_at
