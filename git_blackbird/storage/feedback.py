"""Pending feedback of failed parent reviews for leaves, one file each."""

import json
import os
from pathlib import Path

from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.run.history import MOVED_AWAY, NO_FEEDBACK, RecordError, SavedFeedback
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.storage.files import SaveError, load_bytes, write_atomic
from git_blackbird.storage.json_codec import dump_json, load_bounded_json, load_part
from git_blackbird.storage.paths import Paths

MAX_FEEDBACK_BYTES = 16 << 20
_ENDING = ".json"
_REQUIRED = ("parentTaskId", "reviewRunId", "feedback")


class FeedbackStore:
    """The feedback files of one worktree; saving and dropping require the store lock."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def load_all(self) -> SavedFeedback:
        folder = self._paths.feedback
        try:
            names = sorted(name for name in os.listdir(folder) if not name.endswith(MOVED_AWAY))
        except FileNotFoundError:
            return NO_FEEDBACK
        except OSError as error:
            return SavedFeedback({}, (RecordError(str(folder), error.strerror or str(error)),))
        loaded = {name: _load_named(folder / name) for name in names}
        return SavedFeedback(
            {
                TaskId(name.removesuffix(_ENDING)): entry
                for name, entry in loaded.items()
                if isinstance(entry, Feedback)
            },
            tuple(entry for entry in loaded.values() if isinstance(entry, RecordError)),
        )

    def save(self, task_id: TaskId, feedback: Feedback) -> None:
        """Save the feedback for a leaf, keeping the creation time and unknown fields of the old file.

        Raises UnusableError for an id that could leave the folder, SaveError.
        """
        path = self._paths.feedback_file(task_id)
        former = _load_named(path)
        fields = feedback.to_json()
        if isinstance(former, Feedback):
            fields |= {
                "createdAt": former.created_at,
                **(former.model_extra or {}),
                **(feedback.model_extra or {}),
            }
        write_atomic(self._paths, path, dump_json(fields), mode=0o600)

    def drop(self, task_id: TaskId) -> bool:
        """Remove the feedback for a leaf; return whether there was any. Raises UnusableError, SaveError."""
        path = self._paths.feedback_file(task_id)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise SaveError(path, error) from error
        return True


def _load_named(path: Path) -> Feedback | RecordError:
    task_id = path.name.removesuffix(_ENDING)
    if task_id == path.name or task_id_fault(task_id) is not None:
        return RecordError(str(path), f"not named as a task's feedback, TASK{_ENDING}")
    try:
        return parse_feedback(load_bytes(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        quoted = json.dumps(task_id, ensure_ascii=False)
        return RecordError(str(path), f"pending parent-review feedback for {quoted} is invalid: {reason}")


def parse_feedback(data: bytes) -> Feedback:
    """Read the content of a file of feedback. Raises ValueError."""
    if len(data) > MAX_FEEDBACK_BYTES:
        raise ValueError(f"larger than {MAX_FEEDBACK_BYTES} bytes")
    raw = load_bounded_json(data)
    if isinstance(raw, dict):
        for name in _REQUIRED:
            # As the Go program writes it.
            if raw.get(name) is None or not str(raw[name]).strip():
                raise ValueError(f"{name} required")
    return load_part(Feedback, data)
