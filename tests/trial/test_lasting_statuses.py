"""A plan in git into which only the statuses that last are written."""

from pathlib import Path

import pytest

from tests.cli.terminal import ENTER, Terminal
from tests.support import commit, git
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {".gitignore": ".blackbird\n"})
    trial = Trial(repo)
    trial.expect(0, "init", "--no-hooks", "--statuses", "lasting")
    trial.configure({"agent": "demo"})
    for task_id, prompt in {
        "works": "write a.txt x",
        "fails": "fail 3",
        "asks": "ask x Which? | 1 | 2\nanswered x c.txt",
    }.items():
        trial.expect(0, "add", "--title", task_id, "--prompt", prompt)
    git(repo, "add", "-f", "blackbird.plan.json")
    commit(repo, {})
    return trial


def plan_is_clean(trial: Trial) -> bool:
    return git(trial.repo, "status", "--porcelain", "blackbird.plan.json") == ""


@pytest.mark.exhaustive
def test_git_sees_the_plan_change_only_when_a_task_is_over(trial: Trial) -> None:
    trial.expect(3, "execute", "works", "--no-input")
    trial.expect(3, "execute", "fails", "--no-input")
    trial.expect(0, "decide", "fails", "--reject")
    trial.expect(4, "execute", "asks", "--no-input")
    assert plan_is_clean(trial)
    assert "plan and records" not in trial.expect(0, "status")
    listed = [line.split()[:2] for line in trial.expect(0, "list").splitlines()]
    assert listed == [["works", "WAITING_USER"], ["fails", "FAILED"], ["asks", "WAITING_USER"]]
    # What nobody has written is still there in another state of the branch.
    git(trial.repo, "checkout", "-q", "-b", "other")
    assert [line.split()[:2] for line in trial.expect(0, "list").splitlines()] == listed
    trial.expect(0, "decide", "works", "--approve")
    assert trial.statuses() == {"works": "done", "fails": "todo", "asks": "todo"}
    git(trial.repo, "checkout", "-q", "--", "blackbird.plan.json")
    assert trial.expect(0, "list", "--status", "done").split()[:2] == ["works", "DONE"]
    assert "works: the plan said todo; its runs say done" in trial.expect(0, "execute", "--no-input")
    assert trial.statuses() == {"works": "done", "fails": "todo", "asks": "todo"}


def test_a_status_set_by_hand_is_written_and_undone_work_is_todo_again(trial: Trial) -> None:
    trial.expect(3, "execute", "works", "--no-input")
    trial.expect(0, "decide", "works", "--approve")
    trial.expect(0, "set-status", "asks", "blocked")
    trial.expect(0, "set-status", "fails", "failed")
    assert trial.statuses() == {"works": "done", "fails": "failed", "asks": "blocked"}
    trial.expect(0, "undo", "works")
    assert trial.statuses() == {"works": "todo", "fails": "failed", "asks": "blocked"}


def test_what_init_makes_without_a_terminal_is_not_in_the_way_of_git(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a.txt": "a\n"})
    trial = Trial(repo)
    said = trial.expect(0, "init")
    config = f"{repo}/.blackbird/config.json"
    assert f"writes only statuses that last into the plan: {config} (plan.statuses)\n" in said
    assert "the post-commit hook is not installed: git blackbird hooks install\n" in said
    trial.expect(0, "hooks", "install")
    assert "hook" not in trial.expect(0, "init")
    trial.expect(0, "add", "asks", "--prompt", "ask x Which? | 1 | 2")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "plan")
    git(tmp_path, "clone", "-q", "--bare", str(repo), "up.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "up.git"))
    git(repo, "fetch", "-q", "origin")
    git(repo, "branch", "-q", "-u", "origin/main")
    trial.expect(4, "execute", "--agent", "demo", "--no-input")
    git(repo, "pull", "-q", "--rebase")


@pytest.mark.parametrize("args", [("--statuses", "all"), ()], ids=["asked for", "set before"])
def test_init_writes_what_it_was_told_to(repo: Path, args: tuple[str, ...]) -> None:
    trial = Trial(repo)
    trial.configure({} if args else {"plan.statuses": "all"})
    trial.expect(0, "init", *args)
    assert trial.expect(0, "config", "plan.statuses").startswith("plan.statuses  all  ")
    assert "lasting" not in (repo / ".blackbird/config.json").read_text()


def test_init_offers_it_on_a_terminal(repo: Path) -> None:
    with Terminal(repo, "init", "--no-hooks") as terminal:
        terminal.wait_for("Write only what lasts? [Y/n]")
        terminal.type(ENTER)
        assert terminal.end() == 0
    assert '"statuses": "lasting"' in (repo / ".blackbird/config.json").read_text()
