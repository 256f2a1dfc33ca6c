"""Which commits were made in a run: the hook notes them, and the record names them (DESIGN.md 10)."""

from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.hooks.attribution import list_commits, mark_active, unmark_active
from git_blackbird.model.entities.run import Run
from git_blackbird.model.views.events import Level, Notice


def start_tracking(workspace: Workspace, ui: UserInterface, run: Run) -> None:
    """Let the hook note who commits what from now on; a run does not fail for want of that."""
    try:
        mark_active(workspace.repo)
    except OSError as error:
        _warn(ui, run, f"commits of run {run.id} may be attributed to a person: {error.strerror}")


def list_tracked(workspace: Workspace, ui: UserInterface, run: Run) -> tuple[str, ...]:
    """Return the commits of a run, oldest first."""
    try:
        return list_commits(workspace.repo, run.id, run.head_commit)
    except (OSError, UnusableError) as error:
        why = error.strerror if isinstance(error, OSError) else error.message
        _warn(ui, run, f"the commits of run {run.id} are not known: {why}")
        return ()


def stop_tracking(workspace: Workspace) -> None:
    """End what ``start_tracking`` began, once the record is closed; there may be nothing to end."""
    try:
        unmark_active(workspace.repo)
    except OSError as error:
        message = f"cannot clean up {workspace.repo.private_dir}: {error.strerror}"
        raise UnusableError(message, hint="make it writable, then repeat the command") from error


def _warn(ui: UserInterface, run: Run, text: str) -> None:
    ui.notify(Notice(Level.WARNING, text, task_id=run.task_id))
