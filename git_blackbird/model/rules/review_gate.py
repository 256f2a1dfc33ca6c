"""The gate of a parent: whether its reviews allow it to be ``done`` (DESIGN.md 5 and 8)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.history import NO_HISTORY, History
from git_blackbird.model.entities.parent_verdict import completion_signature
from git_blackbird.model.entities.plan import Status, Task
from git_blackbird.model.entities.run import Run, RunStatus


class GateState(StrEnum):
    """The state of a complete parent's gate."""

    OPEN = "open"
    REVIEW_DUE = "due"
    REVIEWING = "reviewing"
    FAILING = "failing"
    UNREADABLE = "unreadable"


class ReviewGate(NamedTuple):
    """Whether parents are reviewed at all, and the records of their reviews."""

    is_on: bool
    histories: Mapping[TaskId, History]

    def state(self, tasks: Mapping[TaskId, Task], parent: Task) -> GateState:
        """Return the state of the gate; only a complete parent has one."""
        history = self.histories.get(parent.id, NO_HISTORY)
        if history.faults:
            return GateState.UNREADABLE
        if not self.is_on:
            return GateState.OPEN
        if any(run.status is RunStatus.RUNNING for run in history.reviews):
            return GateState.REVIEWING
        review = current_review(tasks, parent, history)
        if review is None:
            return GateState.REVIEW_DUE
        return GateState.OPEN if allows_done(review) else GateState.FAILING

    def blocks(self, tasks: Mapping[TaskId, Task], parent: Task) -> bool:
        """Whether a parent stored as ``done`` may not stay so: a later review of ours failed it.

        What the Go program marked ``done`` despite its own review stays.
        """
        history = self.histories.get(parent.id, NO_HISTORY)
        review = latest_verdict(history)
        if not self.is_on or history.faults or review is None or allows_done(review) or not review.is_ours:
            return False
        return current_review(tasks, parent, history) is review


class Transition(NamedTuple):
    """The time of a change of the plan, and the gate of parents then."""

    now: str
    gate: ReviewGate


def latest_verdict(history: History) -> Run | None:
    """Return the latest effective review with a result: a valid verdict, or a dismissal."""
    return next((run for run in reversed(history.reviews) if _has_result(run)), None)


def _has_result(run: Run) -> bool:
    return run.parent_review_passed is not None or run.parent_review_dismissed is not None


def allows_done(review: Run) -> bool:
    """Whether a review allows its parent to be ``done``: it passed, or a person dismissed it."""
    return review.parent_review_passed is True or review.parent_review_dismissed is not None


def current_review(tasks: Mapping[TaskId, Task], parent: Task, history: History) -> Run | None:
    """Return the latest review with a result about the children as they are now."""
    reviews = [run for run in history.reviews if _has_result(run)]
    if not reviews:
        return None
    signature = completion_signature(parent, tasks)
    return next(
        (run for run in reversed(reviews) if run.parent_review_completion_signature == signature), None
    )


def is_complete(tasks: Mapping[TaskId, Task], task: Task) -> bool:
    """Whether a task is a parent with all children ``done`` or ``skipped``, at least one ``done``."""
    has_done = any(tasks[child].status == Status.DONE for child in task.children)
    return has_done and not open_children(tasks, task)


def open_children(tasks: Mapping[TaskId, Task], parent: Task) -> tuple[TaskId, ...]:
    """Return the unfinished children of a parent, in its order."""
    return tuple(child for child in parent.children if not tasks[child].is_over)


def skipped_children(tasks: Mapping[TaskId, Task], parent: Task) -> tuple[TaskId, ...]:
    """Return the skipped children of a parent, in its order."""
    return tuple(child for child in parent.children if tasks[child].status == Status.SKIPPED)


def why_incomplete(tasks: Mapping[TaskId, Task], parent: Task) -> str:
    """Describe why a parent is not complete."""
    still_open = open_children(tasks, parent)
    return f"not done: {', '.join(still_open)}" if still_open else "all of its children are skipped"
