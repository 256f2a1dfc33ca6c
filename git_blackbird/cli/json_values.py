"""How ``--json`` prints a value, and the JSON Schema of that, both from what its class declares.

A class whose fields are annotated with ``Shown`` is printed as it is. What is printed of another value is
declared by a subclass of ``Printed``.
"""

import os
import types
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache, reduce
from operator import attrgetter, or_
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    NewType,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.alias_generators import to_camel

from git_blackbird.model.base.shown import Shown

S = TypeVar("S")
T = TypeVar("T")
Encode = Callable[[Any, str], Any]
"""Makes of a value what is printed of it at a time: that tells how long runs at work have taken."""


class Printed(Generic[S]):
    """A value as it is printed: each field is read from the value when it is."""

    def __init__(self, original: S) -> None:
        self.original = original


class _Reading(NamedTuple):
    shown: Shown
    read: Encode

    def __get__(self, printed: Printed[Any] | None, _: type) -> Any:
        return self if printed is None else self.read(printed, "")


class Fields(Generic[S]):
    """Declares the fields of a ``Printed``, each with its description and how it is read."""

    def __call__(
        self,
        text: str,
        read: Callable[[S], T],
        name: str | None = None,
        *,
        is_spread: bool = False,
        or_absent: bool = False,
    ) -> T:
        """Declare a field; the arguments but ``read`` are those of ``Shown``."""
        return cast(
            "T", _Reading(Shown(text, name, is_spread, or_absent), lambda printed, _: read(printed.original))
        )

    def at(self, text: str, read: Callable[[S, str], T]) -> T:
        """Declare a field that depends on the time."""
        return cast("T", _Reading(Shown(text), lambda printed, now: read(printed.original, now)))


class Member(NamedTuple):
    """A field that is printed: its JSON name, its type, how it is read, and what is said of it."""

    name: str
    hint: Any
    read: Encode
    shown: Shown


@cache
def members(kind: Any) -> tuple[Member, ...]:
    """Return what is printed of a class, in order; nothing if it is no value of ours."""
    return tuple(_members(kind))


def _members(kind: Any) -> Iterator[Member]:
    hints = get_type_hints(kind, include_extras=True)
    for name, found in vars(kind).items():
        if isinstance(found, property):
            hints[name] = get_type_hints(found.fget, include_extras=True).get("return")
    for attribute, hint in hints.items():
        declared = getattr(kind, attribute, None)
        if isinstance(declared, _Reading):
            yield Member(declared.shown.name or to_camel(attribute), hint, declared.read, declared.shown)
            continue
        shown = next((one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Shown)), None)
        if shown is not None:
            yield Member(shown.name or to_camel(attribute), hint.__origin__, _attribute(attribute), shown)


def _attribute(name: str) -> Encode:
    read = attrgetter(name)
    return lambda value, _: read(value)


def encode(value: object, now: str = "") -> dict[str, Any]:
    """Return the fields of a value as they are printed; ``now`` counts where it has runs at work."""
    kind: Any = type(value)
    printed: dict[str, Any] = _encoder(kind)(value, now)
    return printed


@cache
def _encoder(hint: Any) -> Encode:
    """Make the function that prints values of a type."""
    hint, origin, args = _plain(hint)
    if origin in {Union, types.UnionType}:
        kinds = [arg for arg in args if arg is not type(None)]
        one = _encoder(kinds[0]) if len(kinds) == 1 else _encode_any
        return lambda value, now: None if value is None else one(value, now)
    if isinstance(origin, type):
        items = tuple(_encoder(arg) for arg in args if arg is not Ellipsis)
        if issubclass(origin, Mapping):
            key, item = items
            return lambda value, now: {key(name, now): item(part, now) for name, part in value.items()}
        if origin is tuple and Ellipsis not in args:
            return lambda value, now: [each(part, now) for each, part in zip(items, value, strict=True)]
        return lambda value, now: [items[0](part, now) for part in value]
    if hint in {object, Any}:
        return _encode_any
    base = next((base for base in _PLAIN if issubclass(hint, base)), None)
    if base is not None:
        return _PLAIN[base]
    return _encode_fields(members(hint)) if members(hint) else lambda value, _: value


_PLAIN: Mapping[type, Encode] = {
    float: lambda value, _: float(value),
    Enum: lambda value, _: value.value,
    os.PathLike: lambda value, _: os.fspath(value),
    BaseModel: lambda value, _: value.model_dump(mode="json"),
}


def _plain(hint: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """Return a type without what is only said of it, its origin and its arguments."""
    while isinstance(hint, NewType) or get_origin(hint) is Annotated:
        hint = hint.__supertype__ if isinstance(hint, NewType) else hint.__origin__
    return hint, get_origin(hint), get_args(hint)


def _encode_any(value: Any, now: str) -> Any:
    """Print a value by the type that it has."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_encode_any(item, now) for item in value]
    kind: Any = type(value)
    return _encoder(kind)(value, now)


def _encode_fields(shown: tuple[Member, ...]) -> Encode:
    each = [(member, _encoder(member.hint)) for member in shown]

    def encode_fields(value: Any, now: str) -> dict[str, Any]:
        printed: dict[str, Any] = {}
        for member, encoder in each:
            part = encoder(member.read(value, now), now)
            if member.shown.is_spread:
                printed |= part
            elif part is not None or not member.shown.or_absent:
                printed[member.name] = part
        return printed

    return encode_fields


@cache
def model_of(kind: Any) -> type[BaseModel]:
    """Return a pydantic model with what is printed of a class, for its JSON Schema."""
    fields: dict[str, Any] = {f"f{number}": field for number, field in enumerate(_model_fields(kind))}
    config = ConfigDict(extra="forbid")
    model: type[BaseModel] = create_model(kind.__name__, __config__=config, __doc__=kind.__doc__, **fields)
    return model


def _model_fields(kind: Any) -> Iterator[tuple[Any, Any]]:
    for member in members(kind):
        if member.shown.is_spread:
            yield from _model_fields(member.hint)
            continue
        settings: dict[str, Any] = {"default": None} if member.shown.or_absent else {}
        yield _modelled(member.hint), Field(alias=member.name, description=member.shown.text, **settings)


def _modelled(hint: Any) -> Any:
    """Return a type with a model in place of each class of which fields are printed."""
    plain, origin, args = _plain(hint)
    if origin in {Union, types.UnionType}:
        return reduce(or_, map(_modelled, args))
    if origin is not None:
        return origin[tuple(arg if arg is Ellipsis else _modelled(arg) for arg in args)]
    if not isinstance(plain, type) or issubclass(plain, BaseModel | Enum):
        return plain
    if issubclass(plain, os.PathLike):
        return str
    kind: Any = plain
    return model_of(kind) if members(kind) else plain
