"""What failing parent reviews left owed to leaves, a file each (spec 1, pending parent feedback store)."""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from git_blackbird.model.history import RecordFault
from git_blackbird.model.ids import TaskId, task_id_fault
from git_blackbird.model.provenance import UnconfirmedRecord
from git_blackbird.model.recorded import parse_part, plain
from git_blackbird.model.review import Feedback
from git_blackbird.storage.atomic import SaveError, write_atomic
from git_blackbird.storage.json_text import dump_json, load_bounded_json
from git_blackbird.storage.layout import IGNORE_NAME, Layout
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.reading import load_inside, require_inside

MAX_FEEDBACK_BYTES = 16 << 20
_ENDING = ".json"
_REQUIRED = ("parentTaskId", "reviewRunId", "feedback")
_IDS = ("parentTaskId", "reviewRunId")
_TIMES = ("createdAt", "updatedAt")
# What the Go program writes for a time that was never set.
_NO_TIME = "0001-01-01T00:00:00Z"


class SavedFeedback(NamedTuple):
    """What the files say is owed to each leaf, and those that are not used."""

    owed: Mapping[TaskId, Feedback] = MappingProxyType({})
    faults: tuple[RecordFault, ...] = ()
    unconfirmed: tuple[UnconfirmedRecord, ...] = ()


class FeedbackFiles:
    """The feedback files of one worktree; saving and dropping need the store lock."""

    def __init__(self, layout: Layout, ledger: Ledger | None = None) -> None:
        self._layout = layout
        self._ledger = ledger or Ledger(layout)

    def load_all(self) -> SavedFeedback:
        """Give what is owed to each leaf. What is no feedback is named, and the others are read."""
        folder = self._layout.feedback
        if folder.is_symlink():
            return SavedFeedback({}, (RecordFault(str(folder), "a symbolic link, not a folder"),))
        try:
            require_inside(self._layout.state_root, folder)
            names = sorted(name for name in os.listdir(folder) if name != IGNORE_NAME)
        except FileNotFoundError:
            return SavedFeedback()
        except OSError as error:
            return SavedFeedback({}, (RecordFault(str(folder), error.strerror or str(error)),))
        self._ledger.refresh()
        found: dict[TaskId, Feedback] = {}
        faults: list[RecordFault] = []
        unconfirmed: list[UnconfirmedRecord] = []
        for name in names:
            one = _load_named(self._ledger, folder / name)
            if isinstance(one, Feedback):
                found[TaskId(name.removesuffix(_ENDING))] = one
            elif isinstance(one, RecordFault):
                faults.append(one)
            else:
                unconfirmed.append(one)
        return SavedFeedback(found, tuple(faults), tuple(unconfirmed))

    def save(self, task_id: TaskId, feedback: Feedback) -> None:
        """Save what is owed to a leaf, in place of what was; that one's creation and unknown fields stay.

        Raises UnusableError for an id that could leave the folder, SaveError.
        """
        path = self._layout.feedback_file(task_id)
        former = _load_named(self._ledger, path)
        if isinstance(former, Feedback):
            unknown = {**former.unknown, **feedback.unknown}
            feedback = replace(feedback, created_at=former.created_at, unknown=unknown)
        data = dump_json(plain(feedback))
        self._ledger.note(path, data)
        write_atomic(self._layout, path, data, mode=0o600)

    def drop(self, task_id: TaskId) -> None:
        """Remove what was owed to a leaf; there may be nothing.

        Raises UnusableError for an id that could leave the folder or a link in its place, SaveError.
        """
        path = self._layout.feedback_file(task_id)
        if not os.path.lexists(path):
            return
        self._layout.make_folder(path.parent)
        self._ledger.note(path, None)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SaveError(path, error) from error


def _load_named(ledger: Ledger, path: Path) -> Feedback | RecordFault | UnconfirmedRecord:
    task_id = path.name.removesuffix(_ENDING)
    if task_id == path.name or task_id_fault(task_id) is not None:
        return RecordFault(str(path), f"not named as a task's feedback, TASK{_ENDING}")
    try:
        data = _load(ledger.top, path)
        return ledger.judge(path, data) or _parse(data)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        quoted = json.dumps(task_id, ensure_ascii=False)
        return RecordFault(str(path), f"pending parent-review feedback for {quoted} is invalid: {reason}")


def _load(top: Path, path: Path) -> bytes:
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("not a regular file")
    if found.st_size > MAX_FEEDBACK_BYTES:
        raise ValueError(f"larger than {MAX_FEEDBACK_BYTES} bytes")
    return load_inside(top, path)


def _parse(data: bytes) -> Feedback:
    raw = load_bounded_json(data)
    if isinstance(raw, dict):
        raw = dict.fromkeys(_TIMES, _NO_TIME) | raw
        _check_required(raw)
    return parse_part(Feedback, raw)


def _check_required(raw: dict[str, Any]) -> None:
    """Refuse what the Go program refuses, and ids that could lead a path elsewhere."""
    for name in _REQUIRED:
        if raw.get(name) is None or not str(raw[name]).strip():
            raise ValueError(f"{name} required")
    for name in _IDS:
        fault = task_id_fault(str(raw[name]))
        if fault is not None:
            raise ValueError(f"{name} {fault}")
