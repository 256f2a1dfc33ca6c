"""What an agent does inside a submodule is named; no tree of the worktree holds it."""

from pathlib import Path

import pytest

from tests.support import commit, git, write
from tests.trial.program import Trial

HEADING = "Submodules (edits inside them are neither approved nor committed here):\n"


@pytest.fixture
def trial(repo: Path, tmp_path: Path) -> Trial:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    commit(inner, {"file": "1\n"})
    commit(repo, {".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    for name in ("vendor/x", "vendor/it's ü", "still"):
        git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), name)
    git(repo, "commit", "-q", "-m", "submodules")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


def work(trial: Trial, script: str) -> str:
    trial.command(script)
    return trial.expect(3, "execute", stdin="")


def test_edits_inside_a_submodule_are_named(trial: Trial) -> None:
    said = work(trial, 'echo agent >>vendor/x/file; echo new >"vendor/it\'s ü/new"; echo own >own.txt')
    lines = (
        "submodule vendor/it's ü: modified content (new)\n",
        "submodule vendor/x: modified content (file)\n",
    )
    assert f"{HEADING}  {lines[0]}  {lines[1]}" in said
    (record,) = trial.records("a")
    assert record["review_summary"]["files"] == ["own.txt"]
    output = trial.expect(0, "runs", "a", record["id"])
    assert f"  {lines[0]}  {lines[1]}" in output
    assert "still" not in output


@pytest.mark.exhaustive
def test_a_new_commit_and_edits_over_it(trial: Trial) -> None:
    identity = "-c user.name=A -c user.email=a@example.com"
    work(trial, f"cd vendor/x; echo agent >>file; git {identity} commit -q -a -m agent; echo more >>file")
    (record,) = trial.records("a")
    assert record["review_summary"]["submodules"] == [
        {"path": "vendor/x", "commits": True, "content": True, "files": ["file"], "more_files": 0}
    ]
    assert "submodule vendor/x: new commits, modified content (file)\n" in trial.expect(
        0, "runs", "a", record["id"]
    )


@pytest.mark.exhaustive
def test_edits_of_mine_from_before_are_not_the_runs(trial: Trial) -> None:
    write(trial.repo, {"vendor/x/file": "mine\n", "still/file": "mine\n", "still/new": "mine\n"})
    work(trial, "echo agent >>vendor/x/file")
    (record,) = trial.records("a")
    assert record["review_summary"]["submodules"] == [
        {"path": "vendor/x", "commits": False, "content": True, "files": ["file"], "more_files": 0}
    ]
    assert "2 files" not in trial.expect(0, "runs", "a", record["id"])


@pytest.mark.exhaustive
def test_several_runs_are_told_together(trial: Trial) -> None:
    work(trial, "echo agent >>vendor/x/file; echo own >own.txt")
    trial.command("echo again >>own.txt")
    trial.expect(0, "decide", "a", "--request-changes", "-m", "again")
    assert f"{HEADING}  submodule vendor/x: modified content (file)\n" in trial.expect(3, "execute", stdin="")


def test_a_broken_submodule_stops_nothing(trial: Trial) -> None:
    work(trial, "echo agent >>vendor/x/file; echo 'gitdir: nowhere' >still/.git; echo own >own.txt")
    (record,) = trial.records("a")
    assert record["status"] == "success"
    assert record["review_summary"]["files"] == ["own.txt"]


def test_another_commit_is_committed_and_taken_back(trial: Trial) -> None:
    trial.configure({"execution.commit": "approved"})
    identity = "-c user.name=A -c user.email=a@example.com"
    work(trial, f"cd vendor/x; echo agent >>file; git {identity} commit -q -a -m agent")
    trial.expect(0, "decide", "a", "--approve")
    assert git(trial.repo, "status", "--porcelain") == ""
    assert git(trial.repo, "log", "-1", "--name-only", "--format=%s") == "A\n\nvendor/x"
    trial.expect(0, "undo", "a")
    assert (trial.repo / "vendor/x/file").read_text() == "1\n"
    assert git(trial.repo, "status", "--porcelain") == ""
    write(trial.repo, {"vendor/x/file": "mine\n"})
    assert "vendor/x: its submodule cannot be moved to " in trial.expect(1, "redo", "a")
    assert (trial.repo / "vendor/x/file").read_text() == "mine\n"
    git(trial.repo / "vendor/x", "checkout", "-q", "file")
    trial.expect(0, "redo", "a")
    assert (trial.repo / "vendor/x/file").read_text() == "1\nagent\n"
    assert git(trial.repo, "status", "--porcelain") == ""
