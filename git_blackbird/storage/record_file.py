"""One record as a file: its name, its bytes, and what is read from it."""

import os
from pathlib import Path
from typing import Any

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.record import Record
from git_blackbird.model.entities.provenance import RecordError, UnconfirmedRecord
from git_blackbird.model.entities.run import Run
from git_blackbird.storage.files import load_entry, load_inside
from git_blackbird.storage.json_codec import dump_json, load_part
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.paths import Paths

_NOTHING: tuple[object, ...] = ((), [], "", {})
_ALWAYS = frozenset({"id", "provider", "startedAt", "context", "review_summary"})
ENDING = ".json"

Found = Run | RecordError | UnconfirmedRecord
"""The result of reading one record file."""


def load_record(ledger: Ledger, path: str, task_id: TaskId, folder: int | None = None) -> Found:
    """Read one file, possibly in an open folder, that must be a record of this task."""
    try:
        data = load_inside(ledger.top, Path(path)) if folder is None else load_entry(ledger.top, path, folder)
    except OSError as error:
        return ledger.judge(path, b"") or RecordError(path, reason_of(error))
    try:
        return ledger.judge(path, data) or _parse_record(path, task_id, data)
    except ValueError as error:
        return RecordError(path, reason_of(error))


def _parse_record(path: str, task_id: TaskId, data: bytes) -> Run:
    run = load_part(Run, data)
    if run.task_id != task_id:
        raise ValueError(f"it is of task {run.task_id!r}, but lies with {task_id!r}")
    if not path.endswith(f"/{run.id}{ENDING}"):
        raise ValueError(f"it is of run {run.id!r}, but has another name")
    return run


def reason_of(error: Exception) -> str:
    """Say why a record cannot be read."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


def record_path(paths: Paths, run: Run) -> Path:
    """Return the path of a run's record."""
    place = paths.review_record if run.is_of_change else paths.record
    return place(run.task_id, run.id)


def render_record(run: Run) -> bytes:
    """Serialize a record: the Go program's fields in its order, then ours, then unknown ones.

    A field of this program is left out if it is empty; an unknown one stays unchanged.
    """
    # By json, because pydantic writes names that are not UTF-8 differently than ``dump_json``.
    fields = run.model_dump()
    if run.review_summary is not None:
        fields["review_summary"] = _without_nothing(fields["review_summary"], run.review_summary)
    return dump_json(_without_nothing(fields, run))


def _without_nothing(fields: dict[str, Any], part: Record) -> dict[str, Any]:
    shown = _ALWAYS | (part.model_extra or {}).keys()
    return {name: value for name, value in fields.items() if value not in _NOTHING or name in shown}


def unknown_files(paths: Paths, task_id: TaskId) -> list[str]:
    """List the files in a task's folder whose names are not those of records."""
    folder = paths.task_runs(task_id)
    try:
        with os.scandir(folder) as entries:
            strays = [
                entry.path
                for entry in entries
                if not entry.name.endswith(".json") and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(strays)
