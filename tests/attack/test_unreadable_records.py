"""A record that cannot be read stops its task, by name, and no other."""

import json
import shlex
from pathlib import Path

import pytest

from tests.support import Prepared, commit
from tests.trial.program import Trial

BROKEN = "{"
WHY = "Expecting property name enclosed in double quotes at line 1, column 2"


@pytest.fixture
def trial(repo: Path, prepared: Prepared) -> Trial:
    """A decision is due on ``a``; its record cannot be read. ``b`` is free, ``c`` needs ``a``."""
    trial = Trial(repo)

    def make() -> None:
        commit(repo, {"old.txt": "old\n"})
        trial.plan({"a": (), "b": (), "c": ("a",)})
        trial.configure({"execution.stopAfterEachTask": "true"})
        trial.command('echo "$BLACKBIRD_TASK_ID" >"$BLACKBIRD_TASK_ID.txt"')
        trial.expect(3, "execute", "a", "--no-input")
        record(trial).write_text(BROKEN)

    prepared.bring(repo, make)
    return trial


def record(trial: Trial) -> Path:
    (path,) = (trial.repo / ".git" / "blackbird" / "runs" / "a").glob("*.json")
    return path


def way_out(path: Path) -> str:
    remark = "or fix it; this keeps the file, but what it records no longer counts"
    return f"mv -i {path} {path}.unreadable    # {remark}"


def files(trial: Trial) -> dict[str, bytes]:
    state = [path for path in (trial.repo / ".blackbird").rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in (*state, trial.repo / "blackbird.plan.json")}


def test_execute_goes_on_with_others_and_stops_naming_the_file(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "false"})
    path = record(trial)
    output = trial.expect(128, "execute", "--no-input")
    assert trial.statuses() == {"a": "waiting_user", "b": "done", "c": "todo"}
    assert output.endswith(
        f"a is stopped by a record that cannot be used: {path}: {WHY}\n"
        f"next step: {way_out(path)}\n"
        "blocked: c waits for a\n"
    )
    assert not (trial.repo / "c.txt").exists()
    assert path.read_text() == BROKEN
    stop = json.loads(trial.expect(128, "execute", "--json").splitlines()[-1])
    assert (stop["reason"], stop["exitCode"], stop["task"]) == ("unreadable_record", 128, "a")


@pytest.mark.parametrize(
    "command",
    [
        "execute a",
        "execute a --dry-run",
        "decide a --approve",
        "decide a --reject",
        "resume a",
        "resume a -m more",
        "restart a",
        "retry a",
        "review run a",
        "set-status a done",
        "edit a --title Other",
        "delete a --force",
    ],
)
def test_what_is_asked_of_the_task_is_refused_by_name_and_nothing_is_written(
    trial: Trial, command: str
) -> None:
    path, before = record(trial), files(trial)
    output = trial.expect(128, *command.split())
    assert (
        output
        == f"fatal: a is stopped by a record that cannot be used: {path}: {WHY}\nhint: {way_out(path)}\n"
    )
    assert files(trial) == before


def test_a_decision_elsewhere_is_named_beside_it(trial: Trial) -> None:
    path = record(trial)
    output = trial.expect(3, "execute", "--no-input")
    assert "a decision is due on b\n" in output
    assert f"a is stopped by a record that cannot be used: {path}: {WHY}\n" in output
    assert f"hint: {way_out(path)}\n" in output


def test_readers_name_it_and_promise_nothing_of_its_task(trial: Trial) -> None:
    path = record(trial)
    output = trial.expect(0, "status")
    assert f"  a  A: one of its records cannot be used, unblocks 1 task\n      {way_out(path)}\n" in output
    assert "  c  waits for a\n" in output
    status = json.loads(trial.expect(0, "status", "--json").splitlines()[0])["data"]
    command, _, says = way_out(path).partition("    # ")
    (item,) = (item for item in status["due"] if item["kind"] == "unreadable")
    assert (item["task"], item["details"], item["unblocks"]) == ("a", {"path": str(path), "what": WHY}, 1)
    assert (item["command"], item["template"], item["help"]) == (command, None, says)
    assert status["blocked"] == {"c": ["a"]}
    output = trial.expect(0, "show", "a")
    assert (
        f"not ready\n  its status is waiting_user, not todo\n"
        f"  one of its records cannot be used: {path}: {WHY}\n" in output
    )
    shown = json.loads(trial.expect(0, "show", "c", "--json").splitlines()[0])["data"]
    assert "a record of its dependency a cannot be used" in shown["reasons"]


def test_a_task_that_was_to_start_is_not_shown_as_ready(trial: Trial) -> None:
    plan = trial.repo / "blackbird.plan.json"
    plan.write_text(plan.read_text().replace("waiting_user", "todo"))
    assert "3 todo (1 ready)" in trial.expect(0, "status")
    assert "[BLOCKED]" in trial.expect(0, "show", "a")
    assert trial.expect(0, "list", "--ready").split() == ["b", "READY", "B"]
    assert trial.expect(0, "list").splitlines()[0].split()[:2] == ["a", "BLOCKED"]
    foreseen = trial.expect(0, "execute", "--dry-run")
    first, *others = foreseen.splitlines()
    assert (first, others[1]) == (
        "1. b  B  [command]",
        f"a is stopped by a record that cannot be used: {record(trial)}: {WHY}",
    )


def test_one_that_is_asked_for_by_its_id_is_named(trial: Trial) -> None:
    path = record(trial)
    assert str(path) in trial.expect(128, "runs", "a", path.stem, "--json")


def test_moved_away_the_task_goes_on(trial: Trial) -> None:
    shell = way_out(record(trial)).split("    #")[0]
    source, target = map(Path, shlex.split(shell)[2:])
    source.rename(target)
    trial.expect(0, "retry", "a")
    # Nobody is asked about the copy of that record, which can be adopted all the same.
    assert "adopt" not in trial.expect(0, "status")
    assert "`git blackbird adopt --take` lets it count" in trial.expect(0, "adopt", "a")
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses()["a"] == "done"


def test_feedback_that_cannot_be_read_stops_its_leaf_alike(trial: Trial) -> None:
    feedback = trial.repo / ".git" / "blackbird" / "parent-review-feedback" / "b.json"
    feedback.parent.mkdir()
    feedback.write_text(BROKEN)
    assert str(feedback) in trial.expect(128, "execute", "b")
    output = trial.expect(128, "execute", "--no-input")
    assert f"b is stopped by a record that cannot be used: {feedback}: " in output
    assert trial.statuses()["b"] == "todo"


def test_a_review_record_that_cannot_be_read_stops_a_change_under_review(trial: Trial) -> None:
    path = record(trial)
    run: dict[str, object] = {
        "id": path.stem,
        "taskId": "a",
        "status": "success",
        "startedAt": "2026-01-02T03:04:05Z",
    }
    path.write_text(json.dumps({**run, "blackbird": {"review": "due"}}))
    review = path.parent / "reviews" / "0000000000000001.json"
    review.parent.mkdir()
    review.write_text(BROKEN)
    trial.configure({"reviews.mode": "parallel", "agent": "demo"})
    assert str(review) in trial.expect(128, "execute", "a")
    output = trial.expect(3, "execute", "--no-input")
    assert f"a is stopped by a record that cannot be used: {review}: {WHY}\n" in output
    assert trial.statuses()["a"] == "waiting_user"
    run = {**run, "blackbird": {"review": "done"}}
    path.write_text(json.dumps(run))
    trial.expect(3, "execute", "--no-input")
    assert trial.statuses()["a"] == "done"
