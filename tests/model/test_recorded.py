"""Parts of record files: what fits, what is wrong and where, and the way back."""

import json
from typing import Any

import pytest

from git_blackbird.model.change import FileStatus, Summary, Totals
from git_blackbird.model.recorded import PartFault, parse_part, plain
from git_blackbird.model.run import Run, RunStatus

LEAST: dict[str, Any] = {"id": "0" * 16, "taskId": "t", "startedAt": "now", "status": "success"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": 5}, "id: is 5, not a text"),
        ({"id": None}, "id: is null, not a text"),
        (
            {"status": "odd"},
            'status: is "odd", not one of: running, success, failed, waiting_user, paused',
        ),
        ({"exitCode": "0"}, 'exitCode: is "0", not a whole number'),
        ({"exitCode": True}, "exitCode: is true, not a whole number"),
        ({"cost_usd": "much"}, 'cost_usd: is "much", not a number'),
        ({"cost_usd": 10**400}, "cost_usd: is too large a number"),
        ({"head_late": 1}, "head_late: is 1, not true or false"),
        ({"context": []}, "context: is a list, not an object"),
        ({"notes": {"a": 1}}, "notes: is an object, not a list"),
        ({"notes": ["a", 1]}, "notes.1: is 1, not a text"),
        ({"raw_totals": {"a": 1, "b": "c"}}, 'raw_totals.b: is "c", not a number'),
        ({"usage": 5}, "usage: is 5, not an object"),
        (
            {"review_summary": {"changes": [{"status": "A"}]}},
            "review_summary.changes.0.path: is missing",
        ),
        (
            {"review_summary": {"changes": [{"path": "a", "status": {}}]}},
            "review_summary.changes.0.status: is an object, not one of: A, M, D, R, T",
        ),
        ({"id": ["x" * 99]}, "id: is a list, not a text"),
        ({"exitCode": "x" * 99}, f'exitCode: is "{"x" * 36}..., not a whole number'),
    ],
)
def test_the_first_thing_that_is_wrong_is_named_with_its_place(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(PartFault) as caught:
        parse_part(Run, LEAST | fields)
    assert str(caught.value) == said


def test_what_fits_is_taken_as_the_value_it_stands_for() -> None:
    run = parse_part(
        Run,
        LEAST | {"exitCode": 0, "cost_usd": 2, "review_summary": {"changes": [{"status": "A", "path": "a"}]}},
    )
    assert (run.status, run.exit_code, run.cost_usd) == (RunStatus.SUCCESS, 0, 2.0)
    assert isinstance(run.cost_usd, float)
    assert run.review_summary is not None
    assert run.review_summary.changes[0].status is FileStatus.ADDED
    assert run.review_summary.totals == Totals()


def test_a_part_goes_back_to_json_with_what_is_unknown_and_without_what_is_none() -> None:
    summary = {"files": ["a"], "changes": [{"status": "A", "path": "a", "more": None}], "own": {"x": [None]}}
    went = json.loads(json.dumps(plain(parse_part(Summary, summary))))
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
        "own": {"x": [None]},
    }
