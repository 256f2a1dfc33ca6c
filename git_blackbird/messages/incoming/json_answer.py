"""Find one JSON object in an agent's answer, read it by a model, and the schema that the agent is held to.

The schema keeps to the strict subset that all providers accept: no references, everything required.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from git_blackbird.model.base.lenient import replace_surrogates

MAX_CHARACTERS = 512 * 1024
# The number of characters that failed attempts may read, so that no text takes long.
_BUDGET = 4 * MAX_CHARACTERS
_COST_OF_ATTEMPT = 100
_OPENING = re.compile(r'\{[ \t\r\n]*(?:\}|"(?:[^"\\]|\\.)*+"[ \t\r\n]*:)', re.DOTALL)
_KEYWORDS = ("type", "enum", "items", "properties", "required", "additionalProperties", "description")
_ENVELOPES = ("structured_output", "result", "content", "message", "item", "input", "output", "text")
_MAX_ENVELOPES = 8

T = TypeVar("T", bound=BaseModel)


class AnswerFault(Exception):  # noqa: N818  # becomes an error where it is known what was asked
    """An error in an answer."""


class AnswerError(ValueError):
    """An answer without what was asked for; the message is for people and for the agent's next attempt."""


class Answer(BaseModel):
    """A part of an answer; null is as good as absent, since not every agent keeps to a schema."""

    model_config = ConfigDict(
        strict=True, frozen=True, str_strip_whitespace=True, alias_generator=to_camel, validate_by_name=False
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: field for name, field in value.items() if field is not None}
        return value


def strict_schema(schema: dict[str, Any], parts: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a schema in the strict subset: no references, every object closed and complete."""
    reference = schema.get("$ref", schema.get("format"))
    if reference is not None:
        # The docstring of a model would become its description.
        schema = {**parts[reference], "description": None, **schema}
    if "anyOf" in schema:
        schema = {**schema["anyOf"][0], **schema, "type": [part["type"] for part in schema["anyOf"]]}
    if "items" in schema:
        schema = {**schema, "items": strict_schema(schema["items"], parts)}
    if "properties" in schema:
        fields = {name: strict_schema(part, parts) for name, part in schema["properties"].items()}
        schema = {**schema, "properties": fields, "required": list(fields), "additionalProperties": False}
    return {word: schema[word] for word in _KEYWORDS if schema.get(word) is not None}


TWICE: Final = object()
"""The value of a key that an object has more than once."""


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        fields[name] = TWICE if name in fields else value
    return fields


# Every number is a float, so that integers of any length are read without an error.
_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_int=float, strict=False)


class JsonFinder:
    """Find objects in texts; the texts of one answer share a limit on failed attempts.

    ``found`` has all objects, ``beside`` the text between them.
    """

    def __init__(self) -> None:
        self._budget = _BUDGET
        self.found: list[dict[str, Any]] = []
        self.beside: list[str] = []

    def objects(self, text: str) -> list[dict[str, Any]]:
        """Return the outermost objects in order.

        A duplicate key has the value ``TWICE``. Never raises; invalid JSON is skipped.
        """
        text = replace_surrogates(text)
        objects, at = [], 0
        match = _OPENING.search(text)
        while match and self._budget > 0:
            value, end = self._decode(text, match.start())
            if value is not None:
                objects.append(value)
                self.beside.append(text[at : match.start()])
                at = end
            match = _OPENING.search(text, end)
        self.beside.append(text[at:])
        self.found += objects
        return objects

    def _decode(self, text: str, start: int) -> tuple[dict[str, Any] | None, int]:
        """Parse the object at ``start``; return it and its end, or None and where to continue."""
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # Creating the error would count the lines before it.
            self._budget -= _COST_OF_ATTEMPT + error.pos - start + error.pos // 64
        except (ValueError, RecursionError):
            self._budget -= len(text) - start
        return None, start + 1


def one_answer(text: str, field: str, finder: JsonFinder) -> dict[str, Any]:
    """Return the only object with that field; equal ones count once. Raises AnswerFault."""
    if len(text) > MAX_CHARACTERS:
        raise AnswerFault(f"it is longer than {MAX_CHARACTERS} characters")
    objects = finder.objects(text)
    answers = {
        canonical(answer): answer
        for value in objects
        for answer in _answers(value, field, finder, _MAX_ENVELOPES)
    }
    if not objects:
        raise AnswerFault("no valid JSON object found in agent output")
    if not answers:
        raise AnswerFault(f'missing required field "{field}"')
    if len(answers) > 1:
        raise AnswerFault(f'found {len(answers)} JSON objects with field "{field}"; expected exactly one')
    (answer,) = answers.values()
    return answer


def canonical(answer: dict[str, Any]) -> str:
    """Return an object as a text that is the same for equal ones. Raises AnswerFault."""
    try:
        return json.dumps(answer, sort_keys=True, default=repr)
    except RecursionError:
        raise AnswerFault("a JSON object is nested too deeply") from None


def _answers(value: Any, field: str, finder: JsonFinder, envelopes: int) -> Iterator[dict[str, Any]]:
    """Yield the objects with that field in a value that may be an envelope around them."""
    if isinstance(value, dict) and field in value:
        yield value
        return
    if not envelopes:
        return
    inner: Sequence[Any] = ()
    if isinstance(value, dict):
        inner = [value[name] for name in _ENVELOPES if name in value]
    elif isinstance(value, list):
        inner = value
    elif isinstance(value, str):
        inner = finder.objects(value)
    for item in inner:
        yield from _answers(item, field, finder, envelopes - 1)


def read_answer(model: type[T], answer: Mapping[str, Any]) -> T:
    """Read an answer by its model. Raises AnswerFault that names the field."""
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    wrong = first["msg"].partition(" or instance of")[0]
    if first["input"] is TWICE:
        wrong = "appears twice in one object"
    raise AnswerFault(f'field "{place[1:]}": {wrong}')
