"""What git ignores, or has as a repository of its own, is the user's: no way of writing goes over it."""

import shutil
from pathlib import Path

import pytest

from tests.support import commit, git, write
from tests.trial.program import Trial

IGNORED = "a file that git ignores, or that no snapshot can have, is in its place"
NESTED = "a git repository of its own is in its path"


@pytest.fixture
def trial(repo: Path) -> Trial:
    files = {".gitignore": ".blackbird\nblackbird.plan.json\n", ".env": "K=theirs\n", "kept": "1\n"}
    commit(repo, files)
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


@pytest.fixture(params=["in place", "worktrees"])
def place(request: pytest.FixtureRequest, trial: Trial) -> str:
    trial.configure({"execution.worktrees": "true" if request.param == "worktrees" else "false"})
    return str(request.param)


def approved(trial: Trial, script: str) -> None:
    trial.command(script)
    trial.expect(3, "execute", "a", "--no-input")
    trial.expect(0, "decide", "a", "--approve")
    trial.run("execute", "--no-input")


UNTRACK = "git rm -q .env; echo .env >>.gitignore; echo 2 >kept; git add -A; git commit -qm x"


@pytest.mark.exhaustive
def test_undo_leaves_an_ignored_file_that_is_in_the_place_of_one(trial: Trial, place: str) -> None:
    approved(trial, UNTRACK)
    write(trial.repo, {".env": "K=mine\n"})
    # What lands without a commit is in the user's index still.
    why = "later edits overlap with it" if place == "worktrees" else IGNORED
    assert f".env: {why}" in trial.run("undo", "a")[1]
    assert (trial.repo / ".env").read_text() == "K=mine\n"
    assert (trial.repo / "kept").read_text() == "1\n"
    # Once it is out of the way, the same command completes it.
    (trial.repo / ".env").unlink()
    trial.expect(0, "undo", "a")
    assert (trial.repo / ".env").read_text() == "K=theirs\n"


def test_a_rejection_leaves_it_as_well(trial: Trial) -> None:
    trial.command(UNTRACK)
    trial.expect(3, "execute", "a", "--no-input")
    write(trial.repo, {".env": "K=mine\n"})
    assert f".env: {IGNORED}" in trial.run("decide", "a", "--reject", "--undo")[1]
    assert (trial.repo / ".env").read_text() == "K=mine\n"


@pytest.mark.exhaustive
@pytest.mark.usefixtures("place")
def test_what_the_change_itself_left_to_be_ignored_goes_and_comes(trial: Trial) -> None:
    approved(trial, UNTRACK)
    git(trial.repo, "update-index", "--force-remove", ".env")
    write(trial.repo, {".gitignore": ".blackbird\nblackbird.plan.json\n.env\n"})
    trial.expect(0, "undo", "a")
    assert (trial.repo / ".env").read_text() == "K=theirs\n"
    # By now it is ignored, and yet as it is known.
    write(trial.repo, {".gitignore": ".blackbird\nblackbird.plan.json\n.env\n"})
    trial.run("redo", "a")
    assert not (trial.repo / ".env").exists()


@pytest.mark.usefixtures("place")
def test_redo_leaves_an_ignored_file_that_is_in_the_place_of_one(trial: Trial) -> None:
    approved(trial, "echo log >n.log; echo 2 >kept")
    trial.expect(0, "undo", "a")
    write(trial.repo, {".gitignore": ".blackbird\nblackbird.plan.json\n*.log\n", "n.log": "secret\n"})
    assert f"n.log: {IGNORED}" in trial.run("redo", "a")[1]
    assert (trial.repo / "n.log").read_text() == "secret\n"
    assert (trial.repo / "kept").read_text() == "2\n"


def test_a_landing_leaves_it_too(trial: Trial) -> None:
    trial.configure({"execution.worktrees": "true"})
    trial.command("echo log >n.log; echo 2 >kept")
    trial.expect(3, "execute", "a", "--no-input")
    write(trial.repo, {".git/info/exclude": "*.log\n", "n.log": "secret\n"})
    trial.approve("a")
    assert f"n.log: {IGNORED}" in trial.run("execute", "--no-input")[1]
    assert (trial.repo / "n.log").read_text() == "secret\n"
    assert (trial.repo / "kept").read_text() == "1\n"


@pytest.mark.usefixtures("place")
def test_nothing_is_written_into_a_repository_of_its_own(trial: Trial) -> None:
    approved(trial, "mkdir -p d/e; echo 2 >d/e/f; echo 2 >kept")
    trial.expect(0, "undo", "a")
    shutil.rmtree(trial.repo / "d", ignore_errors=True)
    git(trial.repo, "init", "-q", "d")
    assert f"d/e/f: {NESTED}" in trial.run("redo", "a")[1]
    assert (trial.repo / "kept").read_text() == "2\n"
    assert [path.name for path in (trial.repo / "d").iterdir()] == [".git"]


@pytest.mark.usefixtures("place")
def test_nothing_is_taken_out_of_one(trial: Trial) -> None:
    approved(trial, "mkdir -p d/e; echo 2 >d/e/f; echo 2 >kept")
    git(trial.repo, "init", "-q", "d")
    git(trial.repo / "d", "add", "e/f")
    assert f"d/e/f: {NESTED}" in trial.run("undo", "a")[1]
    assert (trial.repo / "d/e/f").read_text() == "2\n"
    assert (trial.repo / "kept").read_text() == "1\n"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [".Blackbird/x", "BLACKBIRD.PLAN.JSON"])
@pytest.mark.parametrize("is_committed", [True, False])
@pytest.mark.usefixtures("place")
def test_a_name_of_our_state_in_other_letters_is_left_out_and_named(
    trial: Trial, name: str, is_committed: bool
) -> None:
    folder = "mkdir -p .Blackbird; " if "/" in name else ""
    commits = f"; git add -f {name}; git commit -qm x" if is_committed else ""
    approved(trial, f"{folder}echo forged >{name}; echo 2 >kept{commits}")
    assert (trial.repo / "kept").read_text() == "2\n"
    (record,) = trial.records("a")
    (left_out,) = record["review_summary"]["left_out"]
    assert left_out["path"] == name.partition("/")[0]
    trial.expect(0, "undo", "a")
    assert (trial.repo / "kept").read_text() == "1\n"
