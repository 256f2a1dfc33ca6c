"""A hook that is killed or interrupted after the commit of a person's work: the work is recorded once."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from git_blackbird.controller.change.work.manual_commits import record_or_defer
from git_blackbird.git.hooks.task_commits import BISECT, PREFIX
from tests import preloaded
from tests.controller.killing import STRIDE, run_killed
from tests.controller.support import open_at
from tests.records import fact
from tests.support import commit, git, write
from tests.trial.program import Trial

SIGNALS = ("KILL", "INT", "TERM")


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    trial.command('echo "$BLACKBIRD_TASK_ID" >>../started')
    trial.configure({"execution.acceptNoChange": "true"})
    trial.expect(0, "hooks", "install")
    return trial


def do(trial: Trial, *options: str, title: str = "Do it", environ: dict[str, str] | None = None) -> str:
    """Commit work on a, in a process group of its own that may be killed; gives the commit."""
    write(trial.repo, {"new.txt": f"{title}\n"})
    git(trial.repo, "add", "new.txt")
    words = ["git", "commit", "-q", *options, "-m", f"{title}\n\nBlackbird-Task: a"]
    subprocess.run(
        words,
        cwd=trial.repo,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        process_group=0,
        check=False,
    )
    return git(trial.repo, "rev-parse", "HEAD")


def entries(repo: Path) -> list[str]:
    return sorted(path.name for path in (repo / ".git" / "blackbird").glob(f"{PREFIX}*"))


def started(trial: Trial) -> list[str]:
    path = trial.repo.parent / "started"
    return path.read_text().split() if path.exists() else []


def only_commits(trial: Trial, task: str = "a") -> list[list[str]]:
    return [fact(record, "commits") or [] for record in trial.records(task)]


def before_ours(trial: Trial, script: str) -> Path:
    """The hook that was there before ours, and runs after the commit is written down."""
    path = trial.repo / ".git" / "hooks" / "post-commit.before-blackbird"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def killing_git(trial: Trial, name: str) -> dict[str, str]:
    """An environment in which the git that the hook's Python starts kills the whole process group."""
    folder = trial.repo.parent / "bin"
    folder.mkdir()
    path = folder / "git"
    path.write_text(f'#!/bin/sh\ncase "$*" in *trailers*) kill -{name} 0; sleep 60 ;; esac\nexit 1\n')
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("step", ["the hook from before", "python"])
def test_work_whose_hook_was_killed_is_recorded_and_no_agent_starts_on_it(
    trial: Trial, name: str, step: str
) -> None:
    if step == "python":
        oid = do_with_killing_git(trial, name)
    else:
        aside = before_ours(trial, f"kill -{name} 0; sleep 60")
        oid = do(trial)
        aside.unlink()
    assert entries(trial.repo) == [f"{PREFIX}{oid}"]
    assert only_commits(trial) == []
    assert f"commits of yours that are not recorded yet\n  {oid[:10]}\n" in trial.expect(0, "status")
    output = trial.expect(0, "execute", "--no-input")
    assert f"commit {oid[:10]} is recorded as run " in output
    assert (only_commits(trial), started(trial)) == ([[oid]], ["b"])
    assert entries(trial.repo) == []
    assert "not recorded yet" not in trial.expect(0, "status")


def do_with_killing_git(trial: Trial, name: str) -> str:
    """Run the hook as git does, with another git on its PATH than the one that made the commit."""
    hook = trial.repo / ".git" / "hooks" / "post-commit"
    hook.chmod(0o644)
    oid = do(trial)
    hook.chmod(0o755)
    subprocess.run(
        [hook],
        cwd=trial.repo,
        env={**os.environ, **killing_git(trial, name)},
        capture_output=True,
        process_group=0,
        check=False,
    )
    return oid


@pytest.mark.parametrize("first", range(1, min(STRIDE, 16) + 1, 5))
def test_python_killed_at_any_step_leaves_one_run(trial: Trial, first: int) -> None:
    (trial.repo / ".git" / "hooks" / "post-commit").unlink()
    oid = do(trial)
    private, name = trial.repo / ".git" / "blackbird", f"{PREFIX}{oid}"
    step, killed = first, True
    while killed:
        for path in trial.repo.glob(".*/**/runs/*/*.json"):
            path.unlink()
        trial.plan({"a": ()})
        private.mkdir(exist_ok=True)
        (private / name).touch()
        killed = run_killed(lambda: record_or_defer(open_at(trial.repo), name), step)
        assert entries(trial.repo) == ([name] if killed else [])
        trial.expect(0, "execute", "--no-input")
        assert (only_commits(trial), entries(trial.repo), started(trial)) == ([[oid]], [], [])
        step += STRIDE


def test_an_amended_commit_whose_hooks_were_killed_is_one_run(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    aside = before_ours(trial, "kill -KILL 0")
    do(trial, title="One")
    second = do(trial, "--amend", title="Two")
    aside.unlink()
    assert len(entries(trial.repo)) == 2
    trial.expect(0, "decide", "a", "--approve")
    assert only_commits(trial) == [[second]]
    assert entries(trial.repo) == []


def test_what_git_did_by_itself_is_judged_the_same_later(trial: Trial) -> None:
    aside = before_ours(trial, "kill -KILL 0")
    git(trial.repo, "checkout", "-q", "-b", "side")
    do(trial)
    merged = git(trial.repo, "rev-parse", "HEAD")
    for path in (trial.repo / ".git" / "blackbird").glob(f"{PREFIX}*"):
        path.unlink()
    git(trial.repo, "checkout", "-q", "main")
    subprocess.run(
        ["git", "merge", "--no-ff", "-m", "Merge\n\nBlackbird-Task: a", merged],
        cwd=trial.repo,
        capture_output=True,
        check=False,
        process_group=0,
    )
    (trial.repo / ".git" / "BISECT_LOG").touch()
    in_bisect = do(trial, title="Mend")
    (trial.repo / ".git" / "BISECT_LOG").unlink()
    aside.unlink()
    assert f"{PREFIX}{in_bisect}{BISECT}" in entries(trial.repo)
    output = trial.expect(0, "execute", "--no-input")
    assert "no manual run of a: a bisection is under way" in output
    assert (only_commits(trial), started(trial)) == ([[]], ["a", "b"])


def test_a_commit_is_recorded_before_a_status_is_set_by_hand(trial: Trial) -> None:
    aside = before_ours(trial, "kill -KILL 0")
    oid = do(trial)
    aside.unlink()
    trial.expect(0, "set-status", "a", "todo")
    (record,) = trial.records("a")
    assert (fact(record, "commits"), fact(record, "superseded_by")) == ([oid], "set-status:todo")
    trial.expect(0, "execute", "--no-input", "a")
    assert started(trial) == ["a"]


def test_entries_of_an_agents_making_do_nothing(trial: Trial) -> None:
    private = trial.repo / ".git" / "blackbird"
    private.mkdir(exist_ok=True)
    missing, head = "0123456789" * 4, git(trial.repo, "rev-parse", "HEAD")
    names = [missing, head, f"{head}-other", "../../../etc", "-", "HEAD", "0" * 64, head.upper(), ""]
    for name in names:
        (private / f"{PREFIX}{name.replace('/', '%')}").touch()
    (private / f"{PREFIX}{'1' * 40}").symlink_to("/etc/passwd")
    (private / f"{PREFIX}{'2' * 40}").mkdir()
    os.mkfifo(private / f"{PREFIX}{'3' * 40}")
    trial.expect(0, "execute", "--no-input")
    assert (started(trial), len(trial.records("a"))) == (["a", "b"], 1)
    assert Path("/etc/passwd").exists()
    left = {name.removeprefix(PREFIX) for name in entries(trial.repo)}
    assert not left & {missing, head, "0" * 64}


def test_commits_at_once_from_hooks_and_commands_lose_no_entry(trial: Trial) -> None:
    """Hooks write while others record: every one of many tasks is done in the end."""
    tasks = [f"t{number}" for number in range(8)]
    trial.plan(dict.fromkeys(tasks, ()))
    preloaded.preload_hook(trial.repo)

    def clean_up() -> None:
        for _ in range(6):
            record_or_defer(open_at(trial.repo), "")

    thread = threading.Thread(target=clean_up)
    thread.start()
    for task in tasks:
        words = ["git", "commit", "-q", "--allow-empty", "-m", f"Do\n\nBlackbird-Task: {task}"]
        subprocess.run(words, cwd=trial.repo, capture_output=True, check=True)
    thread.join()
    trial.command("false")
    trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == dict.fromkeys(tasks, "done")
    assert [len(trial.records(task)) for task in tasks] == [1] * 8
    assert entries(trial.repo) == []


@pytest.mark.parametrize(
    "message",
    [
        "Do it\n\n" + "more of it\n" * 300 + "\nBlackbird-Task: a\n",
        "Do it\n\n" + "more of it\n" * 12_000 + "\nBlackbird-Task: a\n",
        "Do it\n\nBLACKBIRD-TASK: a\n",
        "Do it\n\nblackbird-TASK: a\n",
    ],
    ids=["long", "very long", "capitals", "mixed"],
)
def test_a_trailer_is_found_wherever_and_however_git_finds_it(trial: Trial, message: str) -> None:
    preloaded.preload_hook(trial.repo)
    write(trial.repo, {"done.txt": "done\n"})
    git(trial.repo, "add", "done.txt")
    git(trial.repo, "commit", "-q", "-F", "-", stdin=message.encode())
    assert [record["run_type"] for record in trial.records("a")] == ["manual"]


def test_what_is_only_shown_below_a_message_names_no_task(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``git commit -v`` shows the change below the message that is edited."""
    write(trial.repo, {"notes.txt": "Blackbird-Task: a\n"})
    git(trial.repo, "add", "notes.txt")
    monkeypatch.setenv("GIT_EDITOR", "sed -i '1s/^/Note it/'")
    git(trial.repo, "commit", "-q", "-v")
    assert entries(trial.repo) == []
    assert trial.records("a") == []
