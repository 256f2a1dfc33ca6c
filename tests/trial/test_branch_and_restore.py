"""``branch`` and ``restore`` hand out what runs did, and change nothing else."""

import json
from pathlib import Path

import pytest

from tests.support import commit, git, write
from tests.trial.program import Trial

LINES = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": LINES, ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    trial.command("sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    trial.expect(0, "execute", "--no-input", "a")
    trial.command("sed -i 's/line 9$/b/' old.txt; echo b >other.txt")
    trial.expect(0, "execute", "--no-input", "b")
    return trial


def untouched(trial: Trial) -> tuple[str, str, str]:
    return (
        git(trial.repo, "status", "--porcelain"),
        git(trial.repo, "symbolic-ref", "HEAD"),
        git(trial.repo, "rev-parse", "HEAD"),
    )


def test_a_branch_has_one_commit_of_exactly_the_change(trial: Trial) -> None:
    was = untouched(trial)
    write(trial.repo, {"staged.txt": "staged\n"})
    git(trial.repo, "add", "staged.txt")
    output = trial.expect(0, "branch", "a")
    git(trial.repo, "reset", "-q", "staged.txt")
    (trial.repo / "staged.txt").unlink()
    made = git(trial.repo, "rev-parse", "blackbird/a")
    assert output.startswith(f"branch blackbird/a has the change of a, as commit {made[:12]}\n")
    assert git(trial.repo, "log", "--format=%s", "blackbird/a").splitlines() == ["A", "start"]
    (record,) = trial.records("a")
    trailers = git(trial.repo, "log", "-1", "--format=%(trailers)", "blackbird/a").splitlines()
    assert trailers == ["Blackbird-Task: a", f"Blackbird-Run: {record['id']}"]
    assert git(trial.repo, "diff", "--stat", "HEAD", "blackbird/a").splitlines()[-1].startswith(" 2 files")
    assert git(trial.repo, "show", "blackbird/a:old.txt") + "\n" == LINES.replace("line 3\n", "a\n")
    assert untouched(trial) == was


def test_a_worktree_is_not_restored_into_the_repository(trial: Trial) -> None:
    was, (record,) = untouched(trial), trial.records("a")
    for folder in ("sub/dir", ".git/inside", "."):
        said = trial.expect(1, "restore", record["id"], folder)
        assert f" is inside {trial.repo}" in said
        assert "hint: name a folder beside the repository, or make a branch with --branch\n" in said
    assert untouched(trial) == was


@pytest.mark.exhaustive
def test_what_cannot_be_a_branch_is_refused_with_the_way_out(trial: Trial) -> None:
    trial.expect(0, "branch", "b", "work")
    assert "branch work has the change of b" in trial.expect(0, "branch", "b", "work")
    git(trial.repo, "branch", "taken")
    assert "is there already, with something else" in trial.expect(1, "branch", "b", "taken")
    assert "is not a valid" in trial.expect(128, "branch", "b", "a..b")
    assert '"nowhere" is no commit' in trial.expect(1, "branch", "b", "--onto", "nowhere")
    first = git(trial.repo, "rev-parse", "HEAD")
    git(trial.repo, "add", "-A")
    git(trial.repo, "commit", "-q", "-m", "all")
    assert trial.expect(1, "branch", "b", "again") == (
        f"error: HEAD has the change of b already\nhint: git blackbird branch b --onto {first[:12]}\n"
    )
    trial.expect(0, "branch", "b", "again", "--onto", first[:12])
    commit(trial.repo, {"old.txt": "another\n", "other.txt": "another\n"})
    assert "does not apply to HEAD: old.txt, other.txt" in trial.expect(1, "branch", "b", "third")
    trial.plan({"c": ()})
    assert "c has changed nothing" in trial.expect(1, "branch", "c")


@pytest.mark.exhaustive
def test_the_files_of_a_run_come_back_in_a_worktree_or_on_a_branch(trial: Trial, tmp_path: Path) -> None:
    was, (record,) = untouched(trial), trial.records("a")
    there = tmp_path / "it's there"
    trial.expect(0, "restore", record["id"], str(there))
    assert (there / "old.txt").read_text() == LINES.replace("line 3\n", "a\n")
    assert sorted(path.name for path in there.iterdir()) == [".git", ".gitignore", "new.txt", "old.txt"]
    refused = trial.expect(1, "restore", record["id"], str(there))
    assert refused.startswith(f"error: {there} is there already\nhint: name another folder; `git worktree ")
    output = trial.expect(0, "restore", record["id"], "--branch", "as-it-was", "--before", "--json")
    said = json.loads(output)["data"]
    assert (said["task"], said["branch"], said["folder"]) == ("a", "as-it-was", None)
    assert git(trial.repo, "diff", "--stat", "HEAD", "as-it-was") == ""
    assert "say where to" in trial.expect(2, "restore", record["id"])
    assert '"zz"' in trial.expect(1, "restore", "zz", "--branch", "x")
    assert "more than one run" in trial.expect(1, "restore", record["id"][:4], "--branch", "x")
    assert untouched(trial) == was
