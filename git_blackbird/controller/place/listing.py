"""The worktrees of tasks: list their states, and remove finished ones."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from git_blackbird.controller.core.workspace import Workspace, find_task, hold_controller
from git_blackbird.controller.place.slots import stop_interrupted_setup
from git_blackbird.controller.place.worktrees import prune_worktree, release, take_whole, worktrees_folder
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.core.repository import Repository, listed_worktrees
from git_blackbird.git.worktree.linked import (
    TaskWorktree,
    disk_bytes,
    lost_worktrees,
    remove_half_added,
    task_worktrees,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import IN_HAND
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus


class PlaceState(StrEnum):
    """The state of the worktree of a task."""

    AT_WORK = "at_work"
    DECISION = "waits_for_decision"
    ANSWERS = "waits_for_answers"
    CHANGES = "changes_due"
    LANDING = "waits_to_land"
    PAUSED = "paused"
    FAILED = "failed"
    NOT_STARTED = "not_started"
    GIVEN_UP = "given_up"
    UNREADABLE = "unreadable"
    LANDED = "landed"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")


_DONE_WITH = frozenset({PlaceState.NOT_STARTED, PlaceState.GIVEN_UP, PlaceState.LANDED})
_OF_STAGE = {
    Stage.WORKING: PlaceState.AT_WORK,
    Stage.ASKED: PlaceState.ANSWERS,
    Stage.PAUSED: PlaceState.PAUSED,
    Stage.SENT_BACK: PlaceState.CHANGES,
    Stage.SENT_BACK_AFTER_FAILURE: PlaceState.CHANGES,
    Stage.BLOCKED: PlaceState.DECISION,
    Stage.DECIDING: PlaceState.DECISION,
    Stage.DECIDING_FAILURE: PlaceState.DECISION,
    Stage.REJECTED: PlaceState.GIVEN_UP,
    Stage.FAILED: PlaceState.FAILED,
}


class PlaceOfTask(NamedTuple):
    """The worktree of a task."""

    task_id: Annotated[TaskId, Shown("The task.", "task")]
    path: Annotated[Path, Shown("Its folder.")]
    state: Annotated[PlaceState, Shown("What is going on in it.")]
    since: Annotated[str | None, Shown("When the last run there started; null where none has.")]
    disk_bytes: Annotated[int, Shown("How much room its files take.")]


class Pruned(NamedTuple):
    """A worktree that was removed, would be, or stays."""

    place: Annotated[PlaceOfTask, Shown("", is_spread=True)]
    reason: Annotated[str | None, Shown("Why it stays; null where it does not.")]
    kept: Annotated[
        str | None, Shown("The reference with its files, if they were edited after its last run.")
    ] = None


def list_places(workspace: Workspace) -> list[PlaceOfTask]:
    """List the worktrees of this plan's tasks, including finished ones."""
    return [place for _, place in _places(workspace)]


def finished_places(workspace: Workspace) -> Iterator[PlaceOfTask]:
    """Yield the finished worktrees, including those whose folders somebody removed."""
    for _, place in (*_lost_places(workspace), *_places(workspace)):
        if place.state in _DONE_WITH:
            yield place


def missing_places(workspace: Workspace) -> Iterator[Run]:
    """Yield the last runs of unfinished tasks whose worktrees somebody removed."""
    tasks = workspace.store.plan().tasks
    there = {each.task_id for each in task_worktrees(workspace.repo) if not each.is_set_aside}
    for task_id, history in workspace.store.records.histories().open.items():
        run = history.latest
        if run is None or run.worktree_path is None or task_id in there:
            continue
        state = _state_of(history, run, tasks.get(task_id))
        if state not in {*_DONE_WITH, PlaceState.AT_WORK} and not os.path.lexists(run.worktree_path):
            yield run


def find_place(workspace: Workspace, task_id: str) -> PlaceOfTask:
    """Return the worktree of a task. Raises RequestError where it has none."""
    place = next((place for place in list_places(workspace) if place.task_id == task_id), None)
    if place is None:
        find_task(workspace.store.plan(), task_id)
        hint = ShellLine("git blackbird worktrees", "lists those that there are")
        raise RequestError(f"{task_id} has no worktree of its own", hint=hint)
    return place


def prune_places(workspace: Workspace, *, dry_run: bool) -> list[Pruned]:
    """Remove finished worktrees, once references hold their files; return which stay and why.

    Raises LockedError while another command runs agents: it may be about to work in one.
    """
    workspace.environment.forbid_agents("remove worktrees")
    if dry_run:
        lost = [Pruned(place, None) for _, place in _lost_places(workspace)]
        return lost + [_pruned(place, partial(_try, workspace, at)) for at, place in _places(workspace)]
    with hold_controller(workspace, "worktrees prune"):
        remove_half_added(workspace.repo, worktrees_folder(workspace))
        lost = _forget_lost(workspace)
        return lost + [_pruned(place, partial(_remove, workspace, at)) for at, place in _places(workspace)]


def remove_landed(workspace: Workspace) -> None:
    """Remove the worktrees that a killed command left after their change had landed.

    Needs the controller lock. One that cannot be removed stays, as it does after a landing; half made ones
    go. Raises UnusableError.
    """
    if not any(listed_worktrees(workspace.repo)):
        return
    remove_half_added(workspace.repo, worktrees_folder(workspace))
    _forget_lost(workspace)
    for each in list(task_worktrees(workspace.repo)):
        history = workspace.store.records.history(TaskId(each.task_id))
        run = _last_run(history, each)
        if run is not None and run.has_landed and not history.faults:
            with contextlib.suppress(BlackbirdError):  # `worktrees` lists it
                release(workspace, each.repo)


def _lost_places(workspace: Workspace) -> Iterator[tuple[Repository, PlaceOfTask]]:
    for linked, place in _with_states(workspace, lost_worktrees(workspace.repo)):
        if place.state in _DONE_WITH:
            yield linked, place


def _forget_lost(workspace: Workspace) -> list[Pruned]:
    lost = list(_lost_places(workspace))
    return [_pruned(place, partial(prune_worktree, workspace, linked)) for linked, place in lost]


def _pruned(place: PlaceOfTask, remove: Callable[[], str | None]) -> Pruned:
    if place.state not in _DONE_WITH:
        return Pruned(place, place.state.words)
    try:
        return Pruned(place, None, remove())
    except BlackbirdError as error:
        return Pruned(place, error.line)


def _try(workspace: Workspace, linked: Repository) -> None:
    """Find out whether a worktree can be removed."""
    take_whole(workspace, linked)


def _remove(workspace: Workspace, linked: Repository) -> str | None:
    stop_interrupted_setup(linked)
    return release(workspace, linked)


def _places(workspace: Workspace) -> Iterator[tuple[Repository, PlaceOfTask]]:
    return _with_states(workspace, task_worktrees(workspace.repo))


def _with_states(
    workspace: Workspace, worktrees: Iterable[TaskWorktree]
) -> Iterator[tuple[Repository, PlaceOfTask]]:
    tasks = workspace.store.plan().tasks
    for each in sorted(worktrees, key=lambda each: each.task_id):
        task_id, linked = TaskId(each.task_id), each.repo
        history = workspace.store.records.history(task_id)
        run = _last_run(history, each)
        state = _state_of(history, run, tasks.get(task_id))
        if each.is_set_aside and state is not PlaceState.UNREADABLE:
            state = PlaceState.LANDED if run is not None and run.has_landed else PlaceState.GIVEN_UP
        since = None if run is None else run.started_at
        yield linked, PlaceOfTask(task_id, linked.top, state, since, disk_bytes(linked.top))


def _last_run(history: History, place: TaskWorktree) -> Run | None:
    known = {str(place.repo.top), str(place.made_at)}
    there = (run for run in reversed(history.work_runs) if run.worktree_path in known)
    return next(there, None)


def _state_of(history: History, run: Run | None, task: Task | None) -> PlaceState:
    """Return the state of a worktree by the last run there; which one that was may be on a broken record.

    Where all records are gone, the task's status tells that there was one.
    """
    was_in_hand = task is not None and task.status in IN_HAND
    if history.faults or (not history.recent and was_in_hand):
        return PlaceState.UNREADABLE
    if run is None:
        return PlaceState.GIVEN_UP if task is None else PlaceState.NOT_STARTED
    if run.has_landed:
        return PlaceState.LANDED
    if run.status is not RunStatus.RUNNING and (task is None or history.latest != run):
        return PlaceState.GIVEN_UP
    return _OF_STAGE.get(stage_of(run), PlaceState.LANDING)
