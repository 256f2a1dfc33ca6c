"""The copies of records and feedback below ``.blackbird/``: for people, scripts and the Go program.

They are output. What other programs and clones put there is read for ``adopt`` alone, and counts for nothing
until a person adopts it (SECURITY.md).
"""

import contextlib
import errno
import heapq
import os
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.change.stages import status_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import MOVED_AWAY, Adoptable, AdoptableKind, History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DECIDED, RunStatus, RunType
from git_blackbird.storage.feedback import MAX_FEEDBACK_BYTES, parse_feedback
from git_blackbird.storage.files import changed_at, load_in, opened_folder, remove_copy, write_copy
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import ENDING, is_misnamed, parse_record

MAX_FILES_READ = 100
MAX_BYTES_READ = 16 << 20
_WORK = frozenset({RunType.EXECUTE, RunType.MANUAL})


class _File(NamedTuple):
    """A file by its size, and by the time of its last change in nanoseconds since 1970."""

    size: int
    changed: int


class Copies:
    """The copies of one worktree; ``faults`` says which could not be written, and why."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self.faults: dict[Path, str] = {}
        self._read: dict[Path, tuple[_File, Run | None]] = {}

    def write(self, record: Path, data: bytes | None = None) -> None:
        """Write the copy of a record, whose content is ``data`` where it was just written.

        Remove it if there is no record. Requires the store lock.
        """
        copy = self._paths.copy_of(record)
        self.faults.pop(copy, None)
        try:
            try:
                changed = record.stat().st_mtime_ns
                content = record.read_bytes() if data is None else data
            except FileNotFoundError:
                remove_copy(self._paths, copy)
            else:
                write_copy(self._paths, copy, content, changed)
        except OSError as error:
            self.faults[copy] = error.strerror or str(error)
        except UnusableError as error:
            self.faults[copy] = error.message

    def missing(self) -> Iterator[Path]:
        """Yield the records and feedback without a copy."""
        runs = (Path(folder) for folder, _, _ in os.walk(self._paths.runs))
        for folder in (self._paths.feedback, *runs):
            copies = self._files(folder)
            yield from (
                folder / name
                for name in sorted(_files_in(folder))
                if name.endswith(ENDING) and name not in copies
            )

    def adoptable(
        self, state: PlanState, answered: Mapping[TaskId, int] | None = None, only: TaskId | None = None
    ) -> tuple[Adoptable, ...]:
        """Return what would count if it were adopted, for all tasks of the plan or for one.

        That is the newest run there if it began after ours, a decision on our run that is due, and open
        feedback. Tasks that are done by our records have at most feedback. Without ``answered`` it is all
        there is, else what a person has yet to answer: neither what was written up to when they answered
        about its task, nor the copy of an unreadable record that they moved away.
        """
        # A record of ours by its name, also where it is moved away.
        endings = ("",) if answered is None else ("", MOVED_AWAY)
        runs, feedback = self._names(self._paths.runs), self._files(self._paths.feedback)
        owed = {name.removesuffix(ENDING) for name in feedback}
        there = state.plan.tasks.keys() & (runs | owed if only is None else {only})
        if there:
            there -= state.histories.keys() - state.open_histories.keys() - owed
        found: list[Adoptable] = []
        for task_id in sorted(there):
            task, since = state.plan.tasks[task_id], (answered or {}).get(task_id, -1)
            history = state.history(task_id)
            if not history.faults:
                pending = history.latest if history.latest is not None and history.latest.is_pending else None
                known = {f"{run.id}{ENDING}" for run in history.recent if run is not pending}
                files = self._files(self._paths.task_runs(task_id), known)
                files = {name: file for name, file in files.items() if file.changed > since}
                if pending is not None:
                    found += self._decision(task, pending, files)
                found += self._newest(task, history, files, endings)
            file = feedback.get(f"{task_id}{ENDING}")
            if file is not None and file.changed > since:
                found += self._feedback(state, task, file, endings)
        return tuple(found)

    def _decision(self, task: Task, run: Run, files: Mapping[str, _File]) -> Iterator[Adoptable]:
        """Yield the decision on a run of ours that its copy has."""
        record = self._paths.record(task.id, run.id)
        file = files.get(record.name)
        if file is None or file.changed == changed_at(record):
            return
        copy = self._load(task.id, record.name, file)
        if copy is not None and _answers(copy, run):
            becomes = _other(task, run.decided(copy.decision_state, "", copy.decision_feedback))
            yield Adoptable(task.id, AdoptableKind.DECISION, copy, file.changed, becomes)

    def _newest(
        self, task: Task, history: History, files: Mapping[str, _File], endings: Sequence[str]
    ) -> Iterator[Adoptable]:
        """Yield the newest run of a leaf, or review of a parent, that began after ours."""
        ours = history.recent[-1].sort_key if history.recent else None
        records = self._paths.task_runs(task.id)
        # A record is written after its run has begun: an older file need not be read.
        unknown = {
            name: file
            for name, file in files.items()
            if name.endswith(ENDING)
            if (ours is None or file.changed > ours[0])
            if not any(os.path.lexists(records / f"{name}{ending}") for ending in endings)
        }
        read = heapq.nlargest(MAX_FILES_READ, sorted(unknown), key=lambda name: unknown[name].changed)
        runs = [run for name in read if (run := self._load(task.id, name, unknown[name])) is not None]
        wanted = _WORK if task.is_leaf else {RunType.REVIEW}
        newest = max(
            (run for run in runs if run.run_type in wanted and _may_count(run)),
            key=lambda run: run.sort_key,
            default=None,
        )
        if newest is not None and (ours is None or newest.sort_key > ours):
            written = unknown[f"{newest.id}{ENDING}"].changed
            kind = AdoptableKind.RUN if task.is_leaf else AdoptableKind.REVIEW
            yield Adoptable(task.id, kind, newest, written, _other(task, newest))

    def _feedback(
        self, state: PlanState, task: Task, file: _File, endings: Sequence[str]
    ) -> Iterator[Adoptable]:
        record = self._paths.feedback_file(task.id)
        is_ours = any(os.path.lexists(f"{record}{ending}") for ending in endings)
        if file.size > MAX_FEEDBACK_BYTES or is_ours:
            return
        try:
            with opened_folder(self._paths.copy_of(record.parent), self._paths.state_root) as folder:
                feedback = parse_feedback(load_in(folder, record.name))
        except (OSError, ValueError):
            return
        # That of a review of ours was sent, or is void.
        if state.history(feedback.parent_task_id).find(feedback.review_run_id) is None:
            yield Adoptable(task.id, AdoptableKind.FEEDBACK, feedback, file.changed)

    def _load(self, task_id: TaskId, name: str, file: _File) -> Run | None:
        """Read a run; None where it is none of this task, or too large."""
        copy = self._paths.task_copies(task_id) / name
        known = self._read.get(copy)
        if known is None or known[0] != file:
            run = None
            if file.size <= MAX_BYTES_READ:
                with (
                    contextlib.suppress(OSError, ValueError),
                    opened_folder(copy.parent, self._paths.state_root) as folder,
                ):
                    run = parse_record(name, task_id, load_in(folder, name))
            known = self._read[copy] = file, run
        return known[1]

    def _names(self, records: Path) -> set[str]:
        """Return the names in the copy of a folder."""
        try:
            with opened_folder(self._paths.copy_of(records), self._paths.state_root) as folder:
                return set(os.listdir(folder))
        except OSError:
            return set()

    def _files(self, records: Path, known: Container[str] = ()) -> dict[str, _File]:
        """Return the files in the copy of a folder, less those of ``known`` names."""
        try:
            with opened_folder(self._paths.copy_of(records), self._paths.state_root) as folder:
                return _files_in(folder, known)
        except OSError:
            return {}


def _may_count(run: Run) -> bool:
    """Return whether a run has ended, and its id does not claim another time of start."""
    return run.status is not RunStatus.RUNNING and not is_misnamed(run, time.time_ns())


def _answers(copy: Run, run: Run) -> bool:
    """Whether a copy has a decision on the current request, and not on an earlier one."""
    # Other programs write the same time in other digits.
    asked, ours = moment_of(copy.decision_requested_at), moment_of(run.decision_requested_at)
    is_same = (asked and asked.nanoseconds) == (ours and ours.nanoseconds)
    return is_same and copy.decision_state in DECIDED


def _other(task: Task, run: Run) -> Status | None:
    """Return the status that a leaf has by a run; None if it is the present one, and for a parent."""
    status = status_of(run)
    return None if status is task.status or not task.is_leaf else status


def _files_in(folder: Path | int, known: Container[str] = ()) -> dict[str, _File]:
    """Return the regular files of a folder, less those of ``known`` names."""
    files: dict[str, _File] = {}
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name not in known and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                files[entry.name] = _File(status.st_size, status.st_mtime_ns)
    return files


def move_log(paths: Paths, stream: Path, log: Path) -> None:
    """Move what a run printed out of the git directory, through no link; if that fails, it stays there."""
    if not stream.exists():
        return
    with contextlib.suppress(OSError, UnusableError):
        paths.make_folder(log.parent)
        with opened_folder(log.parent, paths.state_root) as folder:
            try:
                os.rename(stream, log.name, dst_dir_fd=folder)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(log.name, dir_fd=folder)
                import shutil  # only to another file system it is copied

                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                descriptor = os.open(log.name, flags, 0o600, dir_fd=folder)
                with stream.open("rb") as source, os.fdopen(descriptor, "wb") as target:
                    shutil.copyfileobj(source, target)
                stream.unlink()
