"""The configuration while an agent works: name what changes, and whether it protects less."""

import json
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace, read_layers, shorten_path
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.keys import KEYS
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.config.settings import merge_layers
from git_blackbird.storage.config_files import format_value, global_config_path
from git_blackbird.storage.files import write_private

MAX_CHANGES = 50
_LONGEST_VALUE = 60
# What is of one process only: another one may have to compare.
_OF_A_PROCESS = frozenset({Layer.FLAG, Layer.ENVIRONMENT})
_ABSENT, _FILE = "absent", "a file"


class _Observed(NamedTuple):
    """The configuration at one moment: all values, and what is at the paths of its files."""

    given: tuple[RawSetting, ...]
    files: Mapping[str, str]


class ConfigCheck(NamedTuple):
    """What became of the configuration in words, and whether what protects the user is looser than it was."""

    changes: tuple[str, ...] = ()
    is_loosened: bool = False


def remember_config(workspace: Workspace) -> None:
    """Keep what the configuration is before an agent works."""
    _save(workspace, _observe(workspace))


def check_config(workspace: Workspace) -> ConfigCheck:
    """Compare the configuration with what it was before the agent worked.

    Raises UnusableError when git's cannot be read.
    """
    before = _load(workspace)
    if before is None:
        return ConfigCheck()
    after = _observe(workspace)
    changes = [*_file_changes(workspace, before, after), *_value_changes(workspace, before, after)]
    if len(changes) > MAX_CHANGES:
        changes[MAX_CHANGES:] = [f"and {len(changes) - MAX_CHANGES} more"]
    return ConfigCheck(tuple(changes), _is_looser(before.given, after.given))


def forget_config(workspace: Workspace) -> None:
    """Remove the stored configuration, once its changes are recorded, or when no agent works."""
    workspace.paths.known_config.unlink(missing_ok=True)


def follow_own_change(workspace: Workspace, place: str, key: str) -> None:
    """Note that a person changed a key while an agent works, so that it does not count as the agent's."""
    before = _load(workspace)
    if before is None:
        return

    def is_changed(setting: RawSetting) -> bool:
        return setting.origin == place and setting.name.lower() == key

    now = _observe(workspace)
    given = [setting for setting in before.given if not is_changed(setting)] + [
        setting for setting in now.given if is_changed(setting)
    ]
    files = {**before.files, **{name: kind for name, kind in now.files.items() if name == place}}
    _save(workspace, _Observed(tuple(given), files))


def _observe(workspace: Workspace) -> _Observed:
    given, problems = read_layers(workspace.environment, workspace.repo, workspace.paths)
    own = global_config_path(workspace.environment.environ)
    places = (workspace.paths.config, workspace.paths.agent_choice, *([] if own is None else [own]))
    files = {str(path): _kind(path) for path in places}
    files |= {
        problem.origin: f"unusable ({problem.what})"
        for problem in problems
        if files.get(problem.origin) == _FILE
    }
    return _Observed(tuple(setting for setting in given if setting.layer not in _OF_A_PROCESS), files)


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"a link to {path.readlink()}"
    except OSError:
        return _ABSENT
    return _FILE if stat.S_ISREG(mode) else "a folder" if stat.S_ISDIR(mode) else "not a file"


def _file_changes(workspace: Workspace, before: _Observed, after: _Observed) -> Iterator[str]:
    for name, kind in after.files.items():
        old = before.files.get(name, _ABSENT)
        if kind != old and (old, kind) != (_ABSENT, _FILE):
            new = "deleted" if kind == _ABSENT else f"now {clean_line(kind)}"
            yield f"{_place(workspace, name)} was {clean_line(old)} and is {new}"


def _value_changes(workspace: Workspace, before: _Observed, after: _Observed) -> Iterator[str]:
    # Of one place and key the last one counts.
    old, new = (
        {(setting.origin, setting.name.lower()): setting for setting in at.given} for at in (before, after)
    )
    for place in dict.fromkeys((*old, *new)):
        old_setting, new_setting = old.get(place), new.get(place)
        named = new_setting or old_setting
        if named is None or (old_setting and new_setting and old_setting.raw == new_setting.raw):
            continue
        values = f"{_value(old_setting, '(unset)')} -> {_value(new_setting, 'removed')}"
        yield f"{clean_line(named.name)} {values} ({_place(workspace, place[0])})"


def _value(setting: RawSetting | None, absent: str) -> str:
    if setting is None:
        return absent
    raw = setting.raw
    return clean_line(raw if isinstance(raw, str) else format_value(raw), _LONGEST_VALUE)


def _place(workspace: Workspace, origin: str) -> str:
    return clean_line(shorten_path(workspace, origin))


def _is_looser(before: Iterable[RawSetting], after: Iterable[RawSetting]) -> bool:
    old, new = merge_layers(before).applied, merge_layers(after).applied
    return any(key.is_stricter(old[name].value, new[name].value) for name, key in KEYS.items())


def _save(workspace: Workspace, observed: _Observed) -> None:
    given = [[setting.name, setting.raw, int(setting.layer), setting.origin] for setting in observed.given]
    text = json.dumps({"given": given, "files": observed.files})
    write_private(workspace.paths.known_config, text.encode())


def _load(workspace: Workspace) -> _Observed | None:
    """Return what was saved; None if no agent works or this program did not write the file."""
    try:
        content = json.loads(workspace.paths.known_config.read_bytes())
        given = tuple(
            RawSetting(name, raw, Layer(layer), origin) for name, raw, layer, origin in content["given"]
        )
        return _Observed(given, dict(content["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
