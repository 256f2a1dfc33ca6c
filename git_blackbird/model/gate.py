"""The gate in front of a parent: whether its reviews let it be ``done`` (DESIGN.md 5 and 8)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.history import NO_HISTORY, History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.review import completion_signature
from git_blackbird.model.run import Run, RunStatus


class GateState(StrEnum):
    """How the gate of a complete parent stands."""

    OPEN = "open"
    OWED = "owed"
    REVIEWING = "reviewing"
    FAILING = "failing"
    UNREADABLE = "unreadable"


class Gate(NamedTuple):
    """What decides over parents: whether they are reviewed at all, and the records of their reviews."""

    is_on: bool
    histories: Mapping[TaskId, History]

    def state(self, tasks: Mapping[TaskId, Task], parent: Task) -> GateState:
        """Say how the gate stands; only a complete parent has one."""
        history = self.histories.get(parent.id, NO_HISTORY)
        if history.faults:
            return GateState.UNREADABLE
        if not self.is_on:
            return GateState.OPEN
        if any(run.status is RunStatus.RUNNING for run in history.reviews):
            return GateState.REVIEWING
        said = present_review(tasks, parent, history)
        if said is None:
            return GateState.OWED
        return GateState.OPEN if lets_go(said) else GateState.FAILING

    def holds_back(self, tasks: Mapping[TaskId, Task], parent: Task) -> bool:
        """Whether a parent that is stored ``done`` may not stay so: a later review of ours found it wanting.

        What the Go program marked ``done`` in spite of its own review stays.
        """
        history = self.histories.get(parent.id, NO_HISTORY)
        said = last_word(history)
        if not self.is_on or history.faults or said is None or lets_go(said) or not said.is_ours:
            return False
        return present_review(tasks, parent, history) is said


class Moment(NamedTuple):
    """One change of the plan: when it is made, and what decides over parents then."""

    now: str
    gate: Gate


def last_word(history: History) -> Run | None:
    """Give the latest review that counts and says something: a valid verdict, or that it was dismissed."""
    return next((run for run in reversed(history.reviews) if _says_something(run)), None)


def _says_something(run: Run) -> bool:
    return run.parent_review_passed is not None or run.parent_review_dismissed is not None


def lets_go(review: Run) -> bool:
    """Whether a review lets its parent be ``done``: it passed, or a person dismissed it."""
    return review.parent_review_passed is True or review.parent_review_dismissed is not None


def present_review(tasks: Mapping[TaskId, Task], parent: Task, history: History) -> Run | None:
    """Give the latest review that says something about the children as they are now."""
    said = [run for run in history.reviews if _says_something(run)]
    if not said:
        return None
    signature = completion_signature(parent, tasks)
    return next((run for run in reversed(said) if run.parent_review_completion_signature == signature), None)


def is_complete(tasks: Mapping[TaskId, Task], task: Task) -> bool:
    """Whether a task is a parent whose children are all ``done`` or ``skipped``, at least one ``done``."""
    has_done = any(tasks[child].status == Status.DONE for child in task.children)
    return has_done and not open_children(tasks, task)


def open_children(tasks: Mapping[TaskId, Task], parent: Task) -> tuple[TaskId, ...]:
    """Return the children of a parent that are still to be done, in its order."""
    return tuple(child for child in parent.children if not tasks[child].is_over)


def skipped_children(tasks: Mapping[TaskId, Task], parent: Task) -> tuple[TaskId, ...]:
    """Return the children of a parent that nobody does, in its order."""
    return tuple(child for child in parent.children if tasks[child].status == Status.SKIPPED)


def why_incomplete(tasks: Mapping[TaskId, Task], parent: Task) -> str:
    """Say what keeps a parent from being complete."""
    still_open = open_children(tasks, parent)
    return f"not done: {', '.join(still_open)}" if still_open else "all of its children are skipped"
