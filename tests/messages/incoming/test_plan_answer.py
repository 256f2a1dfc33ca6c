"""Answers of agents that plan, whatever they are."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.messages.incoming.json_answer import MAX_CHARACTERS, AnswerError
from git_blackbird.messages.incoming.plan_answer import (
    MAX_TASKS,
    OrdersAnswer,
    PlanAnswer,
    build_plan_schema,
    parse_plan_answer,
)


def fault(text: str) -> str:
    with pytest.raises(AnswerError) as raised:
        parse_plan_answer(text, PlanAnswer)
    return str(raised.value).removeprefix("the answer cannot be used: ")


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from parts(inner)


@pytest.mark.parametrize("model", [PlanAnswer, OrdersAnswer])
def test_the_schema_is_in_the_strict_subset_of_every_provider(model: type[OrdersAnswer]) -> None:
    schema = build_plan_schema(model)
    objects = [part for part in parts(schema) if "properties" in part]
    assert len(objects) == 4
    for part in objects:
        assert part["required"] == list(part["properties"])
        assert part["additionalProperties"] is False
    assert not {"oneOf", "anyOf", "$ref", "$defs", "patternProperties", "default"} & set(
        json.dumps(schema).split('"')
    )
    assert {"type", "properties"} <= schema.keys()


def test_the_words_of_a_plan_cannot_steer_a_terminal_or_hide() -> None:
    said = {"title": " A\u202e\x1b[31m ", "prompt": "one\r\n\ttwo\x00", "criteria": ["\u200bx"]}
    (task,) = parse_plan_answer(json.dumps({"tasks": [said], "remarks": "\x9b1m"}), PlanAnswer).tasks
    assert (task.title, task.prompt, task.criteria) == ("A\ufffd", "one\n\ttwo\ufffd", ["\ufffdx"])


def test_each_question_is_asked_once_with_options_that_differ() -> None:
    one = {"id": "q", "prompt": "Which?", "options": ["a", "a", ""]}
    answer = parse_plan_answer(json.dumps({"tasks": [], "questions": [one, one]}), PlanAnswer)
    assert [(question.id, question.options) for question in answer.asked] == [("q", ("a",))]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no valid JSON object found in agent output"),
        ("[]", "no valid JSON object found in agent output"),
        ('{"tasks": [{"title": "A"}, {"title":', 'missing required field "tasks"'),
        ('{"tasks": {"a": {}}}', 'field "tasks": Input should be a valid list'),
        ('{"tasks": [[]]}', 'field "tasks[0]": Input should be a valid dictionary'),
        ('{"tasks": [{"title": 1}]}', 'field "tasks[0].title": Input should be a valid string'),
        ('{"tasks": [{"deps": []}]}', 'field "tasks[0].deps": Extra inputs are not permitted'),
        ('{"tasks": [], "tasks": []}', 'field "tasks": appears twice in one object'),
        (
            '{"tasks": []} {"tasks": [{"id": "a"}]}',
            'found 2 JSON objects with field "tasks"; expected exactly one',
        ),
        (
            '{"tasks": [], "questions": [{"id": "", "prompt": "x"}]}',
            'field "questions[0].id": String should have at',
        ),
        (
            json.dumps({"tasks": [{}] * (MAX_TASKS + 1)}),
            f'field "tasks": List should have at most {MAX_TASKS} items',
        ),
        ('{"tasks": []}' + " " * MAX_CHARACTERS, f"it is longer than {MAX_CHARACTERS} characters"),
        ('{"tasks": [' * (MAX_CHARACTERS // 11), "no valid JSON object found in agent output"),
    ],
)
def test_what_is_no_plan_is_none(text: str, why: str) -> None:
    assert fault(text).startswith(why)


def test_orders_say_nothing_but_orders() -> None:
    said = '{"tasks": [{"id": "a", "after": ["b"], "title": "Other"}]}'
    with pytest.raises(AnswerError, match=r"tasks\[0\]\.title"):
        parse_plan_answer(said, OrdersAnswer)
    with pytest.raises(AnswerError, match="delete"):
        parse_plan_answer('{"tasks": [], "delete": ["a"]}', OrdersAnswer)


_NAMES = st.sampled_from([*PlanAnswer.model_fields, "title", "after", "because", "task", "reason", "id"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.text() | st.dictionaries(_NAMES, _JSON, max_size=5).map(json.dumps))
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        assert parse_plan_answer(text, PlanAnswer).tasks is not None
    except AnswerError:
        return
