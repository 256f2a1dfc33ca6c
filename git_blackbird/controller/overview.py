"""What readers see: where the plan stands, what runs, what is due. Takes no lock and writes nothing."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from git_blackbird.controller.cut_off import CutOffApproval, find_cut_off
from git_blackbird.controller.held_parents import WaitingParent, waiting_parents
from git_blackbird.controller.liveness import processes_at_work
from git_blackbird.controller.statuses import derived
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.git.task_commits import list_deferred
from git_blackbird.model.decisions import paused_runs
from git_blackbird.model.gate import skipped_children
from git_blackbird.model.graph import Readiness, dependents, is_ready, readiness, subtree, unmet
from git_blackbird.model.held import stops_at_review
from git_blackbird.model.history import History, OwedWords, RecordFault
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import Owed, OwedKind, Stuck, owed_by_person, stuck_tasks
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.provenance import UnconfirmedRecord
from git_blackbird.model.run import ReviewState, Run, RunStatus, RunType, TerminalReason
from git_blackbird.model.settings import Problem
from git_blackbird.model.standing import Standing
from git_blackbird.model.undo import Undo
from git_blackbird.model.unreadable import blocked_tasks, full_readiness, is_stopped, may_start, ready_tasks
from git_blackbird.storage.locks import controller_holder, run_being_approved
from git_blackbird.storage.store import Image
from git_blackbird.storage.undo import load_undo

CHANGE_REVIEW = "its change is to be reviewed"
APPROVING = "approved: its change is being committed"


class Running(NamedTuple):
    """A record that says an agent is at work, and whether its process is there."""

    run: Run
    alive: bool


class Failed(NamedTuple):
    """A failed leaf and why, as far as its last run says."""

    task: Task
    why: str | None


class DueReview(NamedTuple):
    """A leaf whose change is yet to be reviewed, and the run that made it."""

    task: Task
    run: Run


class Overview(NamedTuple):
    """One screen: counts, what runs, what a person owes, what is next, and what is odd.

    ``undeliverable`` is a task whose session is gone, which stops an execute; ``unfinished`` are those whose
    work was broken off, and that come first in one.
    ``to_review`` are runs whose change is yet to be reviewed, and that nobody reviews now. ``ways_out`` are
    commands that get tasks on which wait for a skipped one. ``approving`` is a decision that is taken, and
    whose change is being committed: nobody may decide otherwise meanwhile. ``stopped`` are the tasks that
    records stop which cannot be read, ``unreadable`` all such records. ``drift`` is what the plan says
    and what the records say, where that differs; readers only report it.
    """

    counts: Mapping[Status, int]
    leaves: int
    parents: int
    holder: str | None
    running: tuple[Running, ...]
    owed: tuple[Owed, ...]
    approving: Owed | None
    unreviewed: tuple[WaitingParent, ...]
    stops_at_review: bool
    undeliverable: TaskId | None
    unfinished: tuple[TaskId, ...]
    to_review: tuple[DueReview, ...]
    ready: tuple[Task, ...]
    failed: tuple[Failed, ...]
    stuck: tuple[Stuck, ...]
    stopped: Mapping[Task, tuple[RecordFault, ...]]
    blocked: Mapping[TaskId, tuple[TaskId, ...]]
    skipped: tuple[TaskId, ...]
    ways_out: tuple[str, ...]
    drift: Mapping[TaskId, tuple[Status, Status]]
    unreadable: tuple[RecordFault, ...]
    unconfirmed: tuple[UnconfirmedRecord, ...]
    elsewhere: tuple[Run, ...]
    problems: tuple[Problem, ...]
    cut_off: CutOffApproval | None
    deferred: tuple[str, ...]


def build_overview(workspace: Workspace, image: Image | None = None) -> Overview:
    """Say where everything stands; plan and records are read where ``image`` does not have them."""
    image = image or workspace.store.image()
    plan, leaves = image.plan, image.plan.leaves()
    standing = workspace.standing(image)
    owed = owed_by_person(standing)
    approving = _approving(workspace, owed)
    waits = blocked_tasks(standing)
    holder, running = controller_holder(workspace.layout), _running(workspace, image)
    asked = {one.task.id for one in owed}
    return Overview(
        counts=Counter(task.status for task in leaves),
        leaves=len(leaves),
        parents=len(plan.tasks) - len(leaves),
        holder=holder,
        running=running,
        owed=tuple(one for one in owed if one is not approving),
        approving=approving,
        unreviewed=waiting_parents(standing),
        stops_at_review=stops_at_review(standing),
        undeliverable=next((one.task.id for one in owed if _stops_execute(one)), None),
        unfinished=tuple(_unfinished(standing, () if holder is not None else running)),
        to_review=tuple(_due_reviews(standing, running)),
        ready=ready_tasks(standing),
        failed=tuple(
            Failed(task, why_failed(image.history(task.id)))
            for task in leaves
            if task.status == Status.FAILED and task.id not in asked | standing.unreadable.keys()
        ),
        stuck=stuck_tasks(standing),
        stopped={plan.tasks[task_id]: faults for task_id, faults in standing.unreadable.items()},
        blocked=waits,
        skipped=tuple(sorted({dep for deps in waits.values() for dep in deps if _is_skipped(plan, dep)})),
        ways_out=_ways_out(plan, waits),
        drift=_drift(workspace, image),
        unreadable=(
            *(fault for task_id in sorted(image.histories) for fault in image.histories[task_id].faults),
            *image.feedback_faults,
        ),
        unconfirmed=(
            *(one for task_id in sorted(image.histories) for one in image.histories[task_id].unconfirmed),
            *image.feedback_unconfirmed,
        ),
        elsewhere=_elsewhere(image),
        problems=workspace.problems,
        cut_off=find_cut_off(workspace),
        deferred=list_deferred(os.fspath(workspace.layout.private)),
    )


def _ways_out(plan: Plan, waits: Iterable[TaskId]) -> tuple[str, ...]:
    ways = (way for task_id in sorted(waits) for way in readiness(plan, plan.tasks[task_id]).ways_out)
    return tuple(dict.fromkeys(ways))


def _stops_execute(owed: Owed) -> bool:
    """Whether a request, or half-done work, waits for a session that is gone: an execute starts nothing."""
    is_question = owed.run is not None and owed.run.status is RunStatus.WAITING_USER
    return owed.kind is OwedKind.NEW_SESSION and not is_question


def _approving(workspace: Workspace, owed: Iterable[Owed]) -> Owed | None:
    run_id = run_being_approved(workspace.layout)
    decisions = (one for one in owed if one.kind is OwedKind.DECISION)
    return next((one for one in decisions if one.run_id == run_id), None)


def why_failed(history: History) -> str | None:
    """Say why a task's last run failed, as far as its record tells."""
    run = history.latest
    if run is None:
        return None
    return "rejected" if run.terminal_reason is TerminalReason.REJECTED else run.error


def _running(workspace: Workspace, image: Image) -> tuple[Running, ...]:
    return tuple(
        Running(run, bool(processes_at_work(workspace.layout, run)))
        for task_id in sorted(image.histories)
        for run in (*image.histories[task_id].runs, *_reviewing(workspace, image.histories[task_id]))
        if run.status == RunStatus.RUNNING
    )


def _to_review(history: History) -> Run | None:
    run = history.latest
    return run if run is not None and run.review_state is ReviewState.DUE else None


def _reviewing(workspace: Workspace, history: History) -> tuple[Run, ...]:
    """Give the reviews of a change that is under review; nobody reads those of the others for it."""
    run = history.latest
    return workspace.store.records.reviews(run.task_id).runs if run and history.is_under_review else ()


def _unfinished(standing: Standing, abandoned: Sequence[Running]) -> Iterator[TaskId]:
    """Yield the tasks whose work was broken off, also those of which only recovery will record it."""
    yield from (task.id for task, _ in paused_runs(standing))
    for run in (one.run for one in abandoned if one.run.run_type is RunType.EXECUTE):
        if run.provider_session_ref is not None and run.task_id in standing.plan.tasks:
            yield run.task_id


def _due_reviews(standing: Standing, running: Iterable[Running]) -> Iterator[DueReview]:
    """Yield the changes whose review is due and that nobody works on."""
    busy = {one.run.task_id for one in running if one.alive}
    for task in standing.plan.leaves():
        run = None if task.id in standing.unreadable else _to_review(standing.history(task.id))
        if run is not None and task.id not in busy:
            yield DueReview(task, run)


def _is_skipped(plan: Plan, task_id: TaskId) -> bool:
    return plan.tasks[task_id].status == Status.SKIPPED


def _drift(workspace: Workspace, image: Image) -> dict[TaskId, tuple[Status, Status]]:
    before, after = image.plan, derived(image.plan, image.histories, workspace.moment(image.histories))[0]
    return {
        task_id: (before.tasks[task_id].status, after.tasks[task_id].status)
        for task_id in (sorted(before.tasks) if after is not before else ())
        if after.tasks[task_id].status != before.tasks[task_id].status
    }


def _elsewhere(image: Image) -> tuple[Run, ...]:
    """Decisions recorded on another branch, whose task is not in this plan; they block nothing."""
    strangers = [image.histories[key] for key in sorted(image.histories.keys() - image.plan.tasks.keys())]
    return tuple(run for one in strangers if (run := one.latest) is not None and run.is_pending)


NONE_STOPPED: frozenset[TaskId] = frozenset()


def label(plan: Plan, task: Task, stopped: frozenset[TaskId] = NONE_STOPPED) -> str:
    """Give the word that says how a task stands, as the Go program's list has it.

    ``stopped`` are ready tasks that may not start: see ``stopped_tasks``.
    """
    if task.status in {Status.TODO, Status.BLOCKED}:
        is_startable = is_ready(plan, task) and task.id not in stopped
        return "READY" if is_startable else _waiting_label(plan, task)
    return task.status.value.upper()


def stopped_tasks(workspace: Workspace, plan: Plan) -> frozenset[TaskId]:
    """Return the ready tasks that an unusable record stops, theirs or one of what they build on.

    Only the records that this depends on are read.
    """
    records = workspace.store.records

    @cache
    def is_usable(task_id: TaskId) -> bool:
        return not records.history(task_id).faults

    return frozenset(
        task.id
        for task in plan.leaves()
        if is_ready(plan, task)
        and not all(
            is_usable(below.id) for name in (task.id, *task.deps) for below in subtree(plan, plan.tasks[name])
        )
    )


def stopped_in(standing: Standing) -> frozenset[TaskId]:
    """Return what ``stopped_tasks`` does where all records have been read."""
    if not standing.unreadable:
        return NONE_STOPPED
    ready = (task for task in standing.plan.leaves() if is_ready(standing.plan, task))
    return frozenset(task.id for task in ready if is_stopped(standing, task))


def _waiting_label(plan: Plan, task: Task) -> str:
    return "TODO" if task.children and not unmet(plan, task) else "BLOCKED"


class Filter(NamedTuple):
    """Which tasks ``list`` shows; ``text`` is to be in the id or title, in any letter case."""

    everything: bool = False
    only_ready: bool = False
    only_blocked: bool = False
    status: Status | None = None
    text: str = ""
    stopped: frozenset[TaskId] = NONE_STOPPED

    def admits(self, plan: Plan, task: Task) -> bool:
        """Whether the list shows this task."""
        if self.text and self.text.casefold() not in f"{task.id} {task.title}".casefold():
            return False
        if self.status is not None:
            return task.status == self.status
        if self.only_ready:
            return label(plan, task, self.stopped) == "READY"
        if self.only_blocked:
            return task.is_leaf and label(plan, task, self.stopped) == "BLOCKED"
        return self.everything or (task.is_leaf and not task.is_over)


def list_tasks(plan: Plan, wanted: Filter) -> list[Task]:
    """Give the tasks of a list, in plan order."""
    return [task for _, task in plan.walk() if wanted.admits(plan, task)]


def tree_of_tasks(plan: Plan, wanted: Filter) -> list[tuple[int, Task]]:
    """Give the tasks of a tree with their depth; parents of what is shown are shown too."""
    rows = list(plan.walk())
    shown = {task.id for _, task in rows if wanted.admits(plan, task)}
    for _, task in reversed(rows):
        if task.parent is not None and task.id in shown:
            shown.add(task.parent)
    return rows if len(shown) == len(rows) else [(depth, task) for depth, task in rows if task.id in shown]


class TaskView(NamedTuple):
    """One task with everything that follows for it.

    ``owed`` is what waits for a person's command, ``words`` what the task must still hear, ``unreviewed``
    how a parent waits for its review, ``to_review`` the run whose change is yet to be reviewed,
    ``unreadable`` what cannot be read of all that is recorded of it, ``unconfirmed`` what counts for nothing,
    ``skipped`` the children that nobody does, ``undo`` how a rejected change is taken back.
    """

    task: Task
    label: str
    readiness: Readiness
    dependents: tuple[Task, ...]
    deps: tuple[Task, ...]
    history: History
    owed: Owed | None
    words: OwedWords
    unreviewed: WaitingParent | None = None
    to_review: Run | None = None
    unreadable: tuple[RecordFault, ...] = ()
    unconfirmed: tuple[UnconfirmedRecord, ...] = ()
    skipped: tuple[TaskId, ...] = ()
    undo: Undo | None = None


def view_task(workspace: Workspace, task_id: str) -> TaskView:
    """Show one task: why it is or is not ready, and what it is still owed.

    Raises RequestError for an unknown id.
    """
    standing = workspace.standing_of(task_id)
    task = find_task(standing.plan, task_id)
    view = view_in(standing, task, owed_by_person(standing), waiting_parents(standing))
    path = str(workspace.layout.feedback_file(task.id))
    saved = workspace.store.feedback.load_all()
    return view._replace(
        unreadable=(*view.unreadable, *(one for one in saved.faults if one.path == path)),
        unconfirmed=(*view.unconfirmed, *(one for one in saved.unconfirmed if one.path == path)),
        undo=None if view.history.newest is None else load_undo(workspace.layout, view.history.newest),
    )


def view_in(
    standing: Standing, task: Task, owed: Iterable[Owed], unreviewed: Iterable[WaitingParent]
) -> TaskView:
    """Show one task out of what was read already; ``owed`` and ``unreviewed`` are those of all tasks."""
    plan, history = standing.plan, standing.history(task.id)
    return TaskView(
        task,
        label(plan, task) if not is_ready(plan, task) or may_start(standing, task) else "BLOCKED",
        full_readiness(standing, task),
        dependents(plan, task.id),
        tuple(plan.tasks[dep] for dep in task.deps),
        history,
        next((one for one in owed if one.task.id == task.id), None),
        standing.owed_words(task.id),
        next((one for one in unreviewed if one.task.id == task.id), None),
        _to_review(history),
        history.faults,
        history.unconfirmed,
        skipped_children(plan.tasks, task),
    )
