"""The configuration as the settings screen shows it, and whether its files changed."""

import time
from pathlib import Path

from git_blackbird.controller.config.edit import LOCAL_PLACE, Scope
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.config import files_of_settings
from git_blackbird.model.config.keys import find_key
from git_blackbird.model.config.layers import ConfigProblem
from git_blackbird.model.config.settings import KeyLayers
from git_blackbird.storage.config_files import global_config_path

Row = ConfigProblem | KeyLayers
"""A problem that is not one of a key's: a file that is ignored as a whole, an unknown name; or a key."""


def settings_rows(workspace: Workspace) -> tuple[Row, ...]:
    """Return all keys, after what is wrong besides."""
    settings = workspace.settings
    others = (problem for problem in settings.problems if find_key(problem.key) is None)
    return (*others, *map(settings.layers_of, settings.applied))


def scope_of(workspace: Workspace, origin: str) -> Scope | None:
    """Return the scope that writes to the place a value comes from, if one does."""
    if origin == LOCAL_PLACE:
        return Scope.LOCAL
    files = {
        workspace.paths.config: Scope.PROJECT,
        global_config_path(workspace.environment.environ): Scope.GLOBAL,
    }
    return files.get(Path(origin))


TICK_NANOSECONDS = 2_100_000_000
"""For how long a file that was just written may be written again without a later time: clocks have ticks."""


def changed_at(path: Path) -> int:
    """Return when a file was last written, in nanoseconds; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


class ConfigWatch:
    """Watches the modification times of all configuration files; for one thread at a time."""

    def __init__(self) -> None:
        self._files: tuple[Path, ...] = ()
        self._seen: tuple[int, ...] | None = None

    def may_differ(self) -> bool:
        """Whether a configuration file may have changed since the last read."""
        return self._seen is None or self._times() != self._seen

    def remember(self, workspace: Workspace) -> None:
        """Remember that a workspace has just been opened.

        What was written in these moments might be in it or not: until it is older, everything may differ.
        Raises UnusableError when a file of git's cannot be read.
        """
        paths = workspace.paths
        files = [*files_of_settings(workspace.repo), paths.config, paths.agent_choice]
        mine = global_config_path(workspace.environment.environ)
        self._files = tuple(files) if mine is None else (*files, mine)
        times, now = self._times(), time.time_ns()
        # A time that lies ahead is no reason to look for ever.
        self._seen = times if all(abs(now - changed) > TICK_NANOSECONDS for changed in times) else None

    def _times(self) -> tuple[int, ...]:
        return tuple(map(changed_at, self._files))
