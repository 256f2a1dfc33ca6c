"""The answer of a parent's reviewer: its verdict, found in what an agent wrote and checked (spec 0, spec 3).

The schema of the launch is the first layer, this is the second; it holds for agents that keep to no schema.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from git_blackbird.messages.json_in_prose import TWICE, WINDOW_CHARACTERS, Finder
from git_blackbird.messages.stated_verdicts import find_contrary, unmask
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.review import ChildResult, ChildStatus, Verdict
from git_blackbird.model.text import clean_line

_ENVELOPES = ("structured_output", "result", "content", "message", "item", "input", "output", "text")
_MAX_ENVELOPES = 8
_STATUSES: Mapping[str, ChildStatus] = {
    "pass": ChildStatus.PASSED,
    "passed": ChildStatus.PASSED,
    "fail": ChildStatus.FAILED,
    "failed": ChildStatus.FAILED,
}
_NOT_PASSED = re.compile(r"\bpassed\b[\W_]{1,20}(?:false|no|0)\b", re.IGNORECASE)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class ReviewAnswerError(ValueError):
    """An answer that is no verdict; the message says why, for people and for the reviewer's next try."""


class _Fault(Exception):  # noqa: N818  # becomes a ReviewAnswerError where the parent is known
    """What keeps an answer from being one."""


@dataclass(frozen=True)
class _Answer:
    """What an answer says, as it stands there; ``said`` has status and feedback of each child it names."""

    passed: bool
    resume: tuple[TaskId, ...]
    feedback: str
    said: Mapping[TaskId, tuple[ChildStatus | None, str]]


def parse_review_answer(text: str, parent: Task) -> Verdict:
    """Read the one verdict in ``text``, wherever in prose, code fences or envelopes it stands.

    Raises ReviewAnswerError for an answer without a verdict, with several, or with one that is none for this
    parent, contradicts itself, or passes where the text around it does not: by the rule of
    ``stated_verdicts``, or by ``passed`` being false in anything else, as a second object that is no JSON.
    No text raises anything else or takes long.
    """
    children = frozenset(parent.children)
    step = "parse"
    try:
        answer = _read_answer(_one_answer(text), children)
        step = "validate"
        _check_passed(answer)
        _check_ids(answer, children)
        _check_results(answer)
        _check_beside(answer, text)
    except _Fault as fault:
        told = f'{step} parent review response for "{parent.id}": {fault}{_not_read(text)}'
        raise ReviewAnswerError(told) from None
    return _verdict(answer, children)


def _not_read(text: str) -> str:
    """Say so where an answer is longer than what is read of it."""
    more = len(text) - WINDOW_CHARACTERS
    return f" (the first {more} characters of the answer are not read: it is too long)" if more > 0 else ""


def _one_answer(text: str) -> dict[str, Any]:
    """Give the only object with a field ``passed``; the same one again counts once."""
    finder = Finder()
    found = list(finder.objects(text))
    answers = {_canonical(one): one for value in found for one in _answers(value, finder, _MAX_ENVELOPES)}
    if not found:
        raise _Fault("no valid JSON object found in agent output")
    if not answers:
        raise _Fault('missing required field "passed"')
    if len(answers) > 1:
        raise _Fault(f'found {len(answers)} JSON objects with field "passed"; expected exactly one')
    (answer,) = answers.values()
    if answer["passed"] is TWICE:
        raise _Fault('field "passed" stands twice in one object')
    if not isinstance(answer["passed"], bool):
        raise _Fault('required field "passed" must be boolean')
    return answer


def _canonical(answer: dict[str, Any]) -> str:
    try:
        return json.dumps(answer, sort_keys=True, default=repr)
    except RecursionError:
        raise _Fault('the JSON object with field "passed" is nested too deeply') from None


def _answers(value: Any, finder: Finder, envelopes: int) -> Iterator[dict[str, Any]]:
    """Give the objects with a field ``passed`` in a value that may be an envelope around them."""
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
        inner = list(finder.objects(value))
    for one in inner:
        yield from _answers(one, finder, envelopes - 1)


def _read_answer(answer: Mapping[str, Any], children: frozenset[TaskId]) -> _Answer:
    return _Answer(
        passed=answer["passed"],
        resume=_read_ids(answer),
        feedback=_read_text(answer, "feedbackForResume"),
        said=_read_results(answer, children),
    )


def _read_ids(answer: Mapping[str, Any]) -> tuple[TaskId, ...]:
    ids = _once(answer, "resumeTaskIds")
    if ids is None:
        return ()
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise _Fault('field "resumeTaskIds" must be a list of texts')
    return tuple(TaskId(_text(one)) for one in ids)


def _read_text(answer: Mapping[str, Any], name: str) -> str:
    value = _once(answer, name)
    if value is not None and not isinstance(value, str):
        raise _Fault(f'field "{name}" must be a text')
    return _text(value or "")


def _text(value: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", value).strip()


def _once(answer: Mapping[str, Any], name: str) -> Any:
    value = answer.get(name)
    if value is TWICE:
        raise _Fault(f'field "{name}" stands twice in one object')
    return value


def _read_results(
    answer: Mapping[str, Any], children: frozenset[TaskId]
) -> dict[TaskId, tuple[ChildStatus | None, str]]:
    """Read what is said of each child; what is said of other tasks is passed over."""
    said: dict[TaskId, tuple[ChildStatus | None, str]] = {}
    for name, value in _listed(answer):
        child = TaskId(_text(name))
        if child not in children:
            continue
        if child in said or value is TWICE:
            raise _Fault(f'there are two review results of child "{child}"')
        result = {"status": value} if isinstance(value, str) else value
        if not isinstance(result, dict):
            raise _Fault(f'the review result of child "{child}" must be an object')
        said[child] = (_STATUSES.get(_read_text(result, "status").lower()), _read_text(result, "feedback"))
    return said


def _listed(answer: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the results with the ids they are of, from a list or an object by ids."""
    name = "reviewResults" if _once(answer, "reviewResults") else "taskResults"
    results = _once(answer, name) or []
    if isinstance(results, dict):
        yield from results.items()
    elif isinstance(results, list):
        for index, value in enumerate(results):
            if not isinstance(value, dict):
                raise _Fault(f"{name}[{index}] must be an object")
            yield _read_text(value, "taskId"), value
    else:
        raise _Fault(f'field "{name}" must be a list or an object')


def _check_passed(answer: _Answer) -> None:
    """See that what is to be resumed is told exactly where the review did not pass."""
    for name, told in {"resumeTaskIds": answer.resume, "feedbackForResume": answer.feedback}.items():
        if answer.passed and told:
            raise _Fault(f"{name} must be empty when passed=true")
        if not answer.passed and not told:
            raise _Fault(f"{name} required when passed=false")


def _check_ids(answer: _Answer, children: frozenset[TaskId]) -> None:
    met: set[TaskId] = set()
    for index, one in enumerate(answer.resume):
        if not one:
            raise _Fault(f"resumeTaskIds[{index}] must be non-empty")
        if one not in children:
            raise _Fault(f'resume task id "{clean_line(one, 80)}" is not a child of this parent')
        if one in met:
            raise _Fault(f'duplicate resume task id "{one}"')
        met.add(one)


def _check_results(answer: _Answer) -> None:
    """See that no result contradicts the rest of the answer."""
    resume = frozenset(answer.resume)
    for child, (status, _) in sorted(answer.said.items()):
        what = f'the review result of child "{child}" is {status}'
        if status is ChildStatus.FAILED and answer.passed:
            raise _Fault(f"{what}, which contradicts passed=true")
        if status is ChildStatus.FAILED and child not in resume:
            raise _Fault(f"{what}, but resumeTaskIds does not name it")
        if status is ChildStatus.PASSED and child in resume:
            raise _Fault(f"{what}, but resumeTaskIds names it")


def _check_beside(answer: _Answer, text: str) -> None:
    """See that nothing in the text says that the children of a passing answer have not passed."""
    if not answer.passed:
        return
    # A text in a JSON envelope has its line ends escaped.
    read = text[-WINDOW_CHARACTERS:].replace("\\n", "\n")
    denied = _NOT_PASSED.search(unmask(read))
    contrary = denied[0] if denied is not None else find_contrary(read)
    if contrary is not None:
        raise _Fault(f'the answer says passed=true, and otherwise in "{clean_line(contrary, 80)}"')


def _verdict(answer: _Answer, children: frozenset[TaskId]) -> Verdict:
    results = {child: ChildResult(task_id=child, status=ChildStatus.PASSED) for child in sorted(children)}
    for child in answer.resume:
        _, own = answer.said.get(child, (None, ""))
        results[child] = ChildResult(
            task_id=child, status=ChildStatus.FAILED, feedback=own or answer.feedback
        )
    return Verdict(answer.passed, tuple(sorted(answer.resume)), answer.feedback, results)
