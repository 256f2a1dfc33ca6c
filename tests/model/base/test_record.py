"""Parts of record files: what fits, what is wrong and where, and the way back."""

from typing import Any

import pytest
from pydantic import ValidationError

from git_blackbird.model.base.record import first_error
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.run.summary import FileStatus, Summary, Totals

LEAST: dict[str, Any] = {"id": "0" * 16, "taskId": "t", "startedAt": "now", "status": "success"}


def own(**parts: Any) -> dict[str, Any]:
    return {"blackbird": parts}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": 5}, "id: is 5, not a text"),
        ({"id": None}, "id: is null, not a text"),
        (
            {"status": "odd"},
            """status: is "odd", not 'running', 'success', 'failed', 'waiting_user' or 'paused'""",
        ),
        ({"exitCode": "0"}, 'exitCode: is "0", not a whole number'),
        ({"exitCode": True}, "exitCode: is true, not a whole number"),
        (own(cost_usd="much"), 'blackbird.cost_usd: is "much", not a number'),
        (own(cost_usd=10**400), "blackbird.cost_usd: is too large a number"),
        (own(no_change=1), "blackbird.no_change: is 1, not true or false"),
        ({"context": []}, "context: is a list, not an object"),
        (own(notes={"a": 1}), "blackbird.notes: is an object, not a list"),
        (own(notes=["a", 1]), "blackbird.notes.1: is 1, not a text"),
        (own(raw_totals={"a": 1, "b": "c"}), 'blackbird.raw_totals.b: is "c", not a number'),
        (own(usage=5), "blackbird.usage: is 5, not an object"),
        (own(agent={"usage": 5}), "blackbird.agent.usage: is 5, not an object"),
        ({"blackbird": []}, "blackbird: is a list, not an object"),
        (
            {"review_summary": {"changes": [{"status": "A"}]}},
            "review_summary.changes.0.path: is missing",
        ),
        (
            {"review_summary": {"changes": [{"path": "a", "status": {}}]}},
            "review_summary.changes.0.status: is an object, not 'A', 'M', 'D', 'R' or 'T'",
        ),
        ({"id": ["x" * 99]}, "id: is a list, not a text"),
        ({"exitCode": "x" * 99}, f'exitCode: is "{"x" * 36}..., not a whole number'),
    ],
)
def test_the_first_thing_that_is_wrong_is_named_with_its_place(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Run.from_value(LEAST | fields)
    assert first_error(caught.value) == said


def test_what_fits_is_taken_as_the_value_it_stands_for() -> None:
    summary = {"changes": [{"status": "A", "path": "a"}]}
    run = Run.from_value(LEAST | {"exitCode": 0, "review_summary": summary} | own(cost_usd=2))
    assert (run.status, run.exit_code, run.cost_usd) == (RunStatus.SUCCESS, 0, 2.0)
    assert isinstance(run.cost_usd, float)
    assert run.review_summary is not None
    assert run.review_summary.changes[0].status is FileStatus.ADDED
    assert run.review_summary.totals == Totals()


def test_a_part_goes_back_to_json_with_what_is_unknown_and_without_what_is_none() -> None:
    summary = {"files": ["a"], "changes": [{"status": "A", "path": "a", "more": None}], "own": {"x": [None]}}
    went = Summary.from_value(summary).to_json()
    assert went == {
        "files": ["a"],
        "diffstat": "",
        "snippets": [],
        "changes": [
            {"status": "A", "path": "a", "additions": 0, "deletions": 0, "binary": False, "more": None}
        ],
        "totals": {"files": 0, "additions": 0, "deletions": 0},
        "cut": [],
        "left_out": [],
        "between": [],
        "outside": [],
        "submodules": [],
        "takes_back": [],
        "own": {"x": [None]},
    }


def test_a_name_of_ours_that_no_file_has_is_a_field_like_any_unknown_one() -> None:
    run = Run.from_value(LEAST | {"task_id": "other", "model_config": None})
    assert run.task_id == "t"
    written = run.to_json()
    assert list(written)[:2] == ["id", "taskId"]
    assert list(written.items())[-2:] == [("task_id", "other"), ("model_config", None)]


def test_what_is_set_takes_the_place_of_what_was_also_where_it_is_nothing() -> None:
    run = Run.from_value(LEAST | {"error": "broken", "exitCode": 1, "later": None})
    changed = run.updated(error=None).updated(notes=("again",)).superseded("then", "retry")
    assert changed.to_json() == {
        **{name: value for name, value in run.to_json().items() if name != "error"},
        "blackbird": {"superseded_at": "then", "superseded_by": "retry", "notes": ["again"]},
    }
    assert isinstance(changed, Run)
    assert run.error == "broken"


def test_a_name_that_no_field_has_is_refused() -> None:
    with pytest.raises(TypeError, match="Run has no field errors"):
        Run.from_value(LEAST).updated(errors=None)
