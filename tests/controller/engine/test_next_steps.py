"""Stories of next steps: following one gives up no protection, and a program can run it as it stands."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.controller.change.stops import agent_refused_stop
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import (
    ANOTHER_AGENT,
    EXECUTE,
    MESSAGE,
    CallOptions,
    TaskCommand,
    dismiss_command,
)
from tests import preloaded
from tests.cli.terminal import PROGRAM, program_environ
from tests.controller.support import configure, leaf, open_at, put_plan, store_at
from tests.model.building import run as record
from tests.support import commit, set_config


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    put_plan(repo, leaf("a", "write a.out x"), leaf("b", "write b.out x"), leaf("q", "ask x Which?"))
    return repo


def run(repo: Path, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, *PROGRAM, *args]
    return preloaded.run(
        argv, cwd=repo, env=program_environ(), input=stdin, capture_output=True, text=True, check=False
    )


def stop_of(repo: Path, *args: str) -> dict[str, Any]:
    stop: dict[str, Any] = json.loads(run(repo, *args, "--json").stdout.splitlines()[-1])
    return stop


def test_they_repeat_the_options_of_the_call(planned: Path) -> None:
    given = ("--stop-after-each", "--reviews", "off", "--agent", "demo", "--no-input")
    run(planned, "execute", "a", *given)
    run(planned, "decide", "a", "--approve")
    done = run(planned, "execute", "--limit", "1", *given)
    run(planned, "decide", "b", "--approve")
    assert "next step, one of:" in done.stdout
    done = run(planned, "execute", "--limit", "1", *given)
    assert done.stdout.splitlines()[-1] == (
        "next step: git blackbird resume q --stop-after-each --reviews off    # or --answer x=VALUE"
    )


def test_several_ways_of_doing_one_thing_stand_together(planned: Path) -> None:
    done = run(planned, "execute", "--stop-after-each", "--agent", "demo", "--no-input")
    assert done.stdout.splitlines()[-7:] == [
        "a decision is due on a",
        "next step, one of:",
        "  git blackbird decide a --approve    # approves it; the task is done",
        "  git blackbird decide a --request-changes -e    # sends your text to the agent; or -m TEXT",
        "  git blackbird decide a --reject    # fails the task; your files stay as they are",
        "  git blackbird runs a --diff    # shows the change",
        "  git blackbird decide a --reject --undo    # fails the task; takes its change out of your files",
    ]


def test_a_program_can_run_each_command_as_it_stands(planned: Path) -> None:
    configure(planned, agent="demo")
    stop = stop_of(planned, "execute", "--stop-after-each")
    assert stop["nextSteps"] == [
        "git blackbird decide a --approve",
        "git blackbird decide a --request-changes -F -",
        "git blackbird decide a --reject",
        "git blackbird runs a --diff",
        "git blackbird decide a --reject --undo",
    ]
    assert stop["steps"][1] == {
        "command": "git blackbird decide a --request-changes -F -",
        "template": "git blackbird decide a --request-changes -m TEXT",
        "help": "sends your text to the agent",
    }
    due = json.loads(run(planned, "status", "--json").stdout)["data"]["due"]
    assert [one["command"] for one in due] == [
        "git blackbird decide a --approve",
        "git blackbird execute b",
        "git blackbird execute q",
    ]
    requested = stop["nextSteps"][1].split()[2:]
    assert run(planned, *requested, stdin="more, please\n").returncode == 0


def test_options_go_before_blanks_and_before_an_id_that_looks_like_one() -> None:
    options = CallOptions(agent="demo", stop_after_each=True, no_input=True)
    restart = TaskCommand("restart", "-a", blank=MESSAGE, remark="starts it again").with_options(options)
    assert restart == (
        "git blackbird restart --stop-after-each --agent demo -e -- -a    # starts it again; or -m TEXT"
    )
    assert restart.runnable == ("git blackbird restart --stop-after-each --agent demo --no-input -F - -- -a")
    assert TaskCommand("decide", "a", " --approve").with_options(options).command == (
        "git blackbird decide a --approve"
    )
    assert EXECUTE.with_options(CallOptions(stop_after_each=False)) == "git blackbird execute --no-stop"


def test_a_command_that_needs_words_and_takes_them_in_no_other_way_is_a_template_only() -> None:
    dismiss = dismiss_command("p")
    assert (dismiss.runnable, dismiss.template) == (None, "git blackbird review dismiss p --reason TEXT")


def test_several_decisions_are_told_in_one_line(planned: Path) -> None:
    done = run(planned, "execute", "--jobs", "3", "--stop-after-each", "--agent", "demo", "--no-input")
    remark = "    # or --request-changes -m TEXT, or --reject"
    lines = done.stdout.splitlines()
    assert lines[-5].replace("b, a", "a, b") == "decisions are due on a, b; q waits for answers"
    assert sorted(lines[-4:]) == [
        "next step: git blackbird decide    # asks for each",
        f"next step: git blackbird decide a --approve{remark}",
        f"next step: git blackbird decide b --approve{remark}",
        "next step: git blackbird resume q --stop-after-each    # or --answer x=VALUE",
    ]


def test_a_worker_without_its_agent_is_no_fault_of_the_agent(planned: Path) -> None:
    fields: dict[str, Any] = {"provider": "command", "error": "worker w1 is not connected"}
    here = open_at(planned)
    assert agent_refused_stop(here, record(cluster=True, **fields)).text.startswith("worker w1 is not")
    assert agent_refused_stop(here, record(**fields)).text.startswith("command: worker w1 is not")


GONE = {
    "claude": {"claude.path": "/nonexistent/claude"},
    "codex": {"codex.path": "/nonexistent/codex"},
    "command": {"command.run": "/nonexistent/agent"},
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("provider", GONE)
@pytest.mark.parametrize("step", ["resume a -m more", "execute", "restart a", "execute a"])
def test_whoever_follows_the_hint_where_an_agent_is_gone_goes_on_with_another(
    planned: Path, provider: str, step: str
) -> None:
    run(planned, "execute", "a", "--stop-after-each", "--agent", "demo", "--no-input")
    set_config(planned, {"agent": provider, **GONE[provider]})
    with store_at(planned).transaction() as transaction:
        (begun,) = store_at(planned).records.history(TaskId("a")).runs
        transaction.save_run(begun.updated(provider=provider))
    if step != "resume a -m more":
        run(planned, "decide", "a", "--request-changes", "-m", "more")
    stopped = run(planned, *step.split(), "--stop-after-each", "--no-input")
    assert stopped.returncode == 8, stopped.stdout + stopped.stderr
    assert ANOTHER_AGENT in stopped.stdout
    followed = run(planned, *["restart", "a", "--stop-after-each", "--no-input", "--agent", "demo"])
    assert followed.returncode == 3, followed.stdout + followed.stderr
