"""A user of the Go program opens its repository here, works, and goes back; files have its formats."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.records import fact
from tests.support import commit
from tests.trial.program import Trial

STAMP = "2026-01-02T03:04:05.123456789Z"
LATER = "2999-01-02T03:04:05Z"
ASKED = '{"tool": "AskUserQuestion", "id": "q", "prompt": "Which one?", "options": ["red", "blue"]}'
# The fields of the Go program, and what it needs to know of them.
FIELDS = frozenset(
    {
        *(
            "id",
            "taskId",
            "run_type",
            "provider",
            "provider_session_ref",
            "startedAt",
            "completedAt",
            "status",
        ),
        *("exitCode", "stdout", "stderr", "context", "error", "decision_required", "decision_state"),
        *("decision_requested_at", "decision_resolved_at", "decision_feedback", "review_summary"),
        *("parent_review_passed", "parent_review_resume_task_ids", "parent_review_feedback"),
        *("parent_review_results", "parent_review_completion_signature"),
    }
)
STATUSES = frozenset({"running", "success", "failed", "waiting_user", "paused"})


class Go:
    """The Go program: it reads and writes below ``.blackbird/``, and the plan."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo

    def run(self, run_id: str, task: str, status: str, **fields: object) -> None:
        """Record a run as it does once the agent has ended, and set the task's status in the plan."""
        context = {"schemaVersion": 1, "task": {"id": task, "title": task.title()}}
        whole = {"id": run_id, "taskId": task, "run_type": "execute", "provider": "command"}
        whole |= {"provider_session_ref": f"session-{task}", "startedAt": STAMP, "completedAt": STAMP}
        folder = self.repo / ".blackbird" / "runs" / task
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({**whole, "status": status, "exitCode": 0, "context": context, **fields}, indent=2)
        (folder / f"{run_id}.json").write_text(text.replace("<", "\\u003c") + "\n")

    def set_status(self, task: str, status: str) -> None:
        path = self.repo / "blackbird.plan.json"
        plan = json.loads(path.read_bytes())
        plan["items"][task]["status"] = status
        path.write_text(json.dumps(plan, indent=2))

    def decide(self, task: str, state: str) -> None:
        """Decide on the latest run of a task: of an unknown field in it nothing is left."""
        path = max((self.repo / ".blackbird/runs" / task).glob("*.json"))
        record = {name: value for name, value in json.loads(path.read_bytes()).items() if name in FIELDS}
        path.write_text(
            json.dumps(record | {"decision_state": state, "decision_resolved_at": LATER}, indent=2)
        )

    def runs(self, task: str) -> list[dict[str, Any]]:
        """Read every file in the folder of a task, as it does."""
        folder = self.repo / ".blackbird/runs" / task
        files = [path for path in sorted(folder.iterdir()) if path.is_file()]
        assert all(path.suffix == ".json" for path in files), files
        records = [json.loads(path.read_bytes()) for path in files]
        assert all(record["taskId"] == task and record["status"] in STATUSES for record in records)
        return records

    def statuses(self) -> dict[str, str]:
        """Read the plan, in which it refuses fields that it does not know."""
        plan = json.loads((self.repo / "blackbird.plan.json").read_bytes())
        known = (
            "id title description acceptanceCriteria prompt parentId childIds deps status createdAt updatedAt"
        )
        assert all(set(known.split()) >= set(item) for item in plan["items"].values())
        return {task: item["status"] for task, item in plan["items"].items()}


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"x": "1\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": (), "c": (), "d": ("a", "b")})
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command('cat >>told; echo "$BLACKBIRD_TASK_ID" >>"$BLACKBIRD_TASK_ID.txt"')
    return trial


def test_its_repository_is_opened_and_given_back(trial: Trial) -> None:
    go = Go(trial.repo)
    go.run("9f86d081884c7d65", "a", "success", decision_required=True, decision_state="pending")
    go.run("60303ae22b998861", "b", "waiting_user", stdout=f"Well.\n{ASKED}\n")
    for task in "ab":
        go.set_status(task, "waiting_user")
    before = trial.statuses()
    said = trial.expect(0, "status")
    assert "2 runs from elsewhere: history only\n" in said
    waits = "waiting user, but its run is from elsewhere\n"
    assert f"  a  A: {waits}      git blackbird decide a --approve" in said
    assert f"  b  B: {waits}      git blackbird resume b\n" in said
    assert "9f86d081884c7d65" in trial.expect(0, "show", "a")
    # Nothing of it is done by itself.
    trial.expect(3, "execute", "--no-input")
    assert trial.statuses() == {**before, "c": "waiting_user"}
    assert "a: run 9f86d081884c7d65 is from elsewhere, and taken over\n" in trial.expect(
        0, "decide", "a", "--approve"
    )
    trial.expect(3, "resume", "b", "--answer", "q=blue", "--no-input")
    assert "blue" in (trial.repo / "told").read_text()
    assert {fact(run, "resumes") for run in trial.records("b")} == {None, "60303ae22b998861"}
    trial.expect(0, "decide", "b", "--approve")
    trial.expect(0, "decide", "c", "--reject")
    assert go.statuses() == {"a": "done", "b": "done", "c": "failed", "d": "todo"}
    assert [run["id"] for run in go.runs("a")] == ["9f86d081884c7d65"]
    assert [run["decision_state"] for run in go.runs("a")] == ["approved_continue"]
    assert len(go.runs("b")) == 2
    assert "from elsewhere" not in trial.expect(0, "status")


@pytest.mark.exhaustive
def test_after_a_spell_with_it_what_it_did_is_accepted(trial: Trial) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(3, "execute", "b", "--no-input")
    trial.expect(0, "decide", "b", "--reject")
    trial.expect(0, "retry", "b")
    go = Go(trial.repo)
    go.decide("a", "approved_continue")
    go.set_status("a", "done")
    go.run("60303ae22b998861", "b", "success", startedAt=LATER, completedAt=LATER)
    go.set_status("b", "done")
    said = trial.expect(0, "status")
    assert said.count("it stands still\n") == 2
    # Until a person says so, nothing that depends on them starts.
    trial.expect(1, "execute", "d", "--no-input")
    assert not (trial.repo / "d.txt").exists()
    said = trial.expect(0, "runs", "--accept", "--all")
    assert [line.rpartition("; ")[2] for line in said.splitlines()] == ["a is done", "b is done"]
    assert "stands still" not in trial.expect(0, "status")
    trial.expect(3, "execute", "d", "--no-input")
    trial.expect(0, "decide", "d", "--approve")
    assert go.statuses() == {"a": "done", "b": "done", "c": "todo", "d": "done"}
    assert [run["decision_state"] for run in go.runs("a")] == ["approved_continue"]


def test_feedback_that_it_left_goes_into_the_session(trial: Trial) -> None:
    go = Go(trial.repo)
    go.run("9f86d081884c7d65", "a", "success")
    go.set_status("a", "done")
    folder = trial.repo / ".blackbird/parent-review-feedback"
    folder.mkdir()
    feedback = {"parentTaskId": "p", "reviewRunId": "0" * 16, "feedback": "Add the test.", "createdAt": STAMP}
    (folder / "a.json").write_text(json.dumps(feedback | {"updatedAt": STAMP}))
    trial.expect(1, "execute", "a", "--no-input")
    offer = "feedback of the review of p: git blackbird resume a    # takes it over, with its run"
    assert offer in trial.expect(0, "show", "a")
    assert json.loads(trial.expect(0, "show", "a", "--json"))["data"]["foreignFeedback"]["parent"] == "p"
    trial.expect(3, "resume", "a", "--no-input")
    assert offer not in trial.expect(0, "show", "a")
    assert "Add the test." in (trial.repo / "told").read_text()


def test_one_that_did_not_begin_when_its_id_says_is_not_taken_over(trial: Trial) -> None:
    """Names of our own records are in the order of time: of many only the last is read."""
    trial.expect(3, "execute", "a", "--no-input")
    go = Go(trial.repo)
    go.run("01a2000000000002", "a", "success", startedAt=LATER, decision_state="approved_continue")
    said = trial.expect(1, "runs", "--accept", "--all")
    assert "run 01a2000000000002 of a did not begin when its id says" in said
    assert [record["decision_state"] for record in trial.records("a")] == ["pending"]
