"""A person tells an agent something while it works: it goes on with that, and nothing said is lost."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit, git, wait_until
from tests.trial.program import PATIENCE_SECONDS, Record, Trial

# It works without an end as long as there is a file that says so; what it is sent is kept by run.
AGENT = """
cat >.git/sent-$BLACKBIRD_RUN_ID.json
echo half >work-$BLACKBIRD_TASK_ID.txt
if [ -e .git/hold ]; then
    rm .git/hold; touch .git/at-work; exec sleep 600
fi
echo whole >work-$BLACKBIRD_TASK_ID.txt
"""
FIRST, SECOND = "Use the old format.\n\n  Indented: $HOME `x`", "And no tests."


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.init()
    trial.plan({"a": (), "b": ("a",)})
    trial.command(AGENT)
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


def begin(trial: Trial, mark: str = "hold", *args: str) -> subprocess.Popen[str]:
    """Start an execute whose agent is at work, and stays so."""
    (trial.repo / ".git" / mark).touch()
    process = trial.start("execute", *args)
    wait_until((trial.repo / ".git" / "at-work").exists)
    (trial.repo / ".git" / "at-work").unlink()
    return process


def said(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, output


def sent(trial: Trial, record: Record) -> str:
    context = json.loads((trial.repo / ".git" / f"sent-{record['id']}.json").read_bytes())
    return str(context.get("feedback", ""))


def ends(records: list[Record]) -> list[tuple[str, str | None]]:
    return [(record["status"], fact(record, "terminal_reason")) for record in records]


def test_an_agent_at_work_is_told_something_and_goes_on_with_it_in_its_session(trial: Trial) -> None:
    process = begin(trial)
    told = trial.expect(0, "tell", "a", "-m", FIRST)
    assert told.endswith(" is paused for it at once, and goes on with it in its session\n")
    code, output = said(process)
    assert code == 3, output
    assert "a is paused for what it was told\nresuming a (run " in output
    assert "Told while it worked:\n  > Use the old format.\n  >\n  >   Indented: $HOME `x`\n" in output
    assert "Changes requested" not in output
    first, second = trial.records("a")
    assert ends([first, second]) == [("paused", "told"), ("success", None)]
    assert second["blackbird"]["resumes"] == first["id"]
    assert second["provider_session_ref"] == first["provider_session_ref"]
    assert fact(first, "messages_while_working") == [FIRST]
    assert sent(trial, second) == FIRST
    assert (trial.repo / "work-a.txt").read_text() == "whole\n"
    shown = trial.expect(0, "runs", "a", first["id"])
    assert "told while it worked\n  Use the old format.\n" in shown
    assert "it was stopped for what it was told\n" in shown
    (due,) = json.loads(trial.expect(0, "show", "a", "--json"))["data"]["runs"][1:]
    assert due["told"] == [FIRST]
    reached, stop = map(json.loads, trial.expect(3, "execute", "--json").splitlines())
    assert (reached["event"], reached["told"], stop["event"]) == ("checkpoint", [FIRST], "stop")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [(), ("--now",)], ids=["at the end of a step", "now"])
def test_an_agent_is_paused_between_two_steps_unless_it_is_to_be_at_once(
    trial: Trial, options: tuple[str, ...]
) -> None:
    steps = "write one.txt 1\nsleep 3\nwrite two.txt 2\nsleep 600\non-feedback write told.txt x"
    trial.configure({"agent": "demo"})
    trial.expect(0, "edit", "a", "--prompt", steps)
    process = trial.start("execute", "a", "--no-input")
    wait_until((trial.repo / "one.txt").exists)
    words = trial.expect(0, "tell", "a", FIRST, *options)
    if options:
        assert words.endswith(" is paused for it at once, and goes on with it in its session\n")
    else:
        assert " is paused for it when its present step ends, within a minute, and goes on" in words
        assert words.endswith("\nwith --now it does not wait for the step\n")
    code, output = said(process)
    assert code == 3, output
    assert "a is paused for what it was told\n" in output
    assert ends(trial.records("a")) == [("paused", "told"), ("success", None)]
    assert (trial.repo / "told.txt").exists()
    assert (trial.repo / "two.txt").exists() is not bool(options)


@pytest.mark.exhaustive
def test_several_tells_arrive_in_order(trial: Trial) -> None:
    process = begin(trial)
    (trial.repo / ".git" / "hold").touch()
    trial.expect(0, "tell", "a", "-m", FIRST)
    trial.expect(0, "tell", "a", "-F", "-", stdin=SECOND)
    wait_until((trial.repo / ".git" / "at-work").exists)
    trial.expect(0, "tell", "a", "-m", "Third.")
    code, output = said(process)
    assert code == 3, output
    words = sent(trial, trial.records("a")[-1])
    assert words.index(FIRST) < words.index(SECOND) < words.index("Third.")
    assert ends(trial.records("a"))[-1] == ("success", None)
    assert 0 < output.index("> Use the old format.") < output.index(f"> {SECOND}") < output.index("> Third.")


def test_what_comes_when_the_run_has_just_ended_is_a_change_request(trial: Trial) -> None:
    """The end is held in the snapshot after it, by a filter."""
    held = "[ -e .git/held ] && touch .git/at-work; while [ -e .git/held ]; do sleep 0.05; done; cat"
    git(trial.repo, "config", "filter.held.clean", held)
    (trial.repo / ".git/info/attributes").write_text("work-*.txt filter=held\n")
    trial.command(f"{AGENT}[ -e .git/late ] && mv .git/late .git/held; true")
    check = {"check.command": "grep whole work-*.txt", "check.mode": "gate"}
    trial.configure({"execution.stopAfterEachTask": "false", **check})
    process = begin(trial, "late", "a")
    trial.expect(0, "tell", "a", "-m", FIRST)
    trial.expect(0, "tell", "a", "-m", SECOND)
    (trial.repo / ".git/held").unlink()
    code, output = said(process)
    assert code == 0, output
    first, second = trial.records("a")
    assert ends([first, second]) == [("success", None), ("success", None)]
    assert first["decision_state"] == "changes_requested"
    assert first["decision_feedback"] == sent(trial, second) == f"{FIRST}\n\n{SECOND}"
    assert [fact(one, "check") is None for one in (first, second)] == [True, False]
    assert second.get("decision_state") is None


def test_what_was_said_survives_the_program_that_ran_the_agent(trial: Trial) -> None:
    process = begin(trial)
    process.kill()
    said(process)
    told = trial.expect(0, "tell", "a", "-m", FIRST)
    assert told == (
        "told a: no call is at work, so the next `git blackbird execute` goes on with it in its session\n"
    )
    trial.expect(3, "execute", "--no-input")
    first, second = trial.records("a")
    assert ends([first, second]) == [("paused", "controller_lost"), ("success", None)]
    assert sent(trial, second) == FIRST
    assert second["provider_session_ref"] == first["provider_session_ref"]


@pytest.mark.exhaustive
def test_who_cannot_be_told_anything_is_said_with_the_way_out(trial: Trial) -> None:
    def refused(*args: str) -> str:
        return trial.expect(1, "tell", *args)

    way = "hint: git blackbird resume a -e    # or -m TEXT"
    again = "hint: git blackbird resume a -e    # opens it again, in its session; or -m TEXT"
    assert refused("b", "-m", "x").startswith("error: no agent is at work on b\n")
    trial.expect(2, "tell", "a", "-m", " ")
    assert "git blackbird tell a -e    # or -m TEXT" in trial.expect(2, "tell", "a")
    assert "say the text once" in trial.expect(2, "tell", "a", "x", "-m", "y")
    trial.expect(3, "execute", "a", "--no-input")
    assert refused("a", "-m", "x") == f"error: no agent is at work on a: decision due\n{way}\n"
    trial.expect(0, "decide", "a", "--request-changes", "-m", "Again.")
    process = begin(trial)
    trial.environ["BLACKBIRD_RUN_ID"] = "0123456789abcdef"
    assert "an agent may not tell another what to do" in refused("a", "-m", "x")
    del trial.environ["BLACKBIRD_RUN_ID"]
    process.send_signal(2)
    said(process)
    assert refused("a", "-m", "x") == f"error: no agent is at work on a: paused\n{way}\n"
    trial.expect(3, "resume", "a", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    assert refused("a", "-m", "x") == (
        f"error: no agent is at work on a: done\n{again}\n"
        "hint: git blackbird undo a    # takes its change out of your files\n"
    )
    trial.expect(0, "add", "--id", "below", "--parent", "b", "--title", "Below")
    assert "b has children" in refused("b", "-m", "x")
