"""``decide`` asks for what waits, records for many at once, lands what is approved, and starts no agent."""

import json
import os
import re
from pathlib import Path

import pytest

from git_blackbird.controller.core.workspace import hold_controller
from tests.cli.terminal import CTRL_C, ENTER, Terminal
from tests.controller.support import agree_to_agent, configure, leaf, open_at, put_plan
from tests.records import fact
from tests.support import commit, git, wait_until
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    script = 'cat >/dev/null; echo $BLACKBIRD_TASK_ID >$BLACKBIRD_TASK_ID.txt; echo >>"$STARTS"'
    script = script.replace("$STARTS", str(repo.parent / "starts"))
    configure(repo, agent="command", command__run=script, execution__jobs="1", execution__worktrees="true")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), leaf("b"), leaf("c"), leaf("later", deps=("a",)))
    trial = Trial(repo)
    trial.expect(3, "execute", "--no-input", "--stop-after-each", "--jobs", "2")
    return trial


def starts(trial: Trial) -> int:
    return (trial.repo.parent / "starts").read_text().count("\n")


def test_what_is_approved_lands_in_the_same_call(trial: Trial) -> None:
    said = trial.expect(0, "decide", "a", "b", "--approve")
    assert said == "approved a\napproved b\nlanded a\nlanded b\n"
    assert trial.statuses() == {"a": "done", "b": "done", "c": "waiting_user", "later": "todo"}
    assert (trial.repo / "a.txt").read_text() == "a\n"
    assert starts(trial) == 3
    envelope = json.loads(trial.expect(0, "decide", "c", "--approve", "--json"))
    data = envelope["data"]
    assert (data["task"], data["stage"], trial.statuses()["c"]) == ("c", "done", "done")


@pytest.mark.exhaustive
def test_nothing_is_decided_where_one_of_the_names_is_none(trial: Trial) -> None:
    assert "zz" in trial.expect(1, "decide", "a", "zz", "--approve")
    assert trial.statuses()["a"] == "waiting_user"
    assert trial.expect(0, "decide", "a", "a", "--approve") == "approved a\nlanded a\n"


@pytest.mark.exhaustive
def test_what_was_approved_lands_though_a_later_one_is_refused(trial: Trial) -> None:
    assert "landed a\n" in trial.expect(1, "decide", "a", "later", "--approve")
    assert trial.statuses() == {"a": "done", "b": "waiting_user", "c": "waiting_user", "later": "todo"}


def test_a_call_at_work_lands_what_is_approved_meanwhile(repo: Path) -> None:
    commit(repo, {"old.txt": "old\n"})
    script = (
        "cat >/dev/null; echo >$BLACKBIRD_TASK_ID.txt; [ $BLACKBIRD_TASK_ID = a ] || read line <GATE"
    ).replace("GATE", str(gate := repo.parent / "gate"))
    os.mkfifo(gate)
    settings = {"execution.jobs": "2", "execution.stopAfterEachTask": "true", "execution.worktrees": "true"}
    trial = Trial(repo)
    trial.command(script)
    trial.configure(settings)
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), leaf("b"))
    call = trial.start("execute", "--no-input")
    wait_until(lambda: trial.statuses()["a"] == "waiting_user")
    trial.expect(0, "decide", "a", "--approve")
    gate.write_text("go on\n")
    said, _ = call.communicate()
    assert (call.returncode, trial.statuses()) == (3, {"a": "done", "b": "waiting_user"}), said


def test_what_is_approved_at_once_in_several_terminals_lands_from_each(trial: Trial) -> None:
    calls = [trial.start("decide", name, "--approve") for name in "abc"]
    said = "".join(call.communicate(timeout=60)[0] for call in calls)
    assert [call.returncode for call in calls] == [0, 0, 0], said
    assert trial.statuses() == {"a": "done", "b": "done", "c": "done", "later": "todo"}, said
    assert starts(trial) == 3


def test_another_call_at_work_lands_it(trial: Trial) -> None:
    for name, only, when in (
        ("a", None, "it lands what you approved"),
        ("b", ["c"], "what you approved lands with the next `git blackbird execute` after it"),
    ):
        with hold_controller(open_at(trial.repo), "execute", only=only, starts=True, agents=True):
            said = trial.expect(0, "decide", name, "--approve")
        assert said.startswith(f"approved {name}\n")
        assert said.endswith(f"; {when}\n")
        assert trial.statuses()[name] == "in_progress"


def test_what_is_approved_elsewhere_lands_beside_an_open_question(trial: Trial) -> None:
    with Terminal(trial.repo, "decide") as terminal:
        terminal.wait_to_see("5) View full diff")
        assert trial.expect(0, "decide", "b", "--approve") == "approved b\nlanded b\n"
        terminal.wait_to_match(r"landed b\n\? Select an action .*\n > 1\) ")
        assert (trial.repo / "b.txt").read_text() == "b\n"
        terminal.type(CTRL_C)
        assert terminal.end() == 130


def test_a_conflict_is_a_request_for_the_next_execute(trial: Trial) -> None:
    (trial.repo / "a.txt").write_text("mine\n")
    said = trial.expect(1, "decide", "a", "--approve")
    assert "a goes back to its agent" in said
    assert said.endswith("a has not landed: changes requested\nnext step: git blackbird resume a\n")
    assert starts(trial) == 3


@pytest.mark.exhaustive
def test_a_commit_that_git_refuses_is_told_by_the_exit_code(trial: Trial) -> None:
    trial.configure({"execution.commit": "approved"})
    hook = trial.repo / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho no way >&2; exit 1\n")
    hook.chmod(0o755)
    said = trial.expect(3, "decide", "a", "--approve")
    assert "landed a\n  it is not committed: git did not commit its change: no way" in said
    assert "a decision is due on a\nnext step, one of:\n  git blackbird decide a --approve" in said
    data = json.loads(trial.expect(3, "decide", "b", "--approve", "--json"))["data"]
    assert (data["stage"], data["stop"]["exitCode"]) == ("not_committed", 3)
    assert "no way" in trial.expect(1, "decide", "a", "--approve")
    hook.unlink()
    assert "landed c (commit " in trial.expect(0, "decide", "a", "b", "c", "--approve")


def test_a_reason_of_a_rejection_is_kept(trial: Trial) -> None:
    trial.expect(0, "decide", "a", "b", "--reject", "-m", "Not that way.")
    assert [trial.records(one)[-1]["decision_feedback"] for one in "ab"] == ["Not that way."] * 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ((), "no decision given"),
        (("--approve",), "name the tasks to decide on"),
        (("a", "--approve", "--reject"), "more than one decision given"),
        (
            ("a", "b", "--approve", "--files", "a.txt"),
            "--run, --files, --patch, --overrule, --undo and --json go with one task",
        ),
        (("a", "--approve", "-m", "x"), "-m goes with --request-changes and --reject"),
        (("a", "--undo"), "no decision given"),
    ],
)
def test_what_does_not_go_together(trial: Trial, options: tuple[str, ...], fault: str) -> None:
    assert f"error: {fault}\n" in trial.expect(2, "decide", *options)


@pytest.mark.exhaustive
def test_on_a_terminal_it_asks_for_each_that_waits(trial: Trial) -> None:
    with Terminal(trial.repo, "decide") as terminal:
        for times, key in ((1, "1"), (2, "4"), (3, "1")):
            terminal.wait_for_list(times=times)
            terminal.type(key, ENTER)
            if key == "4":
                terminal.wait_for("Why is b rejected?")
                terminal.type(ENTER)
        assert terminal.end() == 0
        assert "no decision waits" in terminal.plain
    assert sorted(trial.statuses().values()) == ["done", "done", "failed", "todo"]
    assert starts(trial) == 3


@pytest.mark.exhaustive
def test_the_next_one_alone_and_beside_another_call(trial: Trial) -> None:
    with Terminal(trial.repo, "decide", "--next") as terminal:
        terminal.wait_for_list()
        terminal.type("1", ENTER)
        assert terminal.end() == 0
        assert "2 decisions left" in terminal.plain
    with hold_controller(open_at(trial.repo), "execute"), Terminal(trial.repo, "decide") as terminal:
        terminal.wait_for_list()
        terminal.type("1", ENTER)
        terminal.wait_for_list(times=2)
        terminal.type("1", ENTER)
        assert terminal.end() == 0
    assert sorted(trial.statuses().values()) == ["done", "in_progress", "in_progress", "todo"]


def test_approve_and_stop_lands_it_and_asks_nothing_else(trial: Trial) -> None:
    with Terminal(trial.repo, "decide") as terminal:
        terminal.wait_for_list()
        terminal.type("2", ENTER)
        assert terminal.end() == 0
        assert "2 decisions left" in terminal.plain
    assert sorted(trial.statuses().values()) == ["done", "todo", "waiting_user", "waiting_user"]


def test_approve_and_stop_ends_no_other_call_which_lands_it(trial: Trial) -> None:
    with Terminal(trial.repo, "execute") as first:
        first.wait_for_list()
        with Terminal(trial.repo, "decide") as second:
            second.wait_for_list()
            second.type("2", ENTER)
            assert second.end() == 0
            said = re.sub(r"\r\n +", " ", second.plain)
        assert re.search(r"execute \(process \d+\) .*; it lands what you approved\r\n", said)
        steps = "".join(rf"next step: git blackbird decide {name} --approve .*\r\n" for name in "bc")
        assert re.search(rf"\n2 decisions left\r\n{steps}$", said)
        first.wait_for("a: approved from another terminal")
        first.wait_for("landed a")
        first.wait_for_list(times=2)
        first.type(CTRL_C)
        assert first.end() == 130
    assert trial.statuses()["a"] == "done"


def test_what_follows_from_a_decision_is_left_to_the_call_at_work(trial: Trial) -> None:
    trial.configure({"execution.worktrees": "false"})
    put_plan(trial.repo, leaf("here"), leaf("later"))
    with Terminal(trial.repo, "execute", "--stop-after-each") as terminal:
        terminal.wait_for_list()
        here = rf"execute \(process {terminal.pid}\)"
        said = trial.expect(0, "decide", "here", "--request-changes", "-m", "More.")
        assert re.fullmatch(rf"changes to here requested; {here} carries them out\n", said)
        terminal.wait_for_list(times=2)
        said = trial.expect(0, "decide", "here", "--reject", "--undo")
        assert re.fullmatch(rf"Rejected here\.\n{here} takes its change back\n", said)
        terminal.wait_for("here: rejected from another terminal")
        terminal.wait_for("the change of here is taken back")
        terminal.wait_for_list(times=3)
        said = trial.expect(0, "retry", "later")
        assert re.search(rf"^reset later to todo\n(.*\n)*  left to {here}\n$", said)
        terminal.wait_for("later: set to todo from another terminal")
        terminal.wait_for_list(times=4)
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert not (trial.repo / "here.txt").exists()
    with hold_controller(open_at(trial.repo), "decide"):
        said = trial.expect(0, "decide", "later", "--request-changes", "-m", "More.")
    after = r"; `git blackbird execute` carries them out once decide \(process \d+\) has ended\n"
    assert re.fullmatch(f"changes to later requested{after}", said)


def test_hunks_are_approved_one_by_one_at_a_terminal(repo: Path) -> None:
    commit(repo, {"f": "".join(f"{number}\r\n" for number in range(30))})
    trial = Trial(repo)
    trial.command("sed -i 's/^[29].$/line\\r/' f; echo more >new")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"))
    trial.expect(3, "execute", "--no-input", "--stop-after-each")
    whole = (repo / "f").read_bytes()
    assert "--patch asks at a terminal" in trial.expect(2, "decide", "a", "--patch")
    assert "cannot be combined" in trial.expect(2, "decide", "a", "--patch", "--files", "f")
    for keys, code, said in ((["y", CTRL_C], 130, "nothing is decided"), (["q"], 3, "Nothing is approved")):
        with Terminal(repo, "decide", "a", "--patch") as terminal:
            for times, key in enumerate(keys, 1):
                terminal.wait_for("]? ", times=times)
                terminal.type(key if key == CTRL_C else f"{key}\n")
            assert (terminal.end(), said in terminal.plain) == (code, True)
        assert trial.statuses()["a"] == "waiting_user"
    with Terminal(repo, "decide", "a", "--patch") as terminal:
        for times, key in enumerate("syny", 1):
            terminal.wait_for("]? ", times=times)
            terminal.type(f"{key}\n")
        terminal.wait_for("Approve 2 of 3 and leave out the rest? [Y/n]: ")
        terminal.type("\n")
        assert terminal.end() == 0
        assert "left out, it stays in your worktree: some of the lines of f" in terminal.plain
    (record,) = trial.records("a")
    approved = git(repo, "diff", fact(record, "shown")["base"], fact(record, "shown")["head"])
    assert [line for line in approved.splitlines() if line[:1] in "+-"][2:4] == ["-2", "+line"]
    assert (repo / "f").read_bytes() == whole
