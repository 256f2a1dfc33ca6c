"""Every message of `hooks`, and the offer of `init`, as files to read."""

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from git_blackbird.git.hooks.script import HookCommand, Location, render_hook
from tests.cli.golden_harness import Program, program
from tests.cli.terminal import CTRL_C, ENTER, Terminal
from tests.support import git, write

__all__ = ["program"]


@pytest.fixture(autouse=True)
def no_samples(repo: Path) -> None:
    """Git's own templates fill the folder."""
    shutil.rmtree(repo / ".git" / "hooks")


def write_file(path: Path, text: str, mode: int = 0o755) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def test_hooks(program: Program, repo: Path) -> None:
    hook = repo / ".git" / "hooks" / "post-commit"
    program.remark("nothing is there")
    program.run("hooks")
    program.run("hooks", "install")
    program.run("hooks", "install")
    program.run("hooks", "status")
    program.run("hooks", "status", "--json")
    program.run("hooks", "uninstall")
    program.run("hooks", "uninstall")
    program.remark("another hook is there")
    write_file(hook, "#!/bin/sh\necho other\n")
    program.run("hooks")
    program.run("hooks", "install")
    program.run("hooks")
    program.run("hooks", "uninstall", "--json")
    program.remark("a hook that does not run is there")
    hook.chmod(0o644)
    program.run("hooks", "install")
    program.remark("someone put a hook over ours")
    hook.unlink()
    write_file(hook, "#!/bin/sh\necho third\n")
    program.run("hooks")
    program.run("hooks", "--json")
    program.run("hooks", "install")
    program.run("hooks", "uninstall")
    program.remark("someone edited ours")
    hook.unlink()
    program.run("hooks", "install")
    with hook.open("a") as file:
        file.write("echo mine\n")
    program.run("hooks")
    program.run("hooks", "--json")
    program.run("hooks", "uninstall")
    program.check("hooks")


@pytest.mark.exhaustive
def test_hooks_elsewhere(program: Program, repo: Path) -> None:
    hook = repo / ".git" / "hooks" / "post-commit"
    program.remark("installed by a program that is gone")
    write_file(hook, render_hook(HookCommand(Path("/gone/python"), Path("/gone/hook.py")), Location()))
    program.run("hooks")
    program.run("hooks", "install")
    program.run("hooks", "uninstall")
    program.remark("a folder in the worktree")
    git(repo, "config", "core.hooksPath", "tools/hooks")
    program.run("hooks", "install")
    program.run("hooks", "uninstall")
    program.remark("a folder of all repositories")
    git(repo, "config", "--unset", "core.hooksPath")
    git(repo, "config", "--global", "core.hooksPath", "~/hooks")
    program.run("hooks", "install")
    program.run("hooks", "--json")
    program.remark("hooks are turned off")
    git(repo, "config", "core.hooksPath", "/dev/null")
    program.run("hooks")
    program.run("hooks", "status", "--json")
    program.run("hooks", "install")
    program.remark("a folder where the hook should be")
    git(repo, "config", "core.hooksPath", "here")
    (repo / "here" / "post-commit").mkdir(parents=True)
    program.run("hooks")
    program.run("hooks", "status", "--json")
    program.run("hooks", "install")
    program.remark("another installation is at work")
    (repo / "here" / "post-commit").rmdir()
    with (repo / "here" / "post-commit.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        program.run("hooks", "status", "--json")
        program.run("hooks", "install")
    program.check("hooks_elsewhere")


def test_init_with_the_hook(program: Program, repo: Path) -> None:
    program.run("init", "--hooks")
    program.run("init", "--hooks", "--json")
    program.run("init", "--no-hooks")
    program.run("init", "--json")
    program.remark("something is in the way")
    hook = repo / ".git" / "hooks" / "post-commit"
    hook.unlink()
    hook.mkdir()
    program.run("init", "--hooks")
    program.check("init_hooks")


def installed(repo: Path) -> bool:
    return (repo / ".git" / "hooks" / "post-commit").exists()


@pytest.mark.parametrize(("keys", "is_installed"), [(ENTER, True), (f"y{ENTER}", True), (f"n{ENTER}", False)])
def test_init_offers_the_hook_on_a_terminal(repo: Path, keys: str, *, is_installed: bool) -> None:
    with Terminal(repo, "init", "--statuses", "all") as terminal:
        terminal.wait_for("Install it? [Y/n]:")
        terminal.type(keys)
        assert terminal.end() == 0
    assert installed(repo) == is_installed
    assert (repo / "blackbird.plan.json").exists()


def test_an_offer_that_is_left_open_leaves_the_plan(repo: Path) -> None:
    with Terminal(repo, "init", "--statuses", "all") as terminal:
        terminal.wait_for("Install it? [Y/n]:")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert not installed(repo)
    assert (repo / "blackbird.plan.json").exists()


@pytest.mark.parametrize("args", [("--no-hooks",), ("--no-input",), ("--json",)])
def test_init_asks_nothing_when_told_so(repo: Path, args: tuple[str, ...]) -> None:
    with Terminal(repo, "init", "--statuses", "all", *args) as terminal:
        assert terminal.end() == 0
        assert "Install it?" not in terminal.plain
    assert not installed(repo)


def test_init_does_not_offer_what_is_there(repo: Path) -> None:
    with Terminal(repo, "init", "--statuses", "all", "--hooks") as terminal:
        assert terminal.end() == 0
    with Terminal(repo, "init", "--statuses", "all") as terminal:
        assert terminal.end() == 0
        assert "Install it?" not in terminal.plain


def test_init_does_not_offer_what_cannot_be(repo: Path) -> None:
    git(repo, "config", "core.hooksPath", "/dev/null")
    with Terminal(repo, "init", "--statuses", "all") as terminal:
        assert terminal.end() == 0
        assert "Install it?" not in terminal.plain


def test_the_hook_of_the_program_works_at_once(repo: Path) -> None:
    with Terminal(repo, "init", "--statuses", "all", "--hooks") as terminal:
        assert terminal.end() == 0
    write(repo, {"a": "a"})
    git(repo, "add", "a")
    command = ["git", "commit", "-q", "-m", "A", "-m", "Blackbird-Task: nope"]
    completed = subprocess.run(command, cwd=repo, capture_output=True, text=True, check=True)
    assert completed.stderr == 'git-blackbird: no manual run of nope: unknown id "nope"\n'
