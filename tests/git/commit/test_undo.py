"""The script that takes a change back: exactly the change, whatever its paths are, and no later edit."""

import shutil
import subprocess
from pathlib import Path

import pytest

from git_blackbird.git.commit.undo import UndoPlan, plan_undo, render_undo
from git_blackbird.git.worktree.changes import changed_paths
from git_blackbird.model.entities.change import TreePair
from tests.git.support import ODD, change_after, found, listing, tree_of
from tests.support import commit, git, write


def run_script(where: Path, repo: Path, pair: TreePair) -> subprocess.CompletedProcess[bytes]:
    script = render_undo(found(repo), pair)
    assert script is not None
    return subprocess.run(["sh"], cwd=where, input=script, capture_output=True, check=False)


@pytest.mark.parametrize("is_tracked", [False, True])
def test_the_script_takes_back_exactly_the_change(repo: Path, is_tracked: bool) -> None:
    write(repo, dict.fromkeys(ODD, "1\n"))
    write(repo, {"gone": "1\n", "f": "1\n", "d/x": "1\n", "mode": "1\n", "bin": b"\0\1", "l": "1\n"})
    write(
        repo, {"mine": "1\n", "mine in d/f": "1\n", "renamed": "long enough to be alike\n" * 9, "empty": ""}
    )
    if is_tracked:
        commit(repo, {"anchor": "1\n"})
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", "all")
    base = tree_of(repo)
    for name in ("gone", "f", "d/x", "l", "empty"):
        (repo / name).unlink()
    (repo / "d").rmdir()
    (repo / "l").symlink_to("plain")
    (repo / "mode").chmod(0o755)
    (repo / "renamed").rename(repo / "-new\nname")
    write(repo, dict.fromkeys(ODD, "2\n"))
    write(repo, {"f/g": "2\n", "d": "2\n", "added": "2\n", "dir/added": "no end of line", "bin": b"\0\2"})
    write(repo, {"-n": "2\n", "bare": ""})
    pair = change_after(repo, base)
    write(repo, {"mine": "2\n", "mine too": "2\n"})
    expected = listing(repo, base) | {"mine": "100644 2", "mine too": "100644 2"}
    (repo / "below").mkdir()
    completed = run_script(repo / "below", repo, pair)
    assert (completed.returncode, completed.stderr) == (0, b"")
    assert listing(repo, tree_of(repo)) == expected


@pytest.mark.parametrize(
    ("base", "head", "now"),
    [
        ({"f": "1\n"}, {"f": "2\n"}, {"f": "mine\n"}),
        ({"f": b"\0\1"}, {"f": b"\0\2"}, {"f": b"\0\3"}),
        ({}, {"f": "2\n"}, {"f": "2\nmine\n"}),
        ({"f": "1\n"}, {}, {"f": "mine\n"}),
    ],
    ids=["changed", "binary", "added", "deleted"],
)
def test_the_script_never_overwrites_what_came_after_it_was_written(
    repo: Path, base: dict[str, str], head: dict[str, str], now: dict[str, str]
) -> None:
    write(repo, {"other": "1\n", **base})
    before = tree_of(repo)
    (repo / "f").unlink(missing_ok=True)
    write(repo, {"other": "2\n", **head})
    pair = change_after(repo, before)
    write(repo, now)
    later = listing(repo, tree_of(repo))
    completed = run_script(repo, repo, pair)
    assert completed.returncode != 0
    assert b"error: f: " in completed.stderr
    assert listing(repo, tree_of(repo)) == later


def test_an_edit_elsewhere_in_a_file_stays(repo: Path) -> None:
    lines = [f"{number}\n" for number in range(30)]
    write(repo, {"f": "".join(lines)})
    base = tree_of(repo)
    write(repo, {"f": "".join([*lines[:5], "agent\n", *lines[5:]])})
    pair = change_after(repo, base)
    write(repo, {"f": "".join(["mine\n", *lines[:5], "agent\n", *lines[5:]])})
    assert run_script(repo, repo, pair).returncode == 0
    assert (repo / "f").read_text() == "".join(["mine\n", *lines])


def test_line_ends_of_the_worktree_stay_as_they_are(repo: Path) -> None:
    commit(repo, {".gitattributes": "* text eol=crlf\n", "f": "1\r\n2\r\n"})
    base = tree_of(repo)
    write(repo, {"f": "1\r\nagent\r\n2\r\n"})
    assert run_script(repo, repo, change_after(repo, base)).returncode == 0
    assert (repo / "f").read_bytes() == b"1\r\n2\r\n"


def submodules(repo: Path, inner: Path, *names: str) -> None:
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    commit(inner, {"file": "1"})
    for name in names:
        git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), f"./{name}")
    git(repo, "commit", "-q", "-m", "submodules")


def test_a_submodule_goes_back_to_its_commit_unless_it_moved_on(repo: Path, tmp_path: Path) -> None:
    submodules(repo, tmp_path / "inner", "sub 'it'", "moved", "gone")
    base = tree_of(repo)
    for name in ("sub 'it'", "moved"):
        commit(repo / name, {"file": "2"})
    shutil.rmtree(repo / "gone")
    pair = change_after(repo, base)
    commit(repo / "moved", {"file": "mine"})
    completed = run_script(repo, repo, pair)
    assert completed.stderr == b"./moved: its commit is another by now; it is left as it is\n"
    assert changed_paths(found(repo), change_after(repo, base)) == {b"moved", b"gone"}
    assert plan_undo(found(repo), pair, [], None).repositories == (b"gone",)


def test_a_commit_of_the_change_is_to_be_reverted_and_the_rest_is_in_the_worktree(repo: Path) -> None:
    start = commit(repo, {"committed": "1\n", "both": "1\n", "loose": "1\n"})
    base = tree_of(repo)
    first = commit(repo, {"committed": "2\n", "both": "2\n"})
    second = commit(repo, {"both": "3\n"})
    write(repo, {"both": "4\n", "loose": "2\n"})
    pair = change_after(repo, base)
    there = found(repo)
    plan = plan_undo(there, pair, [first, second, "f" * 40], start)
    assert plan.commits == ((second, 1), (first, 1))
    assert changed_paths(there, plan.edits) == {b"both", b"loose"}
    assert run_script(repo, repo, plan.edits).returncode == 0
    assert git(repo, "status", "--porcelain") == ""
    git(repo, "revert", "--no-edit", second, first)
    assert tree_of(repo) == base


def test_commits_that_are_elsewhere_are_not_named(repo: Path) -> None:
    start = commit(repo, {"f": "1\n"})
    base = tree_of(repo)
    git(repo, "switch", "-q", "-c", "side")
    made = commit(repo, {"f": "2\n"})
    pair = change_after(repo, base)
    git(repo, "switch", "-q", "main")
    assert plan_undo(found(repo), pair, [made], start) == UndoPlan(pair)


def test_nothing_to_take_back(repo: Path) -> None:
    base = tree_of(repo)
    assert render_undo(found(repo), TreePair(base, base)) is None
