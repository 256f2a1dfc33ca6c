"""Readers are light and harmless; logs are followed, paged and cleaned; the newest runs are found."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pexpect
import pytest

from git_blackbird.agents.process.signals import identity
from git_blackbird.model.run.parts import TruncatedBytes
from git_blackbird.model.run.states import RunStatus
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import RunStore
from tests import preloaded
from tests.cli.golden_harness import FIRST_MOMENT, Program, program, save, store_at
from tests.cli.plans import FIRST_RUN, run, task
from tests.support import commit, write

__all__ = ["program"]

ROOT = Path(__file__).resolve().parents[2]
LOG = f".git/blackbird/streams/t1.{FIRST_RUN}"
HEAVY = (
    *("asyncio", "pygit2", "questionary", "rich", "textual", "prompt_toolkit"),
    # What looks for plugins of pydantic.
    "importlib.metadata",
)
PLAIN = {"provider": "command"}
# Each command is carried out in a fork of what has loaded only what all of them need.
LISTING = """
import json, os, sys
from git_blackbird.cli.main import main
from git_blackbird.controller.core.environment import system_environment
from git_blackbird.controller.core.workspace import open_workspace
for args in json.loads(sys.argv[1]):
    if os.fork() == 0:
        code = main(args, system_environment)
        print("\\nLOADED", args, [name for name in {heavy} if name in sys.modules], flush=True)
        os._exit(code)
    assert os.wait()[1] == 0, args
"""
READERS = [
    [],
    ["status", "--json"],
    ["list", "--all", "--tree"],
    ["show", "t1"],
    ["runs"],
    ["runs", "t1"],
    ["runs", "t1", FIRST_RUN],
    ["runs", "t1", "--log"],
    ["review", "show", "p"],
    ["config"],
]


def start(repo: Path, *args: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    return preloaded.Popen(
        [*preloaded.PROGRAM, *args],
        cwd=repo,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_readers_load_nothing_heavy(repo: Path) -> None:
    own: dict[str, Any] = {"pid": os.getpid(), "process_identity": "x"}
    tasks = [task("t1"), task("p", children=("kid",)), task("kid", parent="p")]
    save(repo, tasks, [run("t1")])
    nothing = [f"LOADED {args} []" for args in READERS]
    assert loaded(repo, (*HEAVY, "psutil", "shutil")) == nothing
    save(repo, tasks, [run("t1", "019b7c4e52000009", RunStatus.RUNNING, **own)])
    assert loaded(repo, HEAVY) == nothing


def loaded(repo: Path, modules: Sequence[str]) -> list[str]:
    """Return, for each reading command, which of these modules it loads."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    completed = subprocess.run(
        [sys.executable, "-c", LISTING.format(heavy=modules), json.dumps(READERS)],
        cwd=repo,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in completed.stdout.splitlines() if line.startswith("LOADED ")]


def test_readers_write_nothing(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, pid=1, process_identity="gone")])
    before = {path: path.stat().st_mtime_ns for path in repo.rglob("*")}
    for args in (["status"], ["list"], ["show", "t1"], ["runs"], ["runs", "t1", FIRST_RUN], ["config"]):
        assert program.run(*args) == 0
    assert {path: path.stat().st_mtime_ns for path in repo.rglob("*")} == before


def test_options_may_follow_the_arguments(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1")])
    assert program.run("runs", "t1", "--json") == 0
    assert program.run("runs", "--json", "t1") == 0
    assert program.run("show", "t1", "--json", "--no-input") == 0


def test_control_bytes_of_an_agent_reach_no_terminal(program: Program, repo: Path) -> None:
    evil = "\x1b]0;title\x07\x1b[2Jred\x1b[31m\x07\x9b2K\u202e end"
    record = run(
        "t1",
        final_text=evil,
        error=evil,
        message=evil,
        notes=(evil,),
        decision_feedback=evil,
        decision_state="changes_requested",
        superseded_by=evil,
        questions=[{"id": evil, "prompt": evil, "options": [evil]}],
        review_summary={"files": [evil], "changes": [{"status": "A", "path": evil}], "minimal": evil},
    )
    save(repo, [task("t1", evil, prompt=evil)], [record])
    write(repo, {f"{LOG}.stdout": evil.encode(), f"{LOG}.stderr": b"\xff\x1b[" + b"x" * 300_000 + b"\x1b"})
    for args in (
        ["status"],
        ["list", "--tree"],
        ["show", "t1"],
        ["show", "t1", "--prompt"],
        ["runs"],
        ["runs", "t1"],
        ["runs", "t1", FIRST_RUN],
        ["runs", "t1", "--log"],
        ["runs", "t1", "--follow"],
    ):
        assert program.run(*args) == 0
    shown = set(program.text())
    assert not {char for char in shown if ord(char) < 32} - {"\n", "\t"}
    assert not shown & {"\x9b", "\u202e"}


def test_a_log_says_what_was_not_kept(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1", unlogged_bytes=TruncatedBytes(stdout=123, stderr=0))])
    write(repo, {f"{LOG}.stdout": "kept", f"{LOG}.stderr": ""})
    assert program.run("runs", "t1", FIRST_RUN[:12], "--log") == 0
    assert program.text() == (
        f"$ git blackbird runs t1 {FIRST_RUN[:12]} --log\n"
        f"==> stdout of run {FIRST_RUN}: 4 bytes <==\n"
        "kept\n"
        "[123 more bytes were not kept]\n"
        f"==> stderr of run {FIRST_RUN}: 0 bytes <==\n"
        "[exit 0]\n\n"
    )


def test_a_log_that_is_no_file_is_read_as_empty(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1")])
    (repo / LOG).parent.mkdir(parents=True)
    os.mkfifo(repo / f"{LOG}.stdout")
    (repo / f"{LOG}.stderr").symlink_to("/etc/passwd")
    assert program.run("runs", "t1", "--log") == 0
    assert program.text().count(": 0 bytes") == 2


def test_a_live_run_is_followed_until_its_record_is_closed(repo: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as agent:
        own: dict[str, Any] = {"pid": agent.pid, "process_identity": _identity(agent.pid), **PLAIN}
        save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, **own)])
        write(repo, {f"{LOG}.stdout": "earlier\n", f"{LOG}.stderr": ""})
        follower = start(repo, "runs", "t1", "--follow")
        assert follower.stdout is not None
        assert follower.stdout.readline() == "earlier\n"
        with (repo / f"{LOG}.stdout").open("a") as log:
            log.write("later \x1b[31mred")
        with (repo / f"{LOG}.stderr").open("a") as log:
            log.write("an error\n")
        with store_at(repo).transaction() as transaction:
            transaction.save_run(run("t1", status=RunStatus.SUCCESS, **PLAIN))
        out, err = follower.communicate(timeout=60)
        agent.kill()
    assert out == "later redan error\n\n"
    assert err == f"run {FIRST_RUN} has ended: success (git blackbird runs t1 {FIRST_RUN})\n"
    assert follower.returncode == 0


def test_ctrl_c_leaves_a_live_run_alone(repo: Path) -> None:
    own: dict[str, Any] = {"pid": os.getpid(), "process_identity": _identity(os.getpid()), **PLAIN}
    save(repo, [task("t1")], [run("t1", status=RunStatus.RUNNING, **own)])
    write(repo, {f"{LOG}.stdout": "working\n", f"{LOG}.stderr": ""})
    follower = start(repo, "runs", "t1", "--follow")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "working\n"
    follower.send_signal(signal.SIGINT)
    _, err = follower.communicate(timeout=60)
    assert (follower.returncode, err.strip()) == (130, "interrupted")
    assert store_at(repo).records.histories()[task("t1").id].live is not None


def _identity(pid: int) -> str:
    found = identity(pid)
    assert found is not None
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("setting", ["GIT_PAGER", "PAGER", "core.pager"])
def test_a_log_goes_through_the_pager_that_git_would_take(repo: Path, setting: str) -> None:
    save(repo, [task("t1")], [run("t1")])
    write(repo, {f"{LOG}.stdout": "a line\n", f"{LOG}.stderr": ""})
    pager = "sed s/^/paged:/"
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    if setting == "core.pager":
        subprocess.run(["git", "config", "core.pager", pager], cwd=repo, check=True)
    else:
        environ[setting] = pager
    shown = pexpect.run(
        f"{sys.executable} -c 'from git_blackbird.cli.main import run; run()' runs t1 --log",
        cwd=str(repo),
        env=environ,
        timeout=60,
    )
    assert b"paged:a line\r\n" in shown


@pytest.mark.parametrize("args", [["list"], ["status"], ["show", "t1"], ["runs"], ["config"]])
def test_readers_start_git_to_find_the_repository_and_to_read_its_configuration(
    repo: Path, tmp_path: Path, args: list[str]
) -> None:
    save(repo, [task("t1")], [run("t1")])
    assert len(_git_processes(repo, tmp_path, args)) == 2


def test_a_call_with_a_task_by_name_finds_the_repository_once(repo: Path, tmp_path: Path) -> None:
    save(repo, [task("t1")])
    started = _git_processes(repo, tmp_path, ["execute", "t1", "--agent", "demo", "--dry-run"])
    assert sum(" start: git rev-parse " in line for line in started) == 1


def _git_processes(repo: Path, tmp_path: Path, args: list[str]) -> list[str]:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "BLACKBIRD_TRACE": str(tmp_path / "trace")}
    environ.pop("NO_COLOR", None)
    command = [*preloaded.PROGRAM, *args]
    preloaded.run(command, cwd=repo, env=environ, stdout=subprocess.DEVNULL, check=True)
    return [line for line in (tmp_path / "trace").read_text().splitlines() if " start: git " in line]


def test_colour_follows_git_and_a_terminal(repo: Path) -> None:
    save(repo, [task("t1")])
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    del environ["NO_COLOR"]
    line = f"{sys.executable} -c 'from git_blackbird.cli.main import run; run()' list"
    on_terminal = pexpect.run(line, cwd=str(repo), env=environ, timeout=60)
    assert on_terminal == b"t1  \x1b[36mREADY\x1b[0m  Task t1\r\n"
    subprocess.run(["git", "config", "color.ui", "never"], cwd=repo, check=True)
    assert pexpect.run(line, cwd=str(repo), env=environ, timeout=60) == b"t1  READY  Task t1\r\n"


def test_the_newest_runs_are_found_without_reading_the_others(repo: Path) -> None:
    paths = Paths(repo, repo / ".git" / "blackbird")
    now = FIRST_MOMENT + 10**12
    started = time.time_ns()
    runs = []
    for index in range(30):
        moment = FIRST_MOMENT + index * 60 * 10**9
        run_id = f"{moment // 10**6:012x}{index:04x}"
        stamp = f"2026-01-02T03:{index + 4:02d}:05Z"
        runs.append(run(f"t{index % 7}", run_id, startedAt=stamp, completedAt=stamp))
    save(repo, [], runs)
    for path in paths.runs.rglob("*"):
        os.utime(path, ns=(started, started))
    (paths.runs / "t1" / f"{runs[1].id}.json").write_text("not read: it is old")
    (paths.runs / "t2" / f"{runs[29].id}.json.tmp").write_text("no record")
    found = RunStore(paths).recent(20, now)
    assert [one.id for one in found.runs] == [one.id for one in runs[10:]]
    assert not found.faults
    everything = RunStore(paths).recent(100, now)
    assert (len(everything.runs), len(everything.faults)) == (29, 1)


def test_a_list_of_runs_says_that_older_ones_exist_and_how_to_see_them(program: Program, repo: Path) -> None:
    ids = [f"{FIRST_MOMENT // 10**6 + number:012x}{number:04x}" for number in range(3)]
    save(repo, [task("t1"), task("t2")], [run(f"t{1 + number % 2}", id_) for number, id_ in enumerate(ids)])
    for args, last, older in (
        (("--limit", "2"), "and older ones: git blackbird runs --limit 20", None),
        (("--limit", "3"), None, 0),
        (("t1", "--limit", "1"), "and 1 older: git blackbird runs t1", 1),
    ):
        program.transcript.clear()
        program.run("runs", *args)
        program.run("runs", *args, "--json")
        lines = "".join(program.transcript).splitlines()
        assert [line for line in lines if line.startswith("and ")] == [last] * (last is not None)
        (data,) = (json.loads(line)["data"] for line in lines if line.startswith("{"))
        assert data["older"] == older


def test_json_of_one_run_is_its_record(program: Program, repo: Path) -> None:
    record = run("t1", final_text="done", of_the_future={"kept": True})
    save(repo, [task("t1")], [record])
    program.capture.readouterr()
    program.run("runs", "t1", FIRST_RUN, "--json")
    line = program.transcript[1]
    data = json.loads(line)["data"]
    assert data["record"]["blackbird"]["of_the_future"] == {"kept": True}
    assert data["run"]["run"] == FIRST_RUN


def test_two_runs_with_the_same_beginning_are_told_apart(program: Program, repo: Path) -> None:
    commit(repo, {"a": "b"})
    save(repo, [task("t1")], [run("t1"), run("t1", "019b7c4e52000002", startedAt="2026-01-02T02:30:00Z")])
    assert program.run("runs", "t1", "019b") == 1
    assert program.transcript[2] == (
        "2> error: t1: 2 runs begin with 019b\n2> hint: git blackbird runs t1    # lists them\n"
    )
    assert program.run("runs", "t1", "019b7c4e52000002") == 0
