"""Paths of the state in the git directory, of the plan, and of what is below ``.blackbird/``."""

import contextlib
import os
import time
from pathlib import Path, PurePath

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import RunId, TaskId, owner_fault
from git_blackbird.model.base.system import PLAN_NAME, STATE_NAME, make_own_folder

OVERVIEW_NAME = "snapshot.md"
IGNORE_NAME = ".gitignore"
# What the set-up for a check printed.
SETUP_STREAM = "setup"
_RUNS = "runs"
_FEEDBACK = "parent-review-feedback"
_IGNORED = "runs/\nparent-review-feedback/\ntmp/\n"
_EVERYTHING = b"*\n"


class Paths:
    """The paths of one worktree.

    ``private`` is in the git directory of the worktree and is never cloned: what counts is there.
    ``state_root`` contains the plan, and ``.blackbird/`` with the configuration and copies of the records.
    """

    def __init__(self, state_root: Path, private: Path) -> None:
        self.state_root = state_root
        self.plan = state_root / PLAN_NAME
        self.state = state_root / STATE_NAME
        # Temporary files of atomic writes below ``.blackbird/``.
        self.tmp = self.state / "tmp"
        self.run_copies = self.state / _RUNS
        self.config = self.state / "config.json"
        # The Go program's agent choice.
        self.agent_choice = self.state / "agent.json"

        self.private = private
        self.runs = private / _RUNS
        # Pending feedback of parent reviews for leaves.
        self.feedback = private / _FEEDBACK
        # What runs at work print.
        self.streams = private / "streams"
        # The keys of runs on a cluster.
        self.keys = private / "keys"
        # What set-ups and checks print.
        self.own_logs = private / "logs"
        # Temporary files of durable writes: every command saves through this folder.
        self.private_tmp = private / "tmp"
        # What tells whose the temporary folders of runs are, by their names.
        self.scratch = private / "scratch"
        self.controller_lock = private / "controller.lock"
        self.store_lock = private / "store.lock"
        self.approval_lock = private / "approval.lock"
        # While an agent works: the plan as this program saved it last, where it is, and HEAD's log.
        self.known_plan = private / "plan-known.json"
        # What was written into the plan past our commands while an agent worked, by run, until it is decided.
        self.plan_edits = private / "plan-edits"
        # The configuration from before the present agent began.
        self.known_config = private / "config-known.json"
        # What an unfinished approval is about to commit.
        self.pending_approval = private / "approval.json"
        # What a person answered about the rights of agents.
        self.agreements = private / "agreements.json"
        # The verdicts of the user's checks, by what they depend on, and what was flaky.
        self.checks = private / "checks"
        self.flaky = private / "flaky.json"
        # What checks said without some hunks of a change.
        self.proven = private / "proven.json"
        # Up to when a person answered what of other programs counts, by task.
        self.answered = private / "adoption.json"
        # What was imported into the plan, by source.
        self.imports = private / "imports.json"
        # What `graph --open` shows.
        self.picture = private / "plan.svg"
        # There once people were told which ignored files worktrees of tasks do not have.
        self.missing_named = private / "missing-named"
        # There once they were told that what is copied into those names the worktree it is copied from.
        self.bound_named = private / "bound-named"
        # Unfinished task forms, and texts for agents, one folder for each task.
        self.drafts = private / "drafts"
        self.text_drafts = self.drafts / "texts"

    # Each that is named after a task raises UnusableError for an unsafe id.

    def task_drafts(self, task_id: TaskId) -> Path:
        _check_name(task_id, "folder")
        return self.text_drafts / task_id

    def task_runs(self, task_id: TaskId) -> Path:
        _check_name(task_id, "folder")
        return self.runs / task_id

    def feedback_file(self, task_id: TaskId) -> Path:
        _check_name(task_id, "file")
        return self.feedback / f"{task_id}.json"

    def record(self, task_id: TaskId, run_id: RunId) -> Path:
        return self.task_runs(task_id) / f"{run_id}.json"

    def task_reviews(self, task_id: TaskId) -> Path:
        return self.task_runs(task_id) / "reviews"

    def review_record(self, task_id: TaskId, run_id: RunId) -> Path:
        """Return the record file of a spec or code review, in a place where Go does not take it for a run."""
        return self.task_reviews(task_id) / f"{run_id}.json"

    def copy_of(self, record: Path) -> Path:
        """Return the copy below ``.blackbird/`` of a file of records or feedback."""
        return self.state / record.relative_to(self.private)

    def record_of(self, copy: str) -> Path:
        """Return the original of a copy, which is named from the top of the worktree."""
        return self.private / PurePath(copy).relative_to(STATE_NAME)

    def task_copies(self, task_id: TaskId) -> Path:
        return self.copy_of(self.task_runs(task_id))

    def stream(self, task_id: TaskId, run_id: RunId, stream: str) -> Path:
        """Return where a run at work prints: ``stdout`` or ``stderr``."""
        _check_name(task_id, "file")
        return self.streams / f"{task_id}.{run_id}.{stream}"

    def log(self, task_id: TaskId, run_id: RunId, stream: str) -> Path:
        return self.task_copies(task_id) / "logs" / f"{run_id}.{stream}"

    def logs(self, task_id: TaskId, run_id: RunId, stream: str) -> tuple[Path, Path]:
        """Return where one stream of a run is: while it is at work, and once it has ended."""
        return self.stream(task_id, run_id, stream), self.log(task_id, run_id, stream)

    def check_log(self, task_id: TaskId, run_id: RunId, stream: str) -> Path:
        """Return the log of a run's check, or of the set-up for it."""
        _check_name(task_id, "file")
        return self.own_logs / f"{task_id}.{run_id}.{stream}"

    def setup_log(self, task_id: TaskId) -> Path:
        _check_name(task_id, "file")
        return self.own_logs / f"{task_id}.setup.log"

    def make_folder(self, folder: Path) -> None:
        """Create a folder at or below ``.blackbird/``, and its ``.gitignore`` with the first.

        The ``.gitignore`` keeps its content out of commits even if a cloned repository has rules against
        that. Raises UnusableError if a link is in the way: state is never written elsewhere.
        """
        top = f"{self.state_root}/"
        steps = f"{folder}".removeprefix(top).split("/")
        # Joined as texts: pathlib takes longer than the system.
        for end in range(len(steps)):
            make_own_folder(f"{top}{'/'.join(steps[: end + 1])}")
        if not os.path.lexists(f"{self.state}/{IGNORE_NAME}"):
            (self.state / IGNORE_NAME).write_text(_IGNORED, encoding="utf-8")
        for inner in steps[1:2]:
            _ignore_all(f"{self.state}/{inner}")

    def make_private(self, folder: Path, *, mode: int = 0o777) -> None:
        """Create a folder at or below ``private``. Raises as ``has_own_folder`` does."""
        make_own_folder(self.private)
        # Joined as texts: pathlib takes longer than the system.
        step = f"{self.private}"
        for name in f"{folder}"[len(step) + 1 :].split("/") if folder != self.private else ():
            step = f"{step}/{name}"
            make_own_folder(step, mode=mode)


def _check_name(task_id: TaskId, what: str) -> None:
    fault = owner_fault(task_id)
    if fault is not None:
        raise UnusableError(f"task id {task_id!a} cannot name a {what}: it {fault}")


def _ignore_all(folder: str) -> None:
    """Make git ignore the content of a folder: rules in the folder itself take precedence."""
    ignore = f"{folder}/{IGNORE_NAME}"
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        descriptor = os.open(ignore, os.O_RDONLY | flags)
        try:
            if os.read(descriptor, len(_EVERYTHING) + 1) == _EVERYTHING:
                return
        finally:
            os.close(descriptor)
    there = Path(ignore)
    if there.is_dir() and not there.is_symlink():
        there.rename(f"{ignore}.set-aside-{time.time_ns():x}")
    there.unlink(missing_ok=True)
    # Another process may do the same at this moment.
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(ignore, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o644)
        try:
            os.write(descriptor, _EVERYTHING)
        finally:
            os.close(descriptor)
