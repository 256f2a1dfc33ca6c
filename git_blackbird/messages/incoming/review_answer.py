"""The answer of a parent's reviewer: model, JSON schema, and how it is found and checked.

The schema of the launch is the first check, ``parse_review_answer`` the second, also without schemas.
The model accepts more than the schema, since not every agent keeps to it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from git_blackbird.clean import one_line
from git_blackbird.messages.incoming.json_answer import (
    Answer,
    AnswerError,
    AnswerFault,
    JsonFinder,
    canonical,
    one_answer,
    read_answer,
    strict_schema,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.parent_verdict import ChildResult, ChildStatus, ParentVerdict

# Providers limit the values of an enum, and a schema may have to fit into one command argument.
MAX_ENUM_IDS = 250
MAX_ENUM_CHARACTERS = 10_000

_STATUSES = {
    "pass": ChildStatus.PASSED,
    "passed": ChildStatus.PASSED,
    "fail": ChildStatus.FAILED,
    "failed": ChildStatus.FAILED,
}
# A placeholder for the ids of the parent's children.
_CHILD = "child"
_Child = Annotated[TaskId, WithJsonSchema({"format": _CHILD})]


def _read_status(value: Any) -> ChildStatus:
    status = _STATUSES.get(value.strip().lower()) if isinstance(value, str) else None
    if status is None:
        raise PydanticCustomError("status", "Input should be 'passed' or 'failed'")
    return status


def _as_item(child: str, result: Any) -> Any:
    if isinstance(result, str):
        return {"taskId": child, "status": result}
    return {**result, "taskId": child} if isinstance(result, dict) else result


class ChildAnswer(Answer):
    """The result of one child; ``status`` is None if it is missing."""

    task_id: _Child = TaskId("")
    status: Annotated[ChildStatus | SkipJsonSchema[None], BeforeValidator(_read_status)] = None
    feedback: str | None = Field("", description="What is wrong with it; null when it passed.")


class ReviewAnswer(Answer):
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
    return strict_schema({"$ref": ""}, {**parts, "": schema, _CHILD: child})


# The beginning of an object that is incomplete or no JSON.
_PIECE = re.compile(
    r"""\{[^{}]*\\{0,9}["'](?:passed|resumeTaskIds|feedbackForResume|reviewResults)\\{0,9}["']\s*:"""
)
# In the text of an object, in which quotes inside of texts are escaped.
_NOT_PASSED = re.compile(r'[{ ]"passed": false')


def parse_review_answer(text: str, parent: Task) -> ParentVerdict:
    """Parse the one verdict in ``text``, which may be in prose, code fences or envelopes; prose says nothing.

    Raises AnswerError for an answer without a verdict, with several, with a piece of another, or with
    one that does not fit this parent or contradicts itself, as by another ``passed`` that is false. No text
    raises anything else or takes long.
    """
    children = frozenset(parent.children)
    what = "cannot be read"
    try:
        finder = JsonFinder()
        answer = read_answer(ReviewAnswer, one_answer(text, "passed", finder))
        results = _read_results(answer, children)
        what = "is not valid"
        _check_passed(answer)
        _check_ids(answer, children)
        _check_results(answer, results)
        _check_others(answer, finder)
    except AnswerFault as fault:
        raise AnswerError(f"the reviewer's answer {what}: {fault}") from None
    return _verdict(answer, results, parent.children)


def _read_results(answer: ReviewAnswer, children: frozenset[TaskId]) -> Mapping[TaskId, ChildAnswer]:
    """Return the result of each child; results of other tasks are skipped."""
    results: dict[TaskId, ChildAnswer] = {}
    for result in answer.review_results:
        if result.task_id in results:
            raise AnswerFault(f'there are two review results of child "{result.task_id}"')
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
            raise AnswerFault(f"{name} must be empty when passed=true")
        if not answer.passed and not requests:
            raise AnswerFault(f"{name} required when passed=false")


def _check_ids(answer: ReviewAnswer, children: frozenset[TaskId]) -> None:
    seen: set[TaskId] = set()
    for index, task_id in enumerate(answer.resume_task_ids):
        if not task_id:
            raise AnswerFault(f"resumeTaskIds[{index}] must be non-empty")
        if task_id not in children:
            raise AnswerFault(f'resume task id "{one_line(task_id, 80)}" is not a child of this parent')
        if task_id in seen:
            raise AnswerFault(f'duplicate resume task id "{task_id}"')
        seen.add(task_id)


def _check_results(answer: ReviewAnswer, results: Mapping[TaskId, ChildAnswer]) -> None:
    """Check that no result contradicts the rest of the answer."""
    resume = frozenset(answer.resume_task_ids)
    for child, status in sorted((child, result.status) for child, result in results.items()):
        what = f'the review result of child "{child}" is {status}'
        if status is ChildStatus.FAILED and answer.passed:
            raise AnswerFault(f"{what}, which contradicts passed=true")
        if status is ChildStatus.FAILED and child not in resume:
            raise AnswerFault(f"{what}, but resumeTaskIds does not name it")
        if status is ChildStatus.PASSED and child in resume:
            raise AnswerFault(f"{what}, but resumeTaskIds names it")


def _check_others(answer: ReviewAnswer, finder: JsonFinder) -> None:
    """Check that no other object in the answer, whole or in part, may be another verdict."""
    piece = _PIECE.search("".join(finder.beside))
    if piece is not None:
        raise AnswerFault(f'"{one_line(piece[0], 80)}" is part of no complete JSON object')
    if answer.passed and any(_NOT_PASSED.search(canonical(value)) for value in finder.found):
        raise AnswerFault('field "passed" is true, and false in another place')


def _verdict(
    answer: ReviewAnswer, by_task: Mapping[TaskId, ChildAnswer], children: Sequence[TaskId]
) -> ParentVerdict:
    results = {child: ChildResult(task_id=child, status=ChildStatus.PASSED) for child in sorted(children)}
    for child in answer.resume_task_ids:
        own = by_task[child].feedback if child in by_task else None
        results[child] = ChildResult(
            task_id=child, status=ChildStatus.FAILED, feedback=own or answer.feedback_for_resume
        )
    resume = tuple(child for child in children if child in answer.resume_task_ids)
    return ParentVerdict(answer.passed, resume, answer.feedback_for_resume, results)
