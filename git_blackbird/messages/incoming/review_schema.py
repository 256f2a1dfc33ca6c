"""The answer of a parent's reviewer as a model, and its JSON schema for agents.

The schema keeps to the strict subset that all providers accept (spec 3): everything is required. The model
accepts more, since not every agent keeps to a schema.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.parent_verdict import ChildStatus

# Providers limit the values of an enum, and a schema may have to fit into one command argument.
MAX_ENUM_IDS = 250
MAX_ENUM_CHARACTERS = 10_000

_STATUSES = {
    "pass": ChildStatus.PASSED,
    "passed": ChildStatus.PASSED,
    "fail": ChildStatus.FAILED,
    "failed": ChildStatus.FAILED,
}
_KEYWORDS = ("type", "enum", "items", "properties", "required", "additionalProperties", "description")
# A placeholder for the ids of the parent's children.
_CHILD = "child"
_Child = Annotated[TaskId, WithJsonSchema({"format": _CHILD})]


def _read_status(value: Any) -> ChildStatus | None:
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "Input should be a valid string")
    return _STATUSES.get(value.strip().lower())


class _Answer(BaseModel):
    model_config = ConfigDict(
        strict=True, frozen=True, str_strip_whitespace=True, alias_generator=to_camel, validate_by_name=False
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: field for name, field in value.items() if field is not None}
        return value


def _as_item(child: str, result: Any) -> Any:
    if isinstance(result, str):
        return {"taskId": child, "status": result}
    return {**result, "taskId": child} if isinstance(result, dict) else result


class ChildAnswer(_Answer):
    """The result of one child; ``status`` is None if it is neither passed nor failed."""

    task_id: _Child = TaskId("")
    status: Annotated[ChildStatus | SkipJsonSchema[None], BeforeValidator(_read_status)] = None
    feedback: str | None = Field("", description="What is wrong with it; null when it passed.")


class ReviewAnswer(_Answer):
    """The whole answer."""

    passed: bool = Field(description="Whether the acceptance criteria are met.")
    resume_task_ids: list[_Child] = Field(
        [], description="The tasks to be worked on again; empty when passed."
    )
    feedback_for_resume: str = Field("", description="What must be fixed; empty when passed.")
    review_results: list[ChildAnswer] = Field([], description="One entry for each child.")

    @model_validator(mode="before")
    @classmethod
    def _with_list(cls, value: Any) -> Any:
        """List results that are an object by ids, or go by their former name."""
        results = value.get("reviewResults") or value.get("taskResults")
        if isinstance(results, dict):
            results = [_as_item(child, result) for child, result in results.items()]
        return {**value, "reviewResults": results}


def build_review_schema(child_ids: Iterable[TaskId]) -> dict[str, Any]:
    """Build the schema of one parent's review, the same for the same children in any order.

    A parent with more children than an enum may have gets plain texts for their ids; ``parse_review_answer``
    checks them in any case.
    """
    ids = sorted(set(child_ids))
    is_bounded = len(ids) <= MAX_ENUM_IDS and sum(map(len, ids)) <= MAX_ENUM_CHARACTERS
    child = {"type": "string", "enum": ids} if ids and is_bounded else {"type": "string"}
    schema = ReviewAnswer.model_json_schema()
    parts = {f"#/$defs/{name}": part for name, part in schema["$defs"].items()}
    return _strict({"$ref": ""}, {**parts, "": schema, _CHILD: child})


def _strict(schema: dict[str, Any], parts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a schema in the strict subset: no references, every object closed and complete."""
    reference = schema.get("$ref", schema.get("format"))
    if reference is not None:
        # The docstring of a model would become its description.
        schema = {**parts[reference], "description": None, **schema}
    if "anyOf" in schema:
        schema = {**schema, "type": [part["type"] for part in schema["anyOf"]]}
    if "items" in schema:
        schema = {**schema, "items": _strict(schema["items"], parts)}
    if "properties" in schema:
        fields = {name: _strict(part, parts) for name, part in schema["properties"].items()}
        schema = {**schema, "properties": fields, "required": list(fields), "additionalProperties": False}
    return {word: schema[word] for word in _KEYWORDS if schema.get(word) is not None}
