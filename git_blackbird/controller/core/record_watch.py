"""What else than our commands wrote among the records while an agent worked, as a person is told."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.views.events import Level, Notice
from git_blackbird.storage.ledger import WatchEnd

NOT_WATCHED = (
    "what was written among the records during the run is not known: "
    "the notes on it were removed from the git directory"
)
_MAX_NAMED = 8


def found_notices(workspace: Workspace, found: WatchEnd | None, task_id: TaskId | None) -> list[Notice]:
    """Name each file that counts for nothing, that stops its task, or that is gone."""
    if found is None:
        return []
    new = [
        Notice(Level.WARNING, f"record ignored: {one.path}: {one.what}", one.command)
        for one in found.unconfirmed
    ]
    stopping = [
        Notice(Level.WARNING, f"record blocks its task: {one.path}: {one.what}", one.hint)
        for one in found.rewritten
    ]
    gone = [
        Notice(Level.WARNING, f"a record was removed while an agent worked: {path}") for path in found.removed
    ]
    return [one for kind in (new, stopping, gone) for one in _named(workspace, kind, task_id)]


def _named(workspace: Workspace, notices: Sequence[Notice], task_id: TaskId | None) -> Iterator[Notice]:
    top = f"{workspace.paths.state_root}{Path('/')}"
    for one in notices[:_MAX_NAMED]:
        yield Notice(one.weight, one.text.replace(top, ""), one.hint, task_id)
    if len(notices) > _MAX_NAMED:
        text = f"and {len(notices) - _MAX_NAMED} more among the records"
        yield Notice(Level.WARNING, text, "git blackbird status", task_id)


def settle_watch(workspace: Workspace, ui: UserInterface) -> None:
    """Stop noting what is written, now that no agent is at work, and name what was found.

    Raises SaveError.
    """
    if not workspace.store.ledger.is_watching():
        return
    with workspace.transaction() as transaction:
        found = transaction.end_watch()
    for notice in found_notices(workspace, found, None):
        ui.notify(notice)
