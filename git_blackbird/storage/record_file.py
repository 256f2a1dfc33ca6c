"""One record as a file: its name, its bytes, and how it is read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.record import Record, unmasked_names
from git_blackbird.model.run.contradictions import refuse_contradictions
from git_blackbird.model.run.history import RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.storage.files import load_in
from git_blackbird.storage.json_codec import dump_json, load_part
from git_blackbird.storage.paths import Paths

if TYPE_CHECKING:
    from git_blackbird.model.base.redaction import Redactor

_NOTHING: tuple[object, ...] = ((), [], "", {})
_ALWAYS = frozenset({"id", "provider", "startedAt", "context", "review_summary"})
ENDING = ".json"

RecordOrError = Run | RecordError
"""The result of reading one record file."""


KnownRecords = dict[str, tuple[bytes, Run]]
"""Records of one folder by their file names: the same bytes are the same record."""


def load_record(folder: int, path: str, task_id: TaskId, known: KnownRecords | None = None) -> RecordOrError:
    """Read a file in an open folder, whose name ends ``path``; it must be a record of this task."""
    name = path[path.rindex("/") + 1 :]
    try:
        return parse_record(name, task_id, load_in(folder, name), known)
    except (OSError, ValueError) as error:
        return RecordError(path, reason_of(error))


def parse_record(name: str, task_id: TaskId, data: bytes, known: KnownRecords | None = None) -> Run:
    """Read the content of a file of that name. Raises ValueError where it is no record of this task.

    One with the bytes of a ``known`` record is not parsed again; what is parsed is added to those.
    """
    before = None if known is None else known.get(name)
    if before is not None and before[0] == data:
        return before[1]
    run = load_part(Run, data)
    refuse_contradictions(run)
    if run.task_id != task_id:
        raise ValueError(f"it is a record of task {run.task_id!r} in the folder of {task_id!r}")
    if name != f"{run.id}{ENDING}":
        raise ValueError(f"it is the record of run {run.id!r} under another name")
    if known is not None:
        known[name] = data, run
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


def render_record(run: Run, redactor: "Redactor | None" = None) -> bytes:
    """Serialize a record: the Go program's fields in its order, then ours, then unknown ones.

    A field of this program is left out if it is empty; an unknown one stays unchanged. All texts are masked
    but those of ``Unmasked`` fields, and unknown ones.
    """
    # By json, because pydantic writes names that are not UTF-8 differently than ``dump_json``.
    fields = run.model_dump()
    if run.review_summary is not None:
        fields["review_summary"] = _without_nothing(fields["review_summary"], run.review_summary)
    if redactor is not None:
        unknown = (run.model_extra or {}).keys() | run.unknown.keys()
        fields = _masked(fields, redactor, unmasked_names(Run) | unknown)
    return dump_json(_without_nothing(fields, run))


def _masked(value: Any, redactor: "Redactor", plain: frozenset[str]) -> Any:
    if isinstance(value, str):
        return redactor.mask_text(value)
    if isinstance(value, dict):
        parts = value.items()
        return {name: part if name in plain else _masked(part, redactor, plain) for name, part in parts}
    if isinstance(value, list | tuple):
        return [_masked(part, redactor, plain) for part in value]
    return value


def _without_nothing(fields: dict[str, Any], part: Record) -> dict[str, Any]:
    shown = _ALWAYS | (part.model_extra or {}).keys()
    return {name: value for name, value in fields.items() if value not in _NOTHING or name in shown}
