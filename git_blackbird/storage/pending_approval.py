"""What an approval is about to commit, saved so that an interrupted one can be finished."""

import json
from dataclasses import asdict, dataclass

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.storage.atomic import write_private
from git_blackbird.storage.paths import Paths


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
