"""How to undo rejected changes, kept in the git directory, outside of any clone."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from pydantic import ConfigDict, TypeAdapter, ValidationError

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.decision import Undo
from git_blackbird.model.entities.run import DecisionState, Run
from git_blackbird.storage.files import write_private
from git_blackbird.storage.json_codec import load_part, render_json
from git_blackbird.storage.paths import Paths


def save_undo(paths: Paths, run_id: RunId, undo: Undo, script: bytes | None) -> None:
    """Save how to undo the change of a run, with the script that its commands name.

    Raises SaveError.
    """
    if script is not None:
        write_private(paths.undo_script(run_id), script)
    write_private(paths.undo_note(run_id), render_json(undo.to_json()).encode())


def load_undo(paths: Paths, run: Run) -> Undo | None:
    """Return how to undo a rejected run; None if that is missing or cannot be read."""
    if run.decision_state is not DecisionState.REJECTED:
        return None
    try:
        return load_part(Undo, paths.undo_note(run.id).read_bytes())
    except (OSError, ValueError):
        return None


# The digests for each ``Answer``, by its value; a later version may have others.
_Agreements = dict[str, tuple[str, ...]]
_AGREEMENTS = TypeAdapter(_Agreements, config=ConfigDict(strict=True, defer_build=True))


class Answer(StrEnum):
    """Whether a person agreed, or was only informed because nobody could be asked."""

    AGREED = "agreed"
    TOLD = "told"


def load_agreements(paths: Paths, answer: Answer) -> frozenset[str]:
    """Return the digests with this answer; none if the file cannot be read."""
    return frozenset(_load(paths).get(answer, ()))


def save_agreement(paths: Paths, answer: Answer, digest: str) -> None:
    """Add one digest.

    Raises SaveError.
    """
    agreements = _load(paths)
    agreements[answer] = tuple(sorted({*agreements.get(answer, ()), digest}))
    write_private(paths.agreements, json.dumps(agreements).encode())


def _load(paths: Paths) -> _Agreements:
    try:
        return _AGREEMENTS.validate_json(paths.agreements.read_bytes())
    except (OSError, ValidationError):
        return {}


@dataclass(frozen=True)
class PendingApproval:
    """The approved run, the commit at HEAD before (None before the first), and the tree to commit."""

    task_id: TaskId
    run_id: RunId
    parent: str | None
    base_tree: str


def save_pending_approval(paths: Paths, note: PendingApproval) -> None:
    """Save the note, replacing any other.

    Raises SaveError.
    """
    write_private(paths.pending_approval, json.dumps(asdict(note)).encode())


def load_pending_approval(paths: Paths) -> PendingApproval | None:
    """Return the note; None if no approval was interrupted, or the note cannot be read."""
    try:
        fields = json.loads(paths.pending_approval.read_bytes())
        return PendingApproval(**fields)
    except (OSError, ValueError, TypeError):
        return None


def drop_pending_approval(paths: Paths) -> None:
    """Remove the note, if any, and leftovers of saving it.

    Requires the approval lock.
    """
    note = paths.pending_approval
    for path in (note, *note.parent.glob(f"{note.name}.*.tmp")):
        path.unlink(missing_ok=True)
