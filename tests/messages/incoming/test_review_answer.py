import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.messages.incoming.json_answer import MAX_CHARACTERS, AnswerError
from git_blackbird.messages.incoming.review_answer import parse_review_answer
from git_blackbird.messages.outgoing.review_context import (
    ReviewedChild,
    build_review_context,
    render_review_prompt,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.parent_verdict import ChildResult, ChildStatus, ParentVerdict
from tests.model.building import task

PARENT = task("P", children=["b", "a", "c"])
FAILED = {"passed": False, "resumeTaskIds": ["b"], "feedbackForResume": "Mend it."}


def _result(name: str, feedback: str | None = None) -> ChildResult:
    status = ChildStatus.PASSED if feedback is None else ChildStatus.FAILED
    return ChildResult(task_id=TaskId(name), status=status, feedback=feedback)


def _verdict(feedback: str = "", **flagged: str) -> ParentVerdict:
    """The verdict that flags these children and says this of each."""
    results = {TaskId(name): _result(name, flagged.get(name)) for name in "abc"}
    resume = tuple(child for child in PARENT.children if child in flagged)
    return ParentVerdict(not flagged, resume, feedback, results)


PASSING = _verdict()
NO_OBJECT = "Input should be a valid dictionary"


def _parsed(answer: Mapping[str, Any] | str) -> ParentVerdict:
    return parse_review_answer(answer if isinstance(answer, str) else json.dumps(answer), PARENT)


def _fault(answer: Mapping[str, Any] | str) -> str:
    with pytest.raises(AnswerError) as caught:
        _parsed(answer)
    return str(caught.value)


def _parse_fault(answer: Mapping[str, Any] | str) -> str:
    return _fault(answer).removeprefix("the reviewer's answer cannot be read: ")


def _validate_fault(answer: Mapping[str, Any]) -> str:
    return _fault(answer).removeprefix("the reviewer's answer is not valid: ")


def test_passing_needs_no_more_than_a_word_of_it_and_every_child_passed() -> None:
    assert _parsed('All is well.\n{"passed":true}\nGoodbye.') == PASSING
    assert PASSING.results == {name: _result(name) for name in ("a", "b", "c")}
    assert _parsed({"passed": True, "resumeTaskIds": None, "feedbackForResume": " ", "extra": 1}) == PASSING


def test_ids_and_feedback_are_trimmed_and_in_order() -> None:
    answer = {"passed": False, "resumeTaskIds": [" c ", "a"], "feedbackForResume": "\n Mend it. \n"}
    assert _parsed(answer) == _verdict("Mend it.", a="Mend it.", c="Mend it.")


def test_a_flagged_child_has_its_own_feedback_or_that_of_all() -> None:
    results = [
        {"taskId": " b ", "status": "failed", "feedback": " It leaks. "},
        {"taskId": "a", "status": "failed", "feedback": None},
        {"taskId": "c", "status": "passed", "feedback": "Well done."},
    ]
    answer = {**FAILED, "resumeTaskIds": ["a", "b"], "reviewResults": results}
    assert _parsed(answer) == _verdict("Mend it.", a="Mend it.", b="It leaks.")


@pytest.mark.parametrize(
    "results",
    [
        {"reviewResults": [{"taskId": "b", "status": "fail", "feedback": "It leaks."}]},
        {"taskResults": [{"taskId": "b", "status": "FAILED", "feedback": "It leaks."}]},
        {"reviewResults": [], "taskResults": {"b": {"status": "failed", "feedback": "It leaks."}}},
        {"reviewResults": {"b": {"feedback": "It leaks."}, "a": "pass", "c": "passed"}},
        {"reviewResults": {"b": {"status": None, "feedback": "It leaks."}, "zz": "failed"}},
    ],
)
def test_results_come_in_several_forms(results: dict[str, Any]) -> None:
    assert _parsed({**FAILED, **results}) == _verdict("Mend it.", b="It leaks.")


def test_a_bare_status_takes_the_feedback_of_all() -> None:
    assert _parsed({**FAILED, "reviewResults": {"b": "failed"}}) == _verdict("Mend it.", b="Mend it.")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("Looks fine to me.", "no valid JSON object found in agent output"),
        ("", "no valid JSON object found in agent output"),
        ("{}", 'missing required field "passed"'),
        ('{"verdict": "passed"}', 'missing required field "passed"'),
        ('{"passed": null}', 'field "passed": Field required'),
        ('{"passed": "false"}', 'field "passed": Input should be a valid boolean'),
        ('{"passed": 1}', 'field "passed": Input should be a valid boolean'),
        ('{"passed": true, "passed": false}', 'field "passed": appears twice in one object'),
        (
            '{"passed": true} {"passed": false}',
            'found 2 JSON objects with field "passed"; expected exactly one',
        ),
        ('{"passed": true, "resumeTaskIds": "a"}', 'field "resumeTaskIds": Input should be a valid list'),
        (
            '{"passed": true, "resumeTaskIds": [1]}',
            'field "resumeTaskIds[0]": Input should be a valid string',
        ),
        (
            '{"passed": true, "resumeTaskIds": ["a"], "resumeTaskIds": []}',
            'field "resumeTaskIds": appears twice in one object',
        ),
        (
            '{"passed": true, "feedbackForResume": {}}',
            'field "feedbackForResume": Input should be a valid string',
        ),
        ('{"passed": true, "reviewResults": 5}', 'field "reviewResults": Input should be a valid list'),
        ('{"passed": true, "reviewResults": ["a"]}', f'field "reviewResults[0]": {NO_OBJECT}'),
        ('{"passed": true, "taskResults": [{}, 1]}', f'field "reviewResults[1]": {NO_OBJECT}'),
        (
            '{"passed": true, "reviewResults": {"a": 1}}',
            f'field "reviewResults[0]": {NO_OBJECT}',
        ),
        (
            '{"passed": true, "reviewResults": {"a": "passed", "a": "failed"}}',
            'field "reviewResults[0]": appears twice in one object',
        ),
        (
            '{"passed": true, "reviewResults": [{"taskId": "a"}, {"taskId": "a "}]}',
            'there are two review results of child "a"',
        ),
        *(
            (
                f'{{"passed": {passed}, "reviewResults": [{{"taskId": "zz", "status": {status}}}]}}',
                "field \"reviewResults[0].status\": Input should be 'passed' or 'failed'",
            )
            for passed in ("true", "false")
            for status in ('"unsure"', '"not passed"', '""', "true", "1", '["passed"]')
        ),
        (
            '{"passed": true, "reviewResults": [{"taskId": 7}]}',
            'field "reviewResults[0].taskId": Input should be a valid string',
        ),
    ],
)
def test_an_answer_without_one_verdict_is_none(answer: str, fault: str) -> None:
    assert _parse_fault(answer) == fault
    assert _fault(answer).startswith("the reviewer's answer cannot be read: ")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"passed": True, "resumeTaskIds": ["a"]}, "resumeTaskIds must be empty when passed=true"),
        ({"passed": True, "feedbackForResume": "x"}, "feedbackForResume must be empty when passed=true"),
        ({"passed": False, "feedbackForResume": "x"}, "resumeTaskIds required when passed=false"),
        ({"passed": False, "resumeTaskIds": ["a"]}, "feedbackForResume required when passed=false"),
        ({**FAILED, "feedbackForResume": " \n"}, "feedbackForResume required when passed=false"),
        ({**FAILED, "resumeTaskIds": ["zz"]}, 'resume task id "zz" is not a child of this parent'),
        ({**FAILED, "resumeTaskIds": ["a", "a "]}, 'duplicate resume task id "a"'),
        ({**FAILED, "resumeTaskIds": [" "]}, "resumeTaskIds[0] must be non-empty"),
        (
            {**FAILED, "reviewResults": {"b": "passed"}},
            'the review result of child "b" is passed, but resumeTaskIds names it',
        ),
        (
            {**FAILED, "reviewResults": {"b": "failed", "a": "failed"}},
            'the review result of child "a" is failed, but resumeTaskIds does not name it',
        ),
        (
            {"passed": True, "reviewResults": [{"taskId": "c", "status": "failed"}]},
            'the review result of child "c" is failed, which contradicts passed=true',
        ),
        (
            {"passed": True, "reviewResults": [{"taskId": "a", "passed": False}]},
            'field "passed" is true, and false in another place',
        ),
    ],
)
def test_a_verdict_that_is_none_for_this_parent_is_refused(answer: dict[str, Any], fault: str) -> None:
    assert _validate_fault(answer) == fault
    assert _fault(answer).startswith("the reviewer's answer is not valid: ")


def test_an_id_that_is_no_child_is_told_harmlessly() -> None:
    fault = _validate_fault({**FAILED, "resumeTaskIds": ["\x1b[31m" + "z" * 500]})
    assert fault == f'resume task id "{"z" * 77}..." is not a child of this parent'


def _wrapped(text: str) -> dict[str, str]:
    """The text of an answer as agents and providers wrap it."""
    value = json.loads(text)
    return {
        "bare": text,
        "fence": f"Here it is:\n```json\n{text}\n```\nThat is all.",
        "prose with stray marks": f'The "quote is odd, {{ and this }} too: {{"x: {text} }} " {{ [ "',
        "half an object before": f'{{"note": {text}',
        "result as text": json.dumps({"type": "result", "result": f"I say: {text}"}),
        "result as object": json.dumps({"result": value}),
        "content": json.dumps({"content": [{"type": "text", "text": f"```\n{text}\n```"}]}),
        "structured output": json.dumps({"structured_output": value}),
        "said twice": json.dumps({"result": text, "structured_output": value}),
        "in a list": json.dumps([{"type": "system"}, {"type": "result", "result": text}]),
        "an envelope in an envelope": json.dumps({"result": json.dumps({"result": text})}),
        "a message of a stream": json.dumps(
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "input": value}]}}
        ),
        "an item of a stream": json.dumps(
            {"type": "item.completed", "item": {"type": "agent_message", "text": text}}
        ),
    }


@pytest.mark.parametrize("wrapping", _wrapped("{}"))
def test_a_verdict_is_found_in_whatever_is_around_it(wrapping: str) -> None:
    assert _parsed(_wrapped('{"passed": true}')[wrapping]) == PASSING
    failing = json.dumps({**FAILED, "reviewResults": [{"taskId": "b", "status": "failed", "passed": False}]})
    assert _parsed(_wrapped(failing)[wrapping]) == _verdict("Mend it.", b="Mend it.")


def test_line_ends_inside_a_text_do_not_hide_a_verdict() -> None:
    answer = '{"passed": false, "resumeTaskIds": ["b"], "feedbackForResume": "Mend\nit."}'
    assert _parsed(answer) == _verdict("Mend\nit.", b="Mend\nit.")


def test_the_prompt_of_a_review_is_no_answer_itself() -> None:
    prompt = render_review_prompt(build_review_context(PARENT, [ReviewedChild(task("a"), None)]))
    assert _parse_fault(prompt) == "no valid JSON object found in agent output"


def test_what_utf_8_cannot_write_is_replaced() -> None:
    answer = '{"passed": false, "resumeTaskIds": ["b"], "feedbackForResume": "odd \\ud800"}'
    assert _parsed(answer).feedback == "odd \ufffd"


@pytest.mark.parametrize(
    "odd", ["NaN", "-Infinity", "1" * 10_000, "1e999999", "[" * 500 + "]" * 500, '{"a": 1, "a": 2}']
)
def test_odd_values_beside_a_verdict_do_no_harm(odd: str) -> None:
    assert _parsed(f'{{"passed": true, "more": {odd}}}') == PASSING


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "hostile",
    [
        "{",
        '{"',
        '{"a":',
        '{"a":{"a":[0,0,0,0,',
        '{"\\"',
        "{}",
        '{"":1}',
        '{"passed":',
        '{"passed":[',
        "[",
        '"',
        "\\",
        "{ ",
        '{"a"\n',
        '{"a":0\n',
        '{"result":"{',
        '{"passed":1}',
        "{\\",
        "{'passed",
    ],
)
def test_hostile_marks_are_no_verdict_and_end(hostile: str) -> None:
    _fault(hostile * (MAX_CHARACTERS // len(hostile)))


def test_an_answer_too_long_to_be_read_is_none() -> None:
    assert _parse_fault('{"passed": true}' + " " * MAX_CHARACTERS) == "it is longer than 524288 characters"


def test_a_verdict_nested_too_deeply_is_none() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert _parse_fault(f'{{"passed": true, "x": {deep}}}') == "no valid JSON object found in agent output"


_TEXTS = st.text(max_size=40)
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | _TEXTS | st.sampled_from(["a", "b", "failed"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)
_NAMES = st.sampled_from(
    ["passed", "resumeTaskIds", "feedbackForResume", "reviewResults", "taskResults", "taskId", "status"]
)
_ANSWERS = st.dictionaries(_NAMES | _TEXTS, _JSON | st.dictionaries(_NAMES, _JSON), max_size=6)


@given(st.text() | _ANSWERS.map(json.dumps) | st.tuples(st.text(), _ANSWERS.map(json.dumps)).map("".join))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        verdict = _parsed(text)
    except AnswerError:
        return
    assert set(verdict.results) == set(PARENT.children)
    assert verdict.passed == (not verdict.resume_task_ids) == (not verdict.feedback)


_SAID = _TEXTS.map(lambda text: text.encode(errors="replace").decode().strip() or "bad")


@st.composite
def _verdicts(draw: st.DrawFn) -> ParentVerdict:
    flagged = draw(st.dictionaries(st.sampled_from("abc"), _SAID))
    return _verdict(draw(_SAID) if flagged else "", **flagged)


def _render(verdict: ParentVerdict) -> str:
    return json.dumps(
        {
            "passed": verdict.passed,
            "resumeTaskIds": verdict.resume_task_ids,
            "feedbackForResume": verdict.feedback,
            "reviewResults": [
                {"taskId": result.task_id, "status": result.status, "feedback": result.feedback}
                for result in verdict.results.values()
            ],
        }
    )


# Without a colon no object that is not the verdict's own can be around it.
_PROSE = st.text(alphabet='ab {}[]",\\\n`', max_size=60)


@given(_verdicts(), _PROSE, _PROSE, st.sampled_from(sorted(_wrapped("{}"))))
def test_a_verdict_is_given_back_whatever_is_around_it(
    verdict: ParentVerdict, before: str, after: str, wrapping: str
) -> None:
    text = _render(verdict)
    assert _parsed(text) == verdict
    assert _parsed(_wrapped(text)[wrapping]) == verdict
    assert _parsed(f"{before}\n{text}\n{after}") == verdict


PASSING_TEXT = _render(PASSING)


@pytest.mark.parametrize(
    ("other", "fault"),
    [
        (
            '{"passed": false, "resumeTaskIds": ["b"',
            '"{"passed": false, "resumeTaskIds":" is part of no complete',
        ),
        ('{"feedbackForResume": "Mend', '"{"feedbackForResume":" is part of no complete'),
        (
            '{"reviewResults": [{"taskId": "a"}], "passed": tr',
            '"{"reviewResults": [], "passed":" is part of no',
        ),
        ("{'passed': False}", "\"{'passed':\" is part of no complete"),
        ('{"result": "{\\"passed\\": false', '"{\\"passed\\":" is part of no complete'),
        ('{"review": {"passed": false}}', 'field "passed" is true, and false in another place'),
        (
            '{"result": "{\\"review\\": {\\"passed\\": false}}"}',
            'field "passed" is true, and false in another',
        ),
    ],
)
def test_another_verdict_in_whole_or_in_part_makes_none(other: str, fault: str) -> None:
    for answer in (f"{other}\n{PASSING_TEXT}", f"{PASSING_TEXT}\n{other}"):
        assert _fault(answer).startswith(f"the reviewer's answer is not valid: {fault}")


def test_feedback_may_quote_a_verdict() -> None:
    quoted = 'It answers {"passed": false}, and { "passed": '
    results = [{"taskId": "a", "status": "passed", "feedback": quoted}]
    assert _parsed({"passed": True, "reviewResults": results}) == PASSING


@given(_verdicts(), _PROSE, _PROSE, st.data())
def test_an_answer_cut_anywhere_is_none_or_the_same(
    verdict: ParentVerdict, before: str, after: str, data: st.DataObject
) -> None:
    text = f"{before}\n{_render(verdict)}"
    cut = data.draw(st.integers(0, len(text) + len(after)))
    if cut >= len(text):
        assert _parsed(f"{text}{after}"[:cut]) == verdict
    else:
        _fault(text[:cut])
