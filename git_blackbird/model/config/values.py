"""Values of keys: read from text as git reads it, validated, clamped, and written as shell words."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from git_blackbird.model.base.sanitize import shell_word, short_json
from git_blackbird.model.config.keys import KEYS, Key, Value, ValueType
from git_blackbird.model.config.layers import ConfigProblem, Layer, RawSetting

_GIT_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
_GIT_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|[0-9]{1,40})([kKmMgG]?)")
_SCALES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_FROM_JSON = frozenset({Layer.PROJECT, Layer.GLOBAL})


def read_value(key: Key, setting: RawSetting) -> tuple[Value | None, ConfigProblem | None]:
    """Validate a value of a layer; text from git or the environment is parsed as git does.

    A number that is out of range has both a value and a problem.
    """

    def problem(what: str, hint: str, *, fatal: bool = True) -> ConfigProblem:
        return ConfigProblem(setting.origin, key.name, what, hint, fatal)

    article = "an" if key.type is ValueType.INTEGER else "a"
    limits = key.rules.limits
    bounds = "" if limits is None else f" from {limits[0]} to {limits[1]}"
    takes = f"it takes {article} {key.type}{bounds}"
    try:
        parsed = _parse(key, setting)
        return _validator(key.name).validate_python(parsed, strict=True), None
    except ValidationError as error:
        details = error.errors(include_url=False)[0]
        value, kind = details["input"], details["type"]
    except ValueError as error:
        return None, problem(str(error), takes)
    if limits is not None and kind in {"greater_than_equal", "less_than_equal"}:
        low, high = limits
        nearest = min(max(value, low), high)
        what = f"{value} is out of range; {nearest} is used"
        return nearest, problem(what, f"it takes {low} to {high}", fatal=False)
    if kind == "string_pattern_mismatch":
        return None, problem(f"{short_json(value)} is not the name of a model", "fix or remove it")
    if key.choices and isinstance(value, str):
        return None, problem(f"unknown value {value!r}", f"it takes one of: {', '.join(key.choices)}")
    return None, problem(f"{short_json(setting.raw)} is not {article} {key.type}", takes)


@cache
def _validator(name: str) -> TypeAdapter[Any]:
    key = KEYS[name]
    low, high = key.rules.limits or (None, None)
    annotation: Any = Annotated[key.annotation, Field(ge=low, le=high)]
    return TypeAdapter(annotation)


def _parse(key: Key, setting: RawSetting) -> object:
    raw = setting.raw
    if isinstance(raw, list):
        return tuple(raw)
    parse = None if setting.layer in _FROM_JSON else _PARSERS.get(key.type)
    return raw if parse is None or not isinstance(raw, str) else parse(raw)


def _parse_boolean(raw: str) -> bool:
    word = _GIT_BOOLEANS.get(raw.lower())
    if word is not None:
        return word
    try:
        return _parse_integer(raw) != 0
    except ValueError:
        raise ValueError(f"{short_json(raw)} is not a boolean") from None


def _parse_integer(raw: str) -> int:
    match = _GIT_INTEGER.fullmatch(raw.strip())
    if match is None:
        raise ValueError(f"{short_json(raw)} is not an integer")
    sign, digits, unit = match.groups()
    base = 16 if digits[:2] in {"0x", "0X"} else 8 if digits.startswith("0") and len(digits) > 1 else 10
    try:
        return int(sign + digits, base) * _SCALES[unit.lower()]
    except ValueError:
        raise ValueError(f"{short_json(raw)} is not an integer") from None


def _parse_words(raw: str) -> tuple[str, ...]:
    """Split words as a shell does, or parse a list as it is shown: a JSON array of texts."""
    import shlex  # noqa: PLC0415  # only for setting a list

    try:
        if raw.lstrip().startswith("["):
            return TypeAdapter(tuple[str, ...]).validate_json(raw, strict=True)
        return tuple(shlex.split(raw))
    except ValidationError:
        raise ValueError(f"{short_json(raw)} is not a JSON list of strings") from None
    except ValueError as error:
        raise ValueError(f"{raw!r}: {error}") from None


_PARSERS: Mapping[ValueType, Callable[[str], Value]] = {
    ValueType.BOOLEAN: _parse_boolean,
    ValueType.INTEGER: _parse_integer,
    ValueType.WORDS: _parse_words,
}


def quoted_for_git(value: object) -> str:
    """Return a file's value as one shell word that git config stores as the same value."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return shell_word(" ".join(shell_word(str(word)) for word in value))
    if isinstance(value, bool):
        return str(value).lower()
    return shell_word(str(value))


def hint_for_this_clone(key: Key, value: object) -> str:
    """Return the command that sets a value that does not count from the project's file."""
    return f"to use it in this clone: git config blackbird.{key.name} {quoted_for_git(value)}"
