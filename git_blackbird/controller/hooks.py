"""The post-commit hook of the repository around the working directory."""

import sys
from pathlib import Path

from git_blackbird.controller.world import World
from git_blackbird.errors import UnusableError
from git_blackbird.git import hooks
from git_blackbird.git.hook_text import Caller
from git_blackbird.git.hooks import Done, HookState, HookView, Outcome
from git_blackbird.git.repository import discover

__all__ = ["Done", "HookState", "HookView", "Outcome", "install_hook", "uninstall_hook", "view_hook"]

_ENTRY = Path(__file__).parents[1] / "hook.py"


def view_hook(world: World) -> HookView:
    """Look at the hook that git would run here.

    Raises UnusableError.
    """
    return hooks.view_hook(discover(world.cwd, world.environ), _caller())


def install_hook(world: World) -> Done:
    """Put the hook in its place; one that is there is kept and run first.

    Raises RequestError where something would be overwritten, UnusableError.
    """
    world.require_person("change the hooks")
    return hooks.install_hook(discover(world.cwd, world.environ), _caller())


def uninstall_hook(world: World) -> Done:
    """Take the hook away; the one from before is back as it was.

    Raises RequestError where the hook is no longer ours alone, UnusableError.
    """
    world.require_person("change the hooks")
    return hooks.uninstall_hook(discover(world.cwd, world.environ), _caller())


def _caller() -> Caller:
    if not sys.executable:
        raise UnusableError("this Python does not know its own path, which the hook needs")
    return Caller(Path(sys.executable), _ENTRY)
