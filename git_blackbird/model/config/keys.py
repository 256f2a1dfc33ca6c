"""Keys of the configuration, and how their values are read."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args, get_origin

from git_blackbird.model.base.ids import MODEL_NAME
from git_blackbird.model.base.sanitize import shell_word, short_json
from git_blackbird.model.config.layers import (
    ConfigProblem,
    Layer,
    RawSetting,
    parse_boolean,
    parse_integer,
    parse_number,
)

Value = bool | int | float | str | tuple[str, ...]
_FROM_JSON = frozenset({Layer.PROJECT, Layer.GLOBAL})


class Row(NamedTuple):
    """What the table says of a key beside its name, type and default.

    ``limits`` are the smallest and the largest number. ``stricter`` is set for protective keys, and says
    which value protects more: the higher number or later choice or true, or the lower one; a project may
    tighten the user's value, but not loosen it. ``own`` is set for what no repository may set (programs,
    options, permissions): it is its user's, or each machine's, which workers are not sent. ``environment`` is
    a variable that sets the key, and so ``chooses`` an agent. ``is_model`` is set for names of models,
    ``is_glob`` for paths below the top of the repository. ``fills`` are the names that are filled in where
    they stand in braces. ``see`` is a place in ``docs/``.
    """

    help: str
    limits: tuple[float, float] | None = None
    stricter: Literal["higher", "lower"] | None = None
    own: Literal["user", "machine"] | None = None
    environment: str | None = None
    chooses: str | None = None
    is_model: bool = False
    is_glob: bool = False
    fills: tuple[str, ...] = ()
    see: str = ""


class ValueType(StrEnum):
    """The type of a key's value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    WORDS = "list of texts"


class Key(NamedTuple):
    """One key; ``path`` are the attributes of ``Config`` that lead to it.

    ``choices`` are the accepted texts, or those that a list may have, if only some are. ``default`` is None
    for a key that is unset, which cannot be given as a value.
    """

    name: str
    path: tuple[str, ...]
    type: ValueType
    choices: tuple[str, ...]
    default: Value | None
    row: Row

    @property
    def clone_safe(self) -> bool:
        """Whether a cloned repository may set it."""
        return self.row.own is None

    @property
    def few_values(self) -> tuple[str, ...]:
        """The texts that a person can choose from; none where there are many."""
        if self.type is ValueType.WORDS:
            return ()
        return ("true", "false") if self.type is ValueType.BOOLEAN else self.choices

    def is_stricter(self, value: Value | None, other: Value | None) -> bool:
        """Whether ``value`` protects more than ``other``; false for a key that is not protective."""
        if self.row.stricter is None or value is None or other is None:
            return False
        rank, other_rank = (
            each if isinstance(each, int | float) else self.choices.index(str(each))
            for each in (value, other)
        )
        return rank > other_rank if self.row.stricter == "higher" else rank < other_rank


_TYPES = {
    bool: ValueType.BOOLEAN,
    int: ValueType.INTEGER,
    float: ValueType.NUMBER,
    str: ValueType.TEXT,
    tuple: ValueType.WORDS,
    Literal: ValueType.TEXT,
}


def keys_of(section: Any, name: str = "", path: tuple[str, ...] = ()) -> Iterator[Key]:
    """Yield the keys of a section of the table, and of those inside it, in their order."""
    for attribute, annotation in type(section).__annotations__.items():
        default = getattr(section, attribute)
        first, *others = attribute.split("_")
        inner_name, inner_path = name + first + "".join(map(str.title, others)), (*path, attribute)
        if isinstance(default, Mapping):
            continue  # keys with names
        if hasattr(default, "_fields"):
            yield from keys_of(default, f"{inner_name}.", inner_path)
            continue
        kind = get_args(annotation.__origin__)[0] if default is None else annotation.__origin__
        one = get_args(kind)[0] if get_origin(kind) is tuple else kind
        choices = get_args(one) if get_origin(one) is Literal else ()
        value_type = _TYPES[get_origin(kind) or kind]
        yield Key(inner_name, inner_path, value_type, choices, default, annotation.__metadata__[0])


# Neither a variable of the shell nor a template of another program.
_PLACE = r"(?<![${])\{[A-Za-z]+\}"


def read_value(key: Key, setting: RawSetting) -> tuple[Value | None, ConfigProblem | None]:
    """Validate a value of a layer; text from git or the environment is parsed as git does.

    A number that is out of range has both a value and a problem.
    """

    def problem(what: str, hint: str = "", *, fatal: bool = True) -> ConfigProblem:
        hint = hint or f"use {_accepted(key, setting.layer)}"
        return ConfigProblem(setting.origin, key.name, what, hint, fatal)

    limits = key.row.limits
    value: Any = setting.raw
    if isinstance(value, str) and setting.layer not in _FROM_JSON and key.type in _PARSERS:
        try:
            value = _PARSERS[key.type](value)
        except ValueError as error:
            return None, problem(str(error))
    if isinstance(value, list):
        value = tuple(value)
    if not _IS_OF_TYPE[key.type](value):
        return None, problem(f"{short_json(setting.raw)} is not {_type_text(key)}")
    words = value if isinstance(value, tuple) else (value,)
    for number, word in enumerate(words):
        if key.choices and word not in key.choices:
            return None, problem(f"unknown value {word!r}")
        if key.choices and word in words[:number]:
            return None, problem(f"{word} is there twice")
        if (fault := _fault_of(word, key.row)) is not None:
            return None, problem(*fault)
    if limits is not None and not limits[0] <= value <= limits[1]:
        nearest = min(max(value, limits[0]), limits[1])
        what = f"{value} is out of range; {nearest} is used"
        return nearest, problem(what, f"use {limits[0]} to {limits[1]}", fatal=False)
    return float(value) if key.type is ValueType.NUMBER else value, None


def _fault_of(word: Any, row: Row) -> tuple[str, str] | None:
    """Return what is wrong with one text, and what to use; None for what its row allows."""
    if row.is_model and word and not re.fullmatch(MODEL_NAME, word):
        return f"{short_json(word)} is not the name of a model", "use its agent's name of it"
    if row.is_glob:
        from git_blackbird.model.base.globs import names_nothing  # only where one is set

        if names_nothing(word):
            what = f"{short_json(word)} is no path below the top of the repository"
            return what, "use one such as docs, *.py or out/**/*.xml"
    known = [f"{{{name}}}" for name in row.fills]
    for place in re.findall(_PLACE, word) if known else ():
        if place not in known:
            use = f"use {', '.join(known)}; with a space inside the braces it is text"
            return f"nothing is filled in for {place}", use
    return None


def _is_text(value: object) -> bool:
    """Whether a value is text that can be written: no half of a character."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


_IS_OF_TYPE: Mapping[ValueType, Callable[[Any], bool]] = {
    ValueType.BOOLEAN: lambda value: isinstance(value, bool),
    ValueType.INTEGER: lambda value: type(value) is int,
    ValueType.NUMBER: lambda value: type(value) is int or (isinstance(value, float) and isfinite(value)),
    ValueType.TEXT: _is_text,
    ValueType.WORDS: lambda value: isinstance(value, tuple) and all(map(_is_text, value)),
}


def _parse_words(raw: str) -> tuple[object, ...]:
    """Split words as a shell does, or parse a list as it is shown: a JSON array of texts."""
    if raw.lstrip().startswith("["):
        import json  # only for setting a list

        try:
            words = json.loads(raw)
        except (ValueError, RecursionError):
            words = [None]
        if not all(map(_is_text, words)):
            raise ValueError(f"{short_json(raw)} is not a JSON list of strings")
        return tuple(words)
    import shlex  # as above

    try:
        return tuple(shlex.split(raw))
    except ValueError as error:
        raise ValueError(f"{raw!r}: {error}") from None


_PARSERS: Mapping[ValueType, Callable[[str], object]] = {
    ValueType.BOOLEAN: parse_boolean,
    ValueType.INTEGER: parse_integer,
    ValueType.NUMBER: parse_number,
    ValueType.WORDS: _parse_words,
}


def _accepted(key: Key, layer: Layer) -> str:
    limits, choices = key.row.limits, ", ".join(key.choices)
    if choices and key.type is ValueType.WORDS:
        form = "a list of names" if layer in _FROM_JSON else "names, separated by spaces,"
        return f"{form} from: {choices}"
    if choices:
        return f"one of: {choices}"
    if key.type is ValueType.BOOLEAN:
        return "true or false"
    return _type_text(key) if limits is None else f"{_type_text(key)} from {limits[0]} to {limits[1]}"


def _type_text(key: Key) -> str:
    return f"{'an' if key.type is ValueType.INTEGER else 'a'} {key.type}"


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
