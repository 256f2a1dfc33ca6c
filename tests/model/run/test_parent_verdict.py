from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.reviews import text_for
from git_blackbird.model.run.parent_verdict import completion_signature
from tests.model.building import STAMP, plan_of, run, task

LATER = "2026-01-02T04:04:05.123456789+01:00"


def _signature(parent: str, children: Sequence[Task]) -> str:
    above = task(parent, children=[child.id for child in children])
    return completion_signature(above, plan_of(above, *children).tasks)


def _child(name: str, updated_at: str = STAMP) -> Task:
    return replace(task(name), updated_at=updated_at)


def test_a_signature_is_the_hash_of_the_ids_and_times_of_the_children() -> None:
    told = (
        '{"version":1,"parentTaskId":"house","children":['
        '{"childId":"door","completedUnixNano":1767225600000000000},'
        '{"childId":"roof","completedUnixNano":1767323045123456789}]}'
    )
    recorded = "c579fedc2fc0ac4b22de1d8d433bb92a58091e1eb41e08d4ba03d49b7d787d11"
    assert sha256(told.encode()).hexdigest() == recorded
    assert _signature("house", [_child("roof", LATER), _child("door")]) == f"parent-review:v1:{recorded}"


def test_a_signature_is_of_the_escapes_the_other_program_writes() -> None:
    told = (
        r'{"version":1,"parentTaskId":"a\u003cb\u003e\u0026","children":['
        r'{"childId":"é\u2028\u2029","completedUnixNano":1767225600000000000}]}'
    )
    recorded = "1bd725af9ebe46cb2339c127ddec471020ab519882fa879e1952113b117e1db4"
    assert sha256(told.encode()).hexdigest() == recorded
    assert _signature("a<b>&", [_child("é\u2028\u2029")]) == f"parent-review:v1:{recorded}"


@given(st.permutations(["a", "b", "c", "d"]))
def test_a_signature_is_the_same_for_any_order_of_the_children(names: list[str]) -> None:
    assert _signature("p", [_child(name) for name in names]) == _signature("p", list(map(_child, "abcd")))


def test_a_signature_changes_with_everything_it_is_about() -> None:
    signatures = [
        _signature("p", [_child("a"), _child("b")]),
        _signature("q", [_child("a"), _child("b")]),
        _signature("p", [_child("a")]),
        _signature("p", [_child("a"), _child("b"), _child("c")]),
        _signature("p", [_child("a", LATER), _child("b")]),
        _signature("p", [_child("a"), _child("b", LATER)]),
        _signature("p", [_child("a", "2026-01-01T00:00:00.000000001Z"), _child("b")]),
    ]
    assert len(set(signatures)) == len(signatures)


def test_a_signature_is_of_the_moment_not_of_how_it_is_written() -> None:
    assert _signature("p", [_child("a", "2026-01-02T03:04:05.1234567890Z")]) == (
        _signature("p", [_child("a", LATER)])
    )


def test_nothing_of_a_child_but_its_time_counts() -> None:
    retitled = replace(_child("a"), title="Another", notes="told")
    assert _signature("p", [retitled]) == _signature("p", [_child("a")])


def test_there_is_no_signature_of_a_child_without_a_readable_time() -> None:
    with pytest.raises(ValueError, match="not an RFC 3339 time: 'yesterday'"):
        _signature("p", [_child("a", "yesterday")])


def test_a_child_hears_what_was_said_of_it_and_then_of_all() -> None:
    said = {"a": "It leaks.\n", "b": None, "c": " Mend it."}
    results = {
        name: {"task_id": name, "status": "failed", "feedback": feedback} for name, feedback in said.items()
    }
    review = run(
        task_id="p", run_type="review", parent_review_feedback="Mend it.", parent_review_results=results
    )
    both = "It leaks.\n\nOf all tasks that were reviewed together, it says:\n\nMend it."
    heard = [text_for(review, TaskId(name)).strip() for name in "abcd"]
    assert heard == [both, "Mend it.", "Mend it.", "Mend it."]
    assert text_for(review.updated(parent_review_feedback=None), TaskId("a")) == "It leaks.\n"
