"""Pending feedback of failed parent reviews for leaves, one file each (spec 1)."""

import json
import os
import stat
from pathlib import Path

from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.entities.history import NO_FEEDBACK, SavedFeedback
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.provenance import RecordError, UnconfirmedRecord
from git_blackbird.storage.files import SaveError, load_inside, require_inside, write_atomic
from git_blackbird.storage.json_codec import dump_json, load_bounded_json, load_part
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.paths import IGNORE_NAME, Paths

MAX_FEEDBACK_BYTES = 16 << 20
_ENDING = ".json"
_REQUIRED = ("parentTaskId", "reviewRunId", "feedback")


class FeedbackStore:
    """The feedback files of one worktree; saving and dropping require the store lock."""

    def __init__(self, paths: Paths, ledger: Ledger | None = None) -> None:
        self._paths = paths
        self._ledger = ledger or Ledger(paths)

    def load_all(self) -> SavedFeedback:
        """Return the feedback for each leaf, and list invalid files."""
        folder = self._paths.feedback
        if folder.is_symlink():
            return SavedFeedback({}, (RecordError(str(folder), "a symbolic link, not a folder"),))
        try:
            require_inside(self._paths.state_root, folder)
            names = sorted(name for name in os.listdir(folder) if name != IGNORE_NAME)
        except FileNotFoundError:
            return NO_FEEDBACK
        except OSError as error:
            return SavedFeedback({}, (RecordError(str(folder), error.strerror or str(error)),))
        self._ledger.refresh()
        loaded = {name: _load_named(self._ledger, folder / name) for name in names}
        entries = loaded.values()
        return SavedFeedback(
            {
                TaskId(name.removesuffix(_ENDING)): entry
                for name, entry in loaded.items()
                if isinstance(entry, Feedback)
            },
            tuple(entry for entry in entries if isinstance(entry, RecordError)),
            tuple(entry for entry in entries if isinstance(entry, UnconfirmedRecord)),
        )

    def save(self, task_id: TaskId, feedback: Feedback) -> None:
        """Save the feedback for a leaf, keeping the creation time and unknown fields of the old file.

        Raises UnusableError for an id that could leave the folder, SaveError.
        """
        path = self._paths.feedback_file(task_id)
        former = _load_named(self._ledger, path)
        fields = feedback.to_json()
        if isinstance(former, Feedback):
            fields |= {
                "createdAt": former.created_at,
                **(former.model_extra or {}),
                **(feedback.model_extra or {}),
            }
        data = dump_json(fields)
        self._ledger.note(path, data)
        write_atomic(self._paths, path, data, mode=0o600)

    def drop(self, task_id: TaskId) -> None:
        """Remove the feedback for a leaf, if any. Raises UnusableError, SaveError."""
        path = self._paths.feedback_file(task_id)
        if not os.path.lexists(path):
            return
        self._paths.make_folder(path.parent)
        self._ledger.note(path, None)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SaveError(path, error) from error


def _load_named(ledger: Ledger, path: Path) -> Feedback | RecordError | UnconfirmedRecord:
    task_id = path.name.removesuffix(_ENDING)
    if task_id == path.name or task_id_fault(task_id) is not None:
        return RecordError(str(path), f"not named as a task's feedback, TASK{_ENDING}")
    try:
        data = _load(ledger.top, path)
        return ledger.judge(path, data) or _parse(data)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        quoted = json.dumps(task_id, ensure_ascii=False)
        return RecordError(str(path), f"pending parent-review feedback for {quoted} is invalid: {reason}")


def _load(top: Path, path: Path) -> bytes:
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("not a regular file")
    if status.st_size > MAX_FEEDBACK_BYTES:
        raise ValueError(f"larger than {MAX_FEEDBACK_BYTES} bytes")
    return load_inside(top, path)


def _parse(data: bytes) -> Feedback:
    raw = load_bounded_json(data)
    if isinstance(raw, dict):
        for name in _REQUIRED:
            # As the Go program writes it.
            if raw.get(name) is None or not str(raw[name]).strip():
                raise ValueError(f"{name} required")
    return load_part(Feedback, data)
