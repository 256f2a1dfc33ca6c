"""Which worktree is a task's is known from git's list and our mark: no other is opened or removed."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A task with a change in a worktree of its own, and a worktree that is the user's own."""
    commit(repo, {"x": "1\n", ".gitignore": "secret\n"})
    git(repo, "worktree", "add", "-q", "-b", "hotfix", "../hotfix")
    (repo.parent / "hotfix" / "secret").write_text("mine\n")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.worktrees": "true"})
    trial.command("echo 2 >x")
    trial.expect(3, "execute", "--no-input")
    return trial


def say(trial: Trial, fields: Mapping[str, object]) -> None:
    """Let the record of the run say otherwise."""
    (path,) = (trial.repo / ".git/blackbird/runs/a").glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}))


def others(trial: Trial) -> dict[str, str]:
    """Every file that is neither in the repository nor in the worktree of the task."""
    top = trial.repo.parent
    ours = (trial.repo, top / f"{trial.repo.name}.worktrees")
    files = (path for path in top.rglob("*") if path.is_file())
    kept = (path for path in files if not any(path.is_relative_to(one) for one in ours))
    return {str(path): path.read_text(errors="replace") for path in kept}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", [".", "../hotfix", "..", "../new", "/"])
@pytest.mark.parametrize(
    "commands",
    [
        ("decide a --reject", "restart a --no-input"),
        ("decide a --approve", "execute --no-input"),
        ("resume a -m more --no-input",),
        ("retry a", "execute --no-input", "worktrees prune"),
    ],
)
def test_a_record_chooses_none(trial: Trial, place: str, commands: tuple[str, ...]) -> None:
    before = others(trial)
    say(trial, {"worktree": str((trial.repo / place).resolve()) if place != "." else "."})
    for command in commands:
        trial.run(*command.split())
    assert others(trial) == before
    assert (trial.repo / ".git").is_dir()


def test_one_that_was_marked_elsewhere_is_not_the_tasks(trial: Trial) -> None:
    """A mark that a task's worktree has is not believed of a folder that does not point back to it."""
    (linked,) = (trial.repo / ".git/worktrees").glob("a*")
    (linked / "gitdir").write_text(f"{trial.repo.parent}/hotfix/.git\n")
    before = others(trial)
    trial.run("decide", "a", "--reject")
    trial.run("restart", "a", "--no-input")
    trial.run("worktrees", "prune")
    assert others(trial) == before


def test_one_whose_folder_is_gone_is_forgotten_before_another_is_made(trial: Trial) -> None:
    folder = trial.repo.parent / f"{trial.repo.name}.worktrees"
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()
    trial.expect(0, "decide", "a", "--reject")
    trial.expect(3, "restart", "a", "--no-input")
    listed = git(trial.repo, "worktree", "list", "--porcelain").splitlines()
    assert len([line for line in listed if line.endswith("worktrees/a")]) == 1


COMMANDS = ["decide a --reject", "restart a --no-input", "retry a", "worktrees prune", "deinit --yes"]


def test_a_link_in_its_place_is_not_followed(trial: Trial) -> None:
    """Not even to a folder that has a copy of what says that it is the worktree."""
    folder, mine = trial.repo.parent / f"{trial.repo.name}.worktrees" / "a", trial.repo.parent / "mine"
    mine.mkdir()
    (mine / "secret").write_text("mine\n")
    (mine / ".git").write_bytes((folder / ".git").read_bytes())
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(mine)
    before = others(trial)
    for command in COMMANDS:
        trial.run(*command.split())
        assert others(trial) == before, command


def test_one_that_lands_and_is_no_longer_what_git_made_is_named(trial: Trial) -> None:
    folder = trial.repo.parent / f"{trial.repo.name}.worktrees" / "a"
    (folder / ".git").write_text("gitdir: /nowhere\n")
    trial.approve("a")
    said = trial.expect(0, "execute", "--no-input")
    assert f"{folder} is not the worktree of a that git made, and was not removed: move what" in said
    assert (trial.repo / "x").read_text() == (folder / "x").read_text() == "2\n"
