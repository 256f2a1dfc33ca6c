"""Types for JSON that programs and models print: an invalid value counts as missing, not as an error.

Fields of these types may be missing as well, and need no default for that. Invalid values are replaced inside
pydantic's parser: no Python runs for them, and unknown fields are not built.
"""

import re
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
)
from pydantic_core import CoreSchema, core_schema

# More than any counter of a real program; anything larger is invalid.
_MAX_COUNT = 10**15
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# A pair, a lone one, or any other escape; a backslash that is escaped itself starts none.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
T = TypeVar("T")


_EMPTY, _NOTHING = object(), object()


class Fallback(NamedTuple):
    """Annotation: replace a missing or invalid value by ``default``.

    With ``_EMPTY`` that is an object without fields; with ``_NOTHING`` an item is dropped from its list or
    object.
    """

    default: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self.default is _NOTHING:
            return core_schema.with_default_schema(handler(source), on_error="omit")
        default = source() if self.default is _EMPTY else self.default
        return core_schema.with_default_schema(handler(source), default=default, on_error="default")


Valid = Annotated[T, Fallback(_NOTHING)]
Part = Annotated[T, Fallback(_EMPTY)]
Several = Annotated[tuple[Valid[T], ...], Fallback(())]
Text = Annotated[str, Fallback("")]
Flag = Annotated[bool | None, Fallback(None)]
Count = Annotated[int, Field(ge=0, le=_MAX_COUNT), Fallback(0)]
_Finite = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Amount = Annotated[_Finite | None, Fallback(None)]


def _message_of(error: Any) -> Any:
    return error.get("message") if isinstance(error, dict) else error


ErrorText = Annotated[str, BeforeValidator(_message_of), Fallback("")]
"""The message of an error, which is that text alone or an object that has it."""


def at(*paths: str) -> Any:
    """Read a field from inside of the object: from the first of these dotted paths that there is."""
    return Field(validation_alias=AliasChoices(*(AliasPath(*path.split(".")) for path in paths)))


STRICT = ConfigDict(strict=True, frozen=True)
_COUNTERS: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, Valid[_Finite]], config=STRICT)


class Lenient(BaseModel):
    """A JSON object of which only the fields of a subclass are read; no type is converted."""

    model_config = STRICT


def finite_counters(counters: Any) -> dict[str, float]:
    """Return the counters that are finite and not negative."""
    return _COUNTERS.validate_python(dict(counters))


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates in JSON text, escaped or not, by U+FFFD: programs that cut texts print them."""
    plain = _LONE_SURROGATE.sub("\ufffd", text)
    return _ESCAPE.sub(lambda match: "\ufffd" if match[1] else match[0], plain)
