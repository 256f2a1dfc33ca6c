"""Commits that a person makes while an agent works: the agent's change is what the agent did."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import commit, git, wait_until, write
from tests.trial.program import PATIENCE_SECONDS, Trial

LINES = [f"line {number}\n" for number in range(1, 21)]


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A repository with the hook, which tells whose a commit is."""
    files = {
        "old.txt": "old\n",
        "long.txt": "".join(LINES),
        ".gitignore": ".blackbird\nblackbird.plan.json\n",
    }
    commit(repo, files, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    trial.expect(0, "hooks", "install")
    return trial


@pytest.fixture
def hookless(trial: Trial) -> Trial:
    trial.expect(0, "hooks", "uninstall")
    return trial


def changed(number: int, text: str) -> str:
    """The long file with one line another."""
    return "".join(f"{text}\n" if place == number else line for place, line in enumerate(LINES, start=1))


def work(trial: Trial, before: str, meanwhile: Callable[[], object], after: str = "") -> str:
    """Let an agent do something, wait for what a person does meanwhile, and do more; gives what is said."""
    go = trial.repo.parent / "go"
    os.mkfifo(go)
    trial.command(f"{before or ':'}; touch ../ready; read -r _ <../go; {after or ':'}")
    process = trial.start("execute", "--no-input")
    wait_until((trial.repo.parent / "ready").exists)
    meanwhile()
    go.write_text("go\n")
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 3, said
    return said


def files_of(trial: Trial) -> list[str]:
    """The paths of the change that is to be decided on, as they are recorded."""
    return [str(path) for path in trial.records("a")[-1]["review_summary"].get("files", ())]


def approve(trial: Trial) -> list[str]:
    """Approve, and give the paths that its commit has."""
    before = git(trial.repo, "rev-parse", "HEAD")
    trial.expect(0, "decide", "a", "--approve")
    assert git(trial.repo, "rev-parse", "HEAD~1") == before
    return git(trial.repo, "show", "--format=", "--name-only", "HEAD").splitlines()


@pytest.mark.exhaustive
def test_a_commit_of_another_file_is_no_part_of_the_change(trial: Trial) -> None:
    mine: list[str] = []
    said = work(
        trial,
        "echo agent >new.txt",
        lambda: mine.append(commit(trial.repo, {"mine.txt": "mine\n", "old.txt": "mine\n"}, "of mine")),
    )
    assert files_of(trial) == ["new.txt"]
    assert f"  {mine[0][:10]} commit: of mine\n" in trial.expect(0, "runs", "a", trial.records("a")[0]["id"])
    assert "mine.txt" not in said
    assert approve(trial) == ["new.txt"]


def test_reject_names_no_file_of_mine(trial: Trial) -> None:
    work(trial, "echo agent >new.txt", lambda: commit(trial.repo, {"mine.txt": "mine\n"}, "of mine"))
    assert "mine.txt" not in trial.expect(0, "decide", "a", "--reject", "--undo")
    assert git(trial.repo, "status", "--porcelain") == ""


def test_what_the_agent_did_after_my_commit_to_my_file_is_its_change(trial: Trial) -> None:
    work(trial, "", lambda: commit(trial.repo, {"mine.txt": "mine\n"}, "of mine"), "echo agent >>mine.txt")
    diff = trial.expect(0, "runs", "a", trial.records("a")[0]["id"], "--diff")
    assert ("+agent" in diff, "+mine" in diff) == (True, False)
    trial.expect(0, "decide", "a", "--reject", "--undo")
    assert (trial.repo / "mine.txt").read_text() == "mine\n"


@pytest.mark.exhaustive
def test_both_committed_the_same_file_elsewhere_in_it(trial: Trial) -> None:
    """The agent's commit first, mine over it: the change is the agent's lines alone."""
    write(trial.repo.parent, {"agent.txt": changed(2, "agent")})
    both = changed(2, "agent").replace("line 19\n", "mine\n")
    work(
        trial,
        "cp ../agent.txt long.txt; git commit -q -a -m agent",
        lambda: commit(trial.repo, {"long.txt": both}, "of mine"),
    )
    diff = trial.expect(0, "runs", "a", trial.records("a")[0]["id"], "--diff")
    lines = [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in {"+++", "---"}]
    assert lines == ["-line 2", "+agent"]
    assert "also changed by it: long.txt" in trial.expect(0, "runs", "a", trial.records("a")[0]["id"])


def test_the_agents_own_commits_stay_in_its_change(trial: Trial) -> None:
    work(
        trial,
        "echo one >one.txt; git add .; git commit -q -m one",
        lambda: commit(trial.repo, {"mine.txt": "mine\n"}, "of mine"),
        "echo two >two.txt; git add .; git commit -q -m two; git commit -q --amend -m 'two again'",
    )
    assert files_of(trial) == ["one.txt", "two.txt"]
    (only,) = trial.records("a")[0]["review_summary"]["outside"]
    assert only["text"] == "commit: of mine"


def test_an_approval_commits_what_the_agent_left_uncommitted(trial: Trial) -> None:
    work(trial, "echo one >new.txt; git add new.txt; git commit -q -m one; echo two >>new.txt", lambda: None)
    assert approve(trial) == ["new.txt"]
    assert git(trial.repo, "diff", "-U0", "HEAD~1").splitlines()[-1] == "+two"
    assert git(trial.repo, "status", "--porcelain") == ""


@pytest.mark.exhaustive
def test_edits_of_mine_from_before_are_not_committed_after_the_agents_commit(trial: Trial) -> None:
    """The agent commits its own line, and not the person's; the rest of the file is not its alone."""
    write(trial.repo, {"long.txt": changed(19, "mine")})
    write(trial.repo.parent, {"agent.txt": changed(2, "agent")})
    blob = git(trial.repo, "hash-object", "-w", "../agent.txt")
    before = "git commit -q -m agent; sed -i 's/line 5/agent too/' long.txt"
    work(
        trial,
        f"sed -i 's/line 2$/agent/' long.txt; git update-index --cacheinfo 100644,{blob},long.txt; {before}",
        lambda: None,
    )
    output = trial.expect(1, "decide", "a", "--approve")
    assert "- long.txt: HEAD has changed this file since the change began\n" in output


def test_without_the_hook_commits_count_as_the_agents(hookless: Trial) -> None:
    work(
        hookless,
        "echo one >one.txt; git add one.txt; git commit -q -m one",
        lambda: commit(hookless.repo, {"mine.txt": "mine\n"}, "of mine"),
    )
    assert files_of(hookless) == ["mine.txt", "one.txt"]
    said = hookless.expect(0, "runs", "a", hookless.records("a")[0]["id"])
    assert "git blackbird hooks install" in said
    assert [line for line in said.splitlines() if "commit: " in line] == [
        f"  {oid} commit: {subject}; also changed by it: {path}"
        for oid, subject, path in (
            (git(hookless.repo, "rev-parse", "HEAD~1")[:10], "one", "one.txt"),
            (git(hookless.repo, "rev-parse", "HEAD")[:10], "of mine", "mine.txt"),
        )
    ]


@pytest.mark.exhaustive
def test_a_pull_is_named_and_a_commit_that_was_left_again_is_no_part(trial: Trial) -> None:
    other = trial.repo.parent / "other"
    git(trial.repo, "clone", "-q", ".", str(other))
    git(trial.repo, "remote", "add", "origin", str(other))
    commit(other, {"pulled.txt": "pulled\n"}, "pulled")

    def pull_and_switch() -> None:
        git(trial.repo, "pull", "-q", "--ff-only", "origin", "main")
        git(trial.repo, "switch", "-q", "-c", "side")
        commit(trial.repo, {"side.txt": "side\n"}, "side")
        git(trial.repo, "switch", "-q", "main")

    work(trial, "echo agent >new.txt", pull_and_switch)
    assert files_of(trial) == ["new.txt", "pulled.txt"]
    outside = trial.records("a")[0]["review_summary"]["outside"]
    assert [(one["text"], one.get("in_change", False)) for one in outside] == [
        ("pull -q --ff-only origin main: Fast-forward", True),
        ("checkout: moving from main to side", True),
        ("commit: side", False),
        ("checkout: moving from side to main", True),
    ]


@pytest.mark.exhaustive
def test_what_i_amend_of_mine_stays_mine(trial: Trial) -> None:
    def amend() -> None:
        commit(trial.repo, {"mine.txt": "mine\n"}, "of mine")
        write(trial.repo, {"too.txt": "too\n"})
        git(trial.repo, "add", "too.txt")
        git(trial.repo, "commit", "-q", "--amend", "-m", "of mine, better")

    work(trial, "echo agent >new.txt", amend)
    assert files_of(trial) == ["new.txt"]


def test_edits_of_mine_from_before_stay_mine_where_i_commit_a_part(trial: Trial) -> None:
    write(trial.repo, {"long.txt": changed(2, "mine").replace("line 19\n", "mine too\n")})

    def commit_a_part() -> None:
        write(trial.repo.parent, {"part.txt": changed(2, "mine")})
        blob = git(trial.repo, "hash-object", "-w", "../part.txt")
        git(trial.repo, "update-index", "--cacheinfo", f"100644,{blob},long.txt")
        git(trial.repo, "commit", "-q", "-m", "a part")

    work(trial, "echo agent >new.txt", commit_a_part)
    assert files_of(trial) == ["new.txt"]


def test_commits_taken_back_meanwhile(trial: Trial) -> None:
    commit(trial.repo, {"old.txt": "newer\n"}, "second")

    def take_back() -> None:
        git(trial.repo, "reset", "-q", "--soft", "HEAD~1")
        git(trial.repo, "commit", "-q", "-m", "second, better said")

    work(trial, "echo agent >new.txt", take_back)
    assert files_of(trial) == ["new.txt"]


def test_a_run_that_was_cut_off_has_only_its_own_change(trial: Trial) -> None:
    trial.command("echo agent >new.txt; git add new.txt; git commit -q -m agent; touch ../ready; sleep 600")
    process = trial.start("execute", "--no-input")
    wait_until((trial.repo.parent / "ready").exists)
    commit(trial.repo, {"mine.txt": "mine\n"}, "of mine")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    trial.command("true")
    trial.run("execute", "--no-input")
    assert [str(path) for path in trial.records("a")[0]["review_summary"]["files"]] == ["new.txt"]


def test_a_later_run_of_the_task_does_not_bring_my_commits_back(trial: Trial) -> None:
    work(trial, "echo agent >long.txt.new; cp long.txt.new new.txt; rm long.txt.new", lambda: None)
    write(trial.repo, {"new.txt": "agent\nmine\n"})
    git(trial.repo, "add", "new.txt")
    git(trial.repo, "commit", "-q", "-m", "took it over")
    trial.command("echo more >more.txt")
    trial.expect(3, "restart", "a", "--no-input")
    assert files_of(trial) == ["more.txt"]


def test_a_refusal_names_a_way_that_helps(trial: Trial) -> None:
    work(trial, "echo agent >new.txt; echo agent >other.txt", lambda: None)
    commit(trial.repo, {"new.txt": "agent\nmine\n"}, "after the run")
    output = trial.expect(1, "decide", "a", "--approve")
    assert "- new.txt: HEAD has changed this file since the change began\n" in output
    assert "git commit -p" not in output
    output = trial.expect(0, "decide", "a", "--reject", "--undo")
    assert "  left as it is: new.txt: later edits overlap with it\n" in output
    assert git(trial.repo, "status", "--porcelain") == ""


def test_a_commit_of_mine_that_has_nothing_of_the_change_is_kept_by_the_way_back(trial: Trial) -> None:
    """The agent's edit is in the worktree alone: HEAD's file is what the way back restores."""
    mine = changed(1, "mine")
    theirs = mine.replace("line 20", "agent")
    work(
        trial,
        "",
        lambda: commit(trial.repo, {"long.txt": mine}, "of mine"),
        "sed -i 's/line 20/agent/' long.txt",
    )
    assert (trial.repo / "long.txt").read_text() == theirs
    trial.expect(0, "decide", "a", "--reject", "--undo")
    assert (trial.repo / "long.txt").read_text() == mine
    assert git(trial.repo, "status", "--porcelain") == ""


def test_nothing_is_left_in_the_git_directory(trial: Trial) -> None:
    work(trial, "git status >/dev/null", lambda: None)
    left = sorted(path.name for path in (trial.repo / ".git" / "blackbird").iterdir())
    kept = [
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
    assert left == kept
