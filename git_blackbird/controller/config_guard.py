"""The configuration while an agent works: what changes meanwhile is named, and whether it protects less."""

import json
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.workspace import Workspace, near, read_layers
from git_blackbird.model.settings import Given, Layer, merge_layers
from git_blackbird.model.text import clean_line
from git_blackbird.storage.atomic import copy_private
from git_blackbird.storage.config_files import global_config_path, shown_value

MAX_CHANGES = 50
_LONGEST_VALUE = 60
# What is of one process only: another one may have to compare.
_OF_A_PROCESS = frozenset({Layer.FLAG, Layer.ENVIRONMENT})
_ABSENT, _FILE = "absent", "a file"


class _Observed(NamedTuple):
    """The configuration at one moment: what all files and git say, and what stands in the files' places."""

    given: tuple[Given, ...]
    files: Mapping[str, str]


class ConfigCheck(NamedTuple):
    """What became of the configuration in words, and whether what protects the user is looser than it was."""

    changes: tuple[str, ...] = ()
    is_loosened: bool = False


def remember_config(workspace: Workspace) -> None:
    """Keep what the configuration is before an agent works.

    Raises SaveError, UnusableError.
    """
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
    """Remove what was kept, once it is recorded how it changed, or when no agent works."""
    workspace.layout.known_config.unlink(missing_ok=True)


def follow_own_change(workspace: Workspace, place: str, key: str | None = None) -> None:
    """Take note that a person changed a key, or a whole place, while an agent works: no change of its.

    Raises SaveError, UnusableError.
    """
    before = _load(workspace)
    if before is None:
        return

    def is_it(one: Given) -> bool:
        return one.origin == place and key in (None, one.key.lower())

    now = _observe(workspace)
    given = [one for one in before.given if not is_it(one)] + [one for one in now.given if is_it(one)]
    files = {**before.files, **{name: kind for name, kind in now.files.items() if name == place}}
    _save(workspace, _Observed(tuple(given), files))


def _observe(workspace: Workspace) -> _Observed:
    given, problems = read_layers(workspace.world, workspace.repo, workspace.layout)
    files = {str(path): _kind(path) for path in _files(workspace)}
    files |= {one.origin: f"unusable ({one.what})" for one in problems if files.get(one.origin) == _FILE}
    return _Observed(tuple(one for one in given if one.layer not in _OF_A_PROCESS), files)


def _files(workspace: Workspace) -> Iterator[Path]:
    yield workspace.layout.config
    yield workspace.layout.agent_choice
    own = global_config_path(workspace.world.environ)
    if own is not None:
        yield own


def _kind(path: Path) -> str:
    """Say what stands at a path."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"a link to {path.readlink()}"
    except OSError:
        return _ABSENT
    return _FILE if stat.S_ISREG(mode) else "a folder" if stat.S_ISDIR(mode) else "not a file"


def _file_changes(workspace: Workspace, before: _Observed, after: _Observed) -> Iterator[str]:
    for name, kind in after.files.items():
        was = before.files.get(name, _ABSENT)
        if kind != was and (was, kind) != (_ABSENT, _FILE):
            became = "deleted" if kind == _ABSENT else f"now {clean_line(kind)}"
            yield f"{_place(workspace, name)} was {clean_line(was)} and is {became}"


def _value_changes(workspace: Workspace, before: _Observed, after: _Observed) -> Iterator[str]:
    was, became = _by_place(before.given), _by_place(after.given)
    for place in dict.fromkeys((*was, *became)):
        one, other = was.get(place), became.get(place)
        if (one is None) != (other is None) or (one and other and one.value != other.value):
            named = other or one
            spelled = "" if named is None else clean_line(named.key)
            values = f"{_value(one, '(unset)')} -> {_value(other, 'removed')}"
            yield f"{spelled} {values} ({_place(workspace, place[0])})"


def _by_place(given: Iterable[Given]) -> dict[tuple[str, str], Given]:
    """Give what counts of each place for each key: there the last one does."""
    return {(one.origin, one.key.lower()): one for one in given}


def _value(one: Given | None, absent: str) -> str:
    if one is None:
        return absent
    raw = one.value
    return clean_line(raw if isinstance(raw, str) else shown_value(raw), _LONGEST_VALUE)


def _place(workspace: Workspace, origin: str) -> str:
    return clean_line(near(workspace, origin))


def _is_looser(before: Iterable[Given], after: Iterable[Given]) -> bool:
    was, became = merge_layers(before).values, merge_layers(after).values
    return any(
        one.value is not None
        and (other := became[name].value) is not None
        and one.key.is_stricter(one.value, other)
        for name, one in was.items()
    )


def _save(workspace: Workspace, observed: _Observed) -> None:
    given = [[one.key, one.value, int(one.layer), one.origin] for one in observed.given]
    kept = json.dumps({"given": given, "files": observed.files})
    copy_private(workspace.layout.known_config, kept.encode())


def _load(workspace: Workspace) -> _Observed | None:
    """Give what was kept; None when no agent works, or what is there was not written by this program."""
    try:
        kept = json.loads(workspace.layout.known_config.read_bytes())
        given = tuple(Given(key, value, Layer(layer), origin) for key, value, layer, origin in kept["given"])
        return _Observed(given, dict(kept["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
