"""The state of one worktree: read at any time, written only inside a transaction."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, TaskCommand
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.change.stages import following
from git_blackbird.model.plan.graph import describe_changes
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.rules.state import NO_RULES, PlanRules, PlanState
from git_blackbird.model.run.history import Adoptable, SavedFeedback
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run
from git_blackbird.storage.copies import Copies
from git_blackbird.storage.feedback import FeedbackStore
from git_blackbird.storage.files import (
    OutsideError,
    SaveError,
    load_inside,
    move_aside,
    write_atomic,
)
from git_blackbird.storage.locks import STORE_PATIENCE_SECONDS, store_lock
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.plan_backup import PlanBackup, PlanInGit
from git_blackbird.storage.plan_file import PlanRenderer, parse_plan, require_unique_keys
from git_blackbird.storage.records import RunStore, noop, record_path, render_record

if TYPE_CHECKING:
    from git_blackbird.model.base.redaction import Redactor

BROKEN_BY_AGENT = Sentence(
    "this happened while an agent was working: the plan is restored at the end of its run, or by the next ",
    EXECUTE,
)


def _timestamp() -> str:
    return format_timestamp(time.time_ns())


KeepTrees = Callable[[Run, frozenset[str]], frozenset[str]]
"""Lets the reference of a run hold trees, and returns those that are not there."""


class Store:
    """Reads take no lock; a transaction holds the store lock for its milliseconds. Threads may share one."""

    def __init__(
        self,
        paths: Paths,
        hold: KeepTrees,
        redactor: "Callable[[], Redactor | None]",
        find_in_git: Callable[[], PlanInGit | None] = noop,
    ) -> None:
        self.paths = paths
        self.hold = hold
        # Makes what masks the secrets in one record.
        self.redactor = redactor
        self.copies = Copies(paths)
        self.records = RunStore(paths)
        self.feedback = FeedbackStore(paths)
        self.backup = PlanBackup(paths, find_in_git)
        # The runs that this process has at work.
        self.at_work: set[RunId] = set()
        self.renderer = PlanRenderer()
        # What this store leaves in its lock, and no other does.
        self._name = os.urandom(16)
        self._parsed: tuple[bytes, Plan] | None = None
        self._unique_keys = b""

    def plan_bytes(self) -> bytes | None:
        """Return the content of the plan file; None if there is none. Raises UnusableError."""
        try:
            known = self._parsed[0] if self._parsed is not None else b""
            return load_inside(self.paths.state_root, self.paths.plan, known=known)
        except FileNotFoundError:
            if not self.paths.plan.is_symlink():
                return None
            raise UnusableError(
                f"{self.paths.plan} is a symbolic link to nothing",
                hint="remove the link, or make its target",
            ) from None
        except OutsideError as error:
            # Nothing is read or written there: a cloned repository may have chosen the place.
            raise UnusableError(
                f"{self.paths.plan} is a link to {error.where}, which is outside the worktree",
                hint="links out of the worktree are not followed: put the plan itself in the link's place, "
                "or keep it elsewhere in the worktree",
            ) from error
        except OSError as error:
            raise UnusableError(f"cannot read {self.paths.plan}: {error.strerror}") from error

    def plan(self) -> Plan:
        """Return the plan: what counts of its file. Raises UnusableError, InvalidPlanError."""
        return self.backup.counting(*self._load_plan())

    def uncounted_edits(self) -> tuple[str, ...]:
        """Return what the plan file has and does not count, a line for each task. Raises as ``plan`` does."""
        if not self.backup.exists:
            return ()
        data, file = self._load_plan()
        return describe_changes(self.backup.counting(data, file), file)

    def editable_plan(self, read: bytes | None = None) -> Plan:
        """Return the plan file if no key is duplicated in an object: a save would lose one.

        ``read`` is the file's content, where it was read already. Raises as ``plan`` does.
        """
        data, plan = self._load_plan(read)
        if data is not self._unique_keys:
            # A file that is as a save would leave it loses nothing.
            if self.renderer.render(plan) != data:
                require_unique_keys(data, str(self.paths.plan))
            self._unique_keys = data
        return plan

    def _load_plan(self, read: bytes | None = None) -> tuple[bytes, Plan]:
        path = str(self.paths.plan)
        try:
            data = self.plan_bytes() if read is None else read
            if data is None:
                hint = Sentence(TaskCommand("init"), " makes one to start from")
                raise UnusableError(f"plan file not found: {path}", hint=hint)  # noqa: TRY301  # as for others
            # Another thread may read an older plan meanwhile: return what was read here.
            parsed = self._parsed
            if parsed is None or parsed[0] != data:
                parsed = self._parsed = (data, parse_plan(data, path))
        except UnusableError as error:
            if self.backup.exists:
                error.hint = BROKEN_BY_AGENT
            raise
        return parsed

    def remember_parsed(self, data: bytes, plan: Plan) -> None:
        self._parsed = (data, plan)
        self._unique_keys = data

    def state(self, rules: PlanRules = NO_RULES, between: Callable[[], object] = noop) -> PlanState:
        """Read plan, records and feedback; call ``between`` after each folder of records."""
        plan = self.plan()
        histories = self.records.histories(between)
        return PlanState(plan, histories, self.feedback.load_all(), *rules)

    def state_of(self, plan: Plan, task_ids: Iterable[TaskId], rules: PlanRules) -> PlanState:
        """Read the records of parents and of these tasks only, and feedback."""
        histories = self.records.histories_of(plan, task_ids)
        return PlanState(plan, histories, self.feedback.load_all(), *rules)

    def unanswered(self, state: PlanState, only: TaskId | None = None) -> tuple[Adoptable, ...]:
        """Return what could be adopted, for all tasks or one, and was not answered about yet."""
        answered: Mapping[TaskId, int] = {}
        if os.path.lexists(self.paths.answered):
            from git_blackbird.storage.notes import load_answered  # few were ever asked

            answered = load_answered(self.paths)
        return self.copies.adoptable(state, answered, only)

    @contextlib.contextmanager
    def transaction(
        self,
        patience: float = STORE_PATIENCE_SECONDS,
        *,
        rules: PlanRules = NO_RULES,
        now: Callable[[], str] = _timestamp,
    ) -> Iterator["Transaction"]:
        """Hold the store lock; the state is read again inside, so that no change of others is lost.

        ``rules`` are for the state that is read inside. ``now`` is the clock for what a record has no time
        of. Raises LockedError if the lock is not free within ``patience`` seconds.
        """
        with store_lock(self.paths, self._name, patience) as is_unchanged:
            if not is_unchanged:
                self.records.forget_latest()
            yield Transaction(self, rules, now)


class Transaction:
    """Write while the store lock is held; plan and feedback are read once, and again after a write."""

    def __init__(self, store: Store, rules: PlanRules, now: Callable[[], str]) -> None:
        self._paths = store.paths
        self._store = store
        self._rules = rules
        self._now = now
        self._plan: Plan | None = None
        self._edited: Plan | None = None
        self._data: bytes | None = None
        self._feedback: SavedFeedback | None = None

    def state(self) -> PlanState:
        plan = self.plan()
        return PlanState(plan, self._store.records.latest_histories(), self.saved_feedback(), *self._rules)

    def state_of(self, *task_ids: TaskId) -> PlanState:
        """Return the state with the records of parents and of these tasks only."""
        histories = self._store.records.histories_of(self.plan(), task_ids)
        return PlanState(self.plan(), histories, self.saved_feedback(), *self._rules)

    def plan(self) -> Plan:
        """Return what counts of the plan as it is under the lock."""
        if self._plan is None:
            data = self.plan_bytes()
            file = self._store.editable_plan(data)
            self._plan = self._store.backup.counting(data or b"", file)
            self._edited = None if file is self._plan else file
        return self._plan

    @property
    def edited_plan(self) -> Plan | None:
        """The plan file where an agent at work, or an editor meanwhile, wrote what does not count."""
        self.plan()
        return self._edited

    def plan_bytes(self) -> bytes | None:
        """Return the content of the plan file as it is under the lock. Raises as ``Store.plan_bytes``."""
        if self._data is None:
            self._data = self._store.plan_bytes()
        return self._data

    def saved_feedback(self) -> SavedFeedback:
        if self._feedback is None:
            self._feedback = self._store.feedback.load_all()
        return self._feedback

    def save_plan(self, plan: Plan) -> None:
        """Save the plan; leave the file alone if nothing changed.

        What was written there past our commands stays in the file. Raises SaveError, and RequestError where
        that does not fit.
        """
        if plan is self._plan:
            return
        file = plan
        if self._plan is not None and self._edited is not None:
            from git_blackbird.model.rules.written_plan import take_edits  # an agent edited the plan

            taken = take_edits(self._edited, self._plan, plan).plan
            if taken is None:
                raise RequestError(
                    "the plan file was edited while an agent works, and this does not go with it",
                    hint="repeat it once the run is over and decided on, or take that edit back",
                )
            file = taken
        data = self._store.renderer.render(plan)
        written = data if file is plan else self._store.renderer.render(file)
        if written != self.plan_bytes() or file is not plan:
            self._forget_plan()
            write_atomic(self._paths, self._paths.plan, written)
            self._store.remember_parsed(written, file)
            self._store.backup.follow(data)

    def save_run(self, run: Run, since: str | None = None) -> None:
        """Save a run's record without secrets, readable by its owner only, then its copy.

        The trees that it names are held by the reference of its run from before that. What is saved says
        since when the task has the status that follows: ``since``, where the record alone does not tell.
        Raises SaveError, UnusableError for a tree that is not there, ValueError for what is no record.
        """
        path = record_path(self._paths, run)
        stored = self._store.records.stored(path, run.task_id)
        # Those of the old record are held too, until it is replaced.
        before = frozenset() if stored is None else stored.named_trees
        added = run.named_trees - before
        if added and (lost := added & self._store.hold(run, run.named_trees | before)):
            raise UnusableError(
                f"the record of run {run.id} was not saved: the tree {min(lost)} that it names is gone",
                hint="git fsck says what else is",
            )
        whole = following(run, stored, self._now) if since is None else run.updated(status_since=since)
        data = render_record(whole, self._store.redactor())
        self._store.records.validate(path, run.task_id, data)
        self._store.records.changing(run.task_id)
        write_atomic(self._paths, path, data, mode=0o600)
        self._store.copies.write(path, data)

    def save_feedback(self, task_id: TaskId, feedback: Feedback) -> None:
        """Save the feedback of a parent review for a leaf; creation time and unknown fields of the file stay.

        Raises UnusableError, SaveError.
        """
        self._feedback = None
        self._store.feedback.save(task_id, feedback)
        self._store.copies.write(self._paths.feedback_file(task_id))

    def drop_feedback(self, task_id: TaskId) -> None:
        """Remove the feedback for a leaf, if any. Raises UnusableError, SaveError."""
        self._feedback = None
        # What another program left there for it is not ours to remove.
        if self._store.feedback.drop(task_id):
            self._store.copies.write(self._paths.feedback_file(task_id))

    def drop_run(self, run: Run) -> None:
        """Remove the record of a run that nothing needs, and its copy. Raises SaveError."""
        path = record_path(self._paths, run)
        self._store.records.changing(run.task_id)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SaveError(path, error) from error
        self._store.copies.write(path)

    def backup_plan(self) -> None:
        """Copy the plan to the git directory, where an agent at work does not change it by mistake."""
        data = self.plan_bytes()
        if data is not None:
            self._store.backup.begin(data)

    def renew_plan_backup(self) -> None:
        """Leave in the plan file what counts, and back it up for other agents at work.

        Without any, remove the backup. Raises SaveError.
        """
        if self._store.backup.exists and self.edited_plan is not None:
            self.restore_plan(self._store.renderer.render(self.plan()))
        if not self._store.at_work:
            self.drop_plan_backup()
        elif not self.is_stashed:
            self.backup_plan()

    @property
    def is_stashed(self) -> bool:
        """Whether git's stash has the plan, which could not come back over what is written meanwhile."""
        data = self.plan_bytes()
        return data is not None and self._store.backup.is_stashed(data)

    def drop_plan_backup(self) -> None:
        self._store.backup.drop()
        self._forget_plan()

    def restore_plan(self, data: bytes) -> None:
        """Replace the plan file. Raises SaveError."""
        self._forget_plan()
        write_atomic(self._paths, self._paths.plan, data)

    def _forget_plan(self) -> None:
        self._plan = self._edited = self._data = None

    def quarantine_plan(self, run_id: RunId, replacement: bytes) -> Path:
        """Move the plan file aside and put ``replacement`` in its place; return the new path.

        Whatever replaced the file is moved as it is, without following an agent's link. Raises SaveError.
        """
        if self._store.backup.replacement() is None:
            aside = self.set_plan_aside(run_id, self.plan_bytes() or b"")
        else:
            aside = self._aside(run_id)
            move_aside(self._paths, self._paths.plan, aside)
        self.restore_plan(replacement)
        return aside

    def set_plan_aside(self, run_id: RunId, data: bytes) -> Path:
        """Keep a plan that does not count as the file that is returned. Raises SaveError."""
        aside = self._aside(run_id)
        write_atomic(self._paths, aside, data)
        return aside

    def _aside(self, run_id: RunId) -> Path:
        return self._paths.state / f"plan-set-aside-{run_id}.json"
