"""The hook as its user has it: installed by the program, called by git."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import preloaded
from tests.records import fact
from tests.support import Prepared, commit, git, wait_until, write
from tests.trial.program import PATIENCE_SECONDS, Trial

MAKE = "git commit -q --allow-empty -m"


@pytest.fixture
def trial(repo: Path, prepared: Prepared) -> Trial:
    trial = Trial(repo)

    def make() -> None:
        commit(repo, {"old.txt": "old\n"}, "start")
        trial.plan({"a": (), "b": ()})
        trial.expect(0, "hooks", "install")

    prepared.bring(repo, make)
    return trial


def commit_all(repo: Path, *args: str) -> str:
    """Commit as a person does, and give what git and the hook say."""
    preloaded.preload_hook(repo)
    completed = subprocess.run(
        ["git", "commit", "-q", "-a", *args], cwd=repo, capture_output=True, text=True, check=True
    )
    return completed.stdout + completed.stderr


def oids(repo: Path, *names: str) -> list[str]:
    return [git(repo, "rev-parse", name) for name in names]


def test_a_run_names_the_commits_of_its_agent(trial: Trial) -> None:
    trial.command(f"{MAKE} one; cd .git/.. && {MAKE} two && git commit -q --amend --allow-empty -m better")
    trial.expect(0, "execute", "--no-input", "a")
    (record,) = trial.records("a")
    assert fact(record, "commits") == oids(trial.repo, "HEAD~1", "HEAD@{1}", "HEAD")
    trial.expect(0, "execute", "--no-input", "b")
    (record,) = trial.records("b")
    assert fact(record, "commits") == oids(trial.repo, "HEAD~1", "HEAD@{1}", "HEAD")


def test_a_persons_commit_meanwhile_is_none_of_the_runs(trial: Trial) -> None:
    trial.command(f"{MAKE} one; touch ready; while [ ! -e go ]; do sleep 0.01; done; {MAKE} two")
    process = trial.start("execute", "--no-input", "a")
    wait_until((trial.repo / "ready").exists)
    person = commit(trial.repo, {"new.txt": "new\n"}, "of a person")
    (trial.repo / "go").touch()
    process.communicate(timeout=PATIENCE_SECONDS)
    (record,) = trial.records("a")
    assert person not in fact(record, "commits")
    assert fact(record, "commits") == oids(trial.repo, "HEAD~2", "HEAD")
    assert sorted(path.name for path in (trial.repo / ".git" / "blackbird").iterdir()) == [
        "agreements.json",
        "compare",
        "controller.lock",
        "runs",
        "scratch",
        "snapshot",
        "store.lock",
        "streams",
        "tmp",
    ]


def test_a_run_that_was_cut_off_has_its_commits_when_it_is_closed(trial: Trial) -> None:
    trial.command(f"{MAKE} one; touch ready; sleep 600")
    process = trial.start("execute", "--no-input", "a")
    wait_until((trial.repo / "ready").exists)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    trial.command("true")
    trial.expect(0, "execute", "--no-input", "b")
    (record,) = trial.records("a")
    assert fact(record, "commits") == oids(trial.repo, "HEAD")
    assert not (trial.repo / ".git" / "blackbird" / "active").exists()


def test_an_agent_in_a_linked_worktree(trial: Trial) -> None:
    linked = trial.repo.parent / "linked"
    git(trial.repo, "worktree", "add", "-q", str(linked))
    there = Trial(linked)
    there.init("--no-hooks")
    there.expect(0, "add", "--id", "c", "--title", "C")
    there.command(f"{MAKE} here; cd '{trial.repo}' && {MAKE} there")
    there.expect(0, "execute", "--no-input")
    (record,) = there.records("c")
    assert fact(record, "commits") == [*oids(linked, "HEAD"), *oids(trial.repo, "HEAD")]


def test_an_agents_commit_that_names_a_task_does_none(trial: Trial) -> None:
    trial.command(f"{MAKE} 'One\n\nBlackbird-Task: b'")
    trial.expect(0, "execute", "--no-input", "a")
    assert trial.statuses() == {"a": "done", "b": "todo"}
    assert trial.records("b") == []


def test_a_person_does_a_task_and_decides_on_it(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    write(trial.repo, {"old.txt": "new\n"})
    output = commit_all(trial.repo, "-m", "Renew it", "-m", "Blackbird-Task: a")
    (record,) = trial.records("a")
    head = git(trial.repo, "rev-parse", "HEAD")
    assert output == (
        f"git-blackbird: commit {head[:10]} is recorded as run {record['id']} of a; "
        "to decide: `git blackbird decide a --approve` or --reject\n"
    )
    assert trial.statuses()["a"] == "waiting_user"
    assert "Renew it" in trial.expect(0, "runs", "a", record["id"])
    write(trial.repo, {"old.txt": "newer\n"})
    assert "a was amended to " in commit_all(trial.repo, "--amend", "--no-edit")
    told = trial.expect(3, "execute", "--no-input")
    assert told.startswith("a decision is due on a\n")
    trial.expect(0, "decide", "a", "--approve")
    assert trial.statuses()["a"] == "done"
    (record,) = trial.records("a")
    assert fact(record, "commits") == oids(trial.repo, "HEAD")


def test_an_approvals_commit_is_no_work_of_a_persons(trial: Trial) -> None:
    trial.configure({"execution.commit": "approved", "execution.stopAfterEachTask": "true"})
    trial.command("echo new >new.txt")
    trial.expect(3, "execute", "--no-input", "a")
    output = trial.expect(0, "decide", "a", "--approve")
    assert "git-blackbird:" not in output
    assert "Blackbird-Task: a" in git(trial.repo, "log", "-1", "--format=%B")
    assert len(trial.records("a")) == 1


def test_a_rebase_of_work_does_it_once(trial: Trial) -> None:
    git(trial.repo, "checkout", "-q", "-b", "side")
    write(trial.repo, {"old.txt": "new\n"})
    commit_all(trial.repo, "-m", "Renew it", "-m", "Blackbird-Task: a")
    git(trial.repo, "checkout", "-q", "main")
    commit(trial.repo, {"other.txt": "other\n"})
    git(trial.repo, "checkout", "-q", "side")
    completed = subprocess.run(
        ["git", "rebase", "-q", "main"], cwd=trial.repo, capture_output=True, check=True
    )
    assert completed.stderr == b""
    assert len(trial.records("a")) == 1


def test_the_hook_stays_quiet_once_the_program_is_gone(trial: Trial, tmp_path: Path) -> None:
    hook = trial.repo / ".git" / "hooks" / "post-commit"
    lines = hook.read_text().splitlines(keepends=True)
    gone = [line if not line.startswith("entry=") else f"entry={tmp_path}/gone.py\n" for line in lines]
    hook.write_text("".join(gone))
    assert commit_all(trial.repo, "--allow-empty", "-m", "X", "-m", "Blackbird-Task: a") == ""
    assert trial.records("a") == []


@contextlib.contextmanager
def store_held(repo: Path) -> Iterator[Path]:
    """Hold the store lock, as a program that hangs would."""
    path = repo / ".git/blackbird/store.lock"
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield path


def test_a_commit_that_cannot_be_recorded_later_is_named_with_the_reason(trial: Trial) -> None:
    with store_held(trial.repo):
        commit_all(trial.repo, "--allow-empty", "-m", "Do it", "-m", "Blackbird-Task: a")
    plan = trial.repo / "blackbird.plan.json"
    plan.write_text(plan.read_text().replace('"todo"', '"failed"', 1))
    output = trial.expect(0, "retry", "a")
    assert output == "reset a to todo\n  no manual run of a: its status is failed, not todo\n"
    assert trial.records("a") == []


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        (("decide", "b", "--approve"), "no decision is pending on b"),
        (("retry", "b"), "task b is not failed, waiting or blocked: it is todo"),
        (("set-status", "c", "todo"), 'unknown id "c"'),
    ],
)
def test_a_refused_command_says_what_it_recorded_first(
    trial: Trial, command: tuple[str, ...], refusal: str
) -> None:
    write(trial.repo, {"old.txt": "new\n"})
    with store_held(trial.repo):
        commit_all(trial.repo, "-m", "Renew it", "-m", "Blackbird-Task: a")
    head = git(trial.repo, "rev-parse", "HEAD")
    told = trial.expect(1, *command).splitlines()
    (record,) = trial.records("a")
    assert told[0] == f"commit {head[:10]} is recorded as run {record['id']} of a; the task is done"
    assert told[1].startswith(f"error: {refusal}")
    assert trial.statuses() == {"a": "done", "b": "todo"}


def test_no_commit_waits_and_the_next_decision_finds_it(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    write(trial.repo, {"old.txt": "new\n"})
    with store_held(trial.repo) as lock:
        output = commit_all(trial.repo, "-m", "Renew it", "-m", "Blackbird-Task: a")
        head = git(trial.repo, "rev-parse", "HEAD")
        assert output == (
            f"git-blackbird: commit {head[:10]} is not recorded yet: {lock} is held by another process; "
            "the next `git blackbird execute`, or a decision, records it\n"
        )
        assert trial.records("a") == []
    told = trial.expect(0, "status")
    assert f"commits of yours that are not recorded yet\n  {head[:10]}\n" in told
    assert trial.expect(0, "decide", "a", "--approve").startswith("approved a\n")
    (record,) = trial.records("a")
    assert fact(record, "commits") == [head]
    assert list((trial.repo / ".git/blackbird").glob("deferred-*")) == []


def test_commits_that_were_kept_are_recorded_in_their_order(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    with store_held(trial.repo):
        for title, options in (("One", ()), ("Two", ("--amend",))):
            write(trial.repo, {"old.txt": f"{title}\n"})
            commit_all(trial.repo, *options, "-m", title, "-m", "Blackbird-Task: a")
    head = git(trial.repo, "rev-parse", "HEAD")
    write(trial.repo, {"old.txt": "more\n"})
    told = commit_all(trial.repo, "-m", "Three", "-m", "Blackbird-Task: b").splitlines()
    assert [re.sub(r"run \w+", "run ID", line.split(";")[0]) for line in told] == [
        f"git-blackbird: commit {git(trial.repo, 'rev-parse', 'HEAD@{2}')[:10]} is recorded as run ID of a",
        f"git-blackbird: a was amended to {head[:10]} (run ID)",
        f"git-blackbird: commit {git(trial.repo, 'rev-parse', 'HEAD')[:10]} is recorded as run ID of b",
    ]
    (record,) = trial.records("a")
    assert fact(record, "commits") == [head]


def test_an_execute_records_what_was_kept_before_it_starts_anything(trial: Trial) -> None:
    trial.command("true")
    write(trial.repo, {"old.txt": "new\n"})
    with store_held(trial.repo):
        commit_all(trial.repo, "-m", "Renew it", "-m", "Blackbird-Task: a")
    head = git(trial.repo, "rev-parse", "HEAD")
    output = trial.expect(0, "execute", "--no-input")
    (record,) = trial.records("a")
    assert f"commit {head[:10]} is recorded as run {record['id']} of a; the task is done\n" in output
    assert (fact(record, "commits"), trial.statuses()) == ([head], {"a": "done", "b": "done"})


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_an_agent_may_look_at_the_hook_and_not_change_it(trial: Trial, action: str) -> None:
    hook = trial.repo / ".git/hooks/post-commit"
    before = hook.read_bytes()
    trial.environ["BLACKBIRD_RUN_ID"] = "0123456789abcdef"
    assert trial.expect(1, "hooks", action).startswith("error: an agent may not change the hooks: ")
    assert hook.read_bytes() == before
    assert trial.expect(0, "hooks").startswith("installed: ")
