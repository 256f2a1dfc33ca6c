"""Agents on the workers of a Dask scheduler, each worker with a home and a clone of its own."""

import contextlib
import re
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from git_blackbird.agents.process import signals
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.timestamps import parse_timestamp
from tests import preloaded
from tests.controller.engine.test_budgets import CLAUDE
from tests.planted_secrets import hidden_part, leaks, make_secrets
from tests.records import fact
from tests.support import commit, git
from tests.trial.machines import SSHD, Machines, eventually, other_machines, ssh_server
from tests.trial.program import PATIENCE_SECONDS, ROOT, Trial

WORKERS = ("one", "two", "three")
# Two tasks of each layer wait for those of the layer before.
TASKS = {f"t{number}": (f"t{number - 3}",) if number > 3 else () for number in range(1, 13)}


@pytest.fixture
def by_ssh(tmp_path: Path) -> Iterator[str]:
    """What URLs of folders here begin with, by which machines reach them."""
    with ssh_server(tmp_path / "sshd") as (url, ssh):
        for home in (Path.home(), *(tmp_path / "machines" / worker / "home" for worker in WORKERS)):
            home.mkdir(parents=True, exist_ok=True)
            git(tmp_path, "config", "--file", str(home / ".gitconfig"), "core.sshCommand", ssh)
        yield url


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with other_machines(tmp_path / "machines") as machines:
        for name in WORKERS:
            machines.work(name)
        yield machines


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    return Trial(repo, popen=preloaded.WithDask)


def agent(signs: Path) -> str:
    """Return a command that notes its start, and works once it is told to."""
    note = f'echo "$BLACKBIRD_RUN_ID $BLACKBIRD_TASK_ID $PWD" >>{signs}/starts; '
    wait = f'until [ -e {signs}/go ] || [ -e "{signs}/go-$BLACKBIRD_TASK_ID" ]; do sleep 0.05; done; '
    return f"cat >/dev/null; {note}{wait}echo $BLACKBIRD_TASK_ID >$BLACKBIRD_TASK_ID.txt"


def starts(signs: Path) -> list[tuple[str, str, str]]:
    with contextlib.suppress(FileNotFoundError):
        lines = (signs / "starts").read_text().splitlines()
        return [(run, task, place) for run, task, place in map(str.split, lines)]
    return []


@pytest.mark.exhaustive
def test_workers_here_do_the_plan_and_leave_nothing_running(trial: Trial, tmp_path: Path) -> None:
    trial.plan({"one": (), "two": (), "three": ("one", "two")})
    secrets = make_secrets(5).values()
    (tmp_path / "secrets").write_text("\n".join(secrets))
    trial.command(f"{agent(tmp_path)}; cat {tmp_path}/secrets; cat {tmp_path}/secrets >&2")
    (tmp_path / "go").touch()
    said = trial.expect(0, "execute", "--no-input", "--cluster", "local:2")
    assert list(leaks(trial.repo, map(hidden_part, secrets))) == []
    assert set(trial.statuses().values()) == {"done"}
    assert git(trial.repo, "status", "--short").split()[1::2] == ["one.txt", "three.txt", "two.txt"]
    records = [record for task in ("one", "two", "three") for record in trial.records(task)]
    assert sorted(record["id"] for record in records) == sorted(run for run, _, _ in starts(tmp_path))
    assert {fact(record, "worker") for record in records} <= {"local-1", "local-2"}
    assert "one is worked on by local-" in said
    assert re.search(
        r"^  worker +local-[12]$", trial.expect(0, "runs", "one", records[0]["id"]), re.MULTILINE
    )
    assert git(trial.repo, "for-each-ref", "refs/blackbird/cluster") == ""


@pytest.mark.exhaustive
def test_a_run_on_a_worker_is_paused_at_its_budget(trial: Trial, tmp_path: Path) -> None:
    trial.plan({"one": ()})
    fake = tmp_path / "claude"
    fake.write_text(CLAUDE.format(place=tmp_path).replace("*long*", "*"))
    fake.chmod(0o755)
    git(trial.repo, "config", "--global", "blackbird.claude.path", str(fake))
    trial.configure({"agent": "claude", "execution.stopGraceSeconds": "1"})
    budget = ("execute", "--no-input", "--cluster", "local:1", "--budget", "tokens=1000")
    said = trial.expect(4, *budget)
    assert "one is paused: its budget is spent\nthe budget of the call is spent: 1.0k tokens of 1.0k" in said
    (paused,) = trial.records("one")
    assert (fact(paused, "terminal_reason"), fact(paused, "cost_usd")) == ("budget", 0.4)
    trial.expect(0, *budget[:-1], "tokens=5000")
    assert trial.records("one")[1]["status"] == "success"


@pytest.mark.exhaustive
def test_an_agent_on_a_worker_is_told_something(trial: Trial, tmp_path: Path) -> None:
    trial.plan({"one": ()})
    trial.command(f'[ -n "$BLACKBIRD_RESUME" ] && touch {tmp_path}/go; {agent(tmp_path)}')
    process = trial.start("execute", "--no-input", "--cluster", "local:2")
    eventually(lambda: len(starts(tmp_path)) == 1)
    trial.expect(0, "tell", "one", "-m", "Use tabs.")
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, said
    first, second = trial.records("one")
    assert (first["status"], fact(first, "terminal_reason")) == ("paused", "told")
    assert (second["status"], fact(second, "message")) == ("success", "Use tabs.")
    assert fact(second, "worker") == fact(first, "worker")
    assert (trial.repo / "one.txt").read_text() == "one\n"


@pytest.mark.exhaustive
def test_the_task_of_a_lost_worker_starts_again_on_another_one(trial: Trial, tmp_path: Path) -> None:
    trial.plan({"one": ()})
    trial.command(agent(tmp_path))
    trial.configure({"cluster.onLostWorker": "restart"})
    home = trial.start("execute", "--no-input", "--cluster", "local:2")
    eventually(lambda: starts(tmp_path))
    first, _, place = starts(tmp_path)[0]
    number = Path(place).relative_to(f"{trial.repo}.workers").parts[0].rpartition("-")[2]
    (worker,) = (
        process for process in psutil.Process(home.pid).children() if f"local-{number}" in process.cmdline()
    )
    worker.kill()
    eventually(lambda: len(starts(tmp_path)) == 2)
    assert not signals.marked(first)
    (tmp_path / "go").touch()
    said, _ = home.communicate(timeout=PATIENCE_SECONDS)
    assert home.returncode == 0
    assert f"one starts again elsewhere, since worker local-{number} is gone" in said
    lost, made = trial.records("one")
    assert (fact(lost, "terminal_reason"), fact(lost, "worker")) == ("worker_lost", f"local-{number}")
    assert fact(lost, "superseded_at") is not None
    assert (made["status"], fact(made, "worker")) == ("success", f"local-{3 - int(number)}")


@pytest.mark.exhaustive
def test_without_dask_one_line_says_what_to_install(trial: Trial, tmp_path: Path) -> None:
    trial.plan({"one": ()})
    missing = tmp_path / "distributed"
    missing.mkdir()
    (missing / "__init__.py").write_text("raise ImportError\n")
    trial.environ["PYTHONPATH"] = f"{tmp_path}:{ROOT}"
    for command in (("execute", "--no-input", "--cluster", "local:2"), ("worker", "tcp://127.0.0.1:1")):
        said = trial.expect(ExitCode.UNUSABLE, *command)
        assert said == (
            "fatal: a cluster needs Dask, which is not installed: pip install 'git-blackbird[cluster]'\n"
        )


def test_an_address_that_can_be_none_is_named(trial: Trial) -> None:
    trial.plan({"one": ()})
    schemes = "(known schemes: ['inproc', 'tcp', 'tls', 'ucx', 'ws', 'wss'])"
    said = trial.expect(ExitCode.UNUSABLE, "worker", "foo://x:1")
    wrong = f"cannot be used: unknown address scheme 'foo' {schemes}\n"
    # What it says first is of the agents that this machine has.
    assert said.partition("connecting")[2] == f" to foo://x:1\nfatal: foo://x:1 {wrong}"
    git(trial.repo, "remote", "add", "origin", "elsewhere")
    said = trial.expect(ExitCode.UNUSABLE, "execute", "--no-input", "--cluster", "foo://x:1")
    assert said == f"fatal: the cluster at foo://x:1 {wrong}"


@pytest.mark.exhaustive
def test_a_remote_that_is_not_there_or_refuses_starts_no_agent(
    trial: Trial, machines: Machines, tmp_path: Path
) -> None:
    trial.plan({"one": ()})
    trial.command(agent(tmp_path))
    trial.configure({"cluster.address": machines.address})
    eventually(lambda: all(map(machines.is_connected, WORKERS)))
    assert trial.expect(ExitCode.UNUSABLE, "execute", "--no-input").endswith(
        "fatal: there is no remote 'origin', by which the workers would get the files of a run\n"
        "hint: git config blackbird.cluster.remote URL    # one that all machines reach\n"
    )
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho read only\nexit 1\n")
    hook.chmod(0o755)
    git(trial.repo, "remote", "add", "origin", str(remote))
    said = trial.expect(ExitCode.AGENT_UNAVAILABLE, "execute", "--no-input")
    assert f"its files cannot be sent to the workers: {remote}: remote: read only" in said
    assert trial.statuses() == {"one": "todo"}
    hook.unlink()
    (tmp_path / "go").touch()
    trial.expect(0, "execute", "--no-input")
    assert [task for _, task, _ in starts(tmp_path)] == ["one"]


@pytest.mark.exhaustive
@pytest.mark.skipif(SSHD is None, reason="there is no sshd")
def test_files_go_out_and_come_back_by_ssh(
    trial: Trial, by_ssh: str, machines: Machines, tmp_path: Path
) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(trial.repo, "remote", "add", "origin", f"{by_ssh}{remote}")
    trial.plan({"one": ()})
    trial.command(agent(tmp_path))
    (tmp_path / "go").touch()
    trial.configure({"cluster.address": machines.address})
    eventually(lambda: all(map(machines.is_connected, WORKERS)))
    trial.expect(0, "execute", "--no-input")
    assert (trial.repo / "one.txt").read_text() == "one\n"
    assert git(remote, "for-each-ref") == ""


@pytest.mark.exhaustive
def test_whatever_is_lost_each_task_is_done_once(trial: Trial, machines: Machines, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(trial.repo, "remote", "add", "origin", f"file://{remote}")
    trial.plan(TASKS)
    trial.command(agent(tmp_path))
    trial.configure({"cluster.address": machines.address})
    eventually(lambda: all(map(machines.is_connected, WORKERS)))
    home = trial.start("execute", "--no-input")
    eventually(lambda: len(starts(tmp_path)) == 3)
    at_work = {
        Path(place).relative_to(machines.place).parts[0]: (run, task) for run, task, place in starts(tmp_path)
    }
    assert set(at_work) == set(WORKERS)

    # The home is killed, the scheduler started again, and the remote refuses what workers push.
    home.kill()
    home.communicate()
    assert trial.expect(0, "status").count("\n      `git blackbird execute` takes up what it did\n") == 3
    machines.kill("scheduler")
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    (tmp_path / f"go-{at_work['one'][1]}").touch()
    refused = "the remote refuses what this run sends, trying again: "
    eventually(lambda: refused in machines.said("one"), partial(machines.said, "one"))
    machines.schedule()
    hook.unlink()
    eventually(
        lambda: f"run {at_work['one'][0]} of" in machines.said("one").rpartition("begins")[2],
        partial(machines.said, "one"),
    )

    # One worker is killed with its agent, another stands still for a while.
    machines.kill("two")
    eventually(lambda: not signals.marked(at_work["two"][0]))
    machines.processes["three"].send_signal(signal.SIGSTOP)
    again = time.time_ns()
    home = trial.start("execute", "--no-input")
    machines.processes["three"].send_signal(signal.SIGCONT)
    (tmp_path / "go").touch()
    said, _ = home.communicate(timeout=PATIENCE_SECONDS)
    assert f"worker two is gone; run {at_work['two'][0]} is paused" in said
    run, done = at_work["one"]
    assert f"taking up {done} (run {run}, command)" in said
    assert parse_timestamp(trial.records(done)[0]["completedAt"]) < again
    lost = at_work["two"][1]
    waiting = {task for task, status in trial.statuses().items() if status != "done"}
    assert waiting == {task for task in TASKS if (int(task[1:]) - int(lost[1:])) % 3 == 0}
    assert trial.statuses()[lost] == "waiting_user"

    machines.work("two")
    eventually(lambda: "sent home what is left" in machines.said("two"), partial(machines.said, "two"))
    eventually(lambda: "connected to" in machines.said("two").rpartition("sent home")[2])
    said = trial.expect(0, "execute", "--no-input")
    assert set(trial.statuses().values()) == {"done"}, said
    runs = [run for run, _, _ in starts(tmp_path)]
    assert len(runs) == len(set(runs)) == len(TASKS) + 1
    assert git(trial.repo, "status", "--short").split()[1::2] == sorted(f"{task}.txt" for task in TASKS)
    assert not any(map(signals.marked, runs))
    assert git(remote, "for-each-ref") == ""
