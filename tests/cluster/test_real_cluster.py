"""The real agents on other machines, each of which has sessions of its own."""

import threading
from pathlib import Path

import pytest

from tests import preloaded
from tests.records import fact
from tests.standin.install import Program
from tests.standin.real import SANDBOX, binary_of
from tests.standin.server import Reply, StandIn
from tests.support import commit, git
from tests.trial.machines import eventually, other_machines
from tests.trial.program import Trial
from tests.trial.real_trial import assert_one_session

WORKERS, TASKS = ("desk", "rack"), ("one", "two")


@pytest.mark.exhaustive
@pytest.mark.real_agents
def test_a_change_request_goes_to_the_worker_that_has_the_session(
    repo: Path, program: Program, model: StandIn, tmp_path: Path
) -> None:
    commit(repo, {"old.txt": "old\n"})
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", f"file://{tmp_path}/remote.git")
    trial = Trial(repo, popen=preloaded.WithDask)
    trial.plan(dict.fromkeys(TASKS, ()))
    both_at_work = threading.Barrier(2)
    shell = model.dialect.shell
    for task in TASKS:
        makes = Reply("I write.", (shell(f"echo 1 >{task}.py"),), wait=both_at_work.wait)
        more = Reply("I go on.", (shell(f"cat {task}.py >more_{task}.py"),), wait=both_at_work.wait)
        model.tell_part(f"Write {task}.py.", makes, f"{task} is begun.", more, f"{task} is done.")
    with other_machines(tmp_path / "machines") as machines:
        for name in WORKERS:
            home = machines.home(name)
            settings = {f"{program.agent}.path": binary_of(program), "codex.sandbox": SANDBOX}
            for key, value in settings.items():
                git(tmp_path, "config", "--file", str(home / ".gitconfig"), f"blackbird.{key}", value)
            machines.work(name, model.environ(home / program.agent))
        eventually(lambda: all(map(machines.is_connected, WORKERS)))
        trial.configure({"agent": program.agent, "cluster.address": machines.address})
        trial.expect(3, "execute", "--no-input", "--stop-after-each")
        assert {fact(trial.records(task)[0], "worker") for task in TASKS} == set(WORKERS)
        for task in TASKS:
            trial.expect(0, "decide", task, "--request-changes", "-m", f"Also make more_{task}.py.")
        trial.expect(3, "execute", "--no-input", "--stop-after-each")
    for task in TASKS:
        records = trial.records(task)
        assert_one_session(records)
        assert len({fact(record, "worker") for record in records}) == 1
        trial.expect(0, "decide", task, "--approve")
    trial.expect(0, "execute", "--no-input", "--cluster", "")
    assert set(trial.statuses().values()) == {"done"}
    names = git(repo, "status", "--short", "--", "*.py").split()[1::2]
    assert names == ["more_one.py", "more_two.py", "one.py", "two.py"]
