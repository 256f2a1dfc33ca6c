"""It fits into git: help, -h, -C, -p, pager and colour settings, aliases, a repository that is elsewhere."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pexpect
import pytest

from tests.cli.golden_harness import save
from tests.cli.plans import task
from tests.cli.shells import install_cold_program, install_program
from tests.support import commit, git

LIST = "a  READY  Task a\n"
COLORED = "a  \x1b[36mREADY\x1b[0m  Task a\n"
QUOTING_PAGER = "sed s/^/P:/"


@pytest.fixture(autouse=True)
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = install_program(tmp_path / "installed")
    monkeypatch.setenv("PATH", f"{installed / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_PAGER", QUOTING_PAGER)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR")


@pytest.fixture
def at_keyboard(tmp_path: Path) -> None:
    """Let the terminal control the program, as what it asks and is told by Ctrl+C comes from there."""
    install_cold_program(tmp_path / "installed")


@pytest.fixture
def planned(repo: Path) -> Path:
    save(repo, [task("a")])
    (repo / "sub" / "deep").mkdir(parents=True)
    return repo


def run(cwd: Path, *args: str, **variables: str) -> str:
    """What the program says into a pipe when git is called like this."""
    completed = subprocess.run(
        ["git", *args],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (completed.returncode, completed.stderr) == (0, ""), (args, completed)
    return completed.stdout


def show(cwd: Path, *args: str, variables: Mapping[str, str] | None = None) -> str:
    """What is seen on a terminal when git is called like this."""
    environ = {**os.environ, **(variables or {})}
    child = pexpect.spawn("git", list(args), cwd=str(cwd), env=environ, encoding="utf-8", timeout=60)
    seen: str = child.read()
    child.wait()
    child.close()
    assert child.exitstatus == 0, seen
    return seen.replace("\r\n", "\n")


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
@pytest.mark.parametrize("args", [("help", "blackbird"), ("blackbird", "--help")])
def test_git_shows_the_manual(planned: Path, args: tuple[str, ...]) -> None:
    assert run(planned, *args, MANPAGER="cat").startswith("GIT-BLACKBIRD(1)")


def test_h_is_answered_by_the_program(planned: Path) -> None:
    assert run(planned, "blackbird", "-h").startswith("Usage: git blackbird [OPTIONS] [COMMAND] [ARGS]...\n")
    assert run(planned, "blackbird", "show", "-h").startswith("Usage: git blackbird show [OPTIONS] [TASK]\n")


def test_git_counts_it_among_its_commands(planned: Path) -> None:
    assert "blackbird" in run(planned, "--list-cmds=others").split()


@pytest.mark.parametrize("place", [".", "sub", "sub/deep"])
def test_another_folder_may_be_named(planned: Path, place: str) -> None:
    assert run(planned.parent, "-C", str(planned / place), "blackbird", "list") == LIST
    assert run(planned.parent, "-C", planned.name, "-C", place, "blackbird", "list") == LIST


def test_git_pages_when_it_is_told_to(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert show(planned, "-p", "blackbird", "list") == f"P:{COLORED}"
    assert run(planned, "-p", "blackbird", "list") == LIST
    git(planned, "config", "pager.blackbird", "true")
    assert show(planned, "blackbird", "list") == f"P:{COLORED}"
    assert show(planned, "--no-pager", "blackbird", "list") == COLORED
    monkeypatch.delenv("GIT_PAGER")
    git(planned, "config", "pager.blackbird", "sed s/^/Q:/")
    assert show(planned, "blackbird", "list") == f"Q:{COLORED}"


@pytest.mark.usefixtures("at_keyboard")
def test_nobody_is_asked_behind_a_pager(planned: Path) -> None:
    git(planned, "config", "blackbird.agent", "demo")
    git(planned, "config", "blackbird.execution.stopAfterEachTask", "true")
    child = pexpect.spawn(
        "git", ["-p", "blackbird", "execute", "--no-input"], cwd=str(planned), encoding="utf-8", timeout=60
    )
    seen = child.read()
    child.wait()
    child.close()
    assert "P:  git blackbird decide a --approve    # approves it; the task is done" in seen
    assert child.exitstatus == 3


@pytest.mark.exhaustive
@pytest.mark.usefixtures("at_keyboard")
def test_who_types_into_a_pager_is_not_asked(planned: Path) -> None:
    git(planned, "config", "blackbird.agent", "demo")
    git(planned, "config", "pager.blackbird", "true")
    args = ["blackbird", "execute", "--stop-after-each"]
    child = pexpect.spawn("git", args, cwd=str(planned), encoding="utf-8", timeout=60)
    seen = child.read()
    child.wait()
    child.close()
    assert "P:warning: git's pager reads the keyboard, so no questions are asked\r\n" in seen
    assert "P:hint: `git --no-pager blackbird execute` asks\r\n" in seen
    assert "P:  git blackbird decide a --approve    # approves it; the task is done" in seen
    assert "Select option" not in seen
    assert child.exitstatus == 3


@pytest.mark.exhaustive
@pytest.mark.usefixtures("at_keyboard")
def test_answers_from_a_pipe_are_taken_behind_a_pager(planned: Path) -> None:
    git(planned, "config", "blackbird.agent", "demo")
    command = "echo 1 | git -p blackbird execute --stop-after-each"
    child = pexpect.spawn("sh", ["-c", command], cwd=str(planned), encoding="utf-8", timeout=60)
    seen = child.read()
    child.wait()
    child.close()
    assert "P:Select option: 1" in seen
    assert "takes the keys" not in seen
    assert child.exitstatus == 0


@pytest.mark.usefixtures("at_keyboard")
def test_ctrl_c_that_git_passes_on_is_one_ctrl_c(planned: Path) -> None:
    editor = "sed -i 's/^## Task a$/## /'"
    environ = {**os.environ, "GIT_EDITOR": editor}
    args = ["blackbird", "edit", "a"]
    child = pexpect.spawn("git", args, cwd=str(planned), env=environ, encoding="utf-8", timeout=60)
    child.expect_exact("edit it again? [Y/n]")
    child.sendintr()
    seen = child.read()
    child.wait()
    child.close()
    assert "error: interrupted\r\nhint: your text is kept in " in seen
    assert "Traceback" not in seen
    assert child.signalstatus == 2


@pytest.mark.exhaustive
def test_colours_are_as_git_is_configured(planned: Path) -> None:
    assert show(planned, "blackbird", "list") == COLORED
    assert run(planned, "blackbird", "list") == LIST
    assert show(planned, "-c", "color.ui=never", "blackbird", "list") == LIST
    assert show(planned, "-c", "color.pager=false", "-p", "blackbird", "list") == f"P:{LIST}"
    git(planned, "config", "color.blackbird", "always")
    assert run(planned, "blackbird", "list") == COLORED
    assert run(planned, "blackbird", "list", NO_COLOR="1") == LIST
    git(planned, "config", "color.blackbird", "never")
    assert show(planned, "-c", "color.ui=always", "blackbird", "list") == LIST


def test_aliases_lead_to_it(planned: Path) -> None:
    git(planned, "config", "alias.bb", "blackbird")
    git(planned, "config", "alias.bl", "blackbird list --all")
    git(planned, "config", "alias.bs", "!git blackbird")
    for place in (planned, planned / "sub" / "deep"):
        assert run(place, "bb", "list") == LIST
        assert run(place, "bl") == LIST
        assert run(place, "bs", "list") == LIST


def test_a_repository_may_be_named(planned: Path) -> None:
    sub, outside, folder = planned / "sub", planned.parent, str(planned / ".git")
    top = str(planned)
    assert run(sub, "blackbird", "list", GIT_DIR=folder, GIT_WORK_TREE=top) == LIST
    assert run(sub, "blackbird", "list", GIT_DIR="../.git", GIT_WORK_TREE="..") == LIST
    assert run(sub, "--git-dir=../.git", "--work-tree=..", "blackbird", "list") == LIST
    assert run(planned, "blackbird", "list", GIT_DIR=".git") == LIST
    assert run(outside, f"--git-dir={folder}", f"--work-tree={top}", "blackbird", "list") == LIST


@pytest.mark.exhaustive
def test_a_bare_repository_may_have_a_worktree_elsewhere(tmp_path: Path) -> None:
    """As those have it who keep their dot files in git: everything works, and nothing is put elsewhere."""
    bare, home = tmp_path / "bare.git", tmp_path / "dots"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    (home / "sub").mkdir(parents=True)
    both = {"GIT_DIR": str(bare), "GIT_WORK_TREE": str(home)}
    relative = {"GIT_DIR": "../../bare.git", "GIT_WORK_TREE": ".."}
    run(home, "commit", "-q", "--allow-empty", "-m", "first", **both)
    run(home, "blackbird", "init", **both)
    run(home / "sub", "blackbird", "add", "--id", "a", "--title", "Task a", "--prompt", "x", **relative)
    for key, value in {
        "agent": "command",
        "command.run": "echo made >made",
        "execution.commit": "approved",
    }.items():
        run(home, "blackbird", "config", key, value, **both)
    completed = subprocess.run(
        ["git", "blackbird", "execute", "--stop-after-each", "--no-input"],
        cwd=home / "sub",
        env={**os.environ, **relative},
        capture_output=True,
        check=False,
    )
    assert completed.returncode == 3, completed
    assert "+made" in run(home, "blackbird", "runs", "a", "--diff", **both)
    run(home / "sub", "blackbird", "decide", "a", "--approve", **relative)
    assert run(home, "show", "--format=%s", "--name-only", **both) == "Task a\n\nmade\n"
    assert run(home, "blackbird", "hooks", "install", **both)
    assert (bare / "hooks" / "post-commit").exists()
    assert sorted(path.name for path in home.iterdir()) == [
        ".blackbird",
        "blackbird.plan.json",
        "made",
        "sub",
    ]
    assert list((home / "sub").iterdir()) == []


def test_a_bare_repository_without_one_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    completed = subprocess.run(
        ["git", "blackbird", "status"], cwd=tmp_path / "bare.git", capture_output=True, text=True, check=False
    )
    assert completed.returncode == 128
    assert completed.stderr.startswith("fatal: this is a bare repository: there is no worktree")


def test_a_linked_worktree_has_a_state_of_its_own(repo: Path) -> None:
    commit(repo, {"file": "text\n"})
    git(repo, "worktree", "add", "-q", "../linked")
    linked = repo.parent / "linked"
    run(linked, "blackbird", "init")
    run(linked, "blackbird", "add", "--id", "a", "--title", "Task a", "--prompt", "x")
    assert run(repo.parent, "-C", "linked", "blackbird", "list") == LIST
    assert not (repo / "blackbird.plan.json").exists()
