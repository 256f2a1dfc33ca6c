"""A user of the Go program opens its repository here, works, and goes back; files have its formats."""

import json
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.model.run.file_form import GO_FIELDS
from tests.records import fact
from tests.support import commit
from tests.trial.program import Trial

STAMP = "2026-01-02T03:04:05.123456789Z"
LATER = "2999-01-02T03:04:05Z"
ASKED = '{"tool": "AskUserQuestion", "id": "q", "prompt": "Which one?", "options": ["red", "blue"]}'
WHOSE = "of another program or clone, not counted"
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
        record = {name: value for name, value in json.loads(path.read_bytes()).items() if name in GO_FIELDS}
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


@pytest.mark.exhaustive
def test_its_repository_is_opened_and_given_back(trial: Trial) -> None:
    """A decision and a question are open, and no run of ours is known: nothing starts before an answer."""
    go = Go(trial.repo)
    go.run("9f86d081884c7d65", "a", "success", decision_required=True, decision_state="pending")
    go.run("60303ae22b998861", "b", "waiting_user", stdout=f"Well.\n{ASKED}\n")
    go.set_status("a", "done")
    go.set_status("b", "waiting_user")
    before = trial.statuses()
    line = f"{WHOSE}: 2 runs; `git blackbird adopt` shows what is there, and asks\n"
    assert line in trial.expect(0, "status")
    assert f"{WHOSE}: 1 run; " in trial.expect(0, "show", "a")
    for command in ("execute", "execute d", "decide a --approve", "resume b --answer q=blue", "restart b"):
        said = trial.expect(3, *command.split(), "--no-input")
        assert "- a  run 9f86d081884c7d65 of 2026-01-02 03:04, success, pending, session session-a of" in said
        assert "a would be waiting_user" in said
        assert "git blackbird adopt --take    # lets it count" in said
    assert trial.statuses() == before
    said = trial.expect(0, "adopt", "--take")
    assert [words.rpartition("; ")[2] for words in said.splitlines()] == [
        "a is waiting_user",
        "b is waiting_user",
    ]
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(3, "resume", "b", "--answer", "q=blue", "--no-input")
    assert "blue" in (trial.repo / "told").read_text()
    assert {fact(run, "resumes") for run in trial.records("b")} == {None, "60303ae22b998861"}
    trial.expect(0, "decide", "b", "--approve")
    assert go.statuses() == {"a": "done", "b": "done", "c": "todo", "d": "todo"}
    assert [run["decision_state"] for run in go.runs("a")] == ["approved_continue"]
    assert len(go.runs("b")) == 2
    assert WHOSE not in trial.expect(0, "status")


def test_one_that_is_over_asks_once_and_counts_as_its_plan_says(trial: Trial) -> None:
    """A status that stays keeps its time, which the signature of its parent has."""
    go = Go(trial.repo)
    for task in "ab":
        go.run(f"9f86d081884c7d6{task}", task, "success", decision_state="approved_continue")
        go.set_status(task, "done")
    plan = (trial.repo / "blackbird.plan.json").read_bytes()
    trial.expect(3, "execute", "--no-input")
    assert trial.expect(0, "adopt", "a", "--take").endswith("; a is done\n")
    assert trial.expect(0, "adopt", "--leave").startswith("left: b  run 9f86d081884c7d6b")
    assert json.loads(plan) == json.loads((trial.repo / "blackbird.plan.json").read_bytes())
    assert [run["id"] for run in trial.records("a")] == ["9f86d081884c7d6a"]
    assert trial.records("b") == []
    assert WHOSE not in trial.expect(0, "status")
    trial.expect(3, "execute", "d", "--no-input")
    # What was left can be adopted all the same, until something of ours is newer.
    assert "9f86d081884c7d6b" in trial.expect(0, "adopt", "b", "--take")


def test_after_a_spell_with_it_what_it_did_is_adopted(trial: Trial) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(3, "execute", "b", "--no-input")
    trial.expect(0, "decide", "b", "--reject")
    trial.expect(0, "retry", "b")
    go = Go(trial.repo)
    go.decide("a", "approved_continue")
    go.set_status("a", "done")
    go.run("60303ae22b998861", "b", "success", startedAt=LATER, completedAt=LATER)
    go.set_status("b", "done")
    assert f"{WHOSE}: 1 run, 1 decision; " in trial.expect(0, "status")
    said = trial.expect(3, "execute", "d", "--no-input")
    assert not (trial.repo / "d.txt").exists()
    assert ": approved" in said or ", approved" in said
    said = trial.expect(0, "adopt", "--take")
    assert [line.rpartition("; ")[2] for line in said.splitlines()] == ["a is done", "b is done"]
    trial.expect(3, "execute", "d", "--no-input")
    trial.expect(0, "decide", "d", "--approve")
    assert go.statuses() == {"a": "done", "b": "done", "c": "todo", "d": "done"}
    assert [run["decision_state"] for run in go.runs("a")] == ["approved_continue"]


@pytest.mark.exhaustive
def test_what_was_left_is_asked_about_again_once_it_is_newer(trial: Trial) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    go = Go(trial.repo)
    go.decide("a", "rejected")
    trial.expect(3, "execute", "c", "--no-input")
    assert not (trial.repo / "c.txt").exists()
    trial.expect(0, "adopt", "--leave")
    trial.expect(3, "execute", "c", "--no-input")
    assert (trial.repo / "c.txt").exists()
    go.decide("a", "approved_quit")
    assert "approved_quit" in trial.expect(3, "execute", "b", "--no-input")
    assert not (trial.repo / "b.txt").exists()
    # A decision of ours settles it as well.
    trial.expect(0, "adopt", "a", "--leave")
    trial.expect(0, "decide", "a", "--approve")
    assert WHOSE not in trial.expect(0, "status")


def test_open_feedback_goes_into_the_session_and_holds_what_depends_on_it(trial: Trial) -> None:
    go = Go(trial.repo)
    go.run("9f86d081884c7d65", "a", "success")
    go.set_status("a", "done")
    folder = trial.repo / ".blackbird/parent-review-feedback"
    folder.mkdir()
    feedback = {"parentTaskId": "p", "reviewRunId": "0" * 16, "feedback": "Add the test.", "createdAt": STAMP}
    (folder / "a.json").write_text(json.dumps(feedback | {"updatedAt": STAMP}))
    said = trial.expect(3, "resume", "a", "--no-input")
    assert '- a  feedback of the review of p: "Add the test."' in said
    assert json.loads(trial.expect(0, "show", "a", "--json"))["data"]["adoptable"] == [
        {
            "task": "a",
            "kind": "run",
            "run": "9f86d081884c7d65",
            "decision": None,
            "session": "session-a",
            "text": None,
            "becomes": None,
        },
        {
            "task": "a",
            "kind": "feedback",
            "run": "0" * 16,
            "decision": None,
            "session": None,
            "text": "Add the test.",
            "becomes": None,
        },
    ]
    trial.expect(0, "adopt", "--take")
    trial.expect(3, "resume", "a", "--no-input")
    assert "Add the test." in (trial.repo / "told").read_text()


def test_feedback_that_is_left_stays_where_it_is(trial: Trial) -> None:
    trial.expect(3, "execute", "a", "--no-input")
    file = trial.repo / ".blackbird/parent-review-feedback/a.json"
    file.parent.mkdir()
    owed = {"parentTaskId": "p", "reviewRunId": "0" * 16, "feedback": "Add it."}
    file.write_text(json.dumps(owed))
    assert f"{WHOSE}: 1 feedback; " in trial.expect(0, "status")
    trial.expect(0, "adopt", "--leave")
    trial.expect(0, "decide", "a", "--approve")
    assert json.loads(file.read_bytes()) == owed
    assert "Add it." not in trial.expect(0, "show", "a")


def test_one_that_did_not_begin_when_its_id_says_cannot_be_adopted(trial: Trial) -> None:
    """Names of our own records are in the order of time: of many only the last is read."""
    trial.expect(3, "execute", "a", "--no-input")
    go = Go(trial.repo)
    go.run("01a2000000000002", "a", "success", startedAt=LATER, decision_state="approved_continue")
    assert trial.expect(0, "adopt", "--take") == "nothing below .blackbird/ could be adopted\n"
    assert [record["decision_state"] for record in trial.records("a")] == ["pending"]


def test_an_agent_adopts_and_leaves_nothing(trial: Trial) -> None:
    Go(trial.repo).run("9f86d081884c7d65", "a", "success")
    trial.environ["BLACKBIRD_RUN_ID"] = "1"
    for option in ("--take", "--leave"):
        assert "an agent may not" in trial.expect(1, "adopt", option)
    assert trial.records("a") == []
