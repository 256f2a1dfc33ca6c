"""What goes wrong on workers, while the scheduler is away, or before any worker has begun."""

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from git_blackbird.errors import ExitCode
from tests.support import commit, git
from tests.trial.machines import Machines, eventually, other_machines
from tests.trial.program import PATIENCE_SECONDS, Trial
from tests.trial.test_cluster import agent, starts


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with other_machines(tmp_path / "machines") as machines:
        yield machines


@pytest.fixture
def trial(repo: Path, machines: Machines, tmp_path: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", f"file://{tmp_path}/remote.git")
    trial = Trial(repo)
    trial.command(agent(tmp_path))
    trial.configure({"cluster.address": machines.address})
    return trial


def connect(machines: Machines, *names: str) -> None:
    for name in names:
        machines.work(name)
    eventually(lambda: all(map(machines.is_connected, names)))


def test_a_worker_has_its_slots_again_when_its_agent_ends_while_the_scheduler_is_away(
    trial: Trial, machines: Machines, tmp_path: Path
) -> None:
    connect(machines, "one")
    trial.plan({"a": (), "b": ("a",)})
    home = trial.start("execute", "--no-input")
    eventually(lambda: starts(tmp_path))
    machines.kill("scheduler")
    said = partial(machines.said, "one")
    # It connects again with the slots that were free when it began to try.
    eventually(lambda: "the scheduler is away" in said(), said)
    (tmp_path / "go").touch()
    eventually(lambda: "is over" in said(), said)
    machines.schedule()
    printed, _ = home.communicate(timeout=PATIENCE_SECONDS)
    assert home.returncode == 0, printed
    assert "the scheduler is away" in printed
    assert trial.statuses() == {"a": "done", "b": "done"}
    assert [task for _, task, _ in starts(tmp_path)] == ["a", "b"]


def test_workers_that_cannot_reach_the_remote_leave_the_task_as_it_was(
    trial: Trial, machines: Machines, tmp_path: Path
) -> None:
    connect(machines, "one")
    trial.plan({"a": ()})
    settings = machines.home("one") / ".gitconfig"
    git(tmp_path, "config", "--file", str(settings), "url.ftp://x/.insteadOf", "file:")
    said = trial.expect(ExitCode.AGENT_UNAVAILABLE, "execute", "--no-input")
    assert "no worker has it" in said
    assert trial.statuses() == {"a": "todo"}
    assert starts(tmp_path) == []
    assert git(tmp_path / "remote.git", "for-each-ref") == ""
    settings.unlink()
    (tmp_path / "go").touch()
    trial.expect(0, "execute", "--no-input")
    assert "resumes" not in trial.records("a")[-1]


def test_a_run_that_no_worker_had_begun_is_dropped_by_an_interrupt(
    trial: Trial, machines: Machines, tmp_path: Path
) -> None:
    connect(machines, "one")
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.jobs": "2"})
    home = trial.start("execute", "--no-input")
    eventually(lambda: starts(tmp_path) and len(trial.records("b")) + len(trial.records("a")) == 2)
    ((_, begun, _),) = starts(tmp_path)
    home.send_signal(signal.SIGINT)
    home.communicate(timeout=PATIENCE_SECONDS)
    assert home.returncode == ExitCode.INTERRUPTED
    (waiting,) = {"a", "b"} - {begun}
    assert trial.statuses()[waiting] == "todo"
    (tmp_path / "go").touch()
    trial.expect(0, "restart", begun, "--no-input")
    trial.expect(0, "execute", "--no-input")
    assert sorted(task for _, task, _ in starts(tmp_path)) == sorted([begun, begun, waiting])


def test_a_worker_that_is_ended_by_hand_ends_nobody_elses_work(
    trial: Trial, machines: Machines, tmp_path: Path
) -> None:
    connect(machines, "one", "two")
    trial.plan({"a": (), "b": (), "c": ()})
    home = trial.start("execute", "--no-input")
    eventually(lambda: len(starts(tmp_path)) == 2)
    places = {Path(place).relative_to(machines.place).parts[0]: task for _, task, place in starts(tmp_path)}
    machines.processes["two"].send_signal(signal.SIGINT)
    machines.processes.pop("two").wait(PATIENCE_SECONDS)
    (tmp_path / "go").touch()
    said, _ = home.communicate(timeout=PATIENCE_SECONDS)
    assert home.returncode not in {0, ExitCode.INTERRUPTED}
    assert f"{places['two']}: worker two was stopped" in said
    statuses = trial.statuses()
    assert statuses.pop(places["two"]) == "waiting_user"
    assert set(statuses.values()) == {"done"}


def test_a_set_up_that_fails_on_a_worker_stops_no_other_task(
    trial: Trial, machines: Machines, tmp_path: Path
) -> None:
    connect(machines, "one")
    trial.plan({"a": (), "b": (), "c": ()})
    trial.configure(
        {"worktree.setup": 'echo "setting up $BLACKBIRD_TASK_ID"; test "$BLACKBIRD_TASK_ID" != a'}
    )
    (tmp_path / "go").touch()
    said = trial.expect(ExitCode.FAILED, "execute", "--no-input")
    log = trial.repo / ".blackbird" / "runs" / "a" / "logs" / "setup.log"
    assert "the set-up of the worktree of a on one failed" in said
    assert str(log) in said
    assert log.read_text() == "setting up a\n"
    assert trial.statuses() == {"a": "todo", "b": "done", "c": "done"}
    trial.configure({"worktree.setup": "true"})
    trial.expect(0, "execute", "--no-input")
