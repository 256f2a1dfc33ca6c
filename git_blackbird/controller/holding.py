"""Holding the right to run agents in a worktree."""

from contextlib import AbstractContextManager

from git_blackbird.controller.workspace import Workspace
from git_blackbird.storage.locks import controller_lock


def hold_controller(workspace: Workspace, command: str) -> AbstractContextManager[None]:
    """Hold the controller lock for a command.

    Raises LockedError, saying who holds it since when.
    """
    return controller_lock(workspace.layout, command, workspace.world.timestamp())
