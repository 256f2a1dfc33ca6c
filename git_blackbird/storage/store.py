"""One worktree's state: read at any time, written only inside a transaction."""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.model.history import NO_HISTORY, History, RecordFault
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Plan
from git_blackbird.model.provenance import UnconfirmedRecord
from git_blackbird.model.review import Feedback
from git_blackbird.model.run import Run
from git_blackbird.model.system_faults import is_exhausted
from git_blackbird.storage.atomic import SaveError, copy_private, move_aside, sweep_temporaries, write_atomic
from git_blackbird.storage.feedback import FeedbackFiles, SavedFeedback
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.ledger import Ledger, WatchEnd
from git_blackbird.storage.locks import (
    STORE_PATIENCE_SECONDS,
    controller_holder,
    run_being_approved,
    store_lock,
)
from git_blackbird.storage.plan_format import parse_plan, render_plan
from git_blackbird.storage.reading import OutsideError, load_inside
from git_blackbird.storage.records import Records, nothing, record_path, render_record

BROKEN_BY_AGENT = (
    "this happened while an agent was working: the plan is restored at the end of its run, "
    "or by the next `git blackbird execute`"
)


class Image(NamedTuple):
    """Plan, records and what parent reviews left owed, as they stand at one moment."""

    plan: Plan
    histories: Mapping[TaskId, History]
    feedback: Mapping[TaskId, Feedback] = MappingProxyType({})
    feedback_faults: tuple[RecordFault, ...] = ()
    feedback_unconfirmed: tuple[UnconfirmedRecord, ...] = ()

    def history(self, task_id: TaskId) -> History:
        """Give the runs of one task, none when it has none."""
        return self.histories.get(task_id, NO_HISTORY)


class Store:
    """Reads take no lock; a transaction holds the store lock for its milliseconds. Threads may share one."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.ledger = Ledger(layout)
        self.records = Records(layout, self.ledger)
        self.feedback = FeedbackFiles(layout, self.ledger)
        self._parsed: tuple[bytes, Plan] | None = None

    def plan_bytes(self) -> bytes | None:
        """Give the plan file as it lies there; None when there is none.

        Raises UnusableError when it cannot be read.
        """
        try:
            known = self._parsed[0] if self._parsed is not None else b""
            return load_inside(self.layout.state_root, self.layout.plan, known)
        except FileNotFoundError:
            if not self.layout.plan.is_symlink():
                return None
            raise UnusableError(
                f"{self.layout.plan} is a symbolic link to nothing",
                hint="remove the link, or make its target",
            ) from None
        except OutsideError as error:
            # Nothing is read or written there: a cloned repository may have chosen the place.
            raise UnusableError(
                f"{self.layout.plan} is a link to {error.where}, which is outside the worktree",
                hint="links out of the worktree are not followed: put the plan itself in the link's place, "
                "or keep it elsewhere in the worktree",
            ) from error
        except OSError as error:
            raise UnusableError(f"cannot read {self.layout.plan}: {error.strerror}") from error

    def plan(self) -> Plan:
        """Give the plan.

        Raises UnusableError when there is none, InvalidPlanError with all faults when it is not valid.
        """
        try:
            return self._plan()
        except UnusableError as error:
            if self.layout.known_plan.exists():
                error.hint = BROKEN_BY_AGENT
            raise

    def _plan(self) -> Plan:
        data = self.plan_bytes()
        if data is None:
            raise UnusableError(
                f"plan file not found: {self.layout.plan}",
                hint="`git blackbird init` makes one to start from",
            )
        # Another thread may read an older plan meanwhile: what is given must be what was read here.
        parsed = self._parsed
        if parsed is None or parsed[0] != data:
            parsed = self._parsed = (data, parse_plan(data, str(self.layout.plan)))
        return parsed[1]

    def remember_parsed(self, data: bytes, plan: Plan) -> None:
        """Know that these bytes are this plan: they need not be parsed while they lie there."""
        self._parsed = (data, plan)

    def image(self, between: Callable[[], object] = nothing) -> Image:
        """Give plan, records and feedback together; ``between`` two folders of records may wait."""
        plan, histories = self.plan(), self.records.histories(between)
        return Image(plan, histories, *self.feedback.load_all())

    @contextlib.contextmanager
    def transaction(self, patience: float = STORE_PATIENCE_SECONDS) -> Iterator["Transaction"]:
        """Hold the store lock; what others changed is read again inside, so nothing of theirs is lost.

        Raises LockedError when it cannot be had within ``patience`` seconds.
        """
        with store_lock(self.layout, patience):
            yield Transaction(self)


class Transaction:
    """Writing, while the store lock is held."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def image(self) -> Image:
        """Give plan and records as they are under the lock."""
        return self._store.image()

    def image_of(self, *task_ids: TaskId) -> Image:
        """Give the same with the records of parents and of these tasks alone."""
        plan = self.plan()
        named = [task.id for task in plan.tasks.values() if task.children or task.id in task_ids]
        return Image(plan, {name: self.history(name) for name in named}, self.feedback())

    def plan(self) -> Plan:
        """Give the plan as it is under the lock."""
        return self._store.plan()

    def history(self, task_id: TaskId) -> History:
        """Give one task's runs as they are under the lock."""
        return self._store.records.history(task_id)

    def is_worked_on(self) -> bool:
        """Whether a program of ours runs agents in this worktree now."""
        return controller_holder(self._store.layout) is not None

    def reviews(self, task_id: TaskId) -> History:
        """Give the spec and code reviews of a task's changes as they are under the lock."""
        return self._store.records.reviews(task_id)

    def feedback(self) -> Mapping[TaskId, Feedback]:
        """Give what the files of feedback say, as they are under the lock."""
        return self.saved_feedback().owed

    def saved_feedback(self) -> SavedFeedback:
        """Give the same with the files that are not used."""
        return self._store.feedback.load_all()

    def save_plan(self, plan: Plan) -> None:
        """Save the plan; the file is not touched when nothing changed.

        Raises SaveError.
        """
        data = render_plan(plan)
        if data != self._store.plan_bytes():
            write_atomic(self._store.layout, self._store.layout.plan, data)
            self._store.remember_parsed(data, plan)
            if self._store.layout.known_plan.exists():
                self.remember_plan()

    def change_plan(self, change: Callable[[Plan], Plan]) -> Plan:
        """Read, change and save the plan; gives what it became."""
        before = self.plan()
        after = change(before)
        if after is not before:
            self.save_plan(after)
        return after

    def save_run(self, run: Run) -> None:
        """Save a run's record, readable by its owner only.

        Raises SaveError.
        """
        path, data = record_path(self._store.layout, run), render_record(run)
        self._store.ledger.note(path, data)
        write_atomic(self._store.layout, path, data, mode=0o600)

    def save_feedback(self, task_id: TaskId, feedback: Feedback) -> None:
        """Save what a parent review left owed to a leaf; the file's creation time and unknown fields stay.

        Raises UnusableError, SaveError.
        """
        self._store.feedback.save(task_id, feedback)

    def drop_feedback(self, task_id: TaskId) -> None:
        """Remove what was owed to a leaf; there may be nothing.

        Raises UnusableError, SaveError.
        """
        self._store.feedback.drop(task_id)

    def clear_way(self, run: Run) -> tuple[tuple[Path, Path], ...]:
        """Move aside what an agent put where folders for its record must be; gives old and new places.

        Raises SaveError.
        """
        layout = self._store.layout
        moved: list[tuple[Path, Path]] = []
        for folder in (layout.tmp, layout.task_runs(run.task_id)):
            try:
                aside = layout.clear_way(folder, run.id)
            except OSError as error:
                raise SaveError(layout.record(run.task_id, run.id), error) from error
            if aside is not None:
                moved.append((aside.with_name(aside.name.removesuffix(f".set-aside-{run.id}")), aside))
        return tuple(moved)

    def begin_watch(self, run: Run) -> None:
        """Know from now on which record files our commands write; the run's own record is saved already.

        Raises SaveError.
        """
        self._store.ledger.begin(run.id, record_path(self._store.layout, run))

    def end_watch(self) -> WatchEnd | None:
        """Find what something else wrote among the records since then; None where nobody watched.

        Raises SaveError.
        """
        return self._store.ledger.end()

    def confirm(self, path: Path) -> None:
        """Let a file among the records count as it is now.

        Raises SaveError, OSError.
        """
        self._store.ledger.confirm(path)

    def remember_plan(self) -> None:
        """Keep a copy of the plan that an agent cannot reach by mistake, for as long as one works."""
        data = self._store.plan_bytes()
        if data is not None:
            copy_private(self._store.layout.known_plan, data)
            copy_private(
                self._store.layout.known_place, os.fsencode(os.path.realpath(self._store.layout.plan))
            )

    def known_plan(self) -> bytes | None:
        """Give that copy; None when no agent works."""
        try:
            return self._store.layout.known_plan.read_bytes()
        except FileNotFoundError:
            return None

    def forget_plan(self) -> None:
        """Remove that copy."""
        self._store.layout.known_plan.unlink(missing_ok=True)
        self._store.layout.known_place.unlink(missing_ok=True)

    def plan_replacement(self) -> str | None:
        """Say what stands in the plan file's place when that is not the file, or the link, it was.

        None also where nothing stands there.
        """
        plan = self._store.layout.plan
        try:
            kind = plan.lstat().st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISREG(kind):
            return None if self._is_readable() else "a file that cannot be read"
        if not stat.S_ISLNK(kind):
            return "a folder" if stat.S_ISDIR(kind) else "not a file"
        where = os.path.realpath(plan)
        return None if where == self._known_place() and plan.is_file() else f"a link to {where}"

    def _is_readable(self) -> bool:
        layout = self._store.layout
        try:
            load_inside(layout.state_root, layout.plan)
        except OSError as error:
            if is_exhausted(error):
                raise
            return False
        return True

    def _known_place(self) -> str | None:
        try:
            return os.fsdecode(self._store.layout.known_place.read_bytes())
        except FileNotFoundError:
            return None

    def plan_bytes(self) -> bytes | None:
        """Give the plan file as it lies there; None when there is none."""
        return self._store.plan_bytes()

    def plan_if_there(self) -> Plan | None:
        """Give the plan; None when the file is gone.

        Raises InvalidPlanError.
        """
        return None if self._store.plan_bytes() is None else self._store.plan()

    def restore_plan(self, data: bytes) -> None:
        """Put ``data`` in the plan file's place.

        Raises SaveError.
        """
        write_atomic(self._store.layout, self._store.layout.plan, data)

    def set_plan_aside(self, run_id: RunId, replacement: bytes) -> Path:
        """Keep the plan file under another name and put ``replacement`` in its place; gives that name.

        What replaced the file is moved as it is: nothing is written through a link of an agent's. Raises
        SaveError.
        """
        aside = self._store.layout.state / f"plan-set-aside-{run_id}.json"
        if self.plan_replacement() is None:
            write_atomic(self._store.layout, aside, self._store.plan_bytes() or b"")
        else:
            move_aside(self._store.layout, self._store.layout.plan, aside)
        self.restore_plan(replacement)
        return aside

    def run_being_approved(self) -> RunId | None:
        """Name the run whose approval is being committed, which takes longer than this lock is held."""
        return run_being_approved(self._store.layout)

    def sweep(self) -> int:
        """Remove what crashed saves left behind; gives how many files."""
        return sweep_temporaries(self._store.layout)
