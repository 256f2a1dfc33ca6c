"""The configuration as the settings screen shows it, and whether its files changed."""

import time
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.config.edit import LAYERS, LOCAL_PLACE, NOT_OF_A_CLONE, Scope, config_file
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.config import files_of_settings
from git_blackbird.model.config.keys import KEYS
from git_blackbird.model.config.layers import KeyLayers, layers_of, unknown_names
from git_blackbird.model.config.settings import ConfigProblem, LayerValue
from git_blackbird.storage.config_files import WHOLE_FILE, global_config_path, is_unreadable


class BrokenFile(NamedTuple):
    """A configuration file that is ignored as a whole, and why."""

    scope: Scope
    problem: ConfigProblem

    @property
    def why(self) -> str:
        """What is wrong with it."""
        what, key = self.problem.what, self.problem.key
        return what if key == WHOLE_FILE else f"{key} {what}"


class SettingsView(NamedTuple):
    """All keys, after unknown keys that are set and files that cannot be read."""

    broken: tuple[BrokenFile, ...]
    unknown: tuple[KeyLayers, ...]
    keys: tuple[KeyLayers, ...]


class ConfigTarget(NamedTuple):
    """A place for a key: its name, its present value, and why it cannot be written, if it cannot."""

    scope: Scope
    name: str
    told: LayerValue | None
    blocked_reason: str | None


def view_settings(workspace: Workspace) -> SettingsView:
    """Return the configuration that a workspace was opened with."""
    settings = workspace.settings
    unreadable = {problem.origin: problem for problem in workspace.problems if is_unreadable(problem)}
    names = {scope: _name(workspace, scope) for scope in (Scope.PROJECT, Scope.GLOBAL)}
    return SettingsView(
        tuple(BrokenFile(scope, unreadable[name]) for scope, name in names.items() if name in unreadable),
        tuple(layers_of(settings, name) for name in unknown_names(settings)),
        tuple(layers_of(settings, name) for name in KEYS),
    )


def places_of(workspace: Workspace, layers: KeyLayers) -> tuple[ConfigTarget, ...]:
    """Return the places where a key can be set, with the values there."""
    return tuple(_place(workspace, layers, scope) for scope in Scope)


def _place(workspace: Workspace, layers: KeyLayers, scope: Scope) -> ConfigTarget:
    told = next((value for value in layers.told if _is_from(value, scope)), None)
    try:
        name = LOCAL_PLACE if scope is Scope.LOCAL else str(config_file(workspace, scope))
    except UnusableError as error:
        return ConfigTarget(scope, scope.value, told, error.message)
    return ConfigTarget(scope, name, told, _obstacle(workspace, layers, scope, name))


def _is_from(told: LayerValue, scope: Scope) -> bool:
    is_own = scope is not Scope.LOCAL or told.given.origin == LOCAL_PLACE
    return told.given.layer is LAYERS[scope] and is_own


def _obstacle(workspace: Workspace, layers: KeyLayers, scope: Scope, name: str) -> str | None:
    if any(is_unreadable(problem) and problem.origin == name for problem in workspace.problems):
        return "cannot be read: fix it first"
    if scope is Scope.PROJECT and layers.key is not None and not layers.key.clone_safe:
        return NOT_OF_A_CLONE
    return None


def _name(workspace: Workspace, scope: Scope) -> str:
    try:
        return str(config_file(workspace, scope))
    except UnusableError:
        return ""


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
