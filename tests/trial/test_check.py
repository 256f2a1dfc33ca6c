"""``check.command`` says whether a change is good: shown, or sent back to the agent."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.terminal import CTRL_C, Terminal
from tests.records import fact
from tests.support import commit, git
from tests.trial.program import Trial

RED_BASE = "the check fails without the change as well, so it does not say whether the change is good"
RUNS_LOG = 'echo "$PWD" >>{0}/checks; '


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    return trial


def check(trial: Trial, command: str, tmp_path: Path, **settings: str) -> None:
    """Let a command be the check, which notes each time that it runs."""
    keys = {f"check.{name}": value for name, value in settings.items()}
    trial.configure({"check.command": RUNS_LOG.format(tmp_path) + command, **keys})


def times(tmp_path: Path) -> int:
    places = tmp_path / "checks"
    return len(places.read_text().splitlines()) if places.exists() else 0


def verdict(trial: Trial) -> dict[str, object]:
    found: dict[str, object] = fact(trial.records("a")[-1], "check")
    return found


def test_a_change_that_passes_is_said_to_and_is_checked_in_a_copy(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    check(trial, "grep -q new new.txt && test -e old.txt && echo mess >old.txt && env >made", tmp_path)
    trial.configure({"execution.stopAfterEachTask": "true"})
    said = trial.expect(3, "execute", "--no-input")
    assert "checking a: echo" in said
    assert "check of a ended: exit 0 (" in said
    assert "a decision is due on a" in said
    assert verdict(trial)["outcome"] == "passed"
    assert verdict(trial)["tree"] == fact(trial.records("a")[0], "head_tree")
    assert git(trial.repo, "status", "--porcelain").splitlines() == ["?? new.txt"]
    (place,) = (tmp_path / "checks").read_text().splitlines()
    assert not Path(place).is_relative_to(trial.repo)
    assert not Path(place).exists()
    assert "\ncheck\n  exit 0 (" in trial.expect(0, "show", "a")
    run = trial.records("a")[0]["id"]
    assert "\ncheck\n  exit 0 (" in trial.expect(0, "runs", "a", run)


def test_the_check_is_told_its_task_and_nothing_that_makes_it_an_agent(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    check(trial, f"env >{tmp_path}/environ; ! git rev-parse", tmp_path)
    trial.environ["TMPDIR"] = str(trial.repo / "sub")
    (trial.repo / "sub").mkdir()
    trial.expect(0, "execute", "--no-input")
    environ = (tmp_path / "environ").read_text().splitlines()
    assert "BLACKBIRD_TASK_ID=a" in environ
    assert not [line for line in environ if line.startswith(("BLACKBIRD_RUN_ID", "GIT_DIR", "GIT_INDEX"))]
    assert verdict(trial)["outcome"] == "passed"


@pytest.mark.exhaustive
def test_one_that_fails_is_shown_and_can_be_sent_to_the_agent(trial: Trial, tmp_path: Path) -> None:
    trial.command("cat >>seen; echo new >new.txt")
    check(trial, "echo to out; echo to err >&2; test ! -e new.txt", tmp_path)
    trial.configure({"execution.stopAfterEachTask": "true"})
    said = trial.expect(3, "execute", "--no-input")
    assert "check of a failed: exit 1\n" in said
    assert times(tmp_path) == 4  # three times, and the base
    shown = trial.expect(0, "show", "a")
    assert "\ncheck\n  failed: exit 1\n  to out\n  to err\n" in shown
    trial.command("cat >>seen; rm new.txt; echo other >other.txt")
    assert "changes to a requested" in trial.expect(0, "decide", "a", "--request-changes").lower()
    trial.expect(3, "execute", "--no-input")
    assert "The check of your change failed (exit 1)" in (trial.repo / "seen").read_text()
    assert r"to out\nto err" in (trial.repo / "seen").read_text()
    assert verdict(trial)["outcome"] == "passed"


def test_the_checkpoint_shows_it_and_offers_to_send_it(trial: Trial, tmp_path: Path) -> None:
    trial.command("cat >>seen; echo new >new.txt")
    check(trial, "printf '\\033[31mto out\\n'; test ! -e new.txt", tmp_path)
    trial.configure({"execution.stopAfterEachTask": "true"})
    said = trial.expect(3, "execute", stdin="3\n\n")
    assert "Run status: success\nCheck: failed: exit 1\n  to out\n" in said
    assert "A blank first line asks for what the check printed.\n" in said
    assert "The check of your change failed (exit 1)" in (trial.repo / "seen").read_text()


def test_shown_alone_it_keeps_nothing_from_being_done(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    check(trial, "test ! -e new.txt", tmp_path)
    assert "check of a failed: exit 1\n" in trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == {"a": "done"}


def test_a_gate_sends_it_back_to_the_session_until_it_passes(trial: Trial, tmp_path: Path) -> None:
    script = 'echo "$BLACKBIRD_SESSION_ID ${BLACKBIRD_RESUME:-0}" >>%s/sessions; echo line >>new.txt'
    trial.command(script % tmp_path)
    check(trial, 'echo looked; test "$(cat new.txt 2>&1 | wc -l)" -ne 1 || ! test -e new.txt', tmp_path)
    trial.configure({"check.mode": "gate"})
    said = trial.expect(0, "execute", "--no-input")
    assert "changes to a requested by its check\n  looked\n" in said
    assert "check of a ended: exit 0 (" in said
    (first, second) = [line.split() for line in (tmp_path / "sessions").read_text().splitlines()]
    assert (first[0], first[1], second[1]) == (second[0], "0", "1")
    before, after = trial.records("a")
    assert (before["decision_state"], fact(before, "requested_by")) == ("changes_requested", "check")
    assert before["decision_feedback"].endswith("The end of what it printed:\n\nlooked\n")
    assert "decision_state" not in after
    assert trial.statuses() == {"a": "done"}


def test_after_the_last_round_a_person_decides(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo line >>new.txt")
    check(trial, "test ! -e new.txt", tmp_path, mode="gate", maxRounds="1")
    said = trial.expect(3, "execute", "--no-input")
    assert "a decision is due: the check still fails after 1 change request (check.maxRounds)" in said
    assert len(trial.records("a")) == 2
    assert trial.statuses() == {"a": "waiting_user"}
    assert "its check failed: exit 1" in trial.expect(0, "status")
    trial.expect(3, "execute", "--no-input")
    assert len(trial.records("a")) == 2
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("option", ["--no-input", "--worktrees"])
def test_what_failed_before_is_for_a_person_once(trial: Trial, tmp_path: Path, option: str) -> None:
    trial.command("echo line >>new.txt")
    check(trial, "exit 3", tmp_path, mode="gate")
    said = trial.expect(3, "execute", option, stdin="")
    assert "check of a failed before: exit 3, as on the base of the change" in said
    assert f"a decision is due: {RED_BASE}" in said
    assert len(trial.records("a")) == 1
    assert verdict(trial)["outcome"] == "failed_before"
    assert trial.statuses() == {"a": "waiting_user"}
    assert "its check failed before: exit 3, as on the base of the change" in trial.expect(0, "status")
    trial.expect(0, "decide", "a", "--approve")
    trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == {"a": "done"}
    assert (trial.repo / "new.txt").read_text() == "line\n"
    assert len(trial.records("a")) == 1


def test_shown_alone_what_failed_before_stops_nothing_either(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo line >>new.txt")
    check(trial, "exit 3", tmp_path)
    assert "check of a failed before: exit 3" in trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == {"a": "done"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("no-such-program", "a program of the command was not found"),
        ("./old.txt", "the command cannot be executed"),
        ("cat fifo", "it was not done after 1 s (check.timeoutSeconds)"),
    ],
)
def test_what_does_not_run_is_for_a_person_and_is_run_again(
    trial: Trial, tmp_path: Path, command: str, reason: str
) -> None:
    trial.command("echo line >>new.txt")
    check(trial, f"mkfifo fifo && {command}", tmp_path, mode="gate", timeoutSeconds="1")
    said = trial.expect(3, "execute", "--no-input")
    assert f"check of a broken: {reason}\n" in said
    assert f"a decision is due: the check is broken: {reason}\n" in said
    assert verdict(trial)["outcome"] == "broken"
    assert times(tmp_path) == 1
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}
    trial.expect(0, "set-status", "a", "todo")
    trial.command("true; cat new.txt >/dev/null; echo line >new.txt; touch same")
    trial.expect(3, "execute", "--no-input")
    assert times(tmp_path) == 2


@pytest.mark.exhaustive
def test_a_tree_is_checked_once(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    check(trial, "true", tmp_path)
    trial.expect(0, "execute", "--no-input")
    (trial.repo / "new.txt").unlink()
    trial.expect(0, "set-status", "a", "todo")
    said = trial.expect(0, "execute", "--no-input")
    assert "checking a" not in said
    assert "check of a ended: exit 0 (" in said
    assert times(tmp_path) == 1
    trial.configure({"check.command": f"true; {RUNS_LOG.format(tmp_path)}"})
    (trial.repo / "new.txt").unlink()
    trial.expect(0, "set-status", "a", "todo")
    trial.expect(0, "execute", "--no-input")
    assert times(tmp_path) == 2


def test_a_command_of_the_project_never_runs(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    (trial.repo / ".blackbird").mkdir(exist_ok=True)
    config = {"schemaVersion": 1, "check": {"command": f"touch {tmp_path}/ran"}}
    (trial.repo / ".blackbird" / "config.json").write_text(json.dumps(config))
    said = trial.expect(0, "execute", "--no-input")
    assert "check.command" in said
    assert not (tmp_path / "ran").exists()
    assert "check" not in trial.records("a")[0]


def test_nothing_is_checked_where_nothing_was_changed(trial: Trial, tmp_path: Path) -> None:
    trial.command("true")
    check(trial, "true", tmp_path)
    trial.expect(0, "execute", "--no-input")
    assert times(tmp_path) == 0
    assert trial.statuses() == {"a": "done"}


@pytest.mark.exhaustive
def test_events_tell_it_to_programs(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    check(trial, "echo no; test ! -e new.txt", tmp_path, mode="gate", maxRounds="0")
    said = trial.expect(3, "execute", "--json")
    events = {event["event"]: event for event in map(json.loads, said.splitlines())}
    ended, due = events["check_ended"], events["checkpoint"]
    assert ended["evidence"]["outcome"] == "failed"
    assert [check["output"] for check in ended["evidence"]["checks"]] == ["no"]
    assert ended["decisionState"] == "pending"
    assert ended["reasons"] == due["reasons"]
    assert [check["exit_code"] for check in due["evidence"]["checks"]] == [1]
    assert "The check of your change failed" in due["suggestedRequest"]


def test_ctrl_c_stops_the_check_and_the_next_execute_checks_again(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    os.mkfifo(tmp_path / "fifo")
    check(trial, f"setsid cat {tmp_path}/fifo", tmp_path)
    with Terminal(trial.repo, "execute", "--no-input") as terminal:
        terminal.wait_for("checking a")
        # The check is at work once it holds the other end.
        writer = os.open(tmp_path / "fifo", os.O_WRONLY)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
        assert "stopping the check of a; a second Ctrl+C kills it" in terminal.plain
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"x")  # nobody is left to read it
    os.close(writer)
    assert trial.statuses() == {"a": "in_progress"}
    assert "check due" in trial.expect(0, "status")
    assert "check due" in trial.expect(0, "show", "a")
    trial.configure({"check.command": "true"})
    said = trial.expect(0, "execute", "--no-input")
    assert "check of a ended: exit 0 (" in said
    assert trial.statuses() == {"a": "done"}


@pytest.mark.exhaustive
def test_a_check_switched_off_before_it_ran_is_not_due_any_more(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    os.mkfifo(tmp_path / "fifo")
    check(trial, f"cat {tmp_path}/fifo", tmp_path)
    trial.configure({"execution.stopAfterEachTask": "true"})
    program = trial.start("execute", "--no-input")
    writer = os.open(tmp_path / "fifo", os.O_WRONLY)
    program.kill()
    program.communicate()
    git(trial.repo, "config", "--unset", "blackbird.check.command")
    trial.expect(3, "execute", "--no-input")
    os.close(writer)
    assert "check" not in trial.records("a")[0]
    assert trial.statuses() == {"a": "waiting_user"}


def test_a_check_that_a_killed_command_left_is_stopped(trial: Trial, tmp_path: Path) -> None:
    trial.command("echo new >new.txt")
    os.mkfifo(tmp_path / "fifo")
    check(trial, f"cat {tmp_path}/fifo", tmp_path)
    program = trial.start("execute", "--no-input")
    writer = os.open(tmp_path / "fifo", os.O_WRONLY)
    program.kill()
    program.communicate()
    opens = f"import os; os.open('{tmp_path}/fifo', os.O_WRONLY | os.O_NONBLOCK)"
    trial.configure({"check.command": f'! {sys.executable} -c "{opens}"'})
    trial.expect(0, "execute", "--no-input")
    os.close(writer)
    assert verdict(trial)["outcome"] == "passed"  # nobody reads it any more


SPEC = "<spec-review><verdict>{0}</verdict><confidence>high</confidence><issues>{1}</issues></spec-review>"
CODE = "<code-review><verdict>APPROVED</verdict><confidence>high</confidence><issues/></code-review>"
ISSUE = (
    '<issue type="missing_requirement" severity="important"><description>More.</description>'
    "<requirement>All.</requirement></issue>"
)


def let_review(trial: Trial, tmp_path: Path, spec: str) -> None:
    """Let each run of the agent add a line, and its reviewers note what they are told and answer."""
    trial.command(
        f'in=$(cat); case "$in" in *\'"kind":"spec"\'*) echo "$in" >>{tmp_path}/told; echo \'{spec}\';; '
        f"*'\"kind\":\"code\"'*) echo '{CODE}';; *) echo line >>new.txt;; esac"
    )
    trial.configure({"reviews.mode": "parallel"})


def test_reviewers_get_what_passed_and_are_told_so(trial: Trial, tmp_path: Path) -> None:
    let_review(trial, tmp_path, SPEC.format("APPROVED", ""))
    check(trial, 'test ! -e new.txt || test "$(cat new.txt | wc -l)" -ne 1', tmp_path, mode="gate")
    trial.expect(0, "execute", "--no-input")
    first, second = trial.records("a")
    assert (fact(first, "review_state"), fact(second, "review_state")) == ("skipped", "done")
    assert {fact(review, "reviewed_run") for review in trial.reviews("a")} == {second["id"]}
    assert "passes on this change." in (tmp_path / "told").read_text()


@pytest.mark.exhaustive
def test_reviewers_are_told_what_fails_where_it_is_only_shown(trial: Trial, tmp_path: Path) -> None:
    let_review(trial, tmp_path, SPEC.format("APPROVED", ""))
    check(trial, "test ! -e new.txt", tmp_path)
    trial.expect(0, "execute", "--no-input")
    assert "fails on this change, and not on what was there before it." in (tmp_path / "told").read_text()


@pytest.mark.exhaustive
def test_what_failed_before_is_reviewed_and_then_for_a_person(trial: Trial, tmp_path: Path) -> None:
    let_review(trial, tmp_path, SPEC.format("APPROVED", ""))
    check(trial, "exit 3", tmp_path, mode="gate")
    said = trial.expect(3, "execute", "--no-input")
    assert "fails on this change, and failed before it as well." in (tmp_path / "told").read_text()
    assert [line for line in said.splitlines() if "a decision is due:" in line] == [
        f"a decision is due: {RED_BASE}"
    ]
    assert RED_BASE in trial.expect(3, "review", "run", "a", "--no-input")
    assert len(trial.reviews("a")) == 4
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses() == {"a": "done"}


@pytest.mark.exhaustive
def test_reviews_of_a_failed_change_by_hand_leave_it_to_a_person(trial: Trial, tmp_path: Path) -> None:
    let_review(trial, tmp_path, SPEC.format("APPROVED", ""))
    check(trial, "test ! -e new.txt", tmp_path, mode="gate", maxRounds="0")
    trial.expect(3, "execute", "--no-input")
    assert trial.reviews("a") == []
    trial.run("review", "run", "a", "--no-input")
    assert len(trial.reviews("a")) == 2
    said = trial.expect(3, "execute", "--no-input")
    assert "a decision is due on a" in said
    assert trial.statuses() == {"a": "waiting_user"}


@pytest.mark.exhaustive
def test_rounds_of_reviews_and_checks_are_counted_apart(trial: Trial, tmp_path: Path) -> None:
    let_review(trial, tmp_path, SPEC.format("ISSUES", ISSUE))
    check(trial, 'test ! -e new.txt || test "$(cat new.txt | wc -l)" -ne 2', tmp_path, mode="gate")
    trial.configure({"reviews.maxIterations": "2"})
    said = trial.expect(3, "execute", "--no-input")
    assert "issues are left after round 2 of 2" in said
    requests = [fact(record, "requested_by") for record in trial.records("a")]
    assert requests == ["reviewers", "check", None]
