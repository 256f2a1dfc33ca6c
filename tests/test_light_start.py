"""What must start at once loads none of the heavy libraries: asked of the real program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.model.plan.status import Status
from tests.cli.golden_harness import save
from tests.cli.plans import run, task
from tests.support import git

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {"asyncio", "pydantic", "pydantic_core", "pygit2", "questionary", "prompt_toolkit", "rich", "textual"}
PROGRAM = ("-m", "git_blackbird")
HOOK = (str(ROOT / "git_blackbird/hook.py"), ".git", "")
COMPLETED = [
    "git-blackbird exe",
    "git-blackbird --",
    "git-blackbird execute ",
    "git-blackbird execute --",
    "git-blackbird execute --agent ",
    "git-blackbird resume ",
    "git-blackbird decide a --run ",
    "git-blackbird review run ",
    "git-blackbird runs a ",
    "git-blackbird set-status a ",
    "git-blackbird deps add a ",
    "git-blackbird config ",
    "git-blackbird config execution.commit ",
    "git-blackbird show --commit ",
]


def loaded(repo: Path, *args: str, **variables: str) -> tuple[str, set[str]]:
    """Run Python and return what it printed, and the modules and libraries that it loaded."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *args],
        cwd=repo,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "git_blackbird" in modules
    return done.stdout, modules | {name.partition(".")[0] for name in modules}


@pytest.fixture
def planned(repo: Path) -> Path:
    save(repo, [task("a"), task("b", status=Status.WAITING_USER)], [run("a"), run("b")])
    git(repo, "commit", "-q", "--allow-empty", "-m", "first")
    return repo


@pytest.mark.parametrize("option", ["--help", "-h", "--version", "execute --help", "decide --help"])
def test_help_is_light(planned: Path, option: str) -> None:
    said, libraries = loaded(planned, *PROGRAM, *option.split())
    assert said
    assert libraries & {*HEAVY, "pathlib", "subprocess"} == set()


@pytest.mark.parametrize("command", ["status", "list"])
def test_what_only_reads_loads_nothing_that_works_on_files(planned: Path, command: str) -> None:
    _, modules = loaded(planned, *PROGRAM, command)
    assert "git_blackbird.controller.queries" in modules
    working = (
        "controller.change.work",
        "controller.place",
        "controller.launch",
        "git.worktree",
        "git.change",
    )
    assert not {f"git_blackbird.{package}" for package in working} & modules
    assert modules & (HEAVY - {"pydantic", "pydantic_core"}) == set()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("line", COMPLETED)
def test_completion_is_light(planned: Path, line: str) -> None:
    variables = {
        "_GIT_BLACKBIRD_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    said, libraries = loaded(planned, *PROGRAM, **variables)
    assert said.startswith("plain,")
    assert libraries & HEAVY == set()


def test_the_process_that_makes_commits_is_light(planned: Path) -> None:
    _, libraries = loaded(planned, "-c", "import git_blackbird.git.commit.create")
    assert libraries & HEAVY == set()


def test_the_screen_starts_without_what_shows_diffs(planned: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, git_blackbird.tui.app; print(*sys.modules)"],
        cwd=planned,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    modules = done.stdout.split()
    assert "git_blackbird.tui.screens.main" in modules
    assert not {"pygit2", "git_blackbird.tui.widgets.diff.pane"} & {*modules}


def test_the_hook_is_light(planned: Path) -> None:
    said, libraries = loaded(planned, *HOOK)
    assert said == ""
    assert libraries & HEAVY == set()
