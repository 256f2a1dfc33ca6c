"""How a key of the configuration is defined, and the keys of a model."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from git_blackbird.model.base.ids import MODEL_NAME

Stricter = Literal["higher", "lower"]
"""Which of two values protects more: true, the larger number, the later choice; or the other way round."""
Own = Literal["user", "machine"]
"""Whose a key is that no repository may set: its user's, or each machine's, which workers are not sent."""


class KeyRules(NamedTuple):
    """The part of a key's definition that pydantic has no words for."""

    limits: tuple[float, float] | None
    environment: str | None
    own: Own | None
    stricter: Stricter | None

    @property
    def clone_safe(self) -> bool:
        """Whether a cloned repository may set it."""
        return self.own is None


def key(
    default: Any,
    help: str,  # noqa: A002  # as in click
    *,
    limits: tuple[float, float] | None = None,
    environment: str | None = None,
    own: Own | None = None,
    stricter: Stricter | None = None,
) -> Any:
    """Define a key; ``limits`` are the smallest and the largest number.

    ``environment`` is a variable that sets it. ``own`` is set for what a cloned repository must not set:
    programs, flags, permissions. ``stricter`` is set for protective keys: a project may tighten the user's
    value, but not loosen it.
    """
    low, high = limits or (None, None)
    field: FieldInfo = Field(default, description=help, ge=low, le=high)
    field.metadata.append(KeyRules(limits, environment, own, stricter))
    return field


class Section(BaseModel):
    """Keys that belong together; ``Config.check.mode`` is the key ``check.mode``.

    The models are built for the JSON Schema only: values are validated one by one, as layers have them.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        defer_build=True,
    )


ModelName = Annotated[str, Field(pattern=rf"^$|{MODEL_NAME}")]
"""A valid model name, which no agent can take for an option."""


# Neither a variable of the shell nor a template of another program.
_PLACE = re.compile(r"(?<![${])\{[A-Za-z]+\}")


def filling_in(*names: str) -> AfterValidator:
    """Return the validator of a word in which these names in braces are filled in, and no others."""
    known = [f"{{{name}}}" for name in names]

    def checked(word: str) -> str:
        for place in _PLACE.findall(word):
            if place not in known:
                use = f"use {', '.join(known)}; with a space inside the braces it is text"
                what = "nothing is filled in for {place}"
                raise PydanticCustomError("unknown_place", what, {"place": place, "use": use})
        return word

    return AfterValidator(checked)


Value = bool | int | float | str | tuple[str, ...]
_Model = TypeVar("_Model", bound=BaseModel)


class ValueType(StrEnum):
    """The type of a key's value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    WORDS = "list of texts"


_VALUE_TYPES = {
    bool: ValueType.BOOLEAN,
    int: ValueType.INTEGER,
    FiniteFloat: ValueType.NUMBER,
}


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
        if get_origin(self.annotation) is tuple:
            return ValueType.WORDS
        return _VALUE_TYPES.get(self.annotation, ValueType.TEXT)

    @property
    def choices(self) -> tuple[str, ...]:
        """The accepted texts, or those that a list may have, if only some are."""
        one = get_args(self.annotation)[0] if self.type is ValueType.WORDS else self.annotation
        return get_args(one) if get_origin(one) is Literal else ()

    def is_stricter(self, value: Value | None, other: Value | None) -> bool:
        """Whether ``value`` protects more than ``other``; false for a key that is not protective."""
        if self.rules.stricter is None or value is None or other is None:
            return False
        rank, other_rank = self._rank(value), self._rank(other)
        return rank > other_rank if self.rules.stricter == "higher" else rank < other_rank

    def _rank(self, value: Value) -> float:
        """Rank the values of a protective key: truth values, numbers, or choices in their order."""
        return value if isinstance(value, int | float) else self.choices.index(str(value))


def keys_of(section: type[Section], name: str = "", path: tuple[str, ...] = ()) -> Iterator[Key]:
    """Yield the keys of a section, and of those inside it, in the order of their definition."""
    for attribute, field in section.model_fields.items():
        annotation, default = field.annotation, field.default
        inner_name, inner_path = name + (field.alias or to_camel(attribute)), (*path, attribute)
        if isinstance(annotation, type) and issubclass(annotation, Section):
            yield from keys_of(annotation, f"{inner_name}.", inner_path)
        for rules in field.metadata:
            if isinstance(rules, KeyRules):
                given = annotation if default is not None else get_args(annotation)[0]
                yield Key(inner_name, inner_path, given, default, field.description or "", rules)


def with_value(model: _Model, path: Sequence[str], value: Value | None) -> _Model:
    """Return a copy of the configuration with one validated value."""
    attribute, *inner = path
    changed = with_value(getattr(model, attribute), inner, value) if inner else value
    return model.model_copy(update={attribute: changed})
