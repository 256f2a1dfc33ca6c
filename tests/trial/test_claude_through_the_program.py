"""The real claude, its model a script on the loopback, driven through the command line only."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from git_blackbird.agents import processes
from tests.standin.anthropic import Anthropic
from tests.standin.install import CLAUDE as PROGRAM
from tests.standin.install import find_program
from tests.standin.server import Reply, StandIn, ToolCall, serve
from tests.support import commit, git
from tests.trial.program import PATIENCE_SECONDS, Trial

CLAUDE = find_program(PROGRAM)
pytestmark = [
    pytest.mark.real_agents,
    pytest.mark.skipif(
        CLAUDE is None,
        reason=PROGRAM.reason,
    ),
]
QUESTION = {"id": "tone", "prompt": "Which tone?", "options": ["formal", "plain"]}


@pytest.fixture
def model() -> Iterator[StandIn]:
    with serve(Anthropic()) as standin:
        yield standin


@pytest.fixture
def trial(repo: Path, tmp_path: Path, model: StandIn) -> Trial:
    commit(repo, {"old.txt": "one\ntwo\n", "gone.txt": "gone\n"})
    trial = Trial(repo, model.environ(tmp_path / "config"))
    trial.configure({"claude.path": CLAUDE or "", "execution.stopAfterEachTask": "true"})
    trial.expect(0, "init")
    trial.expect(0, "add", "--id", "greet", "--title", "Greet", "--prompt", "Write greet.py.")
    return trial


def tool(trial: Trial, name: str, path: str, **given: str) -> ToolCall:
    return ToolCall(name, {"file_path": str(trial.repo / path), **given})


def shell(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "x"})


def test_a_task_is_done_and_done_again_as_asked_in_the_same_session(trial: Trial, model: StandIn) -> None:
    write = tool(trial, "Write", "greet.py", content="print('hello')\n")
    model.tell(Reply("I write.", (write, shell("rm gone.txt; git mv old.txt new.txt"))), "It greets.")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "greet", "--request-changes", "-m", "Say goodbye.")
    rewrite = tool(trial, "Write", "greet.py", content="print('goodbye')\n")
    read = tool(trial, "Read", "greet.py")
    model.tell(Reply("", (read,)), Reply("", (rewrite,)), "It parts.")
    trial.expect(3, "execute", "--no-input")
    first, second = trial.records("greet")
    assert [changes(trial, one) for one in (first, second)] == [
        ["A greet.py", "D gone.txt", "R new.txt"],
        ["M greet.py"],
    ]
    assert [one["result"] for one in (first, second)] == ["It greets.", "It parts."]
    assert second["resumes"] == first["id"]
    assert second["provider_session_ref"] == first["provider_session_ref"]
    assert [one["usage"]["output_tokens"] for one in (first, second)] == [40, 60]
    assert all(one["cost_usd"] > 0 for one in (first, second))
    assert any("Write greet.py." in prompt for prompt in model.prompts())
    assert "Say goodbye." in model.prompts()[-1]
    trial.expect(0, "decide", "greet", "--approve")
    assert trial.statuses() == {"greet": "done"}


def changes(trial: Trial, record: dict[str, object]) -> list[str]:
    """What the record says, after having compared it with what git says."""
    ref = f"refs/blackbird/runs/{record['id']}"
    listed = git(trial.repo, "diff", "-M", "--name-status", f"{ref}:base", f"{ref}:head").splitlines()
    summary = record["review_summary"]
    assert isinstance(summary, dict)
    said = sorted(f"{one['status']} {one['path']}" for one in summary["changes"])
    assert said == sorted(f"{line[0]} {line.split(chr(9))[-1]}" for line in listed)
    return said


@pytest.mark.skipif(sys.platform != "linux", reason="finds what is left behind through /proc")
def test_interrupted_killed_and_asked_it_goes_on_in_one_session(trial: Trial, model: StandIn) -> None:
    assert stop_while_busy(trial, model, "execute", signal.SIGINT) == 130
    assert stop_while_busy(trial, model, "resume greet", signal.SIGKILL) == -signal.SIGKILL
    left = trial.records("greet")[-1]
    assert left["status"] == "running"
    assert processes.marked(left["id"])
    said = trial.expect(0, "execute", "--no-input")
    assert f"the agent of run {left['id']} still works" in said
    assert processes.marked(left["id"]) == []
    model.tell(f"Tell me.\n```json\n{json.dumps({'questions': [QUESTION]})}\n```")
    trial.expect(4, "resume", "greet", "--no-input")
    model.tell("Done.")
    trial.expect(3, "resume", "greet", "--answer", "tone=2", "--no-input")
    records = trial.records("greet")
    assert [(one["status"], one.get("terminal_reason")) for one in records] == [
        ("paused", "interrupted"),
        ("paused", "controller_lost"),
        ("waiting_user", None),
        ("success", None),
    ]
    assert [one.get("resumes") for one in records[1:]] == [one["id"] for one in records[:-1]]
    assert len({one["provider_session_ref"] for one in records}) == 1
    assert any("Write greet.py." in prompt for prompt in model.prompts())
    assert "plain" in model.prompts()[-1]


def stop_while_busy(trial: Trial, model: StandIn, command: str, number: signal.Signals) -> int:
    """Stop the program while claude runs a tool that lasts; give how it ended."""
    mark = trial.repo / f"busy-{number.name}"
    model.tell(Reply("", (shell(f"touch {mark.name}; sleep 600"),)))
    process = trial.start(*command.split(), "--no-input")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not mark.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, number)
    process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode
