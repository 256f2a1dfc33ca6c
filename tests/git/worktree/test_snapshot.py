import errno
import fcntl
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.git.worktree.index import private_folder
from git_blackbird.git.worktree.snapshot import SnapshotError, SnapshotLimits, take_snapshot
from git_blackbird.model.run.summary import SkippedPath
from tests.git.support import (
    LIMITS,
    ODD,
    escaping,
    found,
    listing,
    names,
    script,
    snap,
    tree_of,
    user_state,
)
from tests.support import commit, git, write


def test_a_repository_without_commits(repo: Path) -> None:
    assert listing(repo, tree_of(repo)) == {}
    write(repo, {"new": "x"})
    assert listing(repo, tree_of(repo)) == {"new": "100644 x"}


def test_tracked_staged_and_untracked_minus_ignored(repo: Path) -> None:
    commit(repo, {"kept": "1", "changed": "1", "gone": "1", "staged": "1", ".gitignore": "*.log\n"})
    write(repo, {"changed": "2", "staged": "2", "dir/new": "n", "x.log": "ignored"})
    git(repo, "add", "staged")
    write(repo, {"staged": "3"})
    (repo / "gone").unlink()
    assert listing(repo, tree_of(repo)) == {
        ".gitignore": "100644 *.log",
        "changed": "100644 2",
        "dir/new": "100644 n",
        "kept": "100644 1",
        "staged": "100644 3",
    }


@pytest.mark.parametrize("is_tracked", [False, True])
def test_a_snapshot_has_files_of_every_name(repo: Path, is_tracked: bool) -> None:
    write(repo, dict.fromkeys(ODD, "1") | {f"dir {name}/in": "1" for name in ODD})
    if is_tracked:
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", "odd")
        write(repo, dict.fromkeys(ODD, "2"))
    content = "100644 2" if is_tracked else "100644 1"
    expected = dict.fromkeys(ODD, content) | {f"dir {name}/in": "100644 1" for name in ODD}
    assert listing(repo, tree_of(repo)) == expected


def test_modes_and_links(repo: Path) -> None:
    commit(repo, {"tool": "1", "plain": "1", "file": "1"})
    (repo / "tool").chmod(0o755)
    (repo / "file").unlink()
    (repo / "file").symlink_to("nowhere/at all")
    (repo / "loop").symlink_to("loop")
    (repo / "to-dir").symlink_to("/tmp")
    assert listing(repo, tree_of(repo)) == {
        "file": "120000 nowhere/at all",
        "loop": "120000 loop",
        "plain": "100644 1",
        "to-dir": "120000 /tmp",
        "tool": "100755 1",
    }


def test_files_that_became_directories_and_directories_that_became_files(repo: Path) -> None:
    commit(repo, {"f": "1", "d/x": "1", "d/y/z": "1", "l/x": "1", "b/x": "1", "e": "1"})
    for gone in ("f", "e"):
        (repo / gone).unlink()
    for gone in ("d", "l"):
        shutil.rmtree(repo / gone)
    write(repo, {"f/g": "2", "d": "2"})
    (repo / "l").symlink_to("b")
    (repo / "e").mkdir()
    assert listing(repo, tree_of(repo)) == {
        "b/x": "100644 1",
        "d": "100644 2",
        "f/g": "100644 2",
        "l": "120000 b",
    }


def test_a_directory_replaced_by_an_ignored_link(repo: Path) -> None:
    commit(repo, {"l/x": "1", "b/x": "22"})
    commit(repo, {".gitignore": "/l\n"})
    shutil.rmtree(repo / "l")
    (repo / "l").symlink_to("b")
    assert names(repo, tree_of(repo)) == [".gitignore", "b/x"]


def test_same_second_same_size_edits_are_seen(repo: Path) -> None:
    git(repo, "config", "core.trustctime", "false")
    git(repo, "config", "core.checkStat", "minimal")
    write(repo, {"file": "aaaa"})
    os.utime(repo / "file", ns=(10**18, 10**18))
    git(repo, "add", "file")
    os.utime(repo / ".git" / "index", ns=(10**18, 10**18))
    write(repo, {"file": "bbbb"})
    os.utime(repo / "file", ns=(10**18, 10**18))
    assert listing(repo, tree_of(repo)) == {"file": "100644 bbbb"}


def test_a_snapshot_leaves_out_the_plan_and_the_state_folder(repo: Path) -> None:
    write(
        repo,
        {".blackbird/runs/a": "x", "blackbird.plan.json": "{}", "sub/blackbird.plan.json": "{}", "f": "1"},
    )
    assert names(repo, tree_of(repo)) == ["f", "sub/blackbird.plan.json"]
    git(repo, "add", "-f", ".")
    git(repo, "commit", "-q", "-m", "all of it")
    write(repo, {".blackbird/runs/a": "y", "f": "2"})
    assert listing(repo, tree_of(repo)) == {"f": "100644 2", "sub/blackbird.plan.json": "100644 {}"}
    (repo / "blackbird.plan.json").unlink()
    assert names(repo, tree_of(repo)) == ["f", "sub/blackbird.plan.json"]


def test_only_ours_leaves_the_empty_tree(repo: Path) -> None:
    commit(repo, {"blackbird.plan.json": "{}"})
    assert names(repo, tree_of(repo)) == []


def test_ours_ignored_by_the_user_is_no_obstacle(repo: Path) -> None:
    write(repo, {".gitignore": ".blackbird/\n", ".blackbird/runs/a": "x"})
    assert names(repo, tree_of(repo)) == [".gitignore"]


def test_nested_repositories_are_left_out_and_named(repo: Path) -> None:
    commit(repo, {"f": "1", "was-file": "1"})
    (repo / "was-file").unlink()
    for inner in ("empty", "full", "was-file"):
        (repo / inner).mkdir()
        git(repo / inner, "init", "-q")
    commit(repo / "full", {"inside": "x"})
    snapshot = snap(repo)
    assert names(repo, snapshot.tree) == ["f"]
    assert snapshot.left_out == tuple(
        SkippedPath(path=f"{inner}/", reason="a git repository of its own")
        for inner in ("empty", "full", "was-file")
    )


def test_a_submodule_is_its_commit(repo: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    first = commit(inner, {"file": "1"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repo, "commit", "-q", "-m", "sub")
    assert listing(repo, tree_of(repo))["sub"] == f"160000 {first}"
    second = commit(repo / "sub", {"file": "2"})
    write(repo, {"sub/file": "uncommitted"})
    assert listing(repo, tree_of(repo))["sub"] == f"160000 {second}"
    shutil.rmtree(repo / "sub")
    assert names(repo, tree_of(repo)) == [".gitmodules"]
    write(repo, {"sub": "a file now"})
    assert listing(repo, tree_of(repo))["sub"] == "100644 a file now"


def test_untracked_files_over_the_limit_are_left_out_and_named(repo: Path) -> None:
    commit(repo, {"tracked": "small"})
    write(repo, {"tracked": "x" * 101, "new": "x" * 101, "fits": "x" * 100})
    (repo / "link").symlink_to("new")
    snapshot = snap(repo, SnapshotLimits(timeout_seconds=60, max_untracked_bytes=100))
    assert names(repo, snapshot.tree) == ["fits", "link", "tracked"]
    assert snapshot.left_out == (
        SkippedPath(path="new", reason="untracked, 101 bytes, over snapshot.maxUntrackedBytes"),
    )


def test_what_became_ignored_or_too_large_was_not_deleted(repo: Path) -> None:
    commit(repo, {"f": "1"})
    same = {"build/same": "1", "dir/f": "1", "file": "1", "grown": "1"}
    write(repo, {"build/edited": "1", "build/gone": "1", **same})
    base = tree_of(repo)
    (repo / "build" / "gone").unlink()
    (repo / "file").unlink()
    shutil.rmtree(repo / "dir")
    write(repo, {".gitignore": "build/\ndir\n", "build/edited": "2", "build/new": "2", "grown": "x" * 101})
    write(repo, {"dir": "2", "file/in": "2"})
    limits = SnapshotLimits(timeout_seconds=60, max_untracked_bytes=100)
    snapshot = take_snapshot(found(repo), limits=limits, since=base)
    assert listing(repo, snapshot.tree) == {
        ".gitignore": "100644 build/\ndir",
        "build/edited": "100644 2",
        "build/same": "100644 1",
        "f": "100644 1",
        "file/in": "100644 2",
        "grown": "100644 1",
    }
    assert [item.path for item in snapshot.left_out] == ["grown"]
    assert take_snapshot(found(repo), limits=limits, since=snapshot.tree) == snapshot


def test_special_files_are_left_out_and_named(repo: Path) -> None:
    commit(repo, {"pipe": "1", "socket": "1", "f": "1"})
    (repo / "pipe").unlink()
    os.mkfifo(repo / "pipe")
    os.mkfifo(repo / "untracked-pipe")
    (repo / "socket").unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(repo / "socket"))
    write(repo, {"f": "2"})
    snapshot = snap(repo)
    assert listing(repo, snapshot.tree) == {"f": "100644 2", "pipe": "100644 1", "socket": "100644 1"}
    assert snapshot.left_out == tuple(
        SkippedPath(path=name, reason="neither a file nor a symbolic link") for name in ("pipe", "socket")
    )


def test_unreadable_paths_do_not_lose_the_rest(repo: Path) -> None:
    commit(repo, {"tracked": "1", "shut-tracked/in": "1"})
    write(repo, {"tracked": "22", "secret": "s", "shut/in": "s", "fine": "f"})
    shut = ["tracked", "secret", "shut", "shut-tracked"]
    for name in shut:
        (repo / name).chmod(0)
    if os.access(repo / "secret", os.R_OK):
        pytest.skip("nothing is unreadable for this user")
    snapshot = snap(repo)
    for name in shut:
        (repo / name).chmod(0o755)
    assert listing(repo, snapshot.tree) == {
        "fine": "100644 f",
        "shut-tracked/in": "100644 1",
        "tracked": "100644 1",
    }
    assert snapshot.left_out == tuple(
        SkippedPath(path=name, reason="cannot be read: Permission denied")
        for name in ("secret", "shut-tracked/", "shut-tracked/in", "shut/", "tracked")
    )


def test_what_git_refuses_does_not_lose_the_rest(repo: Path) -> None:
    git(repo, "config", "filter.strict.clean", "false")
    git(repo, "config", "filter.strict.required", "true")
    write(repo, {".gitattributes": "*.bin filter=strict\n", **{f"{n}": "x" for n in range(20)}})
    write(repo, {"a.bin": "1", "z.bin": "1", "new\nline.bin": "1"})
    snapshot = snap(repo)
    assert names(repo, snapshot.tree) == sorted([".gitattributes", *map(str, range(20))])
    assert snapshot.left_out == tuple(
        SkippedPath(path=name, reason="git cannot add it: external filter 'false' failed 1")
        for name in ("a.bin", "new\nline.bin", "z.bin")
    )


def test_conflicts_are_taken_as_the_worktree_has_them(repo: Path) -> None:
    commit(repo, {"both": "base", "deleted": "base", "piped": "base"})
    git(repo, "checkout", "-q", "-b", "side")
    commit(repo, {"both": "side", "deleted": "side", "piped": "side"})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"both": "main", "deleted": "main", "piped": "main"})
    merge = subprocess.run(["git", "merge", "-q", "side"], cwd=repo, capture_output=True, check=False)
    assert merge.returncode == 1
    for gone in ("deleted", "piped"):
        (repo / gone).unlink()
    os.mkfifo(repo / "piped")
    before = user_state(repo)
    snapshot = snap(repo)
    assert listing(repo, snapshot.tree) == {"both": "100644 <<<<<<< HEAD\nmain\n=======\nside\n>>>>>>> side"}
    assert [item.path for item in snapshot.left_out] == ["piped"]
    assert user_state(repo) == before


def test_intent_to_add(repo: Path) -> None:
    commit(repo, {"f": "1"})
    write(repo, {"planned": "p", "planned-gone": "p"})
    git(repo, "add", "-N", "planned", "planned-gone")
    (repo / "planned-gone").unlink()
    assert listing(repo, tree_of(repo)) == {"f": "100644 1", "planned": "100644 p"}


@pytest.mark.parametrize("sparse_index", ["false", "true"])
def test_a_sparse_checkout_keeps_what_is_not_checked_out(repo: Path, sparse_index: str) -> None:
    commit(repo, {"in/f": "1", "out/f": "1", "out/deep/f": "1", "top": "1"})
    git(repo, "sparse-checkout", "init", "--cone")
    git(repo, "config", "index.sparse", sparse_index)
    git(repo, "sparse-checkout", "set", "in")
    write(repo, {"in/f": "2", "in/new": "2", "out/new": "2"})
    assert listing(repo, tree_of(repo)) == {
        "in/f": "100644 2",
        "in/new": "100644 2",
        "out/deep/f": "100644 1",
        "out/f": "100644 1",
        "out/new": "100644 2",
        "top": "100644 1",
    }


@pytest.mark.parametrize("marks", [["--skip-worktree"], ["--assume-unchanged"], ["both"]])
def test_edits_of_what_git_is_told_not_to_look_at_are_seen(repo: Path, marks: list[str]) -> None:
    marks = ["--skip-worktree", "--assume-unchanged"] if marks == ["both"] else marks
    names = ["changed", "gone", "kept", "dir/f", "became"]
    commit(repo, dict.fromkeys(names, "1") | {"not marked": "1"})
    for mark in marks:
        git(repo, "update-index", mark, *names)
    write(repo, {"changed": "2", "dir/f": "3", "not marked": "4"})
    (repo / "gone").unlink()
    (repo / "became").unlink()
    (repo / "became").symlink_to("kept")
    before = user_state(repo)
    expected = {
        "became": "120000 kept",
        "changed": "100644 2",
        "dir/f": "100644 3",
        "kept": "100644 1",
        "not marked": "100644 4",
    }
    assert listing(repo, tree_of(repo)) == expected
    assert user_state(repo) == before
    (repo / "dir/f").unlink()
    (repo / "dir").rmdir()
    write(repo, {"dir": "file"})
    assert listing(repo, tree_of(repo)) == {
        name: "100644 file" if name == "dir" else content
        for name, content in (expected | {"dir": ""}).items()
        if name != "dir/f"
    }


def test_files_that_a_sparse_checkout_has_all_the_same_are_seen(repo: Path) -> None:
    commit(repo, {"in/f": "1", "out/f": "1", "out/g": "1", "out/deep/f": "1"})
    git(repo, "sparse-checkout", "set", "--no-cone", "/in/")
    git(repo, "config", "sparse.expectFilesOutsideOfPatterns", "true")
    write(repo, {"out/f": "2"})
    assert git(repo, "ls-files", "-t", "out/f") == "S out/f"
    before = user_state(repo)
    assert listing(repo, tree_of(repo)) == {
        "in/f": "100644 1",
        "out/deep/f": "100644 1",
        "out/f": "100644 2",
        "out/g": "100644 1",
    }
    assert user_state(repo) == before


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_an_edit_of_a_marked_file_that_git_cannot_tell_by_its_times(repo: Path, flag: str) -> None:
    """Git reads files of the second of its index again, but none that it was told to ignore."""
    write(repo, {"f": "1"})
    os.utime(repo / "f", (1_000_000_000, 1_000_000_000))
    git(repo, "add", "f")
    git(repo, "update-index", flag, "f")
    write(repo, {"f": "2"})
    os.utime(repo / "f", (1_000_000_000, 1_000_000_000))
    assert listing(repo, tree_of(repo)) == {"f": "100644 2"}


def test_conflicts_beside_marked_files(repo: Path) -> None:
    commit(repo, {"f": "1", "g": "1"})
    git(repo, "checkout", "-q", "-b", "other")
    commit(repo, {"f": "2"})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"f": "3"})
    git(repo, "update-index", "--skip-worktree", "g")
    write(repo, {"g": "4"})
    subprocess.run(["git", "merge", "-q", "other"], cwd=repo, check=False, capture_output=True)
    assert git(repo, "ls-files", "-u") != ""
    write(repo, {"f": "5"})
    assert listing(repo, tree_of(repo)) == {"f": "100644 5", "g": "100644 4"}


def test_a_split_index_stays_split_and_is_read(repo: Path) -> None:
    commit(repo, {"f": "1", "g": "1"})
    git(repo, "update-index", "--split-index")
    commit(repo, {"h": "1"})
    write(repo, {"f": "2"})
    before = user_state(repo)
    assert listing(repo, tree_of(repo)) == {"f": "100644 2", "g": "100644 1", "h": "100644 1"}
    assert user_state(repo) == before


def test_filters_come_out_as_git_has_them(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    git(repo, "config", "core.safecrlf", "true")
    git(repo, "config", "filter.upper.clean", "tr a-z A-Z")
    write(
        repo, {".gitattributes": "*.up filter=upper\n", "a.up": "loud", "crlf": "a\r\nb\r\n", "lf": "a\nb\n"}
    )
    tree = tree_of(repo)
    assert git(repo, "cat-file", "blob", f"{tree}:a.up") == "LOUD"
    assert git(repo, "cat-file", "blob", f"{tree}:crlf") == "a\nb"
    assert git(repo, "cat-file", "blob", f"{tree}:lf") == "a\nb"


@pytest.mark.parametrize("place", ["main", "linked", "detached"])
def test_nothing_of_the_user_is_touched(repo: Path, tmp_path: Path, place: str) -> None:
    commit(repo, {"f": "1", "g": "1", "h": "1"})
    write(repo, {"f": "stashed"})
    git(repo, "stash", "-q")
    where = repo
    if place == "linked":
        where = tmp_path / "linked"
        git(repo, "worktree", "add", "-q", str(where))
    if place == "detached":
        git(repo, "checkout", "-q", "--detach")
    write(where, {"f": "staged", "new": "n"})
    git(where, "add", "f")
    git(where, "add", "-N", "new")
    write(where, {"g": "unstaged", "other": "o"})
    (where / "h").unlink()
    before, shared = user_state(where), user_state(repo)
    assert listing(where, tree_of(where / ".")) == {
        "f": "100644 staged",
        "g": "100644 unstaged",
        "new": "100644 n",
        "other": "100644 o",
    }
    assert (user_state(where), user_state(repo)) == (before, shared)
    assert [path.name for path in found(where).private_dir.iterdir()] == ["snapshot"]


def test_from_a_subdirectory_it_is_the_whole_worktree(repo: Path) -> None:
    commit(repo, {"top": "1", "dir/f": "1"})
    write(repo, {"top": "2", "dir/f": "2"})
    assert listing(repo, tree_of(repo / "dir")) == {"dir/f": "100644 2", "top": "100644 2"}


def test_an_index_lock_that_someone_holds_or_left_is_no_obstacle(repo: Path) -> None:
    commit(repo, {"f": "1"})
    write(repo, {"f": "2", ".git/index.lock": ""})
    before = user_state(repo)
    assert listing(repo, tree_of(repo)) == {"f": "100644 2"}
    assert user_state(repo) == before


def test_the_index_of_a_calling_hook_is_not_ours(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repo, {"f": "1"})
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / "elsewhere"))
    assert names(repo, tree_of(repo)) == ["f"]


def test_a_lost_index_is_no_obstacle(repo: Path) -> None:
    commit(repo, {"f": "1"})
    (repo / ".git" / "index").unlink()
    assert listing(repo, tree_of(repo)) == {"f": "100644 1"}
    assert not (repo / ".git" / "index").exists()


def failure(repo: Path, limits: SnapshotLimits = LIMITS) -> tuple[str, str | None]:
    with pytest.raises(SnapshotError) as caught:
        take_snapshot(found(repo), limits=limits)
    return caught.value.message, caught.value.hint


def test_a_broken_index_is_told(repo: Path) -> None:
    commit(repo, {"f": "1"})
    write(repo, {".git/index": "rubbish that is long enough to be looked at"})
    assert failure(repo) == (f"cannot take a snapshot of {repo}: index file corrupt", None)
    assert list(found(repo).private_dir.iterdir()) == []


def test_a_private_directory_that_cannot_be_made_is_told(repo: Path) -> None:
    write(repo, {".git/blackbird": "in the way"})
    place = repo / ".git" / "blackbird"
    assert failure(repo) == (
        f"cannot take a snapshot of {repo}: {place} is a file, not a folder",
        "move it away; state is kept there",
    )


def test_what_a_killed_snapshot_left_is_swept(repo: Path) -> None:
    private = found(repo).private_dir
    write(repo, {".git/blackbird/snapshot.old/index": "x"})
    with private_folder(found(repo), "snapshot") as at_work:
        write(repo, {".git/blackbird/snapshot.new/index": "x"})
        tree_of(repo)
        assert sorted(path.name for path in private.iterdir()) == ["snapshot", at_work.name]
    assert [path.name for path in private.iterdir()] == ["snapshot"]


def test_a_folder_at_work_stays_however_old_it_is(repo: Path) -> None:
    with private_folder(found(repo), "snapshot") as working_copy, private_folder(found(repo), "plan") as plan:
        for folder in (working_copy, plan):
            os.utime(folder, (0, 0))
        tree_of(repo)
        with private_folder(found(repo), "plan"):
            assert (working_copy.is_dir(), plan.is_dir()) == (True, True)


@pytest.mark.parametrize("refused", [1, 2])
def test_without_a_lock_that_others_can_have_nothing_is_begun(
    repo: Path, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    calls, lock = 0, fcntl.flock

    def refusing(descriptor: int, operation: int) -> None:
        nonlocal calls
        calls += 1
        if calls == refused:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", refusing)
    private = found(repo).private_dir
    with pytest.raises(UnusableError) as told, private_folder(found(repo), "snapshot"):
        raise AssertionError("it was begun")
    assert told.value.message.startswith(f"cannot lock {private}")
    assert told.value.hint == "look at the disk, or the network it is on, then repeat the command"
    assert list(private.iterdir()) == []


def test_on_a_file_system_without_locks_folders_are_beside_each_other(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*_: int) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "flock", refusing)
    write(repo, {".git/blackbird/snapshot.old/index": "x"})
    os.utime(repo / ".git/blackbird/snapshot.old", (0, 0))
    with private_folder(found(repo), "snapshot") as at_work:
        tree_of(repo)
        names_there = sorted(path.name for path in at_work.parent.iterdir())
        assert names_there == ["snapshot", at_work.name]


def marking(path: Path, mark: Path) -> Path:
    return script(path, f"touch '{mark}'; sleep 600")


def test_a_slow_fsmonitor_hook_does_not_run(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"f": "1"})
    hook = marking(tmp_path / "hook", tmp_path / "ran")
    write(repo, {"f": "2"})
    git(repo, "config", "core.fsmonitor", str(hook))
    assert listing(repo, tree_of(repo)) == {"f": "100644 2"}
    assert not (tmp_path / "ran").exists()


def test_hooks_of_the_repository_do_not_run(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"f": "1"})
    (repo / ".git" / "hooks").mkdir(exist_ok=True)
    marking(repo / ".git" / "hooks" / "post-index-change", tmp_path / "ran")
    write(repo, {"f": "2"})
    assert listing(repo, tree_of(repo)) == {"f": "100644 2"}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("leaves_its_group", [False, True])
def test_a_filter_that_never_ends_is_bounded(repo: Path, tmp_path: Path, leaves_its_group: bool) -> None:
    escape = f"{escaping(tmp_path)};" if leaves_its_group else ""
    git(repo, "config", "filter.slow.clean", f"{escape} sleep 600")
    write(repo, {".gitattributes": "f filter=slow\n", "f": "1"})
    assert failure(repo, SnapshotLimits(timeout_seconds=1, max_untracked_bytes=100)) == (
        "the snapshot was not done after 1 s",
        (
            "a filter of this repository may hang; for very many files allow more time: "
            "git config blackbird.snapshot.timeoutSeconds SECONDS"
        ),
    )
    assert list(found(repo).private_dir.iterdir()) == []
    (tmp_path / "release").touch()


def test_a_required_filter_that_is_not_installed_is_named(repo: Path) -> None:
    commit(repo, {"a.bin": "1\n", ".gitattributes": "*.bin filter=large\n"})
    git(repo, "config", "filter.large.process", "git-large filter-process")
    git(repo, "config", "filter.large.required", "true")
    (repo / "a.bin").write_text("2\n")
    with pytest.raises(SnapshotError, match=r"git-large.*not found; "):
        take_snapshot(found(repo), limits=SnapshotLimits())
