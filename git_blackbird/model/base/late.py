"""Fields of records whose models are imported where a record has some: most have none."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_plain_validator_function, nullable_schema

from git_blackbird.model.base.record import Record


class LateModel(NamedTuple):
    """Has a value or None validated by a model, which is imported when it is first needed."""

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
