import base64
import os
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.run.summary import (
    MAX_CHANGES,
    MAX_DIFFSTAT_BYTES,
    MAX_SNIPPET_BYTES,
    MAX_SNIPPET_LINES,
    FileChange,
    FileStatus,
    Snippet,
    Summary,
    Totals,
    Trees,
)
from tests.git.support import change_after, found, tree_of
from tests.support import commit, git, write


def summary_after(repo: Path, base: str) -> Summary:
    return summarize(found(repo), change_after(repo, base))


def test_nothing_changed(repo: Path) -> None:
    base = tree_of(repo)
    assert summary_after(repo, base) == Summary()


def test_a_small_change_in_full(repo: Path) -> None:
    commit(repo, {"kept": "1\n", "edited": "1\n2\n3\n4\n5\n6\n", "gone": "1\n2\n"})
    base = tree_of(repo)
    (repo / "gone").unlink()
    write(repo, {"edited": "1\n2\n3\nfour\n5\n6\n", "new dir/new": "no line end"})
    assert summary_after(repo, base) == Summary(
        files=("edited", "gone", "new dir/new"),
        diffstat=(
            " edited      | 2 +-\n"
            " gone        | 2 --\n"
            " new dir/new | 1 +\n"
            " 3 files changed, 2 insertions(+), 3 deletions(-)"
        ),
        snippets=(
            Snippet(file="edited", snippet="@@ -2,5 +2,5 @@\n 2\n 3\n-4\n+four\n 5\n 6"),
            Snippet(file="gone", snippet="@@ -1,2 +0,0 @@\n-1\n-2"),
            Snippet(file="new dir/new", snippet="@@ -0,0 +1 @@\n+no line end\n\\ No newline at end of file"),
        ),
        changes=(
            FileChange(status=FileStatus.MODIFIED, path="edited", additions=1, deletions=1),
            FileChange(status=FileStatus.DELETED, path="gone", deletions=2),
            FileChange(status=FileStatus.ADDED, path="new dir/new", additions=1),
        ),
        totals=Totals(files=3, additions=2, deletions=3),
    )


def test_renames_modes_links_binaries_and_submodules(repo: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(20))
    commit(
        repo,
        {"a -> b": text, "same": "same\n" * 3, "tool": "1\n", "bin": b"\0\1", "file": "1\n2\n"},
    )
    (repo / "link").symlink_to("old")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (repo / "sub").mkdir()
    base = tree_of(repo)
    (repo / "a -> b").rename(repo / "c")
    write(repo, {"c": text + "more\n", "bin": b"\0\2\n"})
    (repo / "same").rename(repo / "moved")
    (repo / "tool").chmod(0o755)
    (repo / "file").unlink()
    (repo / "file").symlink_to("tool")
    (repo / "link").unlink()
    (repo / "link").symlink_to("new")
    git(repo, "update-index", "--cacheinfo", f"160000,{'2' * 40},sub")
    summary = summary_after(repo, base)
    assert summary.changes == (
        FileChange(status=FileStatus.MODIFIED, path="bin", binary=True),
        FileChange(status=FileStatus.RENAMED, path="c", old_path="a -> b", additions=1),
        FileChange(
            status=FileStatus.TYPE_CHANGED,
            path="file",
            additions=1,
            deletions=2,
            old_mode="100644",
            new_mode="120000",
        ),
        FileChange(status=FileStatus.MODIFIED, path="link", additions=1, deletions=1),
        FileChange(status=FileStatus.RENAMED, path="moved", old_path="same"),
        FileChange(status=FileStatus.MODIFIED, path="sub", additions=1, deletions=1),
        FileChange(status=FileStatus.MODIFIED, path="tool", old_mode="100644", new_mode="100755"),
    )
    assert summary.diffstat == (
        " bin           | Bin\n"
        " a -> b => c   |   1 +\n"
        " file          |   3 +--\n"
        " link          |   2 +-\n"
        " same => moved |   0\n"
        " sub           |   2 +-\n"
        " tool          |   0\n"
        " 7 files changed, 4 insertions(+), 4 deletions(-)"
    )
    assert [snippet.file for snippet in summary.snippets] == ["c", "link", "sub"]
    assert summary.cut == ()


def test_a_file_that_became_a_directory(repo: Path) -> None:
    commit(repo, {"f": "1\n"})
    base = tree_of(repo)
    (repo / "f").unlink()
    write(repo, {"f/g": "other\n"})
    assert [(str(item.status), item.path) for item in summary_after(repo, base).changes] == [
        ("D", "f"),
        ("A", "f/g"),
    ]


def test_names_are_plain_and_current_from_a_subdirectory_too(repo: Path) -> None:
    odd = ["a -> b.txt", "new\nline", 'quo"te', "with space", "ü"]
    commit(repo, {"dir/f": "1\n"})
    base = tree_of(repo)
    write(repo, {**dict.fromkeys(odd, "1\n"), "not\udcff": "1\n", "dir/f": "2\n"})
    summary = summarize(found(repo / "dir"), change_after(repo / "dir", base))
    assert summary.files == ("a -> b.txt", "dir/f", "new\nline", "not\ufffd", 'quo"te', "with space", "ü")
    assert [item.path_b64 for item in summary.changes] == [
        base64.b64encode(b"not\xff").decode() if path == "not\ufffd" else None for path in summary.files
    ]
    assert summary.diffstat.splitlines()[:-1] == [
        " a -> b.txt  | 1 +",
        " dir/f       | 2 +-",
        ' "new\\nline" | 1 +',
        ' "not\\377"   | 1 +',
        ' "quo\\"te"   | 1 +',
        " with space  | 1 +",
        " ü           | 1 +",
    ]
    assert [snippet.file for snippet in summary.snippets] == ["a -> b.txt", "dir/f", "new\nline"]


def test_new_files_in_new_directories_have_names_and_content(repo: Path) -> None:
    commit(repo, {"f": "1"})
    base = tree_of(repo)
    write(repo, {"new/deep/a": "a\n", "new/b": "b\n", ".blackbird/runs/x": "x", "blackbird.plan.json": "{}"})
    summary = summary_after(repo, base)
    assert summary.files == ("new/b", "new/deep/a")
    assert [snippet.snippet for snippet in summary.snippets] == ["@@ -0,0 +1 @@\n+b", "@@ -0,0 +1 @@\n+a"]


@pytest.mark.parametrize("shift", range(4))
def test_a_snippet_is_never_cut_inside_a_character(repo: Path, shift: int) -> None:
    base = tree_of(repo)
    write(repo, {"f": "x" * shift + "𝄞" * 1000 + "\n"})
    summary = summary_after(repo, base)
    (snippet,) = summary.snippets
    assert MAX_SNIPPET_BYTES - 4 < len(snippet.snippet.encode()) <= MAX_SNIPPET_BYTES
    assert "\ufffd" not in snippet.snippet
    assert summary.cut == ("snippet of f: only its start is shown",)


def test_a_snippet_has_a_bound_on_its_lines(repo: Path) -> None:
    base = tree_of(repo)
    write(
        repo, {"fits": "l\n" * (MAX_SNIPPET_LINES - 1), "long": "l\n" * MAX_SNIPPET_LINES, "latin": b"\xe9\n"}
    )
    summary = summary_after(repo, base)
    fits, latin, long = (snippet.snippet.split("\n") for snippet in summary.snippets)
    assert (len(fits), latin[1], len(long)) == (MAX_SNIPPET_LINES, "+\ufffd", MAX_SNIPPET_LINES)
    assert summary.cut == ("snippet of long: only its start is shown",)


def test_a_large_change_is_bounded_and_says_so(repo: Path) -> None:
    base = tree_of(repo)
    write(
        repo, {f"dir/a file with a name of some length {number:04}": f"{number}\n" for number in range(1100)}
    )
    summary = summary_after(repo, base)
    lines = summary.diffstat.split("\n")
    assert summary.files == tuple(
        f"dir/a file with a name of some length {number:04}" for number in range(25)
    )
    assert len(summary.changes) == MAX_CHANGES
    assert summary.totals == Totals(files=1100, additions=1100, deletions=0)
    assert len(summary.diffstat.encode()) <= MAX_DIFFSTAT_BYTES
    assert lines[0] == " dir/a file with a name of some length 0000 | 1 +"
    assert lines[-2:] == [
        f" ... and {1100 - len(lines) + 2} more files",
        " 1100 files changed, 1100 insertions(+)",
    ]
    assert summary.cut == (
        "files: 25 of 1100 files are shown",
        f"diffstat: {len(lines) - 2} of 1100 files are shown",
        "changes: 1000 of 1100 files are shown",
        "snippets: 3 of 1100 files are shown",
    )


def test_a_diffstat_looks_as_gits_does(repo: Path) -> None:
    commit(repo, {"b": "1\n" * 60, "bin": b"\0"})
    base = tree_of(repo)
    write(repo, {"a" * 60: "1\n" * 500, "few": "1\n", "b": "2\n" * 70, "dir/c": "3\n" * 99, "empty": ""})
    pair = change_after(repo, base)
    text = git(repo, "diff", "--stat", pair.base, pair.head)
    assert summarize(found(repo), pair).diffstat == text


def test_many_moved_files_are_renames(repo: Path) -> None:
    commit(repo, {f"old/{number}": f"{number}\n" for number in range(300)})
    base = tree_of(repo)
    (repo / "old").rename(repo / "new")
    summary = summary_after(repo, base)
    assert summary.totals == Totals(files=300)
    assert {item.status for item in summary.changes} == {FileStatus.RENAMED}


def test_the_users_diff_configuration_changes_nothing(repo: Path) -> None:
    write(repo, {"f": "1\n"})
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (repo / "sub").mkdir()
    base = tree_of(repo)
    write(repo, {"f": "2\n"})
    git(repo, "update-index", "--cacheinfo", f"160000,{'2' * 40},sub")
    pair = change_after(repo, base)
    plain = summarize(found(repo), pair)
    settings = {
        "diff.context": "0",
        "diff.noprefix": "true",
        "diff.renames": "false",
        "diff.algorithm": "patience",
    }
    for key, value in {**settings, "diff.ignoreSubmodules": "all", "diff.external": "false"}.items():
        git(repo, "config", key, value)
    assert summarize(found(repo), pair) == plain
    assert plain.files == ("f", "sub")


def test_a_tree_that_is_gone_is_told(repo: Path) -> None:
    tree = tree_of(repo)
    with pytest.raises(UnusableError, match=rf"^cannot use the objects of {repo / '.git'}: "):
        summarize(found(repo), Trees(tree, "1" * 40))


def test_a_detached_head_and_no_commit_make_no_difference(repo: Path) -> None:
    base = tree_of(repo)
    commit(repo, {"f": "1\n"})
    git(repo, "checkout", "-q", "--detach")
    os.utime(repo / "f")
    assert summary_after(repo, base).files == ("f",)


def test_one_of_several_equal_files_that_was_moved(repo: Path) -> None:
    commit(repo, {"gone": "1\n", "d/x": "1\n", "kept": "1\n"})
    base = tree_of(repo)
    (repo / "gone").unlink()
    (repo / "d").rename(repo / "e")
    write(repo, {"new": "new\n"})
    summary = summarize(found(repo), Trees(base, tree_of(repo)))
    assert summary.files == ("e/x", "gone", "new")
