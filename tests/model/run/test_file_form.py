"""The form of a record in its file: what earlier versions wrote is read, and what is unknown stays."""

from typing import Any

import pytest

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.run.file_form import GO_FIELDS
from git_blackbird.model.run.run import Run

LEAST: dict[str, Any] = {"id": "0" * 16, "taskId": "t", "startedAt": "now", "status": "success"}
TREE: ObjectId = "1" * 40
IN_GROUPS: dict[str, Any] = {
    "superseded": {"at": "then", "by": "retry"},
    "said": {"prompt": "go on", "message": "please", "told": ["a", "b"], "by_hand": True},
    "agent": {"version": "1.0", "model": "m", "result": "done", "cost_usd": 0.5, "raw_totals": {"all": 1.0}},
    "logs": {"not_kept": {"stdout": 1, "stderr": 0}, "redacted": {"token": 2}},
    "heads": {"branch": "main", "commit": TREE, "log": 7, "end_commit": TREE, "end_branch": "x"},
    "snapshots": {"base": TREE, "head": TREE, "submodules": {"sub": "d"}, "late": True},
    "edits": {"plan": ["p"], "config": ["c"]},
    "review": "done",
    "reviewed": {"round": 2, "merged": {"overall": "APPROVED"}},
    "decision": {
        "by": "check",
        "shown": {"base": TREE, "head": TREE},
        "in_part": True,
        "approved_on": "main",
    },
    "turn": "then",
}
CHECK: dict[str, Any] = {
    "outcome": "failed",
    "command": "make",
    "tree": TREE,
    "exit_code": 2,
    "later": {"x": 1},
}
FLAT: dict[str, Any] = {
    "superseded_at": "then",
    "superseded_by": "retry",
    "prompt": "go on",
    "message": "please",
    "messages_while_working": ["a", "b"],
    "by_hand": True,
    "agent_version": "1.0",
    "agent_model": "m",
    "final_text": "done",
    "cost_usd": 0.5,
    "raw_totals": {"all": 1.0},
    "unlogged_bytes": {"stdout": 1, "stderr": 0},
    "masked_secrets": {"token": 2},
    "start_branch": "main",
    "start_commit": TREE,
    "reflog_size": 7,
    "end_commit": TREE,
    "end_branch": "x",
    "base_tree": TREE,
    "head_tree": TREE,
    "submodule_digests": {"sub": "d"},
    "head_taken_late": True,
    "plan_edits": ["p"],
    "config_edits": ["c"],
    "review_state": "done",
    "review_round": 2,
    "merged_review": {"overall": "APPROVED"},
    "requested_by": "check",
    "shown": {"base": TREE, "head": TREE},
    "decided_in_part": True,
    "approved_on": "main",
    "landing_slot": "then",
}


def test_what_was_in_groups_is_read_and_written_flat() -> None:
    run = Run.from_value({**LEAST, "blackbird": IN_GROUPS})
    assert run == Run.from_value({**LEAST, "blackbird": FLAT})
    assert run.to_json()["blackbird"] == FLAT


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"opinion": {"run": "r", "round": 1}}, {"review_round": 1, "reviewed_run": "r"}),
        # The first records with an object of ours had these beside the groups.
        ({"result": "done", "cost_usd": 0.5}, {"final_text": "done", "cost_usd": 0.5}),
        ({"said": {"prompt": "go on", "later": 1}}, {"prompt": "go on", "said": {"later": 1}}),
        ({"said": {}, "logs": {"later": None}}, {"logs": {"later": None}}),
        ({"prompt": "now", "said": {"prompt": "before"}}, {"prompt": "now"}),
        # A check was all that was known of a change from running it.
        ({"check": CHECK}, {"evidence": {"checks": [CHECK]}}),
        (
            {"landing": {"state": "due", "check": CHECK, "later": 1}},
            {"landing": {"state": "due", "evidence": {"checks": [CHECK]}, "later": 1}},
        ),
    ],
)
def test_of_earlier_places_each_is_known(before: dict[str, Any], now: dict[str, Any]) -> None:
    assert Run.from_value({**LEAST, "blackbird": before}).to_json()["blackbird"] == now


def test_what_is_unknown_stays_where_it_was() -> None:
    unknown = {"prompt": 1, "blackbird.prompt": 2, "later": None}
    ours = {"prompt": "go on", "later": {"a": [None]}, "task_id": "x", "undone": None}
    run = Run.from_value({**LEAST, **unknown, "blackbird": ours}).updated(notes=("n",))
    assert (run.prompt, run.notes, run.task_id) == ("go on", ("n",), "t")
    written = run.to_json()
    assert {name: written.get(name, 0) for name in unknown} == unknown
    assert written["blackbird"] == {"notes": ["n"], "prompt": "go on", "later": {"a": [None]}, "task_id": "x"}
    assert Run.from_value(written) == run


def test_no_field_of_the_go_program_is_ours() -> None:
    assert list(Run.from_value({**LEAST, "blackbird": FLAT}).to_json())[-1] == "blackbird"
    names = [info.alias or name for name, info in Run.model_fields.items()]
    assert tuple(names[: len(GO_FIELDS)]) == GO_FIELDS


def test_a_field_that_is_not_there_cannot_be_set() -> None:
    with pytest.raises(TypeError, match="Run has no field promt"):
        Run.from_value(LEAST).updated(promt="go on")
