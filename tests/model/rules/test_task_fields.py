"""What a person writes of a task: what may be written, and two people's changes put together."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.task_fields import (
    FIELD_NAMES,
    FieldConflictError,
    TaskFields,
    changed_fields,
    check_fields,
    fields_of,
    merge_fields,
)
from tests.model.building import task

BASE = TaskFields("One", "text", "do it", ("it works",), None, (TaskId("a"),))
OTHERS: dict[str, tuple[Any, Any]] = {
    "title": ("Mine", "Theirs"),
    "description": ("", "theirs"),
    "prompt": ("mine", ""),
    "acceptance_criteria": ((), ("it works", "it is fast")),
    "notes": ("mine", "theirs"),
    "deps": ((), (TaskId("a"), TaskId("b"))),
    "dep_rationale": ({TaskId("a"): "mine"}, {TaskId("a"): "theirs"}),
    "agent": ("claude", "codex"),
    "model": ("mine", "theirs"),
}


def test_the_fields_are_those_of_the_task() -> None:
    assert fields_of(task("t", deps=["a"])) == TaskFields("Task t", deps=(TaskId("a"),))
    assert list(FIELD_NAMES) == list(OTHERS)


def test_what_differs_is_named() -> None:
    assert changed_fields(BASE, BASE) == ()
    assert changed_fields(BASE, replace(BASE, notes="", title="Two")) == ("title", "notes")


@pytest.mark.parametrize("title", ["", " ", "\n\t"])
def test_a_title_is_needed(title: str) -> None:
    for before in (None, BASE):
        with pytest.raises(RequestError, match="a task needs a title"):
            check_fields(before, replace(BASE, title=title))


@pytest.mark.parametrize(
    ("title", "fault"),
    [
        ("one\ntwo", "a title is one line of text: it contains '\\n'"),
        ("a\ttab", "a title is one line of text: it contains '\\t'"),
        ("red \x1b[31m", "a title is one line of text: it contains '\\x1b'"),
        ("one\u2028two", "a title is one line of text: it contains '\\u2028'"),
        ("x" * 501, "the title has 501 characters, more than 500: use the description"),
    ],
)
def test_a_title_is_a_line(title: str, fault: str) -> None:
    for before in (None, BASE):
        with pytest.raises(RequestError) as refused:
            check_fields(before, replace(BASE, title=title))
        assert refused.value.message == fault
    check_fields(BASE, replace(BASE, title="x" * 500))


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_criterion_says_something(text: str) -> None:
    for before in (None, BASE):
        with pytest.raises(RequestError, match="an acceptance criterion is empty"):
            check_fields(before, replace(BASE, acceptance_criteria=("it works", text)))


def test_what_stood_there_before_may_stay() -> None:
    for title in (" ", "one\ntwo", "x" * 100_000):
        odd = replace(BASE, title=title, acceptance_criteria=("",))
        check_fields(odd, replace(odd, prompt="another"))


@pytest.mark.parametrize("name", FIELD_NAMES)
def test_one_persons_change_is_kept(name: str) -> None:
    mine = replace(BASE, **{name: OTHERS[name][0]})
    assert merge_fields(BASE, mine, BASE) == mine
    assert merge_fields(BASE, BASE, mine) == mine
    assert merge_fields(BASE, mine, mine) == mine


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(FIELD_NAMES, 2)))
def test_changes_of_different_fields_are_both_kept(one: str, other: str) -> None:
    mine = replace(BASE, **{one: OTHERS[one][0]})
    theirs = replace(BASE, **{other: OTHERS[other][1]})
    both = replace(mine, **{other: OTHERS[other][1]})
    assert merge_fields(BASE, mine, theirs) == both


@pytest.mark.parametrize("name", FIELD_NAMES)
def test_two_changes_of_one_field_are_a_conflict(name: str) -> None:
    mine = replace(BASE, **{name: OTHERS[name][0]})
    beside: dict[str, Any] = {"title": "Elsewhere"} if name == "notes" else {"notes": "elsewhere"}
    theirs = replace(BASE, **{name: OTHERS[name][1]}, **beside)
    with pytest.raises(FieldConflictError) as caught:
        merge_fields(BASE, mine, theirs)
    assert caught.value.names == (name,)
    assert caught.value.message == f"changed by someone else meanwhile: {FIELD_NAMES[name]}"
    assert caught.value.merged == replace(mine, **beside)
    assert caught.value.theirs == theirs
