"""Watch plan and records for changes by any process. Takes no lock and writes nothing."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.config.settings import TICK_NANOSECONDS, ConfigWatch
from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.guards import is_alive
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.queries.status import StatusReport, build_overview
from git_blackbird.controller.queries.task import view_in
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.queue import PENDING, Item
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.takers import TAKERS
from git_blackbird.model.views.task import TaskView
from git_blackbird.storage.files import changed_at
from git_blackbird.storage.locks import Holder, approval_in_progress, controller_holder
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import noop

_SCAN_SECONDS = 5.0
_READS = "review show"


class ViewState(NamedTuple):
    """Plan and records at one moment, and what follows from them for a person.

    ``takers`` has, for every command that asks for a state, the tasks that it would take.
    """

    state: PlanState
    overview: StatusReport
    takers: Mapping[str, frozenset[TaskId]]

    def inputs(self, verb: str, task_id: TaskId) -> bool:
        """Whether the command ``verb`` would take this task now, as far as its state says."""
        return task_id in self.takers[verb]

    @property
    def plan(self) -> Plan:
        return self.state.plan

    def pending(self, task_id: TaskId) -> Item | None:
        """Return what a person is to say of a run of a task; None if nothing."""
        found = (one for one in self.overview.due if one.task.id == task_id and one.due in PENDING)
        return next(found, None)

    def view(self, task: Task) -> TaskView:
        view = view_in(self.state, task, self.overview.due)
        adoptable = tuple(item for item in self.overview.adoptable if item.task_id == task.id)
        return view._replace(adoptable=adoptable)


class WorktreeWatcher:
    """Polls one worktree, and reads again only what changed.

    To be used by one thread at a time. The configuration is read again whenever it changes.
    """

    def __init__(self, environment: Environment) -> None:
        self.workspace = open_workspace(environment)
        self._environment = environment
        self._config = ConfigWatch()
        self._records = _RecordTimes(self.workspace.paths)
        self._seen: Fingerprint | None = None
        self._shown: tuple[PlanState, Fingerprint] | None = None
        self._picture: ViewState | None = None
        self._under_review: tuple[TaskId, ...] = ()

    def plan(self) -> Plan:
        """Return the plan alone, which is read sooner than all records.

        Raises UnusableError when there is none to be read.
        """
        return self.workspace.store.plan()

    def poll(self, between: Callable[[], object] = noop) -> ViewState | None:
        """Read what changed; None where nothing did since the last look. ``between`` two reads may wait.

        Raises UnusableError when plan or configuration cannot be read; the next look tries again.
        """
        if self._config.may_differ():
            self._read_configuration()
        marks = self._marks()
        if marks == self._seen:
            return None
        # A write during the read leaves other marks, and is seen at the next look.
        state = self.workspace.store.state(self.workspace.plan_rules, between)
        # Reviews of changes are no part of it.
        is_same = not self._under_review and self._shown == (state, marks)
        picture = None if is_same else self._build_view(state)
        self._shown = state, marks
        # Clocks of file systems have ticks: a further write may leave the same times.
        self._seen = marks if time.time_ns() - max(marks.times) > TICK_NANOSECONDS else None
        return picture

    def _build_view(self, state: PlanState) -> ViewState:
        overview = build_overview(self.workspace, state)
        self._picture = ViewState(state, overview, _tasks_by_verb(state, overview.approving))
        self._under_review = tuple(
            task_id for task_id, history in state.open_histories.items() if history.is_under_review
        )
        return self._picture

    def _read_configuration(self) -> None:
        """Read the configuration again, keeping what was read of plan and records."""
        # Where this fails, the next look that does not has something to show.
        known = self._seen, self._shown
        self._seen = self._shown = None
        opened, before = open_workspace(self._environment), self.workspace
        self._config.remember(opened)
        if opened.settings == before.settings:
            self._seen, self._shown = known
        else:
            self.workspace = replace(opened, store=before.store)

    def _marks(self) -> "Fingerprint":
        paths = self.workspace.paths
        running = self._picture.overview.running if self._picture is not None else ()
        return Fingerprint(
            (
                changed_at(paths.plan),
                changed_at(paths.feedback),
                *self._records.now(),
                *(changed_at(paths.task_reviews(task_id)) for task_id in self._under_review),
            ),
            controller_holder(paths),
            approval_in_progress(paths),
            tuple(is_alive(one.run) for one in running),
        )


def _tasks_by_verb(state: PlanState, approving: Item | None) -> dict[str, frozenset[TaskId]]:
    takers = {verb: frozenset(task.id for task in choose(state)) for verb, choose in TAKERS.items()}
    if approving is None:
        return takers
    # Its runs are nobody else's until they are committed; who only reads takes nothing.
    claimed = {approving.task.id}
    return {verb: tasks if verb == _READS else tasks - claimed for verb, tasks in takers.items()}


class Fingerprint(NamedTuple):
    """The marks by which a change is detected; ``times`` in nanoseconds."""

    times: tuple[int, ...]
    holder: Holder | None
    approving: str | None
    alive: tuple[bool, ...]


class _RecordTimes:
    """When run records were written last, folder by folder.

    Every command saves through one folder: as long as that one is as it was, the many others are looked at
    only now and then, for copies that the Go program or a hand writes.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._seen: tuple[int, int] | None = None
        self._times: tuple[int, ...] = ()
        self._next = 0.0

    def now(self) -> tuple[int, ...]:
        """Return the times, in nanoseconds."""
        seen = changed_at(self._paths.private_tmp), changed_at(self._paths.runs)
        is_settled = time.time_ns() - max(seen) > TICK_NANOSECONDS
        if seen != self._seen or not is_settled or time.monotonic() > self._next:
            self._seen = seen
            self._times = *_folder_times(self._paths.runs), *_folder_times(self._paths.run_copies)
            self._next = time.monotonic() + _SCAN_SECONDS
        return self._times


def _folder_times(folder: Path) -> tuple[int, ...]:
    """Return the times of all folders in it: a record is renamed into place, which its folder shows."""
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted(entry.stat().st_mtime_ns for entry in entries))
    except OSError:
        return ()
