"""Configuration: values read by their keys, and the layers merged, with origins (DESIGN.md 11)."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from git_blackbird.model.keys import KEYS, Key, Kind, Value
from git_blackbird.model.text import shell_word


class Layer(IntEnum):
    """Where a value comes from; the smaller wins."""

    FLAG = 0
    ENVIRONMENT = 1
    GIT_LOCAL = 2
    PROJECT = 3
    GIT_GLOBAL = 4
    GLOBAL = 5
    AGENT_CHOICE = 6
    DEFAULT = 7


_FOLDED = {name.lower(): name for name in KEYS}


class Given(NamedTuple):
    """One value as a layer gives it; ``origin`` names the file or variable."""

    key: str
    value: object
    layer: Layer
    origin: str


class Setting(NamedTuple):
    """The value of a key that counts, and where it comes from."""

    key: Key
    value: Value | None
    layer: Layer
    origin: str


class Problem(NamedTuple):
    """Something wrong in a configuration layer.

    A ``fatal`` one stops commands that start or decide; the others are said and passed over.
    """

    origin: str
    key: str
    what: str
    hint: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.origin}: {self.key}: {self.what}"


class Told(NamedTuple):
    """What one layer says of a key: the value as it would count, or in ``problem`` why it does not.

    ``key`` is None where no key is of that name. A value that was out of range has both, for it is clamped.
    So has one that ``is_weaker`` than what the user set for all projects, and does not count for that.
    """

    given: Given
    key: Key | None
    value: Value | None
    problem: Problem | None = None
    is_weaker: bool = False

    @property
    def is_valid(self) -> bool:
        """Whether it counts unless a stronger layer says something."""
        return self.key is not None and self.value is not None and not self.is_weaker


class Settings(NamedTuple):
    """Every key with the value that counts, and what was wrong on the way.

    ``told`` is what all layers say, the weakest first.
    """

    values: Mapping[str, Setting]
    problems: tuple[Problem, ...] = ()
    told: tuple[Told, ...] = ()

    def _value(self, name: str) -> Any:
        return self.values[name].value

    def flag(self, name: str) -> bool:
        """Give a boolean key's value."""
        return bool(self._value(name))

    def number(self, name: str) -> int:
        """Give an integer key's value."""
        return int(self._value(name))

    def text(self, name: str) -> str | None:
        """Give a text key's value; None when unset."""
        value = self._value(name)
        return None if value is None else str(value)

    def words(self, name: str) -> tuple[str, ...]:
        """Give a list key's value."""
        return tuple(self._value(name))


def find_key(name: str) -> Key | None:
    """Find a key by its name in any letter case, as git compares names."""
    exact = _FOLDED.get(name.lower())
    return None if exact is None else KEYS[exact]


def nearest_key(name: str) -> str:
    """Say which key may have been meant."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a misspelt key pays for it

    close = get_close_matches(name.lower(), _FOLDED, n=1, cutoff=0.5)
    return f"did you mean {_FOLDED[close[0]]}?" if close else "`git blackbird config` lists every key"


def merge_layers(given: Iterable[Given]) -> Settings:
    """Let the strongest layer win for each key; name what is unknown, mistyped, out of range, not trusted."""
    chosen = {name: Setting(key, key.default, Layer.DEFAULT, "default") for name, key in KEYS.items()}
    told = _restrained(list(map(_told, sorted(given, key=lambda given: given.layer, reverse=True))))
    for one in told:
        if one.key is not None and one.is_valid:
            chosen[one.key.name] = Setting(one.key, one.value, one.given.layer, one.given.origin)
    return Settings(chosen, tuple(one.problem for one in told if one.problem is not None), told)


def _told(one: Given) -> Told:
    key = find_key(one.key)
    if key is None:
        return Told(one, None, None, Problem(one.origin, one.key, "unknown key", nearest_key(one.key)))
    if one.layer == Layer.PROJECT and not key.clone_safe:
        return Told(one, key, None, _distrusted(one, key))
    return Told(one, key, *read_value(key, one))


_FOR_THIS_CLONE = frozenset({Layer.FLAG, Layer.ENVIRONMENT, Layer.GIT_LOCAL})
_OF_THE_USER = frozenset({Layer.GIT_GLOBAL, Layer.GLOBAL})


def _restrained(told: Sequence[Told]) -> tuple[Told, ...]:
    """Mark what a project says that protects less than what its user set for all projects.

    What the user said for this call or this clone is their last word, and needs no such care.
    """
    settled = {one.key for one in told if one.is_valid and one.given.layer in _FOR_THIS_CLONE}
    own = {one.key: one for one in told if one.is_valid and one.given.layer in _OF_THE_USER}
    open_keys = own.keys() - settled
    return tuple(
        _compared(one, own[one.key]) if one.given.layer is Layer.PROJECT and one.key in open_keys else one
        for one in told
    )


def _compared(one: Told, own: Told) -> Told:
    key, value, stricter = one.key, one.value, own.value
    if key is None or value is None or stricter is None or not key.is_stricter(stricter, value):
        return one
    what = f"{_written(value)} is not used: your own {_written(stricter)} in {own.given.origin} is stricter"
    problem = Problem(one.given.origin, key.name, what, _for_this_clone(key, value), fatal=False)
    return one._replace(problem=problem, is_weaker=True)


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _for_this_clone(key: Key, value: object) -> str:
    return f"to use it in this clone: git config blackbird.{key.name} {quoted_for_git(value)}"


def _distrusted(one: Given, key: Key) -> Problem:
    return Problem(
        one.origin,
        key.name,
        "ignored: a repository's own file must not choose what runs on this machine",
        _for_this_clone(key, one.value),
        fatal=False,
    )


def quoted_for_git(value: object) -> str:
    """Write a file's value as one shell word that git config would keep as the same value."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return shell_word(" ".join(shell_word(str(word)) for word in value))
    if isinstance(value, bool):
        return str(value).lower()
    return shell_word(str(value))


def read_value(key: Key, one: Given) -> tuple[Value | None, Problem | None]:
    """Read one layer's value; text from git or the environment is read as git reads it."""
    try:
        value = _convert(key, one)
    except ValueError as error:
        hint = f"it takes {_article(key.kind)} {key.kind}{_range(key)}"
        return None, Problem(one.origin, key.name, str(error), hint)
    if key.kind is Kind.INTEGER and isinstance(value, int) and not key.low <= value <= key.high:
        clamped = min(max(value, key.low), key.high)
        what = f"{value} is out of range; {clamped} is used"
        return clamped, Problem(one.origin, key.name, what, f"it takes {key.low} to {key.high}", fatal=False)
    if key.fault is not None and isinstance(value, str) and (fault := key.fault(value)) is not None:
        return None, Problem(one.origin, key.name, f"{_shown(value)} is {fault}", "fix or remove it")
    if key.choices and value not in key.choices:
        hint = f"it takes one of: {', '.join(key.choices)}"
        return None, Problem(one.origin, key.name, f"unknown value {value!r}", hint)
    return value, None


def _article(kind: Kind) -> str:
    return "an" if kind is Kind.INTEGER else "a"


def _range(key: Key) -> str:
    return f" from {key.low} to {key.high}" if key.kind is Kind.INTEGER else ""


_GIT_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
_GIT_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|[0-9]{1,40})([kKmMgG]?)")
_SCALES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_FROM_JSON = frozenset({Layer.PROJECT, Layer.GLOBAL})


def _convert(key: Key, one: Given) -> Value:
    raw = one.value
    if one.layer not in _FROM_JSON and isinstance(raw, str):
        return _convert_text(key.kind, raw)
    return _convert_json(key.kind, raw)


def _convert_text(kind: Kind, raw: str) -> Value:
    match kind:
        case Kind.BOOLEAN:
            return _boolean(raw)
        case Kind.INTEGER:
            return _integer(raw)
        case Kind.TEXT:
            return raw
        case Kind.WORDS:
            return _words(raw)


def _boolean(raw: str) -> bool:
    word = _GIT_BOOLEANS.get(raw.lower())
    if word is not None:
        return word
    try:
        return _integer(raw) != 0
    except ValueError:
        raise ValueError(f"{_shown(raw)} is not a boolean") from None


def _integer(raw: str) -> int:
    match = _GIT_INTEGER.fullmatch(raw.strip())
    if match is None:
        raise ValueError(f"{_shown(raw)} is not an integer")
    sign, digits, unit = match.groups()
    base = 16 if digits[:2] in {"0x", "0X"} else 8 if digits.startswith("0") and len(digits) > 1 else 10
    try:
        return int(sign + digits, base) * _SCALES[unit.lower()]
    except ValueError:
        raise ValueError(f"{_shown(raw)} is not an integer") from None


def _words(raw: str) -> tuple[str, ...]:
    import json  # noqa: PLC0415  # only who sets a list pays for these two
    import shlex  # noqa: PLC0415

    if raw.lstrip().startswith("["):
        return _listed(raw, json.loads)
    try:
        return tuple(shlex.split(raw))
    except ValueError as error:
        raise ValueError(f"{raw!r}: {error}") from None


def _listed(raw: str, parse: Callable[[str], Any]) -> tuple[str, ...]:
    """Read a list as it is shown: a JSON array of texts."""
    try:
        words = parse(raw)
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{_shown(raw)} is not a JSON list of strings")
    return tuple(words)


def _convert_json(kind: Kind, raw: object) -> Value:
    match kind, raw:
        case Kind.BOOLEAN, bool():
            return raw
        case Kind.INTEGER, int() if not isinstance(raw, bool):
            return raw
        case Kind.TEXT, str():
            return raw
        case Kind.WORDS, list() if all(isinstance(word, str) for word in raw):
            return tuple(raw)
        case _:
            raise ValueError(f"{_shown(raw)} is not {_article(kind)} {kind}")


def _shown(raw: object) -> str:
    text = json.dumps(raw, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."


def flatten(document: Mapping[str, object], layer: Layer, origin: str) -> list[Given]:
    """Turn a configuration file's object into given values; nested objects become dotted keys."""
    found: list[Given] = []
    for name, value in document.items():
        if name == "schemaVersion":
            continue
        if isinstance(value, Mapping):
            found.extend(
                Given(f"{name}.{inner}", inner_value, layer, origin) for inner, inner_value in value.items()
            )
        else:
            found.append(Given(name, value, layer, origin))
    return found
