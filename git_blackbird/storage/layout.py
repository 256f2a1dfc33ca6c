"""Where everything lies: the state under ``.blackbird/``, the plan, the private files in the git folder."""

import contextlib
import os
import stat
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.model.ids import RunId, TaskId, task_id_fault

PLAN_NAME = "blackbird.plan.json"
STATE_NAME = ".blackbird"
OVERVIEW_NAME = "snapshot.md"
HIDDEN = (STATE_NAME, PLAN_NAME)
IGNORE_NAME = ".gitignore"
_IGNORED = "runs/\nparent-review-feedback/\ntmp/\n"
_EVERYTHING = b"*\n"


@dataclass(frozen=True)
class Layout:
    """The places of one worktree.

    ``state_root`` holds ``.blackbird/`` and the plan; ``private`` lies in the git directory of the
    worktree and never travels.
    """

    state_root: Path
    private: Path

    @cached_property
    def plan(self) -> Path:
        """The plan file."""
        return self.state_root / PLAN_NAME

    @cached_property
    def state(self) -> Path:
        """The folder ``.blackbird``."""
        return self.state_root / STATE_NAME

    @cached_property
    def tmp(self) -> Path:
        """Temporary files of atomic writes."""
        return self.state / "tmp"

    @cached_property
    def runs(self) -> Path:
        """The folder of all run records."""
        return self.state / "runs"

    @cached_property
    def feedback(self) -> Path:
        """The folder of what parent reviews left owed to leaves."""
        return self.state / "parent-review-feedback"

    @cached_property
    def config(self) -> Path:
        """The project's configuration file."""
        return self.state / "config.json"

    @cached_property
    def agent_choice(self) -> Path:
        """The Go program's agent choice."""
        return self.state / "agent.json"

    @cached_property
    def known_plan(self) -> Path:
        """The plan as this program last knew it, while an agent works."""
        return self.private / "plan-known.json"

    @cached_property
    def known_place(self) -> Path:
        """Where the plan file really lay then, when it is a link; a text."""
        return self.private / "plan-known.place"

    @cached_property
    def known_config(self) -> Path:
        """What the configuration was before the agent that is at work."""
        return self.private / "config-known.json"

    @cached_property
    def approval_note(self) -> Path:
        """What an approval is about to commit, for as long as that is not finished."""
        return self.private / "approval.json"

    @property
    def agreements(self) -> Path:
        """What a person agreed to, or was told, of the rights of agents."""
        return self.private / "agreements.json"

    @property
    def known_records(self) -> Path:
        """The digests of all record files as they were when a run last began."""
        return self.private / "records-known.json"

    @property
    def written_records(self) -> Path:
        """What our commands wrote of record files while a run is at work; a line each."""
        return self.private / "records-written"

    @property
    def unconfirmed_records(self) -> Path:
        """The record files that count for nothing until a person says so."""
        return self.private / "records-unconfirmed.json"

    def undo_note(self, run_id: RunId) -> Path:
        """Give the file that says how the rejected change of a run is taken back."""
        return self.private / "undo" / f"{run_id}.json"

    def undo_script(self, run_id: RunId) -> Path:
        """Give the script that takes back what of it lies in the worktree."""
        return self.private / "undo" / f"{run_id}.sh"

    @property
    def drafts(self) -> Path:
        """What a person is writing, until it has become what it is for."""
        return self.private / "drafts"

    @property
    def text_drafts(self) -> Path:
        """Drafts of what agents are to be told, a folder for each task."""
        return self.drafts / "texts"

    def task_drafts(self, task_id: TaskId) -> Path:
        """Give the folder of what is being written for one task's agent.

        Raises UnusableError for an id that could leave the folder.
        """
        _check_name(task_id, "folder")
        return self.text_drafts / task_id

    def task_runs(self, task_id: TaskId) -> Path:
        """Give the folder of one task's records.

        Raises UnusableError for an id that could leave the folder.
        """
        _check_name(task_id, "folder")
        return self.runs / task_id

    def feedback_file(self, task_id: TaskId) -> Path:
        """Give the file of what parent reviews left owed to one leaf.

        Raises UnusableError for an id that could leave the folder.
        """
        _check_name(task_id, "file")
        return self.feedback / f"{task_id}.json"

    def record(self, task_id: TaskId, run_id: RunId) -> Path:
        """Give the record file of one run."""
        return self.task_runs(task_id) / f"{run_id}.json"

    def task_reviews(self, task_id: TaskId) -> Path:
        """Give the folder of the records of a task's spec and code reviews.

        Raises UnusableError for an id that could leave the folder.
        """
        return self.task_runs(task_id) / "reviews"

    def review_record(self, task_id: TaskId, run_id: RunId) -> Path:
        """Give the record file of a spec or code review: elsewhere Go would take it for a run."""
        return self.task_reviews(task_id) / f"{run_id}.json"

    def log(self, task_id: TaskId, run_id: RunId, stream: str) -> Path:
        """Give the log of one stream (``stdout`` or ``stderr``) of one run."""
        return self.task_runs(task_id) / "logs" / f"{run_id}.{stream}"

    def make_folder(self, folder: Path) -> None:
        """Make a folder at or below ``.blackbird/``, and its ``.gitignore`` with the first.

        What is kept below it stays out of commits whatever rules a cloned repository brings. Raises
        UnusableError when a link stands in the way: state is never written elsewhere, either.
        """
        steps = folder.relative_to(self.state_root).parts
        here = self.state_root
        for step in steps:
            here = here / step
            _make_one(here)
        ignore = self.state / IGNORE_NAME
        if not os.path.lexists(ignore):
            ignore.write_text(_IGNORED, encoding="utf-8")
        for inner in steps[1:2]:
            _ignore_all(self.state / inner)

    def clear_way(self, folder: Path, name: str) -> Path | None:
        """Rename what stands in the way of a folder at or below ``.blackbird/``; gives its new place.

        For what an agent put there during a run, which ``name`` tells. Raises OSError.
        """
        here = self.state_root
        for step in folder.relative_to(self.state_root).parts:
            here = here / step
            if os.path.lexists(here) and not stat.S_ISDIR(here.lstat().st_mode):
                return here.rename(here.with_name(f"{here.name}.set-aside-{name}"))
        return None


def _check_name(task_id: TaskId, what: str) -> None:
    fault = task_id_fault(task_id)
    if fault is not None:
        raise UnusableError(f"task id {task_id!a} cannot name a {what}: it {fault}")


def _ignore_all(folder: Path) -> None:
    """Let git ignore all that is in a folder of ours: rules in the folder itself are stronger than others."""
    ignore = folder / IGNORE_NAME
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with contextlib.suppress(OSError):
        descriptor = os.open(ignore, os.O_RDONLY | flags)
        try:
            if os.read(descriptor, len(_EVERYTHING) + 1) == _EVERYTHING:
                return
        finally:
            os.close(descriptor)
    if ignore.is_dir() and not ignore.is_symlink():
        ignore.rename(folder / f"{IGNORE_NAME}.set-aside-{time.time_ns():x}")
    ignore.unlink(missing_ok=True)
    # Another process may do the same at this moment.
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(ignore, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o644)
        try:
            os.write(descriptor, _EVERYTHING)
        finally:
            os.close(descriptor)


def _make_one(folder: Path) -> None:
    try:
        kind = folder.lstat().st_mode
    except FileNotFoundError:
        folder.mkdir(exist_ok=True)
        return
    if not stat.S_ISDIR(kind):
        found = "a symbolic link" if stat.S_ISLNK(kind) else "a file"
        raise UnusableError(f"{folder} is {found}, not a folder", hint="move it away; state is kept there")
