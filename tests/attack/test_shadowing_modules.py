"""A folder full of modules and programs that are called as others: none of ours loads or starts one."""

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import git_blackbird
from git_blackbird.agents.notify import start_notification
from git_blackbird.agents.process.reaper import Reaper
from tests.support import commit, git, wait_until
from tests.trial.program import Trial

PACKAGE = Path(git_blackbird.__file__).parent
NAMES = sorted(sys.stdlib_module_names | {"git_blackbird", "pydantic", "click", "pygit2"})


@pytest.fixture
def shadows(repo: Path) -> Path:
    """A worktree with such modules, each of which says that it was loaded."""
    for name in NAMES:
        (repo / f"{name}.py").write_text(f"open({str(repo.parent / 'loaded')!r}, 'a').write({name!r})\n")
    commit(repo, {"x": "1\n"})
    return repo


@pytest.fixture
def inside(shadows: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shadows)
    # What is on the path by the user's own wish stays; the tests' own is no folder of the worktree.
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE.parent))
    return shadows


def loaded(repo: Path) -> str:
    place = repo.parent / "loaded"
    return place.read_text() if place.exists() else ""


def test_what_kills_agents_loads_none(inside: Path) -> None:
    reaper = Reaper()
    with reaper.guarding(2**22, "nobody", "0199f3a0c0000001"):
        pass
    reaper.close()
    assert loaded(inside) == ""


@pytest.mark.exhaustive
def test_a_demo_agent_and_the_commit_of_its_approval_load_none(shadows: Path) -> None:
    trial = Trial(shadows)
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.commit": "approved"})
    trial.command("echo 2 >x")
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    trial.configure({"agent": "demo"})
    trial.expect(3, "execute", "b", "--no-input")
    assert len(git(shadows, "log", "--oneline").splitlines()) == 2
    assert loaded(shadows) == ""


def test_what_starts_the_users_program_loads_none(inside: Path) -> None:
    start_notification("touch told", cwd=inside, environ=os.environ, seconds=60.0).wait(60.0)
    wait_until((inside / "told").exists)
    assert loaded(inside) == ""


def test_a_worker_of_this_machine_loads_none(inside: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "git_blackbird", "--version"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert loaded(inside) == ""


def test_each_python_that_is_started_is_told_so() -> None:
    """Wherever our own Python is named in a command line, what comes next keeps the folder off its path."""
    nodes = (node for path in PACKAGE.rglob("*.py") for node in ast.walk(ast.parse(path.read_bytes())))
    for node in nodes:
        words: Sequence[ast.expr] = ()
        if isinstance(node, ast.Call):
            words = node.args
        elif isinstance(node, ast.List | ast.Tuple):
            words = node.elts
        for index, word in enumerate(words):
            if ast.unparse(word) == "sys.executable" and len(words) > 1:
                option = words[index + 1]
                assert isinstance(option, ast.Constant), ast.unparse(node)
                assert str(option.value)[:2] in {"-P", "-I"}, ast.unparse(node)


@pytest.mark.parametrize("entry", ["", ".", "bin/.."])
def test_an_agent_is_looked_for_in_no_folder_that_the_worktree_is(repo: Path, entry: str) -> None:
    trial = Trial(repo)
    trial.plan({"a": ()})
    elsewhere, started = repo.parent / "programs", repo.parent / "started"
    (repo / "claude").write_text("no program\n")
    (repo / "bin").mkdir()
    trial.environ["PATH"] = f"{entry}:{elsewhere}:{os.environ['PATH']}:"
    assert "cannot find the program 'claude'" in trial.expect(0, "agent")
    (repo / "claude").write_text(f"#!/bin/sh\necho >{started}\n")
    (repo / "claude").chmod(0o755)
    assert "cannot find the program 'claude'" in trial.expect(0, "agent")
    elsewhere.mkdir()
    (elsewhere / "claude").write_text('#!/bin/sh\necho "$*"\n')
    _, said = trial.run("agent", "claude")
    assert "'claude' is not executable\n" in said
    assert f"chmod +x {elsewhere}/claude" in said
    for folder, script in ((repo, f"echo >{started}"), (elsewhere, 'exec "$@"')):
        (folder / "box").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "box").chmod(0o755)
    trial.configure({"execution.wrapper": "box"})
    trial.command("echo done >done.txt")
    trial.run("execute")
    assert (repo / "done.txt").exists()
    assert not started.exists()
