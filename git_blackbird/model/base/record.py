"""The base of everything that is read from or written to a file below ``.blackbird/``."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer
from pydantic_core import to_json


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
        """Parse a part from JSON, with the field names of the file only.

        Raises pydantic's ValidationError.
        """
        return cls.model_validate_json(data, by_alias=True, by_name=False)

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """Validate a parsed JSON value. Raises as ``from_json`` does."""
        return cls.from_json(to_json(value))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: field names of the file, without None values, unknown fields last."""
        return self.model_dump(mode="json")

    def updated(self, fields: "Record") -> Self:
        """Return a copy with the fields that are set in ``fields``, of its own class or a base of it."""
        return self.model_copy(update={name: getattr(fields, name) for name in fields.model_fields_set})

    @model_serializer(mode="wrap")
    def _leave_out_none(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        unknown = self.model_extra or {}
        return {name: value for name, value in dump(self).items() if value is not None or name in unknown}
