"""Which commits were made in a run: the hook notes them, and the record names them (DESIGN.md 10)."""

from git_blackbird.controller.face import Face
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.claims import list_commits, mark_active, unmark_active
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.run import Run


def note_commits(workspace: Workspace, face: Face, run: Run) -> None:
    """Let the hook note who commits what from now on; a run does not fail for want of that."""
    try:
        mark_active(workspace.repo)
    except OSError as error:
        _warn(face, run, f"commits of run {run.id} may be attributed to a person: {error.strerror}")


def list_noted(workspace: Workspace, face: Face, run: Run) -> tuple[str, ...]:
    """Give the commits of a run, oldest first."""
    try:
        return list_commits(workspace.repo, run.id, run.head_commit)
    except (OSError, UnusableError) as error:
        why = error.strerror if isinstance(error, OSError) else error.message
        _warn(face, run, f"the commits of run {run.id} are not known: {why}")
        return ()


def forget_noted(workspace: Workspace) -> None:
    """End what ``note_commits`` began, once the record is closed; there may be nothing to end."""
    try:
        unmark_active(workspace.repo)
    except OSError as error:
        message = f"cannot clean up {workspace.repo.private_dir}: {error.strerror}"
        raise UnusableError(message, hint="make it writable, then repeat the command") from error


def _warn(face: Face, run: Run, text: str) -> None:
    face.notify(Notice(Weight.WARNING, text, task_id=run.task_id))
