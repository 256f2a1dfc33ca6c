"""The post-commit hook of the repository around the working directory."""

import sys
from pathlib import Path

from git_blackbird.controller.core.environment import Environment
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import discover
from git_blackbird.git.hooks import install as hook_files
from git_blackbird.git.hooks.install import HookAction, HookResult, HookState, HookStatus
from git_blackbird.git.hooks.script import HookCommand

__all__ = [
    "HookAction",
    "HookResult",
    "HookState",
    "HookStatus",
    "install_hook",
    "uninstall_hook",
    "view_hook",
]

_ENTRY = Path(__file__).parents[2] / "hook.py"


def view_hook(environment: Environment) -> HookStatus:
    """Look at the hook that git would run here."""
    return hook_files.view_hook(discover(environment.cwd, environment.environ), _caller())


def install_hook(environment: Environment) -> HookResult:
    """Put the hook in its place; one that is there is kept and run first.

    Raises RequestError where something would be overwritten, UnusableError.
    """
    environment.forbid_agents("change the hooks")
    return hook_files.install_hook(discover(environment.cwd, environment.environ), _caller())


def uninstall_hook(environment: Environment) -> HookResult:
    """Take the hook away; the one from before is back as it was.

    Raises RequestError where the hook is no longer ours alone, UnusableError.
    """
    environment.forbid_agents("change the hooks")
    return hook_files.uninstall_hook(discover(environment.cwd, environment.environ), _caller())


def _caller() -> HookCommand:
    if not sys.executable:
        raise UnusableError("this Python does not know its own path, which the hook needs")
    return HookCommand(Path(sys.executable), _ENTRY)
