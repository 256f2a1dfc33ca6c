"""The bases of all models of ``--json`` output."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class View(BaseModel):
    """A part of an output: its fields in the order in which they are printed, named in camelCase."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
    )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as they are printed."""
        return self.model_dump(mode="json")


class CommandOutput(View):
    """The ``data`` of the line that a command prints; ``schema_name`` is the name of its schema."""

    schema_name: ClassVar[str]


class EventOutput(View):
    """The fields of one line of the event stream; ``event`` is the name that it begins with."""

    event: ClassVar[str]


def is_none(value: object) -> bool:
    """Leave out a field that is None, rather than print null."""
    return value is None
