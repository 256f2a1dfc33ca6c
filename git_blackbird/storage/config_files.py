"""Configuration files: read as values of a layer, and one key written at a time."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from git_blackbird.errors import UnusableError, UsageError
from git_blackbird.model.settings import Given, Layer, Problem, flatten
from git_blackbird.model.system_faults import is_exhausted
from git_blackbird.model.text import clean
from git_blackbird.storage.atomic import replace_durably
from git_blackbird.storage.json_text import JsonFault, dump_json, load_bounded_json
from git_blackbird.storage.reading import load_bytes, load_inside

GO_AGENTS = ("claude", "codex")
WHOLE_FILE = "the file"
"""What a problem of a file as a whole names instead of a key."""
_VERSION, _VERSION_HINT = "schemaVersion", "write 1 or leave it out"


def global_config_path(environ: Mapping[str, str]) -> Path | None:
    """Give ``~/.blackbird/config.json``; None without a HOME."""
    home = environ.get("HOME")
    return Path(home) / ".blackbird" / "config.json" if home else None


def load_layer(path: Path | None, layer: Layer, top: Path | None = None) -> tuple[list[Given], list[Problem]]:
    """Read one configuration file, of the worktree at ``top`` or the user's own; a missing one gives nothing.

    A file that cannot be read whole is a fatal problem: dropping it would turn gates off unseen.
    """
    if path is None:
        return [], []
    try:
        document = _load_document(path, top)
    except (OSError, JsonFault) as error:
        what = getattr(error, "strerror", None) or str(error)
        return [], [Problem(str(path), WHOLE_FILE, what, "fix or remove it")]
    if (wrong := _version_fault(document)) is not None:
        return [], [Problem(str(path), _VERSION, wrong, _VERSION_HINT)]
    return flatten(document, layer, str(path)), []


def _version_fault(document: Mapping[str, object]) -> str | None:
    version = document.get(_VERSION, 1)
    is_known = version == 1 and not isinstance(version, bool)
    return None if is_known else f"is {shown_value(version)}, not 1"


def _load_data(path: Path, top: Path | None) -> bytes:
    """Read the file: only the user's own may be a link to anywhere."""
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
        raise JsonFault("is not an object")
    return document


def is_unreadable(problem: Problem) -> bool:
    """Whether a problem is that of a file none of which counts."""
    return problem.key in {WHOLE_FILE, _VERSION}


def load_text(path: Path, top: Path | None = None) -> str:
    """Give a configuration file as a text to be edited, as ``load_layer`` reads it; a missing one is empty.

    Raises UnusableError when it is no file, no text, or one that cannot be shown as it is.
    """
    try:
        text = _load_data(path, top).decode()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _not_editable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _not_editable(path, "it is not UTF-8") from error
    if clean(text) != text:
        raise _not_editable(path, "it holds control or invisible characters")
    return text


def _not_editable(path: Path, what: str) -> UnusableError:
    return UnusableError(f"{path} cannot be edited here: {what}", hint="fix it elsewhere or remove it")


def check_text(text: str) -> bytes:
    """Give the bytes of a text that is a configuration file.

    Raises UsageError saying what it is not.
    """
    data = text.encode()
    try:
        wrong = _version_fault(_parse_document(data))
    except JsonFault as fault:
        raise UsageError(str(fault), hint=fault.fix) from fault
    if wrong is not None:
        raise UsageError(f"{_VERSION} {wrong}", hint=_VERSION_HINT)
    return data


def load_agent_choice(path: Path, top: Path) -> list[Given]:
    """Read the Go program's ``agent.json``; a file that is wrong counts as no choice, as there.

    Its other agent, codex, is a choice all the same: another agent must not silently take its place.
    """
    try:
        document = _load_document(path, top)
    except (OSError, JsonFault) as error:
        if isinstance(error, OSError) and is_exhausted(error):
            raise
        return []
    name = document.get("selectedAgent")
    return [Given("agent", name, Layer.AGENT_CHOICE, str(path))] if name in GO_AGENTS else []


def with_key(path: Path, dotted: str, value: object | None, top: Path | None = None) -> bytes:
    """Give the file's content with one key set, or removed when ``value`` is None; all else is kept.

    The file is one of the worktree at ``top``, or the user's own.

    Raises UnusableError when the file is no configuration.
    """
    try:
        document = _load_document(path, top)
    except (OSError, JsonFault) as error:
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
    """Say in which object a key is, or belongs, and under what name; "" is the outermost."""
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


def shown_value(value: object) -> str:
    """Write a value as the configuration file has it."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
