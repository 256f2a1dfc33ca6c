"""Reading and writing one configuration key (DESIGN.md 11)."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.config_guard import follow_own_change
from git_blackbird.errors import RequestError, UnusableError, UsageError
from git_blackbird.git.core.config import unset_setting, write_setting
from git_blackbird.model.config.keys import ConfigKey, Value
from git_blackbird.model.config.settings import (
    Layer,
    RawSetting,
    Setting,
    find_key,
    merge_layers,
    nearest_key,
    quoted_for_git,
    read_value,
)
from git_blackbird.storage.config_files import (
    global_config_path,
    load_layer,
    with_key,
    write_global_config,
)
from git_blackbird.storage.files import write_atomic


class Scope(StrEnum):
    """Where a key is written: this clone's git configuration, the project's file, the user's file."""

    LOCAL = "local"
    PROJECT = "project"
    GLOBAL = "global"


LOCAL_PLACE = "git config (local)"
NOT_OF_A_CLONE = "cannot be set in a repository's own file"
LAYERS = {Scope.LOCAL: Layer.GIT_LOCAL, Scope.PROJECT: Layer.PROJECT, Scope.GLOBAL: Layer.GLOBAL}


@dataclass(frozen=True)
class ConfigChange:
    """What was written and where; ``overruled_by`` is the setting that counts instead, if one does."""

    key: str
    value: Value | None
    place: str
    overruled_by: Setting | None = None


def require_key(name: str) -> ConfigKey:
    """Return the key of that name, in any letter case. Raises UsageError naming the nearest one."""
    key = find_key(name)
    if key is None:
        raise UsageError(f"unknown key {name}", hint=nearest_key(name))
    return key


def write_key(workspace: Workspace, name: str, text: str, scope: Scope) -> ConfigChange:
    """Write a value, parsed as git would parse it, once it has been validated.

    Raises UsageError for an unknown key or a wrong value, RequestError for a key that the project's file
    may not set, UnusableError when the place cannot be written.
    """
    workspace.environment.forbid_agents("change the configuration")
    key = require_key(name)
    value, problem = read_value(key, RawSetting(key.name, text, Layer.FLAG, "command line"))
    if problem is not None or value is None:
        what = "no value" if problem is None else problem.what.partition(";")[0]
        raise UsageError(f"{key.name}: {what}", hint=None if problem is None else problem.hint)
    if scope is Scope.PROJECT and not key.clone_safe:
        raise RequestError(
            f"{key.name} {NOT_OF_A_CLONE}",
            hint=f"to use it in this clone: git config blackbird.{key.name} {quoted_for_git(value)}",
        )
    place = _save(workspace, key, value, text, scope)
    follow_own_change(workspace, place, key.name.lower())
    return ConfigChange(key.name, value, place, _stronger(workspace, key, value, scope, place))


def unset_key(workspace: Workspace, name: str, scope: Scope) -> ConfigChange:
    """Remove a key from one place, even an unknown one: that is how a misspelt key is fixed.

    Raises UsageError for an unknown key that is not there, RequestError for a key that is not set there,
    UnusableError when the place cannot be written.
    """
    workspace.environment.forbid_agents("change the configuration")
    if scope is Scope.LOCAL:
        place = LOCAL_PLACE
        removed = unset_setting(workspace.repo, name, "local")
    else:
        path = config_file(workspace, scope)
        place = str(path)
        removed = _remove(workspace, path, name, scope)
    if not removed:
        known = require_key(name)
        raise RequestError(f"{known.name} is not set in {place}", hint=f"git blackbird config {known.name}")
    follow_own_change(workspace, place, name.lower())
    key = find_key(name)
    return ConfigChange(name if key is None else key.name, None, place)


def _save(workspace: Workspace, key: ConfigKey, value: Value, text: str, scope: Scope) -> str:
    if scope is Scope.LOCAL:
        write_setting(workspace.repo, key.name, text, "local")
        return LOCAL_PLACE
    path = config_file(workspace, scope)
    with workspace.store.transaction():
        spelled = next(_spellings(workspace, path, key.name, scope), key.name)
        as_json = list(value) if isinstance(value, tuple) else value
        _write(workspace, path, with_key(path, spelled, as_json, _top(workspace, scope)), scope)
    return str(path)


def _remove(workspace: Workspace, path: Path, name: str, scope: Scope) -> bool:
    with workspace.store.transaction():
        spelled = next(_spellings(workspace, path, name, scope), None)
        if spelled is not None:
            _write(workspace, path, with_key(path, spelled, None, _top(workspace, scope)), scope)
    return spelled is not None


def _spellings(workspace: Workspace, path: Path, name: str, scope: Scope) -> Iterator[str]:
    """Return the key as the file spells it; letter case does not count."""
    given, _ = load_layer(path, LAYERS[scope], _top(workspace, scope))
    return (setting.key for setting in given if setting.key.lower() == name.lower())


def _write(workspace: Workspace, path: Path, data: bytes, scope: Scope) -> None:
    if scope is Scope.GLOBAL:
        write_global_config(path, data)
    else:
        write_atomic(workspace.paths, path, data)


def _top(workspace: Workspace, scope: Scope) -> Path | None:
    """Return the folder that a file of this scope must be in; None for the user's own."""
    return workspace.paths.state_root if scope is Scope.PROJECT else None


def config_file(workspace: Workspace, scope: Scope) -> Path:
    """Name the file of the project or of the user. Raises UnusableError where there is no place for it."""
    if scope is Scope.PROJECT:
        return workspace.paths.config
    path = global_config_path(workspace.environment.environ)
    if path is None:
        raise UnusableError("there is no HOME, so no ~/.blackbird/config.json")
    return path


def _stronger(workspace: Workspace, key: ConfigKey, value: Value, scope: Scope, place: str) -> Setting | None:
    """Return the setting that overrides one just written to this place."""
    raw = list(value) if isinstance(value, tuple) else value
    written = RawSetting(key.name, raw, LAYERS[scope], place)
    given = (value.given for value in workspace.settings.told)
    others = [
        setting for setting in given if (setting.key.lower(), setting.origin) != (key.name.lower(), place)
    ]
    # Of one layer the last counts: a worktree's own configuration, or `git -c`, is stronger than the clone's.
    setting = merge_layers([written, *others]).values[key.name]
    return None if setting.origin == place else setting
