"""The locks for running agents in a worktree and for continuing a session."""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager

from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.model.entities.run import Run
from git_blackbird.storage.config_files import global_config_path
from git_blackbird.storage.locks import controller_holder, controller_lock, session_lock


def hold_controller(workspace: Workspace, command: str) -> AbstractContextManager[None]:
    """Hold the controller lock for a command. Raises LockedError, saying who holds it since when."""
    return controller_lock(workspace.paths, command, workspace.environment.timestamp())


def running_command(workspace: Workspace) -> str | None:
    """Return which command holds the controller lock, and since when; None if none does."""
    return controller_holder(workspace.paths)


@contextlib.contextmanager
def hold_session(workspace: Workspace, ui: UserInterface, run: Run) -> Iterator[None]:
    """Hold the session of a run that is about to begin, against copies of this worktree.

    Where the user has no place for the lock, that is said and the run goes on. Raises LockedError.
    """
    with contextlib.ExitStack() as stack:
        config = global_config_path(workspace.environment.environ)
        if run.provider_session_ref is not None and config is not None:
            holder = f"run {run.id} of {run.task_id} in {workspace.repo.top}"
            lock = session_lock(config.with_name("sessions"), run.provider, run.provider_session_ref, holder)
            try:
                stack.enter_context(lock)
            except UnusableError as error:
                text = f"{error.message}; the session is not locked against copies of this worktree"
                warn(ui, text, run.task_id, error.hint)
        yield
