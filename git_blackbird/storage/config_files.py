"""Configuration files: read as values of a layer, and one key written at a time."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from git_blackbird.errors import UnusableError
from git_blackbird.model.settings import Given, Layer, Problem, flatten
from git_blackbird.storage.atomic import replace_durably
from git_blackbird.storage.json_text import JsonFault, dump_json, load_bounded_json
from git_blackbird.storage.reading import load_bytes

GO_AGENTS = ("claude", "codex")


def global_config_path(environ: Mapping[str, str]) -> Path | None:
    """Give ``~/.blackbird/config.json``; None without a HOME."""
    home = environ.get("HOME")
    return Path(home) / ".blackbird" / "config.json" if home else None


def load_layer(path: Path | None, layer: Layer) -> tuple[list[Given], list[Problem]]:
    """Read one configuration file; a missing one gives nothing.

    A file that cannot be read whole is a fatal problem: dropping it would turn gates off unseen.
    """
    if path is None:
        return [], []
    try:
        document = _load_document(path)
    except (OSError, JsonFault) as error:
        what = getattr(error, "strerror", None) or str(error)
        return [], [Problem(str(path), "the file", what, "mend it or remove it")]
    version = document.get("schemaVersion", 1)
    if version != 1 or isinstance(version, bool):
        hint = "write 1 or leave it out"
        return [], [Problem(str(path), "schemaVersion", f"is {shown_value(version)}, not 1", hint)]
    return flatten(document, layer, str(path)), []


def _load_document(path: Path) -> dict[str, Any]:
    try:
        data = load_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    document = load_bounded_json(data)
    if not isinstance(document, dict):
        raise JsonFault("is not an object")
    return document


def load_agent_choice(path: Path) -> list[Given]:
    """Read the Go program's ``agent.json``; a file that is wrong counts as no choice, as there.

    Its other agent, codex, is a choice all the same: another agent must not silently take its place.
    """
    try:
        document = _load_document(path)
    except (OSError, JsonFault):
        return []
    name = document.get("selectedAgent")
    return [Given("agent", name, Layer.AGENT_CHOICE, str(path))] if name in GO_AGENTS else []


def with_key(path: Path, dotted: str, value: object | None) -> bytes:
    """Give the file's content with one key set, or removed when ``value`` is None; all else is kept.

    Raises UnusableError when the file is no configuration.
    """
    try:
        document = _load_document(path)
    except (OSError, JsonFault) as error:
        raise UnusableError(f"{path}: {error}", hint="mend it or remove it") from error
    document.setdefault("schemaVersion", 1)
    section, _, name = dotted.rpartition(".")
    place = document.setdefault(section, {}) if section else document
    if not isinstance(place, dict):
        raise UnusableError(f"{path}: {section} is not an object", hint="mend the file")
    if value is None:
        place.pop(name, None)
        if section and not place:
            del document[section]
    else:
        place[name] = value
    return dump_json(document)


def write_global_config(path: Path, data: bytes) -> None:
    """Save the global configuration file, which has no ``.blackbird/tmp`` of its own.

    Raises UnusableError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(path, data)
    except OSError as error:
        raise UnusableError(f"cannot save {path}: {error.strerror}", hint="make it writable") from error


def shown_value(value: object) -> str:
    """Write a value as the configuration file has it."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
