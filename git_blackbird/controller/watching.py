"""Seeing what becomes of plan and records, whoever writes them. Takes no lock and writes nothing."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.config_watch import TICK_NANOSECONDS, ConfigWatch, changed_at
from git_blackbird.controller.liveness import is_alive
from git_blackbird.controller.overview import Overview, TaskView, build_overview, view_in
from git_blackbird.controller.workspace import open_workspace
from git_blackbird.controller.world import World
from git_blackbird.model.choosable import BY_STATE
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import Owed
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.standing import Standing
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.locks import controller_holder, run_being_approved
from git_blackbird.storage.records import nothing
from git_blackbird.storage.store import Image

_SCAN_SECONDS = 5.0
_READS = "review show"


class Picture(NamedTuple):
    """Plan and records at one moment, and what follows from them for a person.

    ``takers`` has, for every command that asks for a state, the tasks that it would take.
    """

    standing: Standing
    overview: Overview
    takers: Mapping[str, frozenset[TaskId]]

    def takes(self, verb: str, task_id: TaskId) -> bool:
        """Whether the command ``verb`` would take this task now, as far as its state says."""
        return task_id in self.takers[verb]

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self.standing.plan

    def view(self, task: Task) -> TaskView:
        """Show one task of it."""
        return view_in(self.standing, task, self.overview.owed, self.overview.unreviewed)


class Watch:
    """Looks at one worktree again and again; what did not change is not read again.

    It is to be used by one thread at a time. The configuration is read when it is made, and again where it
    changed.
    """

    def __init__(self, world: World) -> None:
        self.workspace = open_workspace(world)
        self._world = world
        self._config = ConfigWatch()
        self._records = _RecordTimes(self.workspace.layout)
        self._seen: _Marks | None = None
        self._shown: tuple[Image, _Marks] | None = None
        self._picture: Picture | None = None
        self._under_review: tuple[TaskId, ...] = ()

    def plan(self) -> Plan:
        """Give the plan alone, which is there sooner than all records.

        Raises UnusableError when there is none to be read.
        """
        return self.workspace.store.plan()

    def look(self, between: Callable[[], object] = nothing) -> Picture | None:
        """Read what changed; None where nothing did since the last look. ``between`` two reads may wait.

        Raises UnusableError when plan or configuration cannot be read; the next look tries again.
        """
        if self._config.may_differ():
            self._read_configuration()
        marks = self._marks()
        if marks == self._seen:
            return None
        # What is written while it is read leaves other marks, and is seen at the next look.
        image = self.workspace.store.image(between)
        # Reviews of changes are no part of it.
        is_same = not self._under_review and self._shown == (image, marks)
        picture = None if is_same else self._show(image)
        self._shown = image, marks
        self._seen = marks if marks.are_settled() else None
        return picture

    def _show(self, image: Image) -> Picture:
        standing = self.workspace.standing(image)
        overview = build_overview(self.workspace, image)
        self._picture = Picture(standing, overview, _takers(standing, overview.approving))
        self._under_review = tuple(
            task_id for task_id, history in image.histories.items() if history.is_under_review
        )
        return self._picture

    def _read_configuration(self) -> None:
        """Go on with the configuration as it is now, and what was read of plan and records."""
        # Where this fails, the next look that does not has something to show.
        known = self._seen, self._shown
        self._seen = self._shown = None
        opened, before = open_workspace(self._world), self.workspace
        self._config.remember(opened)
        if (opened.settings, opened.problems) == (before.settings, before.problems):
            self._seen, self._shown = known
        else:
            self.workspace = replace(opened, store=before.store)

    def _marks(self) -> "_Marks":
        layout = self.workspace.layout
        running = self._picture.overview.running if self._picture is not None else ()
        return _Marks(
            (
                changed_at(layout.plan),
                changed_at(layout.feedback),
                *self._records.now(),
                *(changed_at(layout.task_reviews(task_id)) for task_id in self._under_review),
            ),
            controller_holder(layout),
            run_being_approved(layout),
            tuple(is_alive(one.run) for one in running),
        )


def _takers(standing: Standing, approving: Owed | None) -> dict[str, frozenset[TaskId]]:
    takers = {verb: frozenset(task.id for task in choose(standing)) for verb, choose in BY_STATE.items()}
    if approving is None:
        return takers
    # Its runs are nobody else's until they are committed; who only reads takes nothing.
    claimed = {approving.task.id}
    return {verb: tasks if verb == _READS else tasks - claimed for verb, tasks in takers.items()}


class _Marks(NamedTuple):
    """By what a change is known; ``times`` in nanoseconds."""

    times: tuple[int, ...]
    holder: str | None
    approving: str | None
    alive: tuple[bool, ...]

    def are_settled(self) -> bool:
        """Whether a further write would leave other times: clocks of file systems have ticks."""
        return time.time_ns() - max(self.times) > TICK_NANOSECONDS


class _RecordTimes:
    """When run records were written last, folder by folder.

    Every command saves through one folder: as long as that one is as it was, the many others are looked at
    only now and then, for what the Go program or a hand writes.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._seen: tuple[int, int] | None = None
        self._times: tuple[int, ...] = ()
        self._next = 0.0

    def now(self) -> tuple[int, ...]:
        """Give the times, in nanoseconds."""
        seen = changed_at(self._layout.tmp), changed_at(self._layout.runs)
        is_settled = time.time_ns() - max(seen) > TICK_NANOSECONDS
        if seen != self._seen or not is_settled or time.monotonic() > self._next:
            self._seen = seen
            self._times = _folder_times(self._layout.runs)
            self._next = time.monotonic() + _SCAN_SECONDS
        return self._times


def _folder_times(folder: Path) -> tuple[int, ...]:
    """Give the times of all folders in it: a record is renamed into place, which its folder shows."""
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted(entry.stat().st_mtime_ns for entry in entries))
    except OSError:
        return ()
