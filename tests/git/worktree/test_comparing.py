"""What has lines is decided by content, and what governs other files is shown before them."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.git.change.changes import diff_text, show_diff
from git_blackbird.git.worktree.comparing import generated_paths
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.run.summary import Trees
from tests.git.support import change_after, found, tree_of
from tests.support import commit, git, write

BEFORE: dict[str, str | bytes] = {"a.py": "one\n", "bin": b"\0\1"}
AFTER: dict[str, str | bytes] = {"a.py": "one\ntwo\n", "bin": b"\0\2", "dir/new.txt": "text\n"}
LINES = {b"+two", b"+text"}


def attributes(line: str) -> Callable[[Path], None]:
    return lambda repo: write(repo, {".gitattributes": f"{line}\n"})


def in_git_directory(repo: Path) -> None:
    write(repo, {".git/info/attributes": "* -diff\n"})


def of_user(repo: Path) -> None:
    write(repo, {".git/mine": "* -diff\n"})
    git(repo, "config", "core.attributesFile", f"{repo}/.git/mine")


def driver(repo: Path) -> None:
    write(repo, {".gitattributes": "* diff=foo\n"})
    git(repo, "config", "diff.foo.binary", "true")


def converter(repo: Path) -> None:
    write(repo, {".gitattributes": "* diff=foo\n"})
    git(repo, "config", "diff.foo.textconv", "true")


def program(repo: Path) -> None:
    git(repo, "config", "diff.external", "true")


def threshold(repo: Path) -> None:
    git(repo, "config", "core.bigFileThreshold", "1")


def replaced(repo: Path) -> None:
    old, new = (git(repo, "hash-object", "-w", "--stdin", stdin=text) for text in (b"one\n", b"one\ntwo\n"))
    git(repo, "replace", new, old)


WAYS: dict[str, Callable[[Path], None]] = {
    "attribute": attributes("* -diff"),
    "binary": attributes("* binary"),
    "macro": attributes("[attr]mine binary\n* mine"),
    "no text": attributes("* -text"),
    "encoding": attributes("* working-tree-encoding=UTF-16"),
    "git directory": in_git_directory,
    "user": of_user,
    "driver": driver,
    "converter": converter,
    "program": program,
    "threshold": threshold,
    "replaced": replaced,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_attribute_setting_or_program_hides_a_line(
    repo: Path, way: str, capfd: pytest.CaptureFixture[str]
) -> None:
    commit(repo, BEFORE)
    base = tree_of(repo)
    write(repo, AFTER)
    pair = change_after(repo, base)
    WAYS[way](repo)
    there = replace(found(repo), environ={**os.environ, "GIT_EXTERNAL_DIFF": "true"})
    summary = summarize(there, pair)
    assert [(change.path, change.additions, change.binary) for change in summary.changes] == [
        ("a.py", 1, False),
        ("bin", 0, True),
        ("dir/new.txt", 1, False),
    ]
    assert [snippet.file for snippet in summary.snippets] == ["a.py", "dir/new.txt"]
    assert show_diff(there, pair) == 0
    for text in (diff_text(there, pair), capfd.readouterr().out.encode()):
        assert set(text.splitlines()) >= LINES
        assert text.count(b"Binary files") == 1


def test_no_setting_hides_that_a_submodule_was_moved(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commit(repo, {"a": "1\n"})
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    (repo / "sub").mkdir()
    base = git(repo, "write-tree")
    git(repo, "update-index", "--cacheinfo", f"160000,{'2' * 40},sub")
    write(repo, {".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = all\n'})
    git(repo, "config", "diff.ignoreSubmodules", "all")
    pair = Trees(base, git(repo, "write-tree"))
    moved = f"+Subproject commit {'2' * 40}\n"
    assert moved in diff_text(found(repo), pair).decode()
    assert show_diff(found(repo), pair) == 0
    assert moved in capfd.readouterr().out
    assert summarize(found(repo), pair).totals.files == 1


def test_what_governs_other_files_comes_first(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    git(repo, "config", "core.hooksPath", "tools/git hooks")
    commit(repo, {"a.py": "1\n"})
    base = tree_of(repo)
    first = [
        *(".gitattributes", "z/.gitattributes", ".gitmodules", ".gitignore", "a/b/.gitignore"),
        *("tools/git hooks/pre-commit", ".husky/pre-push", ".pre-commit-config.yaml"),
    ]
    others = ["!", "a.gitignore", "a.py", "a/b/z", "tools/a"]
    write(repo, dict.fromkeys([*others, *first], "2\n"))
    pair = change_after(repo, base)
    summary = summarize(found(repo), pair)
    assert summary.files == (*first, *others)
    assert [line.split()[0] for line in summary.diffstat.splitlines()[:2]] == first[:2]
    assert [snippet.file for snippet in summary.snippets] == first[:3]
    assert show_diff(found(repo), pair) == 0
    for text in (diff_text(found(repo), pair).decode(), capfd.readouterr().out):
        assert [line[6:].rstrip("\t") for line in text.splitlines() if line.startswith("+++")] == [
            *first,
            *others,
        ]


def test_what_was_configured_for_diffs_and_is_typed_counts(
    repo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    commit(repo, {"a": "1\n"})
    base = tree_of(repo)
    write(repo, {"a": "2\n"})
    git(repo, "config", "diff.noprefix", "true")
    there = found(repo)
    typed = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "diff.noprefix", "GIT_CONFIG_VALUE_0": "false"}
    for variables, header in (({}, "diff --git a a\n"), (typed, "diff --git a/a b/a\n")):
        assert show_diff(replace(there, call_configuration=variables), change_after(repo, base)) == 0
        assert capfd.readouterr().out.startswith(header)


def test_a_change_does_not_say_which_of_its_files_are_generated(repo: Path) -> None:
    commit(repo, {".gitattributes": "*.api linguist-generated\n"})
    base = tree_of(repo)
    write(repo, {".git/info/attributes": "*.py linguist-generated\n"})
    assert generated_paths(found(repo), base, [b"a.py", b"x/b.api"]) == {b"x/b.api": True}
