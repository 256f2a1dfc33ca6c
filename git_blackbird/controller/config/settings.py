"""Showing, changing and watching the configuration."""

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError, UnusableError, UsageError
from git_blackbird.git.core.config import read_config, unset_setting, write_setting
from git_blackbird.model.base.next_steps import Sentence, ShellLine
from git_blackbird.model.config.config import find_key, nearest_key
from git_blackbird.model.config.keys import Key, Value, hint_for_this_clone, read_value
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting
from git_blackbird.model.config.settings import KeyLayers, Setting, merge_layers
from git_blackbird.model.rules.shell_commands import can_only_succeed
from git_blackbird.storage.config_files import global_config_path, load_layer, with_key, write_global_config
from git_blackbird.storage.files import changed_at, write_atomic


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
    """A written value and its place; ``overruled_by`` is the setting that counts instead, if any."""

    key: str
    value: Value | None
    place: str
    overruled_by: Setting | None = None

    @property
    def remark(self) -> str | None:
        """What is to be said of the value, which is taken all the same."""
        is_check = self.key.startswith("check.") and self.key.endswith(".command")
        if not is_check or not can_only_succeed(str(self.value or "")):
            return None
        return f"{self.key}: this command can only succeed, so it says nothing of a change"


def require_key(name: str) -> Key:
    """Return the key of that name, in any letter case. Raises UsageError naming the nearest one."""
    key = find_key(name)
    if key is None:
        raise UsageError(f"unknown key {name}", hint=nearest_key(name))
    return key


def require_value(key: Key, text: str) -> Value:
    """Parse text as git would for a key of its type. Raises UsageError."""
    value, problem = read_value(key, RawSetting(key.name, text, Layer.FLAG, "command line"))
    if problem is not None or value is None:
        what = "no value" if problem is None else problem.what.partition(";")[0]
        raise UsageError(f"{key.name}: {what}", hint=None if problem is None else problem.hint)
    return value


def write_key(workspace: Workspace, name: str, text: str, scope: Scope) -> ConfigChange:
    """Write a value, parsed as git would parse it, once it has been validated.

    Raises UsageError for an unknown key or a wrong value, RequestError for a key that the project's file
    may not set, UnusableError when the place cannot be written.
    """
    workspace.environment.forbid_agents("change the configuration")
    key = require_key(name)
    value = require_value(key, text)
    if scope is Scope.PROJECT and not key.clone_safe:
        raise RequestError(f"{key.name} {NOT_OF_A_CLONE}", hint=hint_for_this_clone(key, value))
    as_json = list(value) if isinstance(value, tuple) else value
    if scope is Scope.LOCAL:
        place = LOCAL_PLACE
        write_setting(workspace.repo, key.name, text)
    else:
        place = str(config_file(workspace, scope))
        _write_file(workspace, scope, key.name, as_json)
    _follow(workspace, place, key.name)
    # Of one layer the last counts: a worktree's own configuration, or `git -c`, is stronger than the clone's.
    others = (
        RawSetting(setting.key.name, setting.raw, setting.layer, setting.origin)
        for setting in reversed(workspace.settings.values)
        if (setting.key.name, setting.origin) != (key.name, place)
    )
    written = RawSetting(key.name, as_json, LAYERS[scope], place)
    counts = merge_layers([written, *others]).applied[key.name]
    return ConfigChange(key.name, value, place, None if counts.origin == place else counts)


def unset_key(workspace: Workspace, name: str, scope: Scope | None) -> ConfigChange:
    """Remove a key from one place, even an unknown one: that is how a misspelt key is fixed.

    Without ``scope`` that is this clone, or, for an unknown key, the only place that has it.
    Raises UsageError for an unknown key that is not there, RequestError for a key that is not set there,
    UnusableError when the place cannot be written.
    """
    workspace.environment.forbid_agents("change the configuration")
    if scope is None:
        places = {scope_of(workspace, problem.origin) for problem in _unknown_in(workspace, name)}
        scope = (places.pop() if len(places) == 1 else None) or Scope.LOCAL
    if scope is Scope.LOCAL:
        place = LOCAL_PLACE
        removed = unset_setting(workspace.repo, name)
    else:
        place = str(config_file(workspace, scope))
        removed = _write_file(workspace, scope, name, None)
    if not removed:
        if elsewhere := _unknown_in(workspace, name):
            ways = tuple(Sentence(f"{problem.origin}: ", problem.hint) for problem in elsewhere)
            raise UsageError(f"unknown key {name} is not set in {place}", hint=ways)
        known = require_key(name)
        text, hint = f"{known.name} is not set in {place}", ShellLine(f"git blackbird config {known.name}")
        if any((value.key, value.origin) == (known, place) for value in workspace.settings.values):
            text = f"{text} itself, but in a file that it includes"
            hint = ShellLine(f"git config --show-origin --get-all blackbird.{known.name}")
        raise RequestError(text, hint=hint)
    _follow(workspace, place, name)
    key = find_key(name)
    return ConfigChange(name if key is None else key.name, None, place)


def _follow(workspace: Workspace, place: str, name: str) -> None:
    from git_blackbird.controller.change.work.watch import follow_own_change  # not for who only reads

    follow_own_change(workspace, place, name.lower())


def _unknown_in(workspace: Workspace, name: str) -> list[ConfigProblem]:
    is_known = find_key(name) is not None
    problems = () if is_known else workspace.settings.problems
    return [problem for problem in problems if problem.key.lower() == name.lower()]


def _write_file(workspace: Workspace, scope: Scope, name: str, value: object | None) -> bool:
    """Set a key in a file, as the file spells it, or remove it; return whether it was there."""
    path = config_file(workspace, scope)
    top = workspace.paths.state_root if scope is Scope.PROJECT else None
    with workspace.store.transaction():
        settings, _ = load_layer(path, LAYERS[scope], top)
        spelled = next((setting.name for setting in settings if setting.name.lower() == name.lower()), None)
        if spelled is None and value is None:
            return False
        data = with_key(path, spelled or name, value, top)
        if scope is Scope.GLOBAL:
            write_global_config(path, data)
        else:
            write_atomic(workspace.paths, path, data)
    return spelled is not None


def config_file(workspace: Workspace, scope: Scope) -> Path:
    """Return the file of the project or of the user. Raises UnusableError without a HOME."""
    if scope is Scope.PROJECT:
        return workspace.paths.config
    path = global_config_path(workspace.environment.environ)
    if path is None:
        raise UnusableError("there is no HOME, so no ~/.blackbird/config.json")
    return path


Row = ConfigProblem | KeyLayers
"""A problem that is not one of a key's: a file that is ignored as a whole, an unknown name; or a key."""


def settings_rows(workspace: Workspace) -> tuple[Row, ...]:
    """Return the problems that concern no known key, then all keys."""
    settings = workspace.settings
    others = (problem for problem in settings.problems if find_key(problem.key) is None)
    return (*others, *(settings.layers_of(setting.key) for setting in settings.applied.values()))


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

        A file written at about that time may or may not be in it: until it is older, everything may differ.
        Raises UnusableError when a file of git's cannot be read.
        """
        paths = workspace.paths
        files = [*read_config(workspace.repo).signatures, paths.config, paths.agent_choice]
        mine = global_config_path(workspace.environment.environ)
        self._files = tuple(files) if mine is None else (*files, mine)
        times, now = self._times(), time.time_ns()
        # A time in the future does not make the file differ for good.
        self._seen = times if all(abs(now - changed) > TICK_NANOSECONDS for changed in times) else None

    def _times(self) -> tuple[int, ...]:
        return tuple(map(changed_at, self._files))
