"""Ignored files are found by patterns, and copied with what belongs to them."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import discover
from git_blackbird.git.worktree.folders import copy_files, count_bytes, first_naming, list_ignored
from tests.support import commit, write


@pytest.fixture
def kept(repo: Path) -> Path:
    commit(repo, {".gitignore": "*.log\n/build/\nlib/\n.state\n", "seen/a.txt": "a\n"})
    write(repo, {"a.log": "1", "seen/b.log": "22", "seen/new.txt": "new", "build/x/out": "333"})
    write(repo, {"build/x/b.log": "4", "lib/z": "5", ".blackbird/s": "6"})
    return repo


def found(repo: Path, *patterns: str) -> Sequence[str]:
    return list_ignored(discover(repo, os.environ), patterns)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ((), []),
        (("*.log",), ["a.log", "build/x/b.log", "seen/b.log"]),
        (("/*.log",), ["a.log"]),
        (("*.log", "!a.log"), ["build/x/b.log", "seen/b.log"]),
        (("build/x/out", "lib"), ["build/x/out", "lib/"]),
        (("build",), ["build/"]),
        # What git does not ignore is there anyway.
        (("seen/",), ["seen/b.log"]),
        (("seen/new.txt", "seen/a.txt", "none"), []),
        ((".blackbird", "s"), []),
        (("-x", "--others"), []),
    ],
)
def test_patterns_are_those_of_gitignore(kept: Path, patterns: Sequence[str], names: list[str]) -> None:
    assert found(kept, *patterns) == names


def test_what_is_there_stays_and_nothing_goes_through_a_link(kept: Path, tmp_path: Path) -> None:
    target, outside = tmp_path / "target", tmp_path / "outside"
    write(target, {"a.log": "mine", "build/other": "other"})
    outside.mkdir()
    (target / "lib").symlink_to(outside)
    (target / "build/x").symlink_to(outside)
    copy_files(kept, ["a.log", "build/", "build/x/out", "lib/", "lib/z"], target, lambda: False)
    assert (target / "a.log").read_text() == "mine"
    assert sorted(os.listdir(target / "build")) == ["other", "x"]
    assert os.listdir(outside) == []


def test_modes_times_and_links_are_kept_and_sockets_left_out(kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (kept / "lib/z").chmod(0o640)
    (kept / "lib/link").symlink_to("/nowhere")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(kept / "lib")
        try:
            server.bind("s")
        finally:
            os.chdir(here)
        (kept / "lib").chmod(0o500)
        os.utime(kept / "lib", ns=(3, 4))
        copy_files(kept, ["lib/", "gone"], target, lambda: False)
    assert sorted(os.listdir(target / "lib")) == ["link", "z"]
    assert (target / "lib/link").readlink() == Path("/nowhere")
    assert (target / "lib/z").stat().st_mode & 0o777 == 0o640
    status = (target / "lib").stat()
    assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o500, 4)
    (kept / "lib").chmod(0o700)
    (target / "lib").chmod(0o700)


def test_it_counts_what_cannot_be_shared_and_can_be_stopped(kept: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    assert count_bytes(kept, ["build/", "gone"], target) in {0, 4}
    assert count_bytes(kept, ["gone"], target) == 0
    with pytest.raises(UnusableError, match="interrupted"):
        copy_files(kept, ["a.log"], target, lambda: True)
    with pytest.raises(UnusableError, match=r"cannot copy .*/none/a.log: No such file"):
        copy_files(kept, ["a.log"], tmp_path / "none", lambda: False)


def test_the_file_nearest_to_the_top_that_names_the_worktree_is_found(repo: Path) -> None:
    top = os.fsencode(repo)
    write(
        repo, {"env/a/deep/file": top, "env/bin": b"\0" + top, "env/other": top + b".worktrees " + top + b"2"}
    )
    write(repo, {f"many/{number}": "" for number in range(1000)})
    write(repo, {"many/last/file": top})
    os.mkfifo(repo / "env" / "fifo")
    assert first_naming(repo, "env/") == "env/a/deep/file"
    (repo / "env" / "link").symlink_to(repo / "env" / "other")
    assert first_naming(repo, "env/") == "env/link"
    write(repo, {"env/z": b"home = '" + top + b"'"})
    assert first_naming(repo, "env/z") == "env/z"
    # Up to a number of files.
    assert [first_naming(repo, name) for name in ("many/", "many/last", "none")] == [
        None,
        "many/last/file",
        None,
    ]
