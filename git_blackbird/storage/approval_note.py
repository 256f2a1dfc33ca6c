"""What an approval is about to commit, kept so that one that was cut off can be finished."""

import json
from dataclasses import asdict, dataclass

from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.storage.atomic import copy_private
from git_blackbird.storage.layout import Layout


@dataclass(frozen=True)
class ApprovalNote:
    """The run that is approved, the commit that HEAD names before, None before the first, and its tree."""

    task_id: TaskId
    run_id: RunId
    parent: str | None
    base_tree: str


def save_note(layout: Layout, note: ApprovalNote) -> None:
    """Keep the note; there is one at a time.

    Raises SaveError.
    """
    copy_private(layout.approval_note, json.dumps(asdict(note)).encode())


def load_note(layout: Layout) -> ApprovalNote | None:
    """Give the note; None when nothing was cut off, or nobody can read what was."""
    try:
        fields = json.loads(layout.approval_note.read_bytes())
        return ApprovalNote(**fields)
    except (OSError, ValueError, TypeError):
        return None


def drop_note(layout: Layout) -> None:
    """Forget the note, and what saving one left behind that was killed; there may be none.

    Needs the right to approve.
    """
    note = layout.approval_note
    for path in (note, *note.parent.glob(f"{note.name}.*.tmp")):
        path.unlink(missing_ok=True)
