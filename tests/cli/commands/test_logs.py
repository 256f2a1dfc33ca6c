"""``runs --log`` and ``--follow``: steps where a log tells of some, else what was printed; nothing raises."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.agents.process.signals import identity
from git_blackbird.clean import clean
from git_blackbird.controller.queries.transcripts import MAX_EARLIER
from git_blackbird.model.config.layers import AGENT_NAMES
from git_blackbird.model.run.parts import TruncatedBytes, Usage
from git_blackbird.model.run.states import RunStatus
from tests import preloaded
from tests.cli.golden_harness import Program, program, save, store_at
from tests.cli.plans import FIRST_RUN, run, task
from tests.cli.terminal import PROGRAM, Terminal, program_environ
from tests.support import write

__all__ = ["program"]

LOG = f".git/blackbird/streams/t1.{FIRST_RUN}"
EVIL = "\x1b]0;title\x07\x1b[2Jred\x1b[31m\x07\x9b2K\u202e\ud800 end"
WAY = f"git blackbird runs t1 {FIRST_RUN}"
OVER = f"2> run {FIRST_RUN} has ended: success ({WAY})\n"


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def step(kind: str, text: str) -> dict[str, Any]:
    return {"type": "progress", "kind": kind, "text": text}


def claude_says(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": "m", "content": list(blocks)}}


def log(repo: Path, stdout: str | bytes, stderr: str | bytes = "") -> None:
    write(repo, {f"{LOG}.stdout": stdout, f"{LOG}.stderr": stderr})


def live(process: subprocess.Popen[bytes], **fields: Any) -> dict[str, Any]:
    return {"pid": process.pid, "process_identity": identity(process.pid), **fields}


def log_output(program: Program, *options: str) -> str:
    assert program.run("runs", "t1", *options) == 0
    printed = "".join(program.transcript[1:])
    program.transcript.clear()
    return printed.removesuffix("[exit 0]\n\n")


def test_a_log_is_what_the_agent_did(program: Program, repo: Path) -> None:
    record = run(
        "t1",
        provider="claude",
        usage=Usage(input_tokens=11_000, output_tokens=345),
        cost_usd=0.25,
        repo_root="/work/place",
        unlogged_bytes=TruncatedBytes(stdout=7, stderr=0),
    )
    save(repo, [task("t1")], [record])
    edit = {"type": "tool_use", "name": "Edit", "input": {"file_path": "/work/place/src/a.py"}}
    log(
        repo,
        lines(
            {"type": "system", "subtype": "init", "cwd": "/work/place"},
            claude_says({"type": "text", "text": "First I look."}),
            claude_says({"type": "tool_use", "name": "Bash", "input": {"command": "pytest -q"}}, edit),
        )
        + "no event\n"
        + json.dumps(claude_says({"type": "text", "text": "the last line has no end"})),
        "a warning\n",
    )
    assert log_output(program, "--log") == (
        f"==> run {FIRST_RUN} of t1, claude <==\n"
        "  says   First I look.\n"
        "  runs   pytest -q\n"
        "  edits  src/a.py\n"
        "  says   the last line has no end\n"
        "  spent  11.3k tokens, $0.25\n"
        "  [7 more bytes were not kept]\n"
        f"  [10 bytes on standard error: {WAY} --log --raw]\n"
    )
    raw = log_output(program, "--log", "--raw")
    assert raw.startswith(f'==> stdout of run {FIRST_RUN}: 501 bytes <==\n{{"type": "system"')
    assert raw.endswith(f"==> stderr of run {FIRST_RUN}: 10 bytes <==\na warning\n")


def test_both_streams_are_shown_where_a_log_tells_of_no_step(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1", provider="claude")])
    log(repo, '{"type":"system"}\nsome text\n', "error: unknown option\n")
    assert log_output(program, "--log") == (
        f'==> stdout of run {FIRST_RUN}: 28 bytes <==\n{{"type":"system"}}\nsome text\n'
        f"==> stderr of run {FIRST_RUN}: 22 bytes <==\nerror: unknown option\n"
    )
    followed = '{"type":"system"}\nsome text\nerror: unknown option\n'
    assert log_output(program, "--follow") == followed + OVER
    assert log_output(program, "--follow", "--raw") == followed + OVER


@pytest.mark.parametrize("provider", ["command", "gemini", ""])
def test_what_no_agent_of_ours_prints_as_events_is_shown_as_it_is(
    program: Program, repo: Path, provider: str
) -> None:
    save(repo, [task("t1")], [run("t1", provider=provider)])
    log(repo, lines(step("says", "Hello")))
    assert log_output(program, "--log") == (
        f"==> stdout of run {FIRST_RUN}: 54 bytes <==\n{lines(step('says', 'Hello'))}"
        f"==> stderr of run {FIRST_RUN}: 0 bytes <==\n"
    )
    assert log_output(program, "--follow") == lines(step("says", "Hello")) + OVER


def test_a_record_that_holds_its_streams_itself_is_read_as_a_log_is(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1", stdout=lines(step("reads", "a.py")), stderr="odd")])
    assert log_output(program, "--log") == (
        f"==> run {FIRST_RUN} of t1, demo <==\n  reads  a.py\n"
        f"  [3 bytes on standard error: {WAY} --log --raw]\n"
    )


def hostile(provider: str) -> Sequence[bytes]:
    """Lines that are nearly events, in every agent's words."""
    values: list[Any] = [None, True, -1, 10**4000, 1e308, EVIL, [], {}, [[]], [{"type": EVIL}], {"a": [None]}]
    types = ["assistant", "user", "system", "result", "progress", "session", "item.completed"]
    types += ["item.started", "thread.started", "turn.completed", "turn.failed", "error"]
    keys = ["message", "item", "kind", "text", "usage", "error", "subtype", "session_id", "thread_id"]
    told = [lines({"type": kind, **dict.fromkeys(keys, value)}) for kind in types for value in values]
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": EVIL},
        {"type": "tool_use", "name": EVIL, "input": {"command": EVIL}},
    ]
    told += [lines(claude_says(*blocks), step("says", EVIL), step(EVIL, EVIL))]
    items = [
        {"type": kind, "text": EVIL, "command": EVIL, "changes": value, "message": EVIL}
        for kind in ("agent_message", "command_execution", "file_change", "error", provider)
        for value in values
    ]
    told += [lines({"type": "item.completed", "item": item}) for item in items]
    garbage = [
        b"\xff\xfe{",
        b"{" * 100_000,
        b"[" * 100_000,
        b'{"type":',
        b"\x00" * 100,
        EVIL.encode("utf-8", "replace"),
    ]
    return [
        *(line.encode() for line in told),
        *(line + b"\n" for line in garbage),
        b'{"x":"' + b"y" * 5_000_000,
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("provider", sorted(AGENT_NAMES))
def test_no_log_raises_or_steers_a_terminal(program: Program, repo: Path, provider: str) -> None:
    save(repo, [task("t1")], [run("t1", provider=provider)])
    data = b"".join(hostile(provider))
    log(repo, data, data[-100_000:])
    for options in (("--log",), ("--follow",), ("--log", "--raw")):
        text = log_output(program, *options)
        assert clean(text) == text


def test_a_log_that_is_no_file_tells_of_nothing(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1", provider="claude")])
    (repo / LOG).parent.mkdir(parents=True)
    os.mkfifo(repo / f"{LOG}.stdout")
    (repo / f"{LOG}.stderr").mkdir()
    assert log_output(program, "--log").count(": 0 bytes") == 2
    assert log_output(program, "--follow") == OVER


def test_following_begins_with_the_last_steps(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1")])
    log(repo, lines(*(step("reads", f"file{number}") for number in range(MAX_EARLIER + 1))))
    told = log_output(program, "--follow").splitlines()
    assert told[:2] == [f"  [earlier steps: {WAY} --log]", "  reads  file1"]
    assert told[-2:] == [f"  reads  file{MAX_EARLIER}", OVER.rstrip()]
    assert len(told) == MAX_EARLIER + 2


def test_of_a_large_log_the_last_part_is_read_and_no_figures_of_it_believed(
    program: Program, repo: Path
) -> None:
    usage = Usage(input_tokens=7_000_000, output_tokens=1)
    save(repo, [task("t1")], [run("t1", provider="claude", usage=usage)])
    spending = claude_says({"type": "text", "text": "x" * 60})
    spending["message"] |= {"id": "m1", "usage": {"input_tokens": 20_000, "output_tokens": 5}}
    log(repo, lines(claude_says({"type": "text", "text": "x" * 9_000_000}), spending))
    assert log_output(program, "--follow") == (
        f"  [earlier steps: {WAY} --log]\n  says   {'x' * 60}\n  spent  7.0M tokens\n{OVER}"
    )


def test_a_live_run_is_followed_step_by_step(repo: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as agent:
        save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, **live(agent))])
        log(repo, lines(step("reads", "a.py")), "noise\n")
        with preloaded.Popen(
            [sys.executable, *PROGRAM, "runs", "t1", "--follow"],
            cwd=repo,
            env=program_environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == "  reads  a.py\n"
            event = lines(step("edits", "a.py"))
            with (repo / f"{LOG}.stdout").open("a") as stream:
                stream.write(lines(step("says", "Now.")) + event[:20])
            assert follower.stdout.readline() == "  says   Now.\n"
            with (repo / f"{LOG}.stdout").open("a") as stream:
                stream.write(event[20:])
            assert follower.stdout.readline() == "  edits  a.py\n"
            with store_at(repo).transaction() as transaction:
                usage = Usage(input_tokens=300, output_tokens=4)
                transaction.save_run(run("t1", usage=usage))
            out, err = follower.communicate(timeout=60)
        agent.kill()
    assert (out, err) == ("  spent  304 tokens\n", OVER.removeprefix("2> "))
    assert follower.returncode == 0


def test_following_ends_when_nobody_is_left_to_close_the_record(program: Program, repo: Path) -> None:
    gone: dict[str, Any] = {"pid": 1, "process_identity": "gone"}
    save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, **gone)])
    log(repo, lines(step("reads", "a.py")))
    assert log_output(program, "--follow") == (
        "  reads  a.py\n"
        f"2> warning: the process of run {FIRST_RUN} is gone, but its record is still open\n"
        "2> hint: `git blackbird execute` closes it\n"
    )


def test_on_a_terminal_steps_are_folded_and_their_verbs_dim(repo: Path) -> None:
    save(repo, [task("t1")], [run("t1")])
    log(repo, lines(step("says", "word " * 20), step("reads", "a.py")))
    with Terminal(repo, "runs", "t1", "--follow", environ={"NO_COLOR": None}) as terminal:
        assert terminal.end() == 0
        assert terminal.text.splitlines()[:3] == [
            "  says   word word word word word word word word word word word word word word",
            "         word word word word word word",
            "  reads  a.py",
        ]
        assert b"  \x1b[2mreads\x1b[0m  a.py\r\n" in terminal.sent


AGENT_MODULES = """
import sys
from git_blackbird.cli.main import main
from git_blackbird.controller.core.environment import system_environment
assert main(sys.argv[1:], system_environment) == 0
print([name for name in sys.modules if name in ("git_blackbird.agents", "asyncio", "subprocess")])
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("args", [["runs"], ["runs", "t1"], ["runs", "t1", FIRST_RUN]])
def test_lists_of_runs_load_no_agent(repo: Path, args: list[str]) -> None:
    save(repo, [task("t1")], [run("t1")])
    log(repo, lines(step("says", "Hello")))
    completed = subprocess.run(
        [sys.executable, "-c", AGENT_MODULES, *args],
        cwd=repo,
        env=program_environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "registry" not in completed.stdout.splitlines()[-1]
    assert "asyncio" not in completed.stdout.splitlines()[-1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_no_letter_ends_a_command_whatever_the_locale(repo: Path, encoding: str) -> None:
    save(repo, [task("t1", "schön → 漢")], [run("t1")])
    log(repo, lines(step("says", "schön → 漢")))
    for args in (["runs", "t1", "--log"], ["runs", "t1", "--follow"], ["list", "--all"]):
        completed = preloaded.run(
            [sys.executable, *PROGRAM, *args],
            cwd=repo,
            env=program_environ({"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}),
            capture_output=True,
            check=False,
        )
        assert (completed.returncode, b"sch" in completed.stdout) == (0, True), completed.stderr
