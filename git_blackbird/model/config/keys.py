"""The keys of the configuration by their dotted names, derived from ``Config``."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from git_blackbird.model.config.config import Config, KeyRules, Section

Value = bool | int | str | tuple[str, ...]
_Model = TypeVar("_Model", bound=BaseModel)


class ValueType(StrEnum):
    """The type of a key's value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    TEXT = "text"
    WORDS = "list of texts"


_VALUE_TYPES = {bool: ValueType.BOOLEAN, int: ValueType.INTEGER, tuple[str, ...]: ValueType.WORDS}


class Key(NamedTuple):
    """One key: its name, the attributes of ``Config`` that lead to it, and how its field defines it.

    ``default`` is None for a key that is unset, which is no value that can be given.
    """

    name: str
    path: tuple[str, ...]
    annotation: Any
    default: Value | None
    help: str
    rules: KeyRules

    @property
    def type(self) -> ValueType:
        """The type in words."""
        return _VALUE_TYPES.get(self.annotation, ValueType.TEXT)

    @property
    def choices(self) -> tuple[str, ...]:
        """The accepted texts, if only some are."""
        return get_args(self.annotation) if get_origin(self.annotation) is Literal else ()

    def is_stricter(self, value: Value | None, other: Value | None) -> bool:
        """Whether ``value`` protects more than ``other``; false for a key that is not protective."""
        if self.rules.stricter is None or value is None or other is None:
            return False
        rank, other_rank = self._rank(value), self._rank(other)
        return rank > other_rank if self.rules.stricter == "higher" else rank < other_rank

    def _rank(self, value: Value) -> int:
        """Rank the values of a protective key: truth values, numbers, or choices in their order."""
        return value if isinstance(value, int) else self.choices.index(str(value))


def _keys_of(section: type[Section], name: str = "", path: tuple[str, ...] = ()) -> Iterator[Key]:
    for attribute, field in section.model_fields.items():
        annotation, default = field.annotation, field.default
        inner_name, inner_path = name + (field.alias or to_camel(attribute)), (*path, attribute)
        if isinstance(annotation, type) and issubclass(annotation, Section):
            yield from _keys_of(annotation, f"{inner_name}.", inner_path)
        for rules in field.metadata:
            if isinstance(rules, KeyRules):
                given = annotation if default is not None else get_args(annotation)[0]
                yield Key(inner_name, inner_path, given, default, field.description or "", rules)


KEYS: Mapping[str, Key] = {key.name: key for key in _keys_of(Config)}
_FOLDED = {name.lower(): key for name, key in KEYS.items()}


def find_key(name: str) -> Key | None:
    """Find a key by its name in any letter case, as git does."""
    return _FOLDED.get(name.lower())


def nearest_key(name: str) -> str:
    """Suggest the key that was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a misspelt key pays for it

    close = get_close_matches(name.lower(), _FOLDED, n=1, cutoff=0.5)
    return f"did you mean {_FOLDED[close[0]].name}?" if close else "`git blackbird config` lists every key"


def with_value(model: _Model, path: Sequence[str], value: Value | None) -> _Model:
    """Return a copy of the configuration with one validated value."""
    attribute, *inner = path
    changed = with_value(getattr(model, attribute), inner, value) if inner else value
    return model.model_copy(update={attribute: changed})
