"""What the first snapshot of a worktree just checked out says without a look at the files."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.git.worktree.linked import add_worktree
from git_blackbird.git.worktree.snapshot import Snapshot, SnapshotLimits, snapshot_of_checkout, take_snapshot
from tests.git.support import found
from tests.support import commit, git, write

LIMITS = SnapshotLimits()


def checked_out(repo: Path) -> tuple[Snapshot | None, Snapshot]:
    """Return what is known of a new worktree, and what a look at its files says."""
    home = found(repo)
    linked = add_worktree(home, repo.parent / "linked", git(repo, "rev-parse", "HEAD"))
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    known = snapshot_of_checkout(linked, tree, limits=LIMITS)
    # With other limits nothing is known.
    return known, take_snapshot(linked, limits=replace(LIMITS, max_untracked_bytes=1))


def test_files_that_git_converts_in_no_way_are_known(repo: Path) -> None:
    commit(repo, {"f": "1\r\n", "dir/run.sh": "2\n", "link": "3"})
    (repo / "dir" / "run.sh").chmod(0o755)
    (repo / "link").unlink()
    (repo / "link").symlink_to("f")
    git(repo, "commit", "-qam", "modes")
    known, seen = checked_out(repo)
    assert known == seen


def by_attributes(repo: Path) -> None:
    commit(repo, {"sub/.gitattributes": "* text\n"})


def by_version_4(repo: Path) -> None:
    git(repo, "config", "index.version", "4")
    commit(repo, {".gita": "1", ".gitattributes": "* text\n"})


def by_info(repo: Path) -> None:
    (repo / ".git" / "info").mkdir(exist_ok=True)
    write(repo, {".git/info/attributes": "* text\n"})


def by_own_file(repo: Path) -> None:
    write(repo, {".git/own": "* text\n"})
    git(repo, "config", "core.attributesFile", str(repo / ".git" / "own"))


def by_home(repo: Path) -> None:
    folder = Path(found(repo).environ["HOME"]) / ".config" / "git"
    folder.mkdir(parents=True)
    (folder / "attributes").write_text("* text\n")


def by_line_ends(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")


@pytest.mark.parametrize(
    "convert", [by_attributes, by_version_4, by_info, by_own_file, by_home, by_line_ends]
)
def test_files_that_git_may_convert_are_looked_at(repo: Path, convert: Callable[[Path], None]) -> None:
    commit(repo, {"f": "1\r\n", "sub/f": "2\r\n"})
    convert(repo)
    known, _ = checked_out(repo)
    assert known is None
