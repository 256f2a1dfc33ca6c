"""The base of everything in a file below ``.blackbird/``, and validation errors as a place and a message."""

import importlib
import operator
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from types import ModuleType
from typing import Annotated, Any, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, to_json
from pydantic_core.core_schema import no_info_plain_validator_function, nullable_schema

from git_blackbird.model.base.sanitize import short_json


# Pydantic hands what it validates to the plugins that any package brings: ours would see prompts, answers and
# what secrets stand in them. To look for plugins takes a tenth of a short command's time, too.
class _NoPlugins(ModuleType):
    """In place of pydantic's module that looks for plugins, which is imported if anything else is asked."""

    get_plugins = tuple

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(self.__name__, None)
        return getattr(importlib.import_module(self.__name__), name)


sys.modules.setdefault("pydantic.plugin._loader", _NoPlugins("pydantic.plugin._loader"))

T = TypeVar("T")
R = TypeVar("R", bound="Record")
_UNMASKED = "unmasked"
Unmasked = Annotated[T, _UNMASKED]
"""The type of a field of which no text is masked when a record is saved: what people write, and names.

Names are paths, branches and what else is looked up or compared by them. Any other text may be of a program
that printed a secret.
"""


class Record(BaseModel):
    """A part of a file: frozen, of strict types, preserving unknown fields."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="allow",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        defer_build=True,
    )

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Parse a part from JSON, with the field names of the file only. Raises ValidationError."""
        return cls.model_validate_json(data, by_alias=True, by_name=False)

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """Validate a parsed JSON value. Raises as ``from_json`` does."""
        return cls.from_json(to_json(value))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: field names of the file, without None values, unknown fields last."""
        return self.model_dump(mode="json")

    def updated(self, **fields: Any) -> Self:
        """Return a copy with other values of some fields; what is saved is validated then."""
        if unknown := fields.keys() - type(self).model_fields.keys():
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        return self.model_copy(update=fields)

    def with_fields(self, other: Self) -> Self:
        """Return a copy with the fields that are set in another."""
        return self.model_copy(update={name: getattr(other, name) for name in other.model_fields_set})

    @classmethod
    def __pydantic_init_subclass__(cls, **_settings: Any) -> None:
        """Have no field written that has no value."""
        for info in cls.model_fields.values():
            info.exclude_if = info.exclude_if or cls.is_left_out

    @staticmethod
    def is_left_out(value: object) -> bool:
        """Whether a field with that value is not written."""
        return value is None


class LateModel(NamedTuple):
    """Has a value or None validated by a model that is imported where a record has some: most have none."""

    imported: Callable[[], type[Record]]

    def _validated(self, value: Any) -> Record | None:
        if value is None:
            return None
        model = self.imported()
        return value if isinstance(value, model) else model.from_value(value)

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_plain_validator_function(self._validated)

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        model = self.imported()
        model.model_rebuild()
        return handler(nullable_schema(model.__pydantic_core_schema__))


def masked(record: R, mask: Callable[[str], str]) -> R:
    """Return a record with its texts masked but those of ``Unmasked`` fields, and what is unknown."""
    changed = {}
    for name in _masked_fields(type(record)):
        value = getattr(record, name)
        if value and (after := _masked(value, mask)) is not value:
            changed[name] = after
    return record.model_copy(update=changed) if changed else record


def masked_texts(record: Record) -> list[str]:
    """Return the texts that ``masked`` would mask."""
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    masked(record, collect)
    return texts


@cache
def _masked_fields(kind: type[Record]) -> tuple[str, ...]:
    fields = kind.model_fields.items()
    return tuple(name for name, info in fields if _UNMASKED not in info.metadata and not info.exclude)


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    """Return the value itself where no text in it is masked."""
    match value:
        case Enum():
            return value
        case str():
            text = mask(value)
            return value if text == value else text
        case Record():
            return masked(value, mask)
        case dict():
            parts = {name: _masked(part, mask) for name, part in value.items()}
            return value if all(part is value[name] for name, part in parts.items()) else parts
        case list() | tuple():
            items = [_masked(item, mask) for item in value]
            is_same = all(map(operator.is_, items, value))
            return value if is_same else getattr(type(value), "_make", type(value))(items)
        case _:
            return value


class Part(Record):
    """A part of our own: nothing is written of what is empty."""

    @staticmethod
    def is_left_out(value: object) -> bool:
        return is_empty(value)


def is_empty(value: object) -> bool:
    """Whether a value says nothing, so that no file has it."""
    return value is None or value is False or (isinstance(value, list | tuple | dict) and not value)


TOGETHER = "contradiction"
"""The type of an error about values that are right alone and not together."""

_EXPECTED: Mapping[str, str] = {
    "bool_type": "true or false",
    "dict_type": "an object",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a text",
    "tuple_type": "a list",
}
_WITHOUT_VALUE: Mapping[str, str] = {
    "extra_forbidden": "is not known",
    "finite_number": "is too large a number",
    "missing": "is missing",
}


def first_error(error: ValidationError) -> str:
    """Format the first error on one line: the path of a value, or what the whole is, and what is wrong."""
    details = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, details['loc'])) or 'the record'}: {_what(details)}"


def _what(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind in _WITHOUT_VALUE:
        return _WITHOUT_VALUE[kind]
    shown = describe(details["input"])
    if kind == TOGETHER:
        return details["msg"]
    if kind in _EXPECTED:
        return f"is {shown}, not {_EXPECTED[kind]}"
    if kind in {"enum", "literal_error"}:
        return f"is {shown}, not {context['expected']}"
    if kind == "value_error":
        return f"is {shown}, {context['error']}"
    return f"is {shown}: {details['msg'][:1].lower()}{details['msg'][1:]}"


def describe(value: object) -> str:
    """Name an invalid value in a message: an object or a list by its kind, anything else as JSON."""
    if isinstance(value, dict | list | tuple):
        return "an object" if isinstance(value, dict) else "a list"
    return short_json(value)
