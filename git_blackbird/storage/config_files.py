"""Read configuration files as values of a layer, and write single keys."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.system import is_exhausted
from git_blackbird.model.config.settings import ConfigProblem, Layer, RawSetting, flatten
from git_blackbird.storage.files import load_bytes, load_inside, replace_durably
from git_blackbird.storage.json_codec import JsonError, dump_json, load_bounded_json

GO_AGENTS = ("claude", "codex")
WHOLE_FILE = "the file"
"""Replaces the key in a problem with a whole file."""
_VERSION, _VERSION_HINT = "schemaVersion", "write 1 or leave it out"


def global_config_path(environ: Mapping[str, str]) -> Path | None:
    """Return ``~/.blackbird/config.json``; None without a HOME."""
    home = environ.get("HOME")
    return Path(home) / ".blackbird" / "config.json" if home else None


def load_layer(
    path: Path | None, layer: Layer, top: Path | None = None
) -> tuple[list[RawSetting], list[ConfigProblem]]:
    """Read one configuration file, of the worktree at ``top`` or the user's own; a missing one is empty.

    A file that cannot be read completely is a fatal problem: ignoring it could silently disable gates.
    """
    if path is None:
        return [], []
    try:
        document = _load_document(path, top)
    except (OSError, JsonError) as error:
        what = getattr(error, "strerror", None) or str(error)
        return [], [ConfigProblem(str(path), WHOLE_FILE, what, "fix or remove it")]
    if (wrong := _version_fault(document)) is not None:
        return [], [ConfigProblem(str(path), _VERSION, wrong, _VERSION_HINT)]
    return flatten(document, layer, str(path)), []


def _version_fault(document: Mapping[str, object]) -> str | None:
    version = document.get(_VERSION, 1)
    is_known = version == 1 and not isinstance(version, bool)
    return None if is_known else f"is {format_value(version)}, not 1"


def _load_data(path: Path, top: Path | None) -> bytes:
    """Read the file; only the user's own may be a link to anywhere."""
    return load_bytes(path) if top is None else load_inside(top, path)


def _load_document(path: Path, top: Path | None) -> dict[str, Any]:
    try:
        data = _load_data(path, top)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return _parse_document(data)


def _parse_document(data: bytes) -> dict[str, Any]:
    document = load_bounded_json(data)
    if not isinstance(document, dict):
        raise JsonError("is not an object")
    return document


def is_unreadable(problem: ConfigProblem) -> bool:
    """Whether the problem makes the whole file unusable."""
    return problem.key in {WHOLE_FILE, _VERSION}


def load_agent_choice(path: Path, top: Path) -> list[RawSetting]:
    """Read the Go program's ``agent.json``; an invalid file counts as no choice, as there.

    Its other agent, codex, is accepted: another agent must not silently take its place.
    """
    try:
        document = _load_document(path, top)
    except (OSError, JsonError) as error:
        if isinstance(error, OSError) and is_exhausted(error):
            raise
        return []
    name = document.get("selectedAgent")
    return [RawSetting("agent", name, Layer.AGENT_CHOICE, str(path))] if name in GO_AGENTS else []


def with_key(path: Path, dotted: str, value: object | None, top: Path | None = None) -> bytes:
    """Return the file's content with one key set, or removed if ``value`` is None.

    The file is one of the worktree at ``top``, or the user's own.

    Raises UnusableError if the file is no configuration.
    """
    try:
        document = _load_document(path, top)
    except (OSError, JsonError) as error:
        raise UnusableError(f"{path}: {error}", hint="fix or remove it") from error
    document.setdefault(_VERSION, 1)
    section, name = _place_of(document, dotted)
    place = document.setdefault(section, {}) if section else document
    if not isinstance(place, dict):
        raise UnusableError(f"{path}: {section} is not an object", hint="fix the file")
    if value is None:
        place.pop(name, None)
        if section and not place:
            del document[section]
    else:
        place[name] = value
    return dump_json(document)


def _place_of(document: Mapping[str, object], dotted: str) -> tuple[str, str]:
    """Return the object that holds a key or would, "" for the outermost, and the key's name in it."""
    if dotted in document:
        return "", dotted
    for section, inner in document.items():
        name = dotted.removeprefix(f"{section}.")
        if isinstance(inner, dict) and name != dotted and name in inner:
            return section, name
    section, _, name = dotted.rpartition(".")
    return section, name


def write_global_config(path: Path, data: bytes) -> None:
    """Save the global configuration file, which has no ``.blackbird/tmp`` of its own.

    Raises UnusableError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(path, data)
    except OSError as error:
        raise UnusableError(f"cannot save {path}: {error.strerror}", hint="make it writable") from error


def format_value(value: object) -> str:
    """Return a value as written in the configuration file."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
