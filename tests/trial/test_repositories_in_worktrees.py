"""Repositories that an agent makes inside the worktree of its task, where git ignores them."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial

COMMIT = "git -c user.name=A -c user.email=a@example.com commit -q --allow-empty -m agent"
INSIDE = ".worktrees/x"
MADE = {
    "clone": f"git clone -q . {INSIDE}; cd {INSIDE}; {COMMIT}",
    "uncommitted": f"git clone -q . {INSIDE}; echo new >{INSIDE}/new",
    "new": f"git init -q {INSIDE}; echo new >{INSIDE}/new",
    "worktree": f"git worktree add -q -b other {INSIDE}; cd {INSIDE}; {COMMIT}",
    "in another": f"git clone -q $UPSTREAM build; cd build; git init -q w; cd w; {COMMIT}",
}
FETCHED = {
    "clone": "git clone -q $UPSTREAM build/source",
    "at a tag": "git clone -q --branch v1 --depth 1 file://$UPSTREAM build/source",
    "mirror": "git clone -q --mirror $UPSTREAM build/x.git; git clone -q build/x.git build/x",
    "no repository": "mkdir -p build/a/.git build/b; echo 'gitdir: ../.git/modules/b' >build/b/.git",
}


def all_but(names: Iterable[str], *always: str) -> list[object]:
    """All of these, exhaustively but for some."""
    marks = {name: () if name in always else (pytest.mark.exhaustive,) for name in names}
    return [pytest.param(name, marks=marks[name]) for name in names]


@pytest.fixture
def trial(repo: Path, tmp_path: Path) -> Trial:
    commit(repo, {".gitignore": ".blackbird\nblackbird.plan.json\n.worktrees/\nbuild\nw\n"}, "start")
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    git(upstream, "init", "-q", "-b", "main")
    commit(upstream, {".gitignore": "w\n"})
    commit(upstream, {"file": "released\n"})
    git(upstream, "tag", "-a", "-m", "released", "v1")
    git(upstream, "reset", "-q", "--hard", "HEAD~")
    trial = Trial(repo, {"UPSTREAM": str(upstream)})
    trial.plan({"a": ()})
    trial.configure({"execution.worktrees": "true"})
    return trial


def place(trial: Trial) -> Path:
    return trial.repo.parent / f"{trial.repo.name}.worktrees" / "a"


def why(trial: Trial, path: str = INSIDE) -> str:
    return f"{place(trial)} stays: the git repository in {path} would go with it"


@pytest.mark.parametrize("made", all_but(MADE, "clone"))
def test_what_an_agent_made_in_a_repository_of_its_own_keeps_the_worktree(trial: Trial, made: str) -> None:
    trial.command(f"echo own >own.txt; {MADE[made]}")
    path = "build/w" if made == "in another" else INSIDE
    said = trial.expect(0, "execute", "--no-input", "--no-stop")
    assert f"the worktree of a was not removed: {why(trial, path)}" in said
    assert (trial.repo / "own.txt").exists()
    assert (place(trial) / path).exists()


@pytest.mark.parametrize("fetched", all_but(FETCHED, "at a tag"))
def test_what_a_build_fetched_does_not(trial: Trial, fetched: str) -> None:
    trial.command(f"echo own >own.txt; {FETCHED[fetched]}")
    trial.expect(0, "execute", "--no-input", "--no-stop")
    assert not place(trial).exists()


def test_no_command_removes_it_until_it_is_moved_away(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command(f"echo own >own.txt; {MADE['clone']}")
    trial.expect(3, "execute", "--no-input")
    trial.expect(0, "decide", "a", "--reject")
    assert why(trial) in trial.expect(0, "worktrees", "prune", "--dry-run")
    assert why(trial) in trial.expect(0, "worktrees", "prune")
    trial.expect(0, "retry", "a")
    trial.command("echo own >own.txt")
    assert f"a gets another worktree: {why(trial)}" in trial.expect(3, "restart", "a", "--no-input")
    assert git(place(trial) / INSIDE, "log", "-1", "--format=%s") == "agent"
    shutil.move(place(trial) / INSIDE, trial.repo.parent / "x")
    trial.expect(0, "worktrees", "prune")
    assert not place(trial).exists()


@pytest.mark.exhaustive
def test_a_folder_that_cannot_be_read_keeps_the_worktree(trial: Trial) -> None:
    steps = 'import os; [(os.mkdir("d" * 250), os.chdir("d" * 250)) for _ in range(20)]'
    trial.command(f"echo own >own.txt; mkdir build; cd build; python3 -c '{steps}'")
    said = trial.expect(0, "execute", "--no-input", "--no-stop")
    assert f"the worktree of a was not removed: {place(trial)} stays: cannot read " in said
