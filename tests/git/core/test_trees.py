"""Entries of trees, and names that no file may have, as by git's own core.protectHFS and protectNTFS."""

from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import discover
from git_blackbird.git.core.trees import TreeEntry, TreeStore, is_unsafe
from git_blackbird.git.writing.path_writer import Journal
from git_blackbird.git.writing.write_back import WriteBackError, take_signatures, write_paths
from git_blackbird.model.run.summary import Trees
from tests.git.support import found, tree_of
from tests.support import commit, git, write

UNSAFE = (
    *(
        "",
        ".",
        "..",
        "a/b",
        "/etc/passwd",
        "../x",
        ".git",
        ".GIT",
        ".gIt",
        "git~1",
        "GIT~1",
        ".git.",
        ".git ",
    ),
    *(".git . .", ".git\\x", ".git:stream", ".git::$INDEX_ALLOCATION", "x\\.git", ".g\u200cit", "\u200f.git"),
    *(".gi\ufefft", "\u202a.GI\u206aT"),
)
SAFE = (
    *(
        "...",
        ".gitignore",
        ".gitmodules",
        ".github",
        "git",
        "git~2",
        ".git-old",
        "xgit~1",
        "agit",
        ".gi",
        "gít",
    ),
    *(".g\u200bit", "legit. ", "a\nb", "\u200c"),
)


@pytest.mark.parametrize("name", UNSAFE)
def test_what_leads_out_or_into_a_git_directory_is_unsafe(name: str) -> None:
    assert is_unsafe(name.encode())


@pytest.mark.parametrize("name", SAFE)
def test_other_names_are_safe(name: str) -> None:
    assert not is_unsafe(name.encode())


def raw_tree(repo: Path, *entries: tuple[str, bytes, str]) -> str:
    """Write a tree as its bytes are, which git takes unseen."""
    data = b"".join(f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    (repo.parent / "raw").write_bytes(data)
    return git(repo, "hash-object", "-w", "-t", "tree", "--literally", "../raw")


@pytest.mark.parametrize("name", ["../victim", "/tmp/victim", "..", ".git", "deep/er", ""])
@pytest.mark.parametrize("is_below", [False, True])
@pytest.mark.parametrize("is_removed", [False, True])
def test_a_tree_with_such_a_name_is_not_written(
    repo: Path, name: str, is_below: bool, is_removed: bool
) -> None:
    commit(repo, {"x": "1\n"})
    (repo / "deep").mkdir()
    (repo / "deep" / "er").write_text("mine\n")
    (repo.parent / "victim").write_text("mine\n")
    blob, top = git(repo, "rev-parse", "HEAD:x"), git(repo, "rev-parse", "HEAD^{tree}")
    evil = raw_tree(repo, ("100644", name.encode(), blob))
    if is_below:
        evil = raw_tree(repo, ("40000", b"sub", evil))
    opened = discover(repo, {})
    before, after = (evil, top) if is_removed else (top, evil)
    with pytest.raises(UnusableError, match="name what no file may be"):
        write_paths(opened, Trees(before, after), {}, Journal(opened, "x"), timeout_seconds=60)
    assert (repo.parent / "victim").read_text() == (repo / "deep" / "er").read_text() == "mine\n"


@pytest.mark.parametrize("name", [".blackbird", "blackbird.plan.json", ".BLACKBIRD", ".gitmodules"])
def test_state_plan_and_links_for_submodules_are_no_part_of_a_change(repo: Path, name: str) -> None:
    commit(repo, {"x": "1\n"})
    blob, top = git(repo, "rev-parse", "HEAD:x"), git(repo, "rev-parse", "HEAD^{tree}")
    mode = "120000" if name == ".gitmodules" else "100644"
    evil = raw_tree(repo, (mode, name.encode(), blob))
    opened = discover(repo, {})
    expected = take_signatures(opened, TreeStore(opened).changed_paths(top, evil))
    with pytest.raises(WriteBackError, match="a change may not write"):
        write_paths(opened, Trees(top, evil), expected, Journal(opened, "x"), timeout_seconds=60)
    assert not (repo / name).exists()


@pytest.mark.parametrize("damage", [b"x", b"100644 a\0short", b"100644\0" + b"0" * 20])
def test_what_is_no_list_of_entries_is_no_tree(repo: Path, damage: bytes) -> None:
    commit(repo, {"x": "1\n"})
    (repo.parent / "raw").write_bytes(damage)
    oid = git(repo, "hash-object", "-w", "-t", "tree", "--literally", "../raw")
    with pytest.raises(UnusableError, match="cannot be read"):
        TreeStore(discover(repo, {})).load(oid)


def test_an_entry_is_mode_and_object_of_a_file(repo: Path) -> None:
    write(repo, {"dir/f": "1\n"})
    (repo / "dir" / "f").chmod(0o755)
    trees, tree = TreeStore(found(repo)), tree_of(repo)
    assert trees.entry(tree, b"dir/f") == TreeEntry(0o100755, git(repo, "rev-parse", f"{tree}:dir/f"))
    for nothing in (b"dir", b"dir/f/deeper", b"none", b"none/f"):
        assert trees.entry(tree, nothing) is None


def test_a_tree_that_is_not_there_is_told(repo: Path) -> None:
    with pytest.raises(UnusableError, match=rf"^the tree {'1' * 40} is not in this repository"):
        TreeStore(found(repo)).entry("1" * 40, b"f")
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"x")
    with pytest.raises(UnusableError, match=rf"^the object {blob} is not a tree$"):
        TreeStore(found(repo)).entry(blob, b"f")
