"""The real agents, their models scripts on the loopback, driven through the command line only."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.model.run.ended import WOKEN_MARK
from tests.records import fact
from tests.standin.install import CLAUDE, CODEX, EVERY_CLAUDE, EVERY_CODEX, FULL_PROGRAMS, Program
from tests.standin.real import binary_of, model_of, needs_sandbox, real, real_by
from tests.standin.server import Reply, StandIn, ToolCall
from tests.support import commit, git, wait_until
from tests.trial.program import PATIENCE_SECONDS, Record, Trial
from tests.trial.real_trial import ASKS, assert_one_session, enlist, start_as_installed

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="finds what is left behind through /proc")


@pytest.fixture
def trial(repo: Path, tmp_path: Path, program: Program, model: StandIn) -> Trial:
    commit(repo, {"old.txt": "one\ntwo\n", "gone.txt": "gone\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    trial.configure({"agent": program.agent, "execution.stopAfterEachTask": "true"})
    trial.plan({"greet": ()})
    return trial


def changes(trial: Trial, record: Record) -> list[str]:
    """What the record says, after having compared it with what git says."""
    ref = f"refs/blackbird/runs/{record['id']}"
    listed = git(trial.repo, "diff", "-M", "--name-status", f"{ref}:base", f"{ref}:head").splitlines()
    said = sorted(f"{change['status']} {change['path']}" for change in record["review_summary"]["changes"])
    assert said == sorted(f"{line[0]} {line.split(chr(9))[-1]}" for line in listed)
    return said


def ends(records: list[Record]) -> list[tuple[str, str | None]]:
    return [(record["status"], fact(record, "terminal_reason")) for record in records]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("program", real(*reversed(FULL_PROGRAMS)), indirect=True)
def test_a_plan_is_done_with_one_task_done_again_as_asked_in_the_same_session(
    program: Program, trial: Trial, model: StandIn
) -> None:
    trial.plan({"greet": (), "part": ("greet",)})
    speech, greet = model.dialect, trial.repo / "greet.py"
    move = speech.shell("rm gone.txt; mv old.txt new.txt")
    model.tell(Reply("I write.", (speech.writes(greet, "print('hello')\n"), move)), "It greets.")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "greet", "--request-changes", "-m", "Say goodbye.")
    model.tell(*speech.edits(greet, "print('hello')", "print('goodbye')"), "It parts.")
    trial.expect(3, "execute", "--no-input")
    first, second = trial.records("greet")
    assert [changes(trial, one) for one in (first, second)] == [
        ["A greet.py", "D gone.txt", "R new.txt"],
        ["M greet.py"],
    ]
    assert greet.read_text() == "print('goodbye')\n"
    assert [fact(one, "final_text") for one in (first, second)] == ["It greets.", "It parts."]
    assert [fact(one, "agent_version") for one in (first, second)] == [program.version] * 2
    assert_one_session([first, second])
    asked = len(model.requests) - 2
    assert [fact(one, "usage")["output_tokens"] for one in (first, second)] == [40, 20 * asked]
    assert all((fact(one, "cost_usd") or 0) > 0 for one in (first, second)) == (program.agent == "claude")
    assert any("Write greet.py." in prompt for prompt in model.prompts())
    assert "Say goodbye." in model.prompts()[-1]
    trial.expect(0, "decide", "greet", "--approve")
    write(model, trial.repo / "part.py")
    trial.expect(0, "execute", "--no-stop", "--no-input")
    assert trial.statuses() == dict.fromkeys(("greet", "part"), "done")
    (part,) = trial.records("part")
    assert changes(trial, part) == ["A part.py"]
    assert part["provider_session_ref"] not in {None, second["provider_session_ref"]}
    assert litter(trial) == []


@pytest.mark.exhaustive
@needs_proc
@pytest.mark.parametrize("program", real_by(CLAUDE), indirect=True)
def test_interrupted_killed_and_asked_it_goes_on_in_one_session(
    trial: Trial, model: StandIn, program: Program
) -> None:
    start_as_installed(trial, program)
    assert stop_us(trial, model, "execute", signal.SIGINT) == 130
    assert stop_us(trial, model, "resume greet", signal.SIGKILL) == -signal.SIGKILL
    left = trial.records("greet")[-1]
    assert left["status"] == "running"
    assert signals.marked(left["id"])
    model.tell(ASKS)
    output = trial.expect(4, "execute", "--no-input")
    assert f"the agent of run {left['id']} is still running" in output
    assert signals.marked(left["id"]) == []
    model.tell("Done.")
    trial.expect(3, "resume", "greet", "--answer", "tone=2", "--no-input")
    records = trial.records("greet")
    assert ends(records) == [
        ("paused", "interrupted"),
        ("paused", "controller_lost"),
        ("waiting_user", None),
        ("success", None),
    ]
    assert_one_session(records)
    assert any("Write greet.py." in prompt for prompt in model.prompts())
    assert "plain" in model.prompts()[-1]
    assert litter(trial) == []


@pytest.mark.exhaustive
@needs_proc
@pytest.mark.parametrize("program", real_by(CODEX), indirect=True)
def test_an_agent_that_was_killed_fails_and_its_session_goes_on(
    trial: Trial, model: StandIn, program: Program
) -> None:
    start_as_installed(trial, program)
    said = stop_them(trial, model, signal.SIGKILL)
    record = trial.records("greet")[-1]
    assert record["status"] == "failed", said
    assert record["provider_session_ref"]
    assert signals.marked(record["id"]) == []
    trial.expect(0, "decide", "greet", "--request-changes", "-m", "Once more.")
    model.tell("Done.")
    trial.expect(3, "execute", "--no-input")
    records = trial.records("greet")
    assert [record["status"] for record in records] == ["failed", "success"]
    assert_one_session(records)
    assert any("Write greet.py." in prompt for prompt in model.prompts())
    assert litter(trial) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real_by(CLAUDE), indirect=True)
def test_an_agent_at_work_is_told_something_in_its_session(trial: Trial, model: StandIn) -> None:
    def tell(_: int) -> None:
        trial.expect(0, "tell", "greet", "Say goodbye.", "--now")
        model.tell("Done.")

    code, said = stop(trial, model, "execute", tell)
    assert code == 3, said
    records = trial.records("greet")
    assert ends(records) == [("paused", "told"), ("success", None)]
    assert_one_session(records)
    assert any("Write greet.py." in prompt for prompt in model.prompts())
    assert "Say goodbye." in model.prompts()[-1]


@pytest.mark.exhaustive
@needs_proc
@pytest.mark.parametrize("program", real(*EVERY_CLAUDE))
def test_an_agent_interrupted_by_another_is_no_success(trial: Trial, model: StandIn) -> None:
    stop_them(trial, model, signal.SIGINT)
    (record,) = trial.records("greet")
    assert record["status"] == "failed"
    assert record["error"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(*EVERY_CLAUDE), indirect=True)
def test_a_command_that_ends_in_the_background_takes_no_question_back(trial: Trial, model: StandIn) -> None:
    # It ends once the question is there.
    until = "until grep -qs '[t]erminal_reason' .git/blackbird/streams/*.stdout; do sleep 0.05; done"
    begins = ToolCall("Bash", {"command": until, "description": "Build it", "run_in_background": True})
    model.tell(Reply(tools=(begins,)), ASKS, "The build is green.")
    output = trial.expect(4, "execute", "--no-input")
    assert "greet: it has answered; still at work in the background: Build it" in output
    (record,) = trial.records("greet")
    assert [question["id"] for question in fact(record, "questions")] == ["tone"]
    assert fact(record, "final_text") == f"{ASKS}\n\n{WOKEN_MARK}\nThe build is green."


def stop_us(trial: Trial, model: StandIn, command: str, number: signal.Signals) -> int:
    """Stop the program while the agent runs a tool that lasts; give how it ended."""
    code, _ = stop(trial, model, command, lambda pid: os.kill(pid, number))
    return code


def stop_them(trial: Trial, model: StandIn, number: signal.Signals) -> str:
    """Signal the agent itself, as it was started, while it runs a tool that lasts."""

    def signal_agent(_: int) -> None:
        (running,) = [record for record in trial.records("greet") if record["status"] == "running"]
        wait_until_kept(trial)
        os.kill(fact(running, "pid"), number)

    code, said = stop(trial, model, "execute", signal_agent)
    assert code == 3, said
    return said


def wait_until_kept(trial: Trial) -> None:
    """Wait until the agent has written its session down, which it does some time after its work."""
    config = trial.repo.parent / "config"
    wait_until(lambda: any(path.stat().st_size for path in config.rglob("*-*-*-*-*.jsonl")))


def stop(trial: Trial, model: StandIn, command: str, act: Callable[[int], None]) -> tuple[int, str]:
    mark = trial.repo / f"busy-{len(model.requests)}"
    busy = f"touch {mark.name}; (setsid sleep 600 &); sleep 600"
    model.tell(Reply(tools=(model.dialect.shell(busy),)))
    process = trial.start(*command.split(), "--no-input")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not mark.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    act(process.pid)
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    model.replies.clear()
    return process.returncode, said


def litter(trial: Trial) -> list[str]:
    """Folders that an agent or we left, in the worktree or beside it."""
    marks = trial.repo / ".git/blackbird/scratch"
    return [
        *(name for name in (".codex", ".agents", ".aws") if (trial.repo / name).exists()),
        *map(str, marks.glob("*")),
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real_by(CODEX), indirect=True)
def test_a_session_that_is_gone_is_said_and_a_new_one_begun(
    trial: Trial, model: StandIn, tmp_path: Path
) -> None:
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "greet", "--request-changes", "-m", "Say goodbye.")
    asked = len(model.requests)
    shutil.rmtree(tmp_path / "config")
    model.environ(tmp_path / "config")
    output = trial.expect(8, "execute", "--no-input")
    first, lost = trial.records("greet")
    assert first["provider_session_ref"] in output
    assert "git blackbird restart greet" in output
    assert (lost["status"], fact(lost, "terminal_reason")) == ("failed", "session_lost")
    assert len(model.requests) == asked
    model.tell("Done.")
    trial.expect(3, "restart", "greet", "-m", "As asked.", "--no-input")
    assert "Say goodbye." in model.prompts()[-1]
    assert trial.records("greet")[-1]["provider_session_ref"] != first["provider_session_ref"]


@pytest.mark.exhaustive
def test_a_usage_limit_names_when_it_is_over_and_charges_nothing(
    trial: Trial, model: StandIn, program: Program, tmp_path: Path
) -> None:
    for name in model.dialect.key:
        del trial.environ[name]
    trial.environ |= model.subscriber_environ(tmp_path / "config")
    at = (int(time.time()) // 3600 + 3) * 3600
    model.tell(*[model.dialect.usage_limit(at)] * 3)
    output = trial.expect(8, "execute", "--no-input")
    shapes = {"claude": "%I%p", "codex": "%I:%M %p"}
    clock = f"{datetime.fromtimestamp(at).astimezone():{shapes[program.agent]}}".lstrip("0")
    # The day comes before the time where that is tomorrow.
    assert f" {clock.lower()}" in output.lower()
    assert "greet is unchanged and can be run again" in output
    assert trial.statuses() == {"greet": "todo"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(*EVERY_CLAUDE))
def test_tools_that_were_all_denied_are_no_success(trial: Trial, model: StandIn) -> None:
    trial.configure({"claude.permissionMode": "dontAsk"})
    model.tell(Reply(tools=(model.dialect.writes(trial.repo / "greet.py", "x\n"),)), "I could not.")
    output = trial.expect(3, "execute", "--no-input")
    (record,) = trial.records("greet")
    assert (record["exitCode"], record["status"]) == (0, "failed"), output
    assert "Write" in record["error"]
    assert "Write" in output


@needs_sandbox
@pytest.mark.parametrize("program", real(*EVERY_CODEX))
def test_an_edit_that_was_blocked_is_no_success(trial: Trial, model: StandIn) -> None:
    elsewhere = Path("/usr/local/share/blackbird-was-here.txt")
    model.tell(Reply(tools=(model.dialect.writes(elsewhere, "x\n"),)), "I could not.")
    output = trial.expect(3, "execute", "--no-input")
    (record,) = trial.records("greet")
    assert (record["exitCode"], record["status"]) == (0, "failed"), output
    assert "nothing was changed" in record["error"]


@pytest.mark.exhaustive
@needs_sandbox
@pytest.mark.parametrize("program", real(*EVERY_CODEX))
def test_a_sandbox_that_cannot_be_made_is_said_with_the_way_out(
    trial: Trial, model: StandIn, program: Program, tmp_path: Path
) -> None:
    forbid = "echo 0 >/proc/sys/user/max_user_namespaces"
    inner = tmp_path / "codex"
    inner.write_text(
        f"#!/bin/sh\nexec unshare --user --map-root-user sh -c '{forbid};"
        f' exec {binary_of(program)} "$@"\' codex "$@"\n'
    )
    inner.chmod(0o755)
    trial.configure({"codex.path": str(inner)})
    work = Reply(tools=(model.dialect.shell("sleep 0.5; echo x >greet.py"),))
    model.tell(work, "I could not.", work, "Now I could.")
    output = trial.expect(8, "execute", "--no-input")
    (record,) = trial.records("greet")
    assert (record["exitCode"], record["status"]) == (0, "paused")
    assert "its sandbox cannot be set up here: bwrap: " in output
    assert "git config blackbird.codex.sandbox danger-full-access" in output
    trial.configure({"codex.sandbox": "danger-full-access"})
    trial.expect(3, "resume", "greet", "--no-input")
    assert_one_session(trial.records("greet"))
    assert fact(trial.records("greet")[-1], "final_text") == "Now I could."
    assert (trial.repo / "greet.py").read_text() == "x\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(*EVERY_CODEX))
def test_a_session_that_can_be_none_is_never_passed_on(trial: Trial, model: StandIn) -> None:
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "greet", "--request-changes", "-m", "Say goodbye.")
    (path,) = (trial.repo / ".git/blackbird/runs/greet").glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "provider_session_ref": "a title"}))
    asked = len(model.requests)
    output = trial.expect(8, "execute", "--no-input")
    assert "a title" in output
    assert "git blackbird restart greet" in output
    assert len(model.requests) == asked


def write(model: StandIn, path: Path) -> None:
    calls: tuple[ToolCall, ...] = (model.dialect.writes(path, f"{path.name}\n"),)
    model.tell(Reply(tools=calls), "Done.")


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(*EVERY_CLAUDE))
@pytest.mark.parametrize("other", real(CODEX))
def test_agents_share_a_plan_and_a_resume_stays_with_its_own(
    trial: Trial, model: StandIn, other: Program, tmp_path: Path
) -> None:
    trial.plan({"greet": (), "part": (), "wave": ("part",)})
    with model_of(other) as second:
        enlist(trial, other, second, tmp_path / "other")
        write(second, trial.repo / "part.py")
        trial.expect(3, "execute", "part", "--agent", "codex", "--no-input")
        write(model, trial.repo / "greet.py")
        trial.expect(0, "decide", "part", "--request-changes", "-m", "Say goodbye.")
        write(second, trial.repo / "late.py")
        trial.expect(3, "execute", "--no-input")
        assert "Say goodbye." in second.prompts()[-1]
        assert model.requests == []
        trial.expect(0, "decide", "part", "--approve")
        write(model, trial.repo / "wave.py")
        trial.expect(0, "execute", "--no-stop", "--no-input")
    assert trial.statuses() == dict.fromkeys(("greet", "part", "wave"), "done")
    seen = {task: [record["provider"] for record in trial.records(task)] for task in trial.statuses()}
    assert seen == {"greet": ["claude"], "part": ["codex", "codex"], "wave": ["claude"]}
    assert_one_session(trial.records("part"))
