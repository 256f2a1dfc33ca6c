"""The copies of records and feedback below ``.blackbird/``: for people, scripts and the Go program.

Nothing in them is acted on (SECURITY.md): they are written, compared, and shown as history.
"""

import contextlib
import errno
import heapq
import os
import shutil
import stat
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.base.next_steps import ShellLine, task_command
from git_blackbird.model.base.record import Record
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.provenance import NOTHING_BESIDE, Beside, RecordError, StaleCopy
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DECIDED
from git_blackbird.storage.files import load_in, opened_below, remove_copy, write_copy
from git_blackbird.storage.json_codec import load_part
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.record_file import ENDING, parse_record, reason_of

MAX_FOREIGN_FILES = 100
MAX_FOREIGN_BYTES = 16 << 20
_CHANGED, _REMOVED = "changed", "removed"


class _File(NamedTuple):
    """A file by its size, and by the time of its last change in nanoseconds since 1970."""

    size: int
    changed: int


class Copies:
    """The copies of one worktree; ``faults`` says which could not be written, and why."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self.faults: dict[Path, str] = {}
        # What was read of files from elsewhere.
        self._read: dict[str, tuple[_File, Run | str]] = {}

    def tasks(self) -> set[TaskId]:
        """Return every task that has a folder of copies."""
        try:
            with opened_below(self._paths.state_root, self._paths.run_copies) as folder:
                return {TaskId(name) for name in os.listdir(folder) if task_id_fault(name) is None}
        except OSError:
            return set()

    def count_foreign(self, task_id: TaskId) -> int:
        """Count the files from elsewhere among the copies of a task's records."""
        records = self._paths.task_runs(task_id)
        return len(self._copies_in(records).keys() - _records_in(records).keys())

    def write(self, record: Path) -> None:
        """Write the copy of a record, or remove it if there is no record. Requires the store lock."""
        copy = self._paths.copy_of(record)
        self.faults.pop(copy, None)
        try:
            try:
                data, changed = record.read_bytes(), record.stat().st_mtime_ns
            except FileNotFoundError:
                remove_copy(self._paths, copy)
            else:
                write_copy(self._paths, copy, data, changed)
        except OSError as error:
            self.faults[copy] = error.strerror or str(error)
        except UnusableError as error:
            self.faults[copy] = error.message

    def restore(self, stale: StaleCopy) -> bool:
        """Write a copy again if its original is sound; return whether it is. Requires the store lock."""
        record = self._paths.record_of(stale.path)
        kind: type[Record] = Feedback if record.parent == self._paths.feedback else Run
        try:
            load_part(kind, record.read_bytes())
        except (OSError, ValueError):
            return False
        self.write(record)
        return self._paths.copy_of(record) not in self.faults

    def stale_feedback(self) -> tuple[StaleCopy, ...]:
        """Return the copies of feedback that differ from their originals."""
        return tuple(self._stale_in(self._paths.feedback))

    def foreign_feedback(self, task_id: TaskId) -> bytes | None:
        """Return the content of a file of feedback from elsewhere; None if there is none."""
        record = self._paths.feedback_file(task_id)
        copy = self._copies_in(record.parent).get(record.name)
        if record.exists() or copy is None or copy.size > MAX_FOREIGN_BYTES:
            return None
        try:
            with opened_below(self._paths.state_root, self._paths.copy_of(record.parent)) as folder:
                return load_in(folder, record.name)
        except OSError:
            return None

    def with_foreign(self, task_id: TaskId, history: History) -> History:
        """Return the history of a task with the foreign and stale copies of its records."""
        records = self._paths.task_runs(task_id)
        own, copies = _records_in(records), self._copies_in(records)
        unknown = copies.keys() - own.keys()
        read = heapq.nlargest(MAX_FOREIGN_FILES, sorted(unknown), key=lambda name: copies[name].changed)
        found = {name: self._load(task_id, name, copies[name]) for name in read}
        foreign = [one for one in found.values() if isinstance(one, Run)]
        unusable = {PurePath(fault.path).name for fault in history.faults}
        sound = {name: file for name, file in own.items() if name not in unusable}
        stale = [*self._stale(records, sound, copies), *self._stale_in(self._paths.task_reviews(task_id))]
        beside = Beside(
            tuple(sorted(foreign, key=lambda run: run.sort_key)),
            tuple(self._shown(records / name) for name, one in sorted(found.items()) if isinstance(one, str)),
            len(unknown) - len(read),
            tuple(stale),
            tuple(self._decided_copies(history, copies, {copy.path for copy in stale})),
        )
        if beside == NOTHING_BESIDE:
            return history
        faults = (*history.faults, *self._newer_faults(history, beside), *self._decision_faults(beside))
        return replace(history, beside=beside, faults=faults)

    def _load(self, task_id: TaskId, name: str, file: _File) -> Run | str:
        """Read a file from elsewhere; return what is wrong with it if it is no record."""
        copy = self._paths.task_copies(task_id) / name
        known = self._read.get(str(copy))
        if known is None or known[0] != file:
            known = self._read[str(copy)] = file, self._parse(task_id, copy, file)
        return known[1]

    def _parse(self, task_id: TaskId, copy: Path, file: _File) -> Run | str:
        if file.size > MAX_FOREIGN_BYTES:
            return "too large"
        try:
            with opened_below(self._paths.state_root, copy.parent) as folder:
                return parse_record(copy.name, task_id, load_in(folder, copy.name))
        except (OSError, ValueError) as error:
            return reason_of(error)

    def _newer_faults(self, history: History, beside: Beside) -> Iterator[RecordError]:
        """Report a run from elsewhere that is newer than our latest."""
        if not history.recent or not beside.foreign:
            return
        run = beside.foreign[-1]
        if run.sort_key > history.recent[-1].sort_key:
            path = self._copy_of(run)
            aside = shell_word(str(self._paths.state / f"{path.name}.set-aside"))
            ways_out = (
                task_command("runs", run.task_id, f" --accept {run.id}", remark="takes it over"),
                ShellLine(
                    f"mv -i {shell_word(str(path))} {aside}", "or keeps the file, but that run does not count"
                ),
            )
            what = f"run {run.id} is from elsewhere, and newer than the runs here"
            yield RecordError(str(path), what, ways_out)

    def _decision_faults(self, beside: Beside) -> Iterator[RecordError]:
        """Report decisions that are in copies alone."""
        for run in beside.decided:
            ways_out = (
                task_command("runs", run.task_id, f" --accept {run.id}", remark="takes that decision"),
                task_command("runs", run.task_id, f" --reject-copy {run.id}", remark="or drops it"),
            )
            what = f"the decision on run {run.id} is there alone: {run.decision_state}"
            yield RecordError(str(self._copy_of(run)), what, ways_out)

    def _decided_copies(
        self, history: History, copies: dict[str, _File], stale: Container[str]
    ) -> Iterator[Run]:
        """Yield the copies with a decision that our record still waits for."""
        for run in history.recent:
            record = self._paths.record(run.task_id, run.id)
            if run.is_pending and record.name in copies and self._shown(record) in stale:
                copy = self._load(run.task_id, record.name, copies[record.name])
                if isinstance(copy, Run) and _answers(copy, run):
                    yield copy

    def _copy_of(self, run: Run) -> Path:
        return self._paths.copy_of(self._paths.record(run.task_id, run.id))

    def _stale_in(self, records: Path) -> Iterator[StaleCopy]:
        own = _records_in(records)
        return self._stale(records, own, self._copies_in(records)) if own else iter(())

    def _stale(self, records: Path, own: dict[str, _File], copies: dict[str, _File]) -> Iterator[StaleCopy]:
        for name, file in sorted(own.items()):
            if name not in copies:
                yield StaleCopy(self._shown(records / name), _REMOVED)
            elif copies[name] != file and not (
                copies[name].size == file.size and self._has_same_content(records / name)
            ):
                yield StaleCopy(self._shown(records / name), _CHANGED)

    def _has_same_content(self, record: Path) -> bool:
        copy = self._paths.copy_of(record)
        try:
            with opened_below(self._paths.state_root, copy.parent) as folder:
                return load_in(folder, copy.name) == record.read_bytes()
        except OSError:
            return False

    def _copies_in(self, records: Path) -> dict[str, _File]:
        try:
            with opened_below(self._paths.state_root, self._paths.copy_of(records)) as folder:
                return _files_in(folder)
        except OSError:
            return {}

    def _shown(self, record: Path) -> str:
        return str(self._paths.copy_of(record).relative_to(self._paths.state_root))


def _answers(copy: Run, run: Run) -> bool:
    """Whether a copy has a decision on the current request, and not on an earlier one."""
    # Other programs write the same time in other digits.
    asked, ours = moment_of(copy.decision_requested_at), moment_of(run.decision_requested_at)
    is_same = (asked and asked.nanoseconds) == (ours and ours.nanoseconds)
    return is_same and copy.decision_state in DECIDED


def _records_in(folder: Path) -> dict[str, _File]:
    return {name: file for name, file in _files_in(folder).items() if name.endswith(ENDING)}


def _files_in(folder: Path | int) -> dict[str, _File]:
    """List the regular files of a folder."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
    except OSError:
        return {}
    return {
        name: _File(status.st_size, status.st_mtime_ns)
        for name, status in found
        if stat.S_ISREG(status.st_mode)
    }


def move_log(paths: Paths, stream: Path, log: Path) -> None:
    """Move what a run printed out of the git directory, through no link; if that fails, it stays there."""
    if not stream.exists():
        return
    with contextlib.suppress(OSError, UnusableError):
        paths.make_folder(log.parent)
        with opened_below(paths.state_root, log.parent) as folder:
            _move_into(folder, stream, log.name)


def _move_into(folder: int, stream: Path, name: str) -> None:
    try:
        os.rename(stream, name, dst_dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o600, dir_fd=folder)
        with stream.open("rb") as source, os.fdopen(descriptor, "wb") as target:
            shutil.copyfileobj(source, target)
        stream.unlink()
