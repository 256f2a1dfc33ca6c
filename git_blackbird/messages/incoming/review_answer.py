"""The answer of a parent's reviewer: model, JSON schema, and how it is found and checked.

The schema of the launch is the first check, ``parse_review_answer`` the second, also without schemas.
The schema keeps to the strict subset that all providers accept: everything is required. The model accepts
more, since not every agent keeps to a schema.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.lenient import replace_surrogates
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.parent_verdict import ChildResult, ChildStatus, ParentVerdict

MAX_CHARACTERS = 512 * 1024
# The number of characters that failed attempts may read, so that no text takes long.
_BUDGET = 4 * MAX_CHARACTERS
_COST_OF_ATTEMPT = 100
_OPENING = re.compile(r'\{[ \t\r\n]*(?:\}|"(?:[^"\\]|\\.)*+"[ \t\r\n]*:)', re.DOTALL)
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


def _read_status(value: Any) -> ChildStatus:
    status = _STATUSES.get(value.strip().lower()) if isinstance(value, str) else None
    if status is None:
        raise PydanticCustomError("status", "Input should be 'passed' or 'failed'")
    return status


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
    """The result of one child; ``status`` is None if it is missing."""

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


_ENVELOPES = ("structured_output", "result", "content", "message", "item", "input", "output", "text")
_MAX_ENVELOPES = 8
# The beginning of an object that is incomplete or no JSON.
_PIECE = re.compile(
    r"""\{[^{}]*\\{0,9}["'](?:passed|resumeTaskIds|feedbackForResume|reviewResults)\\{0,9}["']\s*:"""
)
# In the text of an object, in which quotes inside of texts are escaped.
_NOT_PASSED = re.compile(r'[{ ]"passed": false')


class ReviewAnswerError(ValueError):
    """An answer without a valid verdict; the message is for people and for the reviewer's next attempt."""


class _Fault(Exception):  # noqa: N818  # becomes a ReviewAnswerError where the parent is known
    """An error in an answer."""


def parse_review_answer(text: str, parent: Task) -> ParentVerdict:
    """Parse the one verdict in ``text``, which may be in prose, code fences or envelopes; prose says nothing.

    Raises ReviewAnswerError for an answer without a verdict, with several, with a piece of another, or with
    one that does not fit this parent or contradicts itself, as by another ``passed`` that is false. No text
    raises anything else or takes long.
    """
    children = frozenset(parent.children)
    what = "cannot be read"
    try:
        finder = JsonFinder()
        answer = _read_answer(_one_answer(text, finder))
        results = _read_results(answer, children)
        what = "is not valid"
        _check_passed(answer)
        _check_ids(answer, children)
        _check_results(answer, results)
        _check_others(answer, finder)
    except _Fault as fault:
        raise ReviewAnswerError(f"the reviewer's answer {what}: {fault}") from None
    return _verdict(answer, results, children)


def _one_answer(text: str, finder: JsonFinder) -> dict[str, Any]:
    """Return the only object with a field ``passed``; equal ones count once."""
    if len(text) > MAX_CHARACTERS:
        raise _Fault(f"it is longer than {MAX_CHARACTERS} characters")
    objects = finder.objects(text)
    answers = {
        _canonical(answer): answer for value in objects for answer in _answers(value, finder, _MAX_ENVELOPES)
    }
    if not objects:
        raise _Fault("no valid JSON object found in agent output")
    if not answers:
        raise _Fault('missing required field "passed"')
    if len(answers) > 1:
        raise _Fault(f'found {len(answers)} JSON objects with field "passed"; expected exactly one')
    (answer,) = answers.values()
    return answer


def _canonical(answer: dict[str, Any]) -> str:
    try:
        return json.dumps(answer, sort_keys=True, default=repr)
    except RecursionError:
        raise _Fault("a JSON object is nested too deeply") from None


def _answers(value: Any, finder: JsonFinder, envelopes: int) -> Iterator[dict[str, Any]]:
    """Yield the objects with a field ``passed`` in a value that may be an envelope around them."""
    if isinstance(value, dict) and "passed" in value:
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
        yield from _answers(item, finder, envelopes - 1)


def _read_answer(answer: Mapping[str, Any]) -> ReviewAnswer:
    try:
        return ReviewAnswer.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    wrong = first["msg"].partition(" or instance of")[0]
    if first["input"] is TWICE:
        wrong = "appears twice in one object"
    raise _Fault(f'field "{place[1:]}": {wrong}')


def _read_results(answer: ReviewAnswer, children: frozenset[TaskId]) -> Mapping[TaskId, ChildAnswer]:
    """Return the result of each child; results of other tasks are skipped."""
    results: dict[TaskId, ChildAnswer] = {}
    for result in answer.review_results:
        if result.task_id in results:
            raise _Fault(f'there are two review results of child "{result.task_id}"')
        if result.task_id in children:
            results[result.task_id] = result
    return results


def _check_passed(answer: ReviewAnswer) -> None:
    """Check that children to resume are listed exactly if the review did not pass."""
    for name, requests in {
        "resumeTaskIds": answer.resume_task_ids,
        "feedbackForResume": answer.feedback_for_resume,
    }.items():
        if answer.passed and requests:
            raise _Fault(f"{name} must be empty when passed=true")
        if not answer.passed and not requests:
            raise _Fault(f"{name} required when passed=false")


def _check_ids(answer: ReviewAnswer, children: frozenset[TaskId]) -> None:
    seen: set[TaskId] = set()
    for index, task_id in enumerate(answer.resume_task_ids):
        if not task_id:
            raise _Fault(f"resumeTaskIds[{index}] must be non-empty")
        if task_id not in children:
            raise _Fault(f'resume task id "{clean_line(task_id, 80)}" is not a child of this parent')
        if task_id in seen:
            raise _Fault(f'duplicate resume task id "{task_id}"')
        seen.add(task_id)


def _check_results(answer: ReviewAnswer, results: Mapping[TaskId, ChildAnswer]) -> None:
    """Check that no result contradicts the rest of the answer."""
    resume = frozenset(answer.resume_task_ids)
    for child, status in sorted((child, result.status) for child, result in results.items()):
        what = f'the review result of child "{child}" is {status}'
        if status is ChildStatus.FAILED and answer.passed:
            raise _Fault(f"{what}, which contradicts passed=true")
        if status is ChildStatus.FAILED and child not in resume:
            raise _Fault(f"{what}, but resumeTaskIds does not name it")
        if status is ChildStatus.PASSED and child in resume:
            raise _Fault(f"{what}, but resumeTaskIds names it")


def _check_others(answer: ReviewAnswer, finder: JsonFinder) -> None:
    """Check that no other object in the answer, whole or in part, may be another verdict."""
    piece = _PIECE.search("".join(finder.beside))
    if piece is not None:
        raise _Fault(f'"{clean_line(piece[0], 80)}" is part of no complete JSON object')
    if answer.passed and any(_NOT_PASSED.search(_canonical(value)) for value in finder.found):
        raise _Fault('field "passed" is true, and false in another place')


def _verdict(
    answer: ReviewAnswer, by_task: Mapping[TaskId, ChildAnswer], children: frozenset[TaskId]
) -> ParentVerdict:
    results = {child: ChildResult(task_id=child, status=ChildStatus.PASSED) for child in sorted(children)}
    for child in answer.resume_task_ids:
        own = by_task[child].feedback if child in by_task else None
        results[child] = ChildResult(
            task_id=child, status=ChildStatus.FAILED, feedback=own or answer.feedback_for_resume
        )
    resume = tuple(sorted(answer.resume_task_ids))
    return ParentVerdict(answer.passed, resume, answer.feedback_for_resume, results)
