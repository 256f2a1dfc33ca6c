"""Validate configuration values and merge the layers, keeping track of origins (DESIGN.md 11)."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from git_blackbird.model.base.sanitize import shell_word, short_json
from git_blackbird.model.config.keys import KEYS, ConfigKey, Value, ValueType


class Layer(IntEnum):
    """The source of a value; the smaller wins."""

    FLAG = 0
    ENVIRONMENT = 1
    GIT_LOCAL = 2
    PROJECT = 3
    GIT_GLOBAL = 4
    GLOBAL = 5
    AGENT_CHOICE = 6
    DEFAULT = 7


_FOLDED = {name.lower(): name for name in KEYS}


class RawSetting(NamedTuple):
    """One raw value of a layer; ``origin`` names the file or variable."""

    key: str
    value: object
    layer: Layer
    origin: str

    def problem(self, key: ConfigKey, what: str, hint: str, *, fatal: bool = True) -> "ConfigProblem":
        """Return a problem with this value."""
        return ConfigProblem(self.origin, key.name, what, hint, fatal)


class Setting(NamedTuple):
    """The effective value of a key, and its source."""

    key: ConfigKey
    value: Value | None
    layer: Layer
    origin: str


class ConfigProblem(NamedTuple):
    """A problem in a configuration layer.

    A ``fatal`` one stops commands that start or decide; the others are reported, and the value is ignored.
    """

    origin: str
    key: str
    what: str
    hint: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.origin}: {self.key}: {self.what}"


class LayerValue(NamedTuple):
    """The value of a key in one layer, or in ``problem`` why it is ignored.

    ``key`` is None for an unknown key. A clamped value that was out of range has both. So has one that
    ``is_weaker`` than the user's value for all projects, and that is ignored.
    """

    given: RawSetting
    key: ConfigKey | None
    value: Value | None
    problem: ConfigProblem | None = None
    is_weaker: bool = False

    @property
    def is_valid(self) -> bool:
        """Whether it is effective unless a stronger layer overrides it."""
        return self.key is not None and self.value is not None and not self.is_weaker


class Settings(NamedTuple):
    """Every key with its effective value, and the problems found.

    ``told`` has the values of all layers, weakest first.
    """

    values: Mapping[str, Setting]
    problems: tuple[ConfigProblem, ...] = ()
    told: tuple[LayerValue, ...] = ()

    def _value(self, name: str) -> Any:
        return self.values[name].value

    def flag(self, name: str) -> bool:
        """Return the value of a boolean key."""
        return bool(self._value(name))

    def number(self, name: str) -> int:
        """Return the value of an integer key."""
        return int(self._value(name))

    def text(self, name: str) -> str | None:
        """Return the value of a text key; None if unset."""
        value = self._value(name)
        return None if value is None else str(value)

    def words(self, name: str) -> tuple[str, ...]:
        """Return the value of a list key."""
        return tuple(self._value(name))


def find_key(name: str) -> ConfigKey | None:
    """Find a key by its name in any letter case, as git does."""
    exact = _FOLDED.get(name.lower())
    return None if exact is None else KEYS[exact]


def nearest_key(name: str) -> str:
    """Return the key that was probably meant, or None."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a misspelt key pays for it

    close = get_close_matches(name.lower(), _FOLDED, n=1, cutoff=0.5)
    return f"did you mean {_FOLDED[close[0]]}?" if close else "`git blackbird config` lists every key"


def merge_layers(given: Iterable[RawSetting]) -> Settings:
    """Let the strongest layer win for each key; report unknown, mistyped, clamped and untrusted values."""
    chosen = {name: Setting(key, key.default, Layer.DEFAULT, "default") for name, key in KEYS.items()}
    values = _restrained(list(map(_layer_value, sorted(given, key=lambda given: given.layer, reverse=True))))
    for value in values:
        if value.key is not None and value.is_valid:
            chosen[value.key.name] = Setting(value.key, value.value, value.given.layer, value.given.origin)
    return Settings(chosen, tuple(value.problem for value in values if value.problem is not None), values)


def _layer_value(setting: RawSetting) -> LayerValue:
    key = find_key(setting.key)
    if key is None:
        return LayerValue(
            setting,
            None,
            None,
            ConfigProblem(setting.origin, setting.key, "unknown key", nearest_key(setting.key)),
        )
    if setting.layer == Layer.PROJECT and not key.clone_safe:
        what = "ignored: a repository's own file must not choose what runs on this machine"
        return LayerValue(
            setting, key, None, setting.problem(key, what, _for_this_clone(key, setting.value), fatal=False)
        )
    return LayerValue(setting, key, *read_value(key, setting))


_FOR_THIS_CLONE = frozenset({Layer.FLAG, Layer.ENVIRONMENT, Layer.GIT_LOCAL})
_OF_THE_USER = frozenset({Layer.GIT_GLOBAL, Layer.GLOBAL})


def _restrained(values: Sequence[LayerValue]) -> tuple[LayerValue, ...]:
    """Mark project values that protect less than the user's value for all projects.

    A value that the user set for this command or this clone may be weaker.
    """
    settled = {value.key for value in values if value.is_valid and value.given.layer in _FOR_THIS_CLONE}
    own = {value.key: value for value in values if value.is_valid and value.given.layer in _OF_THE_USER}
    open_keys = own.keys() - settled
    return tuple(
        _compared(value, own[value.key])
        if value.given.layer is Layer.PROJECT and value.key in open_keys
        else value
        for value in values
    )


def _compared(setting: LayerValue, own: LayerValue) -> LayerValue:
    key, value, stricter = setting.key, setting.value, own.value
    if key is None or value is None or stricter is None or not key.is_stricter(stricter, value):
        return setting
    theirs, mine = quoted_for_git(value), quoted_for_git(stricter)
    what = f"{theirs} is not used: your own {mine} in {own.given.origin} is stricter"
    problem = setting.given.problem(key, what, _for_this_clone(key, value), fatal=False)
    return setting._replace(problem=problem, is_weaker=True)


def _for_this_clone(key: ConfigKey, value: object) -> str:
    return f"to use it in this clone: git config blackbird.{key.name} {quoted_for_git(value)}"


def quoted_for_git(value: object) -> str:
    """Return a file's value as one shell word that git config stores as the same value."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return shell_word(" ".join(shell_word(str(word)) for word in value))
    if isinstance(value, bool):
        return str(value).lower()
    return shell_word(str(value))


def read_value(key: ConfigKey, setting: RawSetting) -> tuple[Value | None, ConfigProblem | None]:
    """Parse a value of a layer; text from git or the environment is parsed as git does."""
    try:
        return _reader(key.name).validate_python(_value_of(key, setting), strict=True), None
    except ValidationError as error:
        return _refused(key, setting, error.errors(include_url=False)[0])
    except ValueError as error:
        return None, setting.problem(key, str(error), _takes(key))


def value_type(key: ConfigKey) -> Any:
    """Return the type by which pydantic validates a key's value."""
    is_number = key.kind is ValueType.INTEGER
    limits = Field(ge=key.min, le=key.max) if is_number else Field(pattern=key.pattern)
    return Annotated[key.type, limits]


@cache
def _reader(name: str) -> TypeAdapter[Value]:
    return TypeAdapter(value_type(KEYS[name]))


def _refused(
    key: ConfigKey, setting: RawSetting, details: ErrorDetails
) -> tuple[Value | None, ConfigProblem]:
    """Return why pydantic rejects a value; one that is out of range is clamped."""
    value = details["input"]
    match details["type"]:
        case "greater_than_equal" | "less_than_equal":
            nearest = min(max(value, key.min), key.max)
            what = f"{value} is out of range; {nearest} is used"
            return nearest, setting.problem(key, what, f"it takes {key.min} to {key.max}", fatal=False)
        case "string_pattern_mismatch":
            what = f"{short_json(value)} is not the name of a model"
            return None, setting.problem(key, what, "fix or remove it")
        case _ if key.choices and isinstance(value, str):
            hint = f"it takes one of: {', '.join(key.choices)}"
            return None, setting.problem(key, f"unknown value {value!r}", hint)
        case _:
            what = f"{short_json(setting.value)} is not {_article(key.kind)} {key.kind}"
            return None, setting.problem(key, what, _takes(key))


def _takes(key: ConfigKey) -> str:
    bounds = f" from {key.min} to {key.max}" if key.kind is ValueType.INTEGER else ""
    return f"it takes {_article(key.kind)} {key.kind}{bounds}"


def _article(kind: ValueType) -> str:
    return "an" if kind is ValueType.INTEGER else "a"


_GIT_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
_GIT_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|[0-9]{1,40})([kKmMgG]?)")
_SCALES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_FROM_JSON = frozenset({Layer.PROJECT, Layer.GLOBAL})


def _value_of(key: ConfigKey, setting: RawSetting) -> object:
    raw = setting.value
    if isinstance(raw, list):
        return tuple(raw)
    read = None if setting.layer in _FROM_JSON else _READERS.get(key.kind)
    return raw if read is None or not isinstance(raw, str) else read(raw)


def _boolean(raw: str) -> bool:
    word = _GIT_BOOLEANS.get(raw.lower())
    if word is not None:
        return word
    try:
        return _integer(raw) != 0
    except ValueError:
        raise ValueError(f"{short_json(raw)} is not a boolean") from None


def _integer(raw: str) -> int:
    match = _GIT_INTEGER.fullmatch(raw.strip())
    if match is None:
        raise ValueError(f"{short_json(raw)} is not an integer")
    sign, digits, unit = match.groups()
    base = 16 if digits[:2] in {"0x", "0X"} else 8 if digits.startswith("0") and len(digits) > 1 else 10
    try:
        return int(sign + digits, base) * _SCALES[unit.lower()]
    except ValueError:
        raise ValueError(f"{short_json(raw)} is not an integer") from None


def _words(raw: str) -> tuple[str, ...]:
    import shlex  # noqa: PLC0415  # only for setting a list

    if raw.lstrip().startswith("["):
        return _parse_list(raw)
    try:
        return tuple(shlex.split(raw))
    except ValueError as error:
        raise ValueError(f"{raw!r}: {error}") from None


def _parse_list(raw: str) -> tuple[str, ...]:
    """Parse a list as it is shown: a JSON array of texts."""
    try:
        return TypeAdapter(tuple[str, ...]).validate_json(raw, strict=True)
    except ValidationError:
        raise ValueError(f"{short_json(raw)} is not a JSON list of strings") from None


_READERS: Mapping[ValueType, Callable[[str], Value]] = {
    ValueType.BOOLEAN: _boolean,
    ValueType.INTEGER: _integer,
    ValueType.WORDS: _words,
}


def flatten(document: Mapping[str, object], layer: Layer, origin: str) -> list[RawSetting]:
    """Convert a configuration file's object to raw values; nested objects become dotted keys."""
    return [
        RawSetting(name if inner is None else f"{name}.{inner}", value, layer, origin)
        for name, found in document.items()
        if name != "schemaVersion"
        for inner, value in (found.items() if isinstance(found, Mapping) else [(None, found)])
    ]
