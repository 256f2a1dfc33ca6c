"""What goes wrong on workers, while the scheduler is away, or before any worker has begun."""

import asyncio
import json
import re
import shutil
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from git_blackbird.agents.process.reaper import Reaper
from git_blackbird.cluster.client import Cluster
from git_blackbird.cluster.orders import read_end
from git_blackbird.cluster.remote_run import RunPlace, fault_of_remote
from git_blackbird.errors import ExitCode, UnusableError
from git_blackbird.git.core.process import GitError
from git_blackbird.git.worktree.remote_refs import push
from tests import preloaded
from tests.cluster.test_cluster import agent, starts
from tests.controller.killing import run_killed
from tests.controller.support import Person, make_world, open_at
from tests.support import commit, git
from tests.trial.machines import Machines, eventually, free_port, other_machines
from tests.trial.program import PATIENCE_SECONDS, Trial


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with other_machines(tmp_path / "machines") as machines:
        yield machines


@pytest.fixture
def trial(repo: Path, machines: Machines, tmp_path: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", f"file://{tmp_path}/remote.git")
    trial = Trial(repo, popen=preloaded.WithDask)
    trial.command(agent(tmp_path))
    trial.configure({"cluster.address": machines.address})
    return trial


def connect(machines: Machines, *names: str) -> None:
    for name in names:
        machines.work(name)
    eventually(lambda: all(map(machines.is_connected, names)))


@pytest.mark.exhaustive
def test_a_worker_that_was_killed_while_it_made_its_clone_makes_it_anew(tmp_path: Path) -> None:
    reaper = Reaper()
    reaper.close()
    place = RunPlace(make_world(tmp_path), tmp_path / "folder", "one", {}, reaper)
    at = 1
    while run_killed(lambda: place.clone("file:///remote", ()), at):
        assert place.clone("file:///remote", ()).repo.top.name == "clone"
        shutil.rmtree(tmp_path / "folder")
        at += 1
    assert at > 5


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
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
    waits = trial.expect(0, "status")
    assert "paused: worker two was lost" in waits
    assert f"is back; `git blackbird restart {places['two']}` starts it elsewhere" in waits
    assert set(statuses.values()) == {"done"}
    said = trial.expect(ExitCode.AGENT_UNAVAILABLE, "resume", places["two"], "--no-input")
    assert f"the session of {places['two']} is on worker two, which was lost\n" in said
    assert f"  git blackbird resume {places['two']} --no-input    # once worker two is back\n" in said
    other = "a new session, on another worker"
    assert f"  git blackbird restart {places['two']} --no-input    # {other}\n" in said


@pytest.mark.exhaustive
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
    log = trial.repo / ".git" / "blackbird" / "logs" / "a.setup.log"
    assert "the set-up of the worktree of a on one failed" in said
    assert str(log) in said
    assert log.read_text() == "setting up a\n"
    assert trial.statuses() == {"a": "todo", "b": "done", "c": "done"}
    trial.configure({"worktree.setup": "true"})
    trial.expect(0, "execute", "--no-input")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("local:3",), "local:3 is for `execute --cluster`, which starts workers itself"),
        (("",), "a worker needs the address of a scheduler, such as tcp://HOST:8786"),
        (("tcp://127.0.0.1:1", "--name", "a/b"), '"a/b" cannot be a worker\'s name'),
        (("tcp://127.0.0.1:1", "--name", ""), "a worker needs a name that is not empty"),
        (("tcp://127.0.0.1:1", "--dir", "."), "is in the worktree"),
    ],
)
def test_a_worker_that_cannot_be_is_refused_at_once(repo: Path, args: tuple[str, ...], reason: str) -> None:
    assert reason in Trial(repo).expect(ExitCode.USAGE, "worker", *args)


def test_a_worker_whose_folder_cannot_be_made_says_so(repo: Path) -> None:
    said = Trial(repo).expect(ExitCode.UNUSABLE, "worker", "tcp://127.0.0.1:1", "--dir", "/proc/worker")
    assert said.startswith("fatal: cannot make the folder /proc/worker: ")


@pytest.mark.exhaustive
def test_the_folder_of_a_worker_is_where_its_path_leads(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo)
    (beside := repo.parent / "taken").touch()
    trial = Trial(repo)
    said = trial.expect(
        ExitCode.USAGE, "worker", "tcp://127.0.0.1:1", "--dir", str(tmp_path / "link" / "sub"), cwd=Path("/")
    )
    assert f"is in the worktree {repo}" in said
    said = trial.expect(ExitCode.UNUSABLE, "worker", "tcp://127.0.0.1:1", "--dir", f"../{beside.name}")
    assert said.startswith("fatal: cannot make the folder ")


def test_a_worker_waits_for_a_host_that_is_not_known(repo: Path, tmp_path: Path) -> None:
    worker = Trial(repo).start("worker", "tcp://no.such.invalid:1", "--dir", str(tmp_path / "work"))
    assert worker.stdout is not None
    unknown = (
        "tcp://no.such.invalid:1 cannot be used: the host no.such.invalid is not known: "
        "Name or service not known"
    )
    said = "".join(iter(worker.stdout.readline, f"{unknown}; trying again\n"))
    worker.send_signal(signal.SIGINT)
    assert worker.communicate(timeout=PATIENCE_SECONDS)[0] == "ended\n"
    assert said.endswith("connecting to tcp://no.such.invalid:1\n")


def test_what_a_remote_refuses_is_said_in_its_own_words(repo: Path, tmp_path: Path) -> None:
    head = commit(repo, {"a.txt": "one\n"})
    git(tmp_path, "init", "-q", "--bare", str(remote := tmp_path / "remote.git"))
    (hook := remote / "hooks" / "pre-receive").write_text("#!/bin/sh\necho read only\nexit 1\n")
    hook.chmod(0o755)
    said = set()
    for ref in ("refs/blackbird/one", "refs/blackbird/two"):
        with pytest.raises(GitError) as raised:
            push(open_at(repo).repo, str(remote), {ref: head})
        said.add(fault_of_remote(raised.value))
    assert said == {f"the remote refuses what this run sends, trying again: {remote}: remote: read only"}
    hook.parent.parent.rename(tmp_path / "away")
    with pytest.raises(GitError) as raised:
        push(open_at(repo).repo, str(remote), {"refs/blackbird/one": head})
    assert fault_of_remote(raised.value).startswith("the remote does not answer, trying again: ")


def test_a_file_for_tls_that_is_missing_is_named(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "elsewhere")
    trial = Trial(repo, {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": "ca.pem"})
    trial.plan({"a": ()})
    for command in (
        ("execute", "--no-input", "--cluster", "tls://127.0.0.1:1"),
        ("worker", "tls://127.0.0.1:1", "--dir", str(repo.parent / "worker")),
    ):
        said = trial.expect(ExitCode.UNUSABLE, *command)
        assert "distributed.comm.tls.ca-file in Dask's configuration names " in said
        assert "ca.pem, which does not exist" in said


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://no.such.invalid:1", "the host no.such.invalid is not known"),
        ("no.such.invalid:1", "the host no.such.invalid is not known"),
        ("tcp://127.0.0.1:99999", "99999 is not the number of a port"),
        ("127.0.0.1", "missing port number in address '127.0.0.1'"),
    ],
)
def test_an_address_where_nothing_can_be_is_refused_at_once(repo: Path, address: str, reason: str) -> None:
    git(repo, "remote", "add", "origin", "elsewhere")
    trial = Trial(repo)
    trial.plan({"a": ()})
    said = trial.expect(ExitCode.UNUSABLE, "execute", "--no-input", "--cluster", address)
    assert f"fatal: the cluster at {address} cannot be used: {reason}" in said


def test_without_a_scheduler_what_is_waited_for_is_said_and_can_be_interrupted(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "elsewhere")
    trial = Trial(repo, popen=preloaded.WithDask)
    trial.plan({"a": ()})
    address = f"tcp://127.0.0.1:{free_port()}"
    home = trial.start("execute", "--no-input", "--cluster", address)
    assert home.stdout is not None
    assert home.stdout.readline() == f"connecting to {address}; waiting for its scheduler\n"
    home.send_signal(signal.SIGINT)
    said, _ = home.communicate(timeout=10)
    assert home.returncode == ExitCode.INTERRUPTED, said
    assert said == "interrupted\n"


def test_without_a_scheduler_the_command_that_starts_one_is_named(repo: Path) -> None:
    git(repo, "remote", "add", "origin", "elsewhere")
    git(repo, "config", "blackbird.cluster.address", f"tcp://127.0.0.1:{(port := free_port())}")
    workspace = open_at(repo)

    async def connect() -> None:
        async with Cluster(workspace, Person(), patience=0.5):
            pass

    with pytest.raises(UnusableError) as raised:
        asyncio.run(connect())
    why = r" cannot be used: no scheduler answers: (Connection refused|Timed out.*)$"
    assert re.search(why, raised.value.message)
    command = f"dask scheduler --host 127.0.0.1 --port {port}"
    assert raised.value.hint == f"{command}    # starts one, on that machine"


@pytest.mark.exhaustive
def test_workers_here_need_no_certificates(repo: Path, tmp_path: Path) -> None:
    trial = Trial(repo, {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"})
    trial.plan({"a": ()})
    trial.command(agent(tmp_path))
    (tmp_path / "go").touch()
    trial.expect(0, "execute", "--no-input", "--cluster", "local:1")
    assert trial.statuses() == {"a": "done"}


@pytest.mark.exhaustive
def test_a_remote_that_deletes_nothing_ends_no_call(trial: Trial, machines: Machines, tmp_path: Path) -> None:
    hook = tmp_path / "remote.git" / "hooks" / "update"
    hook.write_text("#!/bin/sh\ncase $3 in *[!0]*) exit 0;; esac\nexit 1\n")
    hook.chmod(0o755)
    connect(machines, "one")
    trial.plan({"a": (), "b": ("a",)})
    home = trial.start("execute", "--no-input")
    eventually(lambda: starts(tmp_path))
    # The run is taken up by another call, which has to clear up after it.
    home.kill()
    home.communicate()
    (tmp_path / "go").touch()
    said = trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == {"a": "done", "b": "done"}
    assert [task for _, task, _ in starts(tmp_path)] == ["a", "b"]
    assert said.count("references of ended runs stay on the remote") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("brought", ["a blob", "a commit of nobody's", "a wrong signature"])
def test_an_end_that_is_not_its_workers_concerns_its_run_alone(
    trial: Trial, machines: Machines, tmp_path: Path, brought: str
) -> None:
    connect(machines, "one")
    trial.plan({"a": (), "b": ()})
    home = trial.start("execute", "a", "--no-input")
    eventually(lambda: starts(tmp_path))
    home.kill()
    home.communicate()
    machines.kill("one")
    (run,) = trial.records("a")
    key = trial.repo / ".git" / "blackbird" / "keys" / run["id"]
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.read_text().split()[0] not in json.dumps(run)
    remote = tmp_path / "remote.git"
    blob = git(remote, "hash-object", "-w", "--stdin", stdin=b"evil\n")
    tree = git(remote, "mktree", stdin=f"100644 blob {blob}\tsignature\n".encode())
    parents = () if brought == "a commit of nobody's" else ("-p", git(trial.repo, "rev-parse", "HEAD"))
    oid = blob
    if brought != "a blob":
        git(trial.repo, "push", "-q", "origin", "HEAD:refs/heads/main")
        name = ("-c", "user.name=E", "-c", "user.email=e@x")
        oid = git(remote, *name, "commit-tree", *parents, "-m", "evil", tree)
    git(remote, "update-ref", f"refs/blackbird/cluster/{run['id']}/end", oid)
    connect(machines, "two")
    (tmp_path / "go").touch()
    said = trial.run("execute", "--no-input")[1]
    assert f"a: the end of run {run['id']} cannot be read: " in said, said
    assert said.count("git blackbird restart a --no-input") == 1
    trial.expect(0, "execute", "b", "--no-input")
    assert trial.statuses() == {"a": "waiting_user", "b": "done"}
    trial.expect(0, "restart", "a", "--no-input")
    assert trial.statuses() == {"a": "done", "b": "done"}
    trial.expect(0, "execute", "--no-input")
    assert not list(key.parent.iterdir())


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "9" * 400])
def test_numbers_that_nothing_costs_are_refused(number: str) -> None:
    with pytest.raises(UnusableError, match="the end of a run from the cluster cannot be read"):
        read_end(f'{{"worker": "w", "notes": [], "result": {{"duration_seconds": {number}}}}}'.encode())
