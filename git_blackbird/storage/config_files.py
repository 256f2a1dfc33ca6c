"""Read configuration files as values of a layer, and write single keys."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.system import is_exhausted
from git_blackbird.model.config.config import is_section
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting
from git_blackbird.storage.files import load_bytes, load_inside, replace_durably
from git_blackbird.storage.json_codec import JsonError, dump_json, load_bounded_json

GO_AGENTS = ("claude", "codex")
_VERSION = "schemaVersion"


def global_config_path(environ: Mapping[str, str]) -> Path | None:
    """Return ``~/.blackbird/config.json``; None without a HOME."""
    home = environ.get("HOME")
    return Path(home, ".blackbird", "config.json") if home else None


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
        return [], [ConfigProblem(str(path), "the file", what, "fix or remove it")]
    version = document.pop(_VERSION, 1)
    if version != 1 or isinstance(version, bool):
        what = f"is {format_value(version)}, not 1"
        return [], [ConfigProblem(str(path), _VERSION, what, "write 1 or leave it out")]
    return [RawSetting(name, value, layer, str(path)) for name, value in _flatten(document)], []


def _flatten(document: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield what an object has by dotted names; below the outermost only sections are objects."""
    for name, value in document.items():
        dotted = prefix + name
        if isinstance(value, Mapping) and (not prefix or is_section(dotted)):
            yield from _flatten(value, f"{dotted}.")
        else:
            yield dotted, value


def _load_document(path: Path, top: Path | None) -> dict[str, Any]:
    """Parse the file; only the user's own may be a link to anywhere."""
    try:
        data = load_bytes(path) if top is None else load_inside(top, path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    document = load_bounded_json(data)
    if not isinstance(document, dict):
        raise JsonError("is not an object")
    return document


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
    levels = _levels(document, dotted)
    if value is None:
        # With it go the objects that are empty without it.
        for number, (place, name) in enumerate(reversed(levels)):
            if number == 0 or not place[name]:
                del place[name]
        return dump_json(document)
    if not levels:
        place = document
        *sections, name = dotted.split(".")
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise UnusableError(f"{path}: {section} is not an object", hint="fix the file")
        levels = [(place, name)]
    place, name = levels[-1]
    place[name] = value
    return dump_json(document)


def _levels(document: dict[str, Any], dotted: str) -> list[tuple[dict[str, Any], str]]:
    """Return each object down to a key, and the name in it, whichever dots are levels; empty without it."""
    if dotted in document:
        return [(document, dotted)]
    for section, inner in document.items():
        name = dotted.removeprefix(f"{section}.")
        if name != dotted and isinstance(inner, dict) and (levels := _levels(inner, name)):
            return [(document, section), *levels]
    return []


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
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
