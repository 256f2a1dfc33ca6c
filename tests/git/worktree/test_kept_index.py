"""A snapshot that goes on with the index of an earlier one says what one that starts anew says."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_blackbird.git.core.config import files_of_rules
from git_blackbird.git.core.trees import TreeEntry
from git_blackbird.git.worktree.index import write_entries
from git_blackbird.git.worktree.snapshot import Snapshot, SnapshotLimits, take_snapshot
from tests.git.support import KEPT, found, listing
from tests.git.worktree.test_snapshot_against_git import KINDS, PATHS, put
from tests.support import commit, examples, git, wait_until, write

LIMITS = SnapshotLimits(timeout_seconds=60, max_untracked_bytes=20)
# A rule that is younger than this may change without a trace.
TICK_SECONDS = 0.2


def settle(repo: Path) -> None:
    """Wait until a change of any rule is one that its file's times show."""
    rules = [path for path in (*repo.rglob(".git*"), *files_of_rules(found(repo))) if path.exists()]
    newest = max(max(path.stat().st_mtime, path.stat().st_ctime) for path in rules)
    wait_until(lambda: time.time() > newest + TICK_SECONDS)


def taken(repo: Path, since: str | None = None) -> Snapshot:
    return take_snapshot(found(repo), limits=LIMITS, since=since)


def taken_anew(repo: Path, since: str | None = None) -> Snapshot:
    """Take a snapshot without the kept index, and leave that as it is."""
    kept, aside = repo / ".git" / KEPT, repo / ".git" / "aside"
    if kept.exists():
        kept.rename(aside)
    fresh = taken(repo, since)
    shutil.rmtree(kept, ignore_errors=True)
    if aside.exists():
        aside.rename(kept)
    return fresh


def commands(repo: Path, trace: Path) -> list[str]:
    """Return the git commands of one snapshot."""
    trace.write_text("")
    environ = {**found(repo).environ, "GIT_TRACE": str(trace)}
    take_snapshot(replace(found(repo), environ=environ), limits=LIMITS)
    started = [line for line in trace.read_text().splitlines() if "built-in: git " in line]
    return [line.split("built-in: git ")[1].split()[0] for line in started]


@pytest.fixture
def worked_on(repo: Path) -> Path:
    """A repository with work of every kind in its worktree."""
    commit(repo, {"f": "1", "dir/f": "1", "gone": "1", ".gitignore": "*.log\n", "same": "12"})
    write(repo, {"kept.log": "1", "lost.log": "1"})
    git(repo, "add", "-f", "kept.log", "lost.log")
    git(repo, "commit", "-qm", "logs")
    write(repo, {"f": "2", "new": "1", "sub/new": "1", "sub/deep/new": "a\n", "same": "21"})
    for name in ("gone", "lost.log"):
        (repo / name).unlink()
    settle(repo)
    return repo


def test_what_is_known_is_not_asked_again(worked_on: Path, tmp_path: Path) -> None:
    def asked() -> list[str]:
        return commands(worked_on, tmp_path / "trace")

    assert asked() == ["ls-files", "status", "update-index", "write-tree", "config"]
    assert asked() == ["status"]
    write(worked_on, {"sub/more": "1", "f": "3"})
    assert asked() == ["status"]
    # Many files are quicker with git.
    write(worked_on, {f"more/{number}": "1" for number in range(21)})
    assert asked() == ["status", "update-index"]
    assert asked() == ["status"]


def test_an_index_that_is_written_hides_no_edit_of_that_moment(repo: Path) -> None:
    """Git compares the content of files that are as young as the index, or younger."""
    commit(repo, {"f": "1", "gone": "1"})
    index = repo / ".git/index"
    before = index.stat().st_mtime_ns - 10**9
    os.utime(index, ns=(before, before))
    write(repo, {"f": "2"})
    edits = {b"f": TreeEntry(0o100755, git(repo, "hash-object", "-w", "f")), b"gone": None, b"not": None}
    write_entries(index, edits)
    assert git(repo, "ls-files", "-s").split()[::3] == ["100755", "f"]
    assert index.stat().st_mtime_ns == before


def link(repo: Path, name: str, to: str) -> None:
    path = repo / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(to)


def edit_unseen(repo: Path) -> None:
    """Change a file, but neither its size nor its time of modification."""
    path = repo / "same"
    before = path.stat()
    path.write_text("33")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def make_directory(repo: Path) -> None:
    (repo / "f").rename(repo / "f.old")
    edit(repo, {"f/f": "1"})


def convert(repo: Path) -> None:
    git(repo, "config", "filter.up.clean", "tr a-z A-Z")
    write(repo, {".git/info/attributes": "* filter=up\n"})


def convert_by_index(repo: Path) -> None:
    write(repo, {".gitattributes": "*.t text eol=lf\n"})
    git(repo, "add", ".gitattributes")
    (repo / ".gitattributes").unlink()
    write(repo, {"a.t": "a\r\n"})


def change_mode_unseen(repo: Path) -> None:
    git(repo, "config", "core.fileMode", "false")
    (repo / "f").chmod(0o755)
    write(repo, {"f": "4"})


def choose_ignores(repo: Path) -> None:
    write(repo, {"../home/ignores": "new\n"})
    git(repo, "config", "--global", "core.excludesFile", "~/ignores")


def edit(repo: Path, files: dict[str, str]) -> Path:
    write(repo, files)
    return repo


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda repo: None,
    "more": lambda repo: edit(repo, {"sub/more": "1", "f": "3", "dir/new": "1"}),
    "an edit of the same size and time": edit_unseen,
    "many files": lambda repo: edit(repo, {f"sub/{number}": "1" for number in range(30)}),
    "a large file": lambda repo: edit(repo, {"f": "x" * 300_000}),
    "a mode": lambda repo: (repo / "new").chmod(0o755),
    "a mode that git does not see": change_mode_unseen,
    "other ends of lines": lambda repo: (
        git(repo, "config", "core.autocrlf", "input"),
        edit(repo, {"f": "a\r\nb\r\n", "sub/more": "a\r\n"}),
    ),
    "attributes that are only in the index": convert_by_index,
    "a file that only its owner may read": lambda repo: (repo / "sub/new").chmod(0o600),
    "deleted again": lambda repo: (repo / "new").unlink(),
    "as it was committed": lambda repo: edit(repo, {"f": "1", "gone": "1"}),
    "too large": lambda repo: edit(repo, {"new": "x" * 21, "f": "x" * 21}),
    "a tracked file that is back": lambda repo: edit(repo, {"gone": "x" * 21}),
    "a tracked, ignored file that is back": lambda repo: edit(repo, {"lost.log": "2"}),
    "ignored": lambda repo: edit(repo, {".gitignore": "*.log\nnew\n"}),
    "ignored by what is ignored": lambda repo: edit(repo, {"sub/.gitignore": "*\n"}),
    "ignored for this clone": lambda repo: edit(repo, {".git/info/exclude": "sub\n"}),
    "ignored for this user": lambda repo: edit(repo, {"../home/.config/git/ignore": "new\n"}),
    "ignored by a file of the user's choice": choose_ignores,
    "no longer ignored": lambda repo: edit(repo, {".gitignore": "\n", "a.log": "1"}),
    "converted": convert,
    "converted by attributes of the directory": lambda repo: edit(
        repo, {"sub/deep/.gitattributes": "* working-tree-encoding=UTF-16LE\n"}
    ),
    "a repository": lambda repo: git(repo / "sub", "init", "-q"),
    "a directory that is a link": lambda repo: link(repo, "sub", "dir"),
    "a tracked directory that is a link": lambda repo: link(repo, "dir", "sub"),
    "a file that is a link": lambda repo: link(repo, "f", "new"),
    "a directory that is a file": lambda repo: git(repo, "clean", "-fdq", "sub") or edit(repo, {"sub": "1"}),
    "a file that is a directory": make_directory,
    "staged": lambda repo: git(repo, "add", "-A"),
    "committed": lambda repo: git(repo, "commit", "-qam", "all"),
    "an intent to add": lambda repo: git(repo, "add", "-N", "new"),
    "taken out of the index": lambda repo: git(repo, "rm", "-q", "--cached", "f"),
    "assumed unchanged": lambda repo: (
        git(repo, "update-index", "--assume-unchanged", "f"),
        edit(repo, {"f": "4"}),
    ),
    "skipped": lambda repo: (git(repo, "update-index", "--skip-worktree", "f"), edit(repo, {"f": "4"})),
    "a sparse checkout": lambda repo: (
        git(repo, "commit", "-qam", "all"),
        git(repo, "sparse-checkout", "set", "dir"),
    ),
    "an index without a checksum": lambda repo: (
        git(repo, "config", "index.skipHash", "true"),
        git(repo, "add", "-A"),
    ),
    "pruned objects": lambda repo: git(repo, "prune", "--expire=now"),
    "a torn index": lambda repo: (repo / ".git" / KEPT / "index").write_bytes(b"DIRC" + bytes(100)),
    "a torn state": lambda repo: (repo / ".git" / KEPT / "state.json").write_bytes(b""),
    "another's index": lambda repo: shutil.copy2(repo / ".git/index", repo / ".git" / KEPT / "index"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("change", CHANGES)
def test_a_kept_index_says_what_a_new_one_says(worked_on: Path, change: str) -> None:
    base = taken(worked_on)
    assert taken(worked_on) == base == taken_anew(worked_on)
    CHANGES[change](worked_on)
    for since in (None, base.tree):
        if change == "pruned objects" and since is not None:
            continue
        again = taken(worked_on, since)
        assert again == taken_anew(worked_on, since) == taken(worked_on, since)
        # All that the tree is made of is there.
        assert listing(worked_on, again.tree)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "setting",
    [
        "core.ignoreStat=true",
        "core.checkStat=minimal",
        "core.trustCtime=false",
        "core.untrackedCache=true",
        "core.preloadIndex=false",
        "core.splitIndex=true",
        "index.version=4",
        "feature.manyFiles=true",
    ],
)
def test_what_git_is_told_about_times_and_indexes_hides_nothing(worked_on: Path, setting: str) -> None:
    git(worked_on, "config", *setting.split("="))
    git(worked_on, "add", "sub/new")
    settle(worked_on)
    base = taken(worked_on)
    for content in ("2", "3"):
        edit_unseen(worked_on)
        write(worked_on, {"f": content, "new": content, "sub/new": content, f"dir/new{content}": "1"})
        assert taken(worked_on, base.tree) == taken_anew(worked_on, base.tree)
        names = git(worked_on, "ls-tree", "-r", "--name-only", taken(worked_on).tree).splitlines()
        assert f"dir/new{content}" in names
        assert git(worked_on, "cat-file", "-p", f"{taken(worked_on).tree}:new") == content


def test_a_copied_tree_and_another_place(worked_on: Path, tmp_path: Path) -> None:
    taken(worked_on)
    for place in ("copy", "moved"):
        other = tmp_path / place
        shutil.copytree(worked_on, other, symlinks=True)
        edit_unseen(other)
        assert taken(other) == taken_anew(other)


def test_two_at_once_do_not_share_an_index(worked_on: Path) -> None:
    alone = taken(worked_on)
    kept = worked_on / ".git" / KEPT
    kept.rename(worked_on / ".git" / "other")
    assert taken(worked_on) == alone
    assert kept.is_dir()


WORKTREES = st.dictionaries(st.sampled_from([*PATHS, "big"]), st.sampled_from([*KINDS, "x" * 21]))
STEPS = st.tuples(WORKTREES, st.sampled_from(["", "add", "commit", "settle", "since"]))


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(committed=WORKTREES, steps=st.lists(STEPS, min_size=2, max_size=5))
def test_any_sequence_of_worktrees(
    committed: dict[str, str], steps: list[tuple[dict[str, str], str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        git(Path(folder), "init", "-q", "-b", "main", "repo")
        repo = Path(folder, "repo")
        put(repo, committed)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "--allow-empty", "-m", "a commit")
        since = None
        for files, then in steps:
            put(repo, files)
            if then == "settle":
                settle(repo)
            kept = taken(repo, since)
            assert kept == taken_anew(repo, since)
            since = kept.tree if then == "since" else None
            if then in {"add", "commit"}:
                subprocess.run(["git", "add", "-A"], cwd=repo, check=True)
            if then == "commit":
                git(repo, "commit", "-q", "--allow-empty", "-m", "a commit")


def test_times_that_no_index_knows_are_learned_once(repo: Path) -> None:
    commit(repo, {"f": "1", "g": "1"})
    for name in ("f", "g"):
        os.utime(repo / name, (1, 1))
    users = (repo / ".git" / "index").read_bytes()
    taken(repo)
    kept = {**os.environ, "GIT_INDEX_FILE": str(repo / ".git" / KEPT / "index")}
    stale = subprocess.run(["git", "diff-files"], cwd=repo, env=kept, capture_output=True, check=True).stdout
    assert stale == b""
    assert (repo / ".git" / "index").read_bytes() == users
