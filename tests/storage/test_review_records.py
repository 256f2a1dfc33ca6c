"""Records of reviews: their verdict stands where the other program has it, and nothing of it is lost."""

import json
from pathlib import Path
from typing import Any

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.run.parent_verdict import ChildResult, ChildStatus, Dismissal
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM
from git_blackbird.storage.records import render_record
from tests.records import run_of
from tests.storage.building import STAMP, make_layout, read_record

GO_REVIEW_TEXT = r"""{
  "id": "4b2a9c0d1e2f3a4b",
  "taskId": "p",
  "run_type": "review",
  "provider": "codex",
  "provider_session_ref": "4b2a9c0d1e2f3a4b",
  "startedAt": "2026-01-02T03:04:05.123456789Z",
  "completedAt": "2026-01-02T03:04:06.5Z",
  "status": "success",
  "exitCode": 0,
  "stdout": "{\"passed\":false}",
  "context": {
    "schemaVersion": 1,
    "task": {
      "id": "p",
      "title": "Parent"
    }
  },
  "parent_review_passed": false,
  "parent_review_resume_task_ids": [
    "b"
  ],
  "parent_review_feedback": "\u003cagain\u003e",
  "parent_review_results": {
    "a": {
      "task_id": "a",
      "status": "passed"
    },
    "b": {
      "task_id": "b",
      "status": "failed",
      "feedback": "\u003cagain\u003e"
    }
  },
  "parent_review_completion_signature": "parent-review:v1:7ad0b1d8"
}
"""


def reviewed(**fields: Any) -> Run:
    whole = {"id": "0199f3a0c0000001", "taskId": "p", "run_type": "review", "startedAt": STAMP}
    return run_of(**{**whole, "status": "success", "program": PROGRAM, **fields})


def test_a_review_of_the_go_program_comes_back_byte_for_byte(tmp_path: Path) -> None:
    paths = make_layout(tmp_path)
    path = paths.record(TaskId("p"), RunId("4b2a9c0d1e2f3a4b"))
    path.parent.mkdir(parents=True)
    path.write_text(GO_REVIEW_TEXT)
    found = read_record(path, TaskId("p"))
    assert isinstance(found, Run)
    assert (found.parent_review_passed, found.parent_review_resume_task_ids) == (False, ("b",))
    assert found.parent_review_results == {
        "a": ChildResult(task_id=TaskId("a"), status=ChildStatus.PASSED),
        "b": ChildResult(task_id=TaskId("b"), status=ChildStatus.FAILED, feedback="<again>"),
    }
    assert render_record(found).decode() == GO_REVIEW_TEXT


def test_a_verdict_lies_between_the_summary_and_what_is_ours() -> None:
    results = {"a": ChildResult(task_id=TaskId("a"), status=ChildStatus.FAILED, feedback="no")}
    dismissed = Dismissal(reason="enough", at=STAMP, by="Ann")
    run = (
        reviewed(stdout="{}")
        .updated(
            parent_review_passed=False,
            parent_review_resume_task_ids=(TaskId("a"),),
            parent_review_feedback="no",
            parent_review_results=results,
            parent_review_completion_signature="parent-review:v1:00",
        )
        .updated(dismissed=dismissed, notes=("slow",))
    )
    written = json.loads(render_record(run))
    assert list(written.items())[5:] == [
        ("status", "success"),
        ("stdout", "{}"),
        ("context", {}),
        ("parent_review_passed", False),
        ("parent_review_resume_task_ids", ["a"]),
        ("parent_review_feedback", "no"),
        ("parent_review_results", {"a": {"task_id": "a", "status": "failed", "feedback": "no"}}),
        ("parent_review_completion_signature", "parent-review:v1:00"),
        (
            "blackbird",
            {
                "program": PROGRAM,
                "notes": ["slow"],
                "dismissed": {"reason": "enough", "at": STAMP, "by": "Ann"},
            },
        ),
    ]
    assert Run.from_value(written) == run


def test_a_passing_verdict_says_so_and_names_no_one_to_resume() -> None:
    results = {"a": ChildResult(task_id=TaskId("a"), status=ChildStatus.PASSED)}
    run = reviewed().updated(parent_review_passed=True, parent_review_results=results)
    written = json.loads(render_record(run))
    assert {name: value for name, value in written.items() if name.startswith("parent_review")} == {
        "parent_review_passed": True,
        "parent_review_results": {"a": {"task_id": "a", "status": "passed"}},
    }
    assert Run.from_value(written) == run
