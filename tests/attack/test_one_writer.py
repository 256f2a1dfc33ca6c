"""One place writes into worktrees: it follows no link, and writes over nothing."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_blackbird.git.core.repository import discover
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.snapshot import SnapshotLimits, take_snapshot
from git_blackbird.git.writing import path_writer
from git_blackbird.git.writing.path_writer import NESTED, Journal, PathWriter, signature_of
from git_blackbird.git.writing.write_back import IGNORED, find_obstacles, take_signatures, write_paths
from git_blackbird.model.run.summary import Trees
from tests.support import commit, git
from tests.trial.program import Trial

ROOT = Path(__file__).resolve().parents[2]
INJECTED = Path(__file__).with_name("injected")
# Copies of ignored files go into a new worktree, exclusively and through no link.
WRITERS = {"git_blackbird.git.writing.path_writer", "git_blackbird.git.worktree.folders"}
LINES = "".join(f"{number}\n" for number in range(20))


@pytest.mark.exhaustive
def test_no_other_place_writes_into_a_worktree(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"moved/x": LINES, "y": "1\n", "gone": "1\n", ".gitignore": ".env\n"})
    (repo / ".env").write_text("secret\n")
    log = tmp_path / "log"
    trial = Trial(repo)
    trial.plan({"a": (), "b": (), "c": ()})
    trial.configure(
        {
            "execution.worktrees": "true",
            "execution.stopAfterEachTask": "true",
            "worktree.copy": ".env",
            "check.command": "true",
        }
    )
    task = (
        "git mv moved away; echo $BLACKBIRD_TASK_ID >>y; rm -f gone; mkdir -p d; echo 1 >d/$BLACKBIRD_TASK_ID"
    )
    trial.command(task)
    watched = f"{repo}\n{repo}.worktrees/a\n{repo}.worktrees/b\n{tmp_path}/out"
    variables = {"WRITERS_TOPS": watched, "WRITERS_LOG": str(log), "PYTHONPATH": f"{INJECTED}:{ROOT}"}

    def run(*args: str) -> str:
        command = [sys.executable, "-m", "git_blackbird", *args]
        done = subprocess.run(
            command, cwd=repo, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert done.returncode in {0, 3}, done.stderr
        return done.stdout + done.stderr

    run("execute", "a", "--no-input")
    run("execute", "b", "--no-input")
    run("decide", "a", "--approve")
    run("execute", "--no-input")
    # Its conflict is brought to its worktree, and resolved there.
    run("decide", "b", "--approve")
    run("execute", "--no-input")
    assert (repo / "d/a").is_file()
    run("undo", "a")
    run("redo", "a")
    run("restore", trial.records("a")[-1]["id"], str(tmp_path / "out"))
    trial.configure({"execution.worktrees": "false"})
    run("execute", "c", "--no-input")
    run("decide", "c", "--reject", "--undo")
    noted = [line.split(" ", 1)[0] for line in log.read_text().splitlines()]
    assert {*noted} == WRITERS, log.read_text()


@pytest.fixture
def made(repo: Path) -> Path:
    commit(repo, {"dir/x": "old\n", "y": "old\n"})
    (repo / ".git/blackbird").mkdir()
    return repo


def trees_of(repo: Path) -> tuple[str, str]:
    """The tree that is there, and one with other files, on no branch."""
    before = git(repo, "rev-parse", "HEAD^{tree}")
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"new\n")
    lines = f"100644 {blob}\tdir/x\n100644 {blob}\ty\n100755 {blob}\tnew/deep/z\n"
    git(repo, "update-index", "--add", "--index-info", stdin=lines.encode())
    after = git(repo, "write-tree")
    git(repo, "reset", "-q")
    return before, after


def write(repo: Path, before: str, after: str) -> dict[bytes, str]:
    opened = discover(repo, dict(os.environ))
    expected = take_signatures(opened, TreeStore(opened).changed_paths(before, after))
    change, journal = Trees(before, after), Journal(opened, "x")
    return write_paths(opened, change, expected, journal, timeout_seconds=60)


@pytest.fixture(params=["swap", "no swap"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A system that can exchange two files at once, and one that cannot."""
    if request.param == "no swap":
        monkeypatch.setattr(path_writer, "_exchange", lambda: None)
    return str(request.param)


def test_files_are_written_and_removed(made: Path, system: str) -> None:
    before, after = trees_of(made)
    (made / "y").chmod(0o640)
    assert write(made, before, after) == {}
    assert [(made / name).read_text() for name in ("dir/x", "y", "new/deep/z")] == ["new\n"] * 3
    assert (made / "y").stat().st_mode & 0o777 == 0o640
    assert (made / "new/deep/z").stat().st_mode & 0o100
    assert write(made, after, before) == {}
    assert not (made / "new").exists()
    assert (made / "dir/x").read_text() == "old\n"


@pytest.mark.parametrize("link", ["dir", "new"])
def test_a_folder_that_is_a_link_is_not_entered(made: Path, tmp_path: Path, link: str, system: str) -> None:
    before, after = trees_of(made)
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "x").write_text("old\n")
    opened = discover(made, dict(os.environ))
    expected = take_signatures(opened, TreeStore(opened).changed_paths(before, after))
    with contextlib.suppress(FileNotFoundError):
        (made / link).rename(tmp_path / "aside")
    (made / link).symlink_to(outside)
    change, journal = Trees(before, after), Journal(opened, "x")
    refused = write_paths(opened, change, expected, journal, timeout_seconds=60)
    assert "a symbolic link leads elsewhere" in refused.values()
    assert (outside / "x").read_text() == "old\n"
    assert list((outside / "deep").iterdir()) == []


def test_what_was_edited_since_stays(made: Path, tmp_path: Path, system: str) -> None:
    opened = discover(made, dict(os.environ))
    expected = signature_of(made / "y")
    (made / "y").write_text("mine\n")
    new = tmp_path / "new"
    new.write_text("new\n")
    private = tmp_path / "private"
    private.mkdir()
    with PathWriter(opened, private, Journal(opened, "x")) as writer:
        assert writer.write(b"y", new, expected) == path_writer.EDITED
        assert writer.write(b"y", None, expected) == path_writer.EDITED
        assert writer.write(b"dir/x", new, ()) == path_writer.EDITED
    assert (made / "y").read_text() == "mine\n"
    assert (made / "dir/x").read_text() == "old\n"


def test_the_top_may_be_reached_through_a_link(made: Path, tmp_path: Path) -> None:
    before, after = trees_of(made)
    (tmp_path / "way").symlink_to(made)
    assert write(tmp_path / "way", before, after) == {}
    assert (made / "y").read_text() == "new\n"


@pytest.mark.parametrize("is_empty", [True, False])
def test_an_empty_folder_is_not_in_the_way(made: Path, is_empty: bool) -> None:
    before, after = trees_of(made)
    (made / "new/deep/z").mkdir(parents=True)
    if not is_empty:
        (made / "new/deep/z/mine").write_text("mine\n")
    refused = write(made, before, after)
    if is_empty:
        assert refused == {}
        assert (made / "new/deep/z").read_text() == "new\n"
    else:
        assert refused[b"new/deep/z"] == "a folder with other files is in its place"
        assert (made / "new/deep/z/mine").read_text() == "mine\n"


def test_a_file_that_the_snapshot_does_not_have_is_not_written_over(made: Path) -> None:
    before, after = trees_of(made)
    (made / "new/deep").mkdir(parents=True)
    (made / "new/deep/z").write_text("mine\n")
    assert write(made, before, after)[b"new/deep/z"] == IGNORED
    assert (made / "new/deep/z").read_text() == "mine\n"


def test_a_folder_that_became_a_repository_is_not_entered(made: Path, tmp_path: Path) -> None:
    opened, new = discover(made, dict(os.environ)), tmp_path / "new"
    new.write_text("new\n")
    (tmp_path / "private").mkdir()
    git(made / "dir", "init", "-q")
    with PathWriter(opened, tmp_path / "private", Journal(opened, "x")) as writer:
        assert writer.write(b"dir/x", new, signature_of(made / "dir/x")) == NESTED
        assert writer.write(b"dir/deeper/x", new, ()) == NESTED
        assert writer.write(b"dir/x", None, signature_of(made / "dir/x")) == NESTED
    assert sorted(path.name for path in (made / "dir").iterdir()) == [".git", "x"]


def test_where_names_fold_case_one_of_other_letters_is_renamed(made: Path, tmp_path: Path) -> None:
    """Two names of one file are here what one file of two names is there."""
    opened, new = discover(made, dict(os.environ)), tmp_path / "new"
    before = git(made, "rev-parse", "HEAD^{tree}")
    after = TreeStore(opened).edited(before, {b"y": None, b"Y": TreeStore(opened).entry(before, b"y")})
    new.write_text("old\n")
    (tmp_path / "private").mkdir()
    (made / "Y").hardlink_to(made / "y")
    expected = take_signatures(opened, [b"y", b"Y"])
    assert find_obstacles(opened, Trees(before, after), expected) == {}
    with PathWriter(opened, tmp_path / "private", Journal(opened, "x")) as writer:
        assert writer.write(b"Y", new, expected[b"Y"]) is None
        (made / "y").unlink()
        (made / "y").hardlink_to(made / "Y")
        assert writer.write(b"y", None, expected[b"y"]) is None
    assert (made / "y").read_text() == "old\n"


def test_what_is_on_its_way_to_its_place_is_in_no_snapshot(made: Path) -> None:
    for name in (".blackbird-0123456789abcdef", "dir/.blackbird-0123456789abcdef", ".blackbird-mine"):
        (made / name).write_text("x\n")
    limits = SnapshotLimits()
    tree = take_snapshot(discover(made, dict(os.environ)), limits=limits).tree
    assert git(made, "ls-tree", "-r", "--name-only", tree).split() == [".blackbird-mine", "dir/x", "y"]


def test_a_private_program_stays_one(made: Path) -> None:
    before = git(made, "rev-parse", "HEAD^{tree}")
    (made / "run").write_text("#!/bin/sh\n")
    (made / "run").chmod(0o700)
    after = take_snapshot(discover(made, dict(os.environ)), limits=SnapshotLimits()).tree
    (made / "run").unlink()
    assert write(made, before, after) == {}
    assert (made / "run").stat().st_mode & 0o777 == 0o700
