"""A throw-away checkout: what git would check out, elsewhere, and nothing changed here."""

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.git.worktree.index import private_folder
from git_blackbird.git.worktree.saved_trees import CheckoutError, checkout_tree
from tests.git.support import ODD, escaping, found, script, tree_of, user_state
from tests.support import commit, git, write

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a place"
    made.mkdir()
    return made


def files(folder: Path) -> Mapping[str, str]:
    """Kind and content of everything in a folder, but of folders that hold something."""
    result: dict[str, str] = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(mode):
            result[name] = f"-> {path.readlink()}"
        elif stat.S_ISREG(mode):
            runs = "x " if mode & 0o100 else ""
            result[name] = runs + path.read_bytes().decode(errors="surrogateescape")
        elif not any(path.iterdir()):
            result[name] = "empty folder"
    return result


def checked_out(repo: Path, folder: Path, tree: str) -> Mapping[str, str]:
    """What a checkout gives, when it leaves everything else as it was."""
    before = user_state(repo), files_of_worktree(repo)
    checkout_tree(found(repo), tree, folder)
    assert (user_state(repo), files_of_worktree(repo)) == before
    return files(folder)


def files_of_worktree(repo: Path) -> Mapping[str, str]:
    return {name: what for name, what in files(repo).items() if not name.startswith(".git/")}


def test_a_snapshot_is_written_out_while_the_worktree_goes_on(repo: Path, folder: Path) -> None:
    commit(repo, {"kept": "1", "changed": "1", "gone": "1", "dir/in": "1"})
    write(repo, {"changed": "2", "new/deep/er": "n"})
    (repo / "gone").unlink()
    tree = tree_of(repo)
    write(repo, {"changed": "3", "later": "x"})
    git(repo, "add", "changed")
    expected = {"kept": "1", "changed": "2", "dir/in": "1", "new/deep/er": "n"}
    assert checked_out(repo, folder, tree) == expected


def test_every_name_a_file_may_have(repo: Path, folder: Path) -> None:
    expected = dict.fromkeys(ODD, "1") | {f"dir {name}/in": "2" for name in ODD}
    write(repo, expected)
    assert checked_out(repo, folder, tree_of(repo)) == expected


def test_modes_and_links(repo: Path, folder: Path) -> None:
    write(repo, {"tool": "1", "plain": "1"})
    (repo / "tool").chmod(0o755)
    (repo / "dangling").symlink_to("nowhere/at all")
    (repo / "loop").symlink_to("loop")
    (repo / "to-dir").symlink_to("/tmp")
    assert checked_out(repo, folder, tree_of(repo)) == {
        "tool": "x 1",
        "plain": "1",
        "dangling": "-> nowhere/at all",
        "loop": "-> loop",
        "to-dir": "-> /tmp",
    }


def test_an_empty_tree_and_a_repository_without_commits(repo: Path, folder: Path) -> None:
    assert checked_out(repo, folder, EMPTY_TREE) == {}
    write(repo, {"new": "x"})
    assert checked_out(repo, folder, tree_of(repo)) == {"new": "x"}


def test_filters_and_line_ends_are_those_the_tree_names(repo: Path, folder: Path) -> None:
    git(repo, "config", "filter.shout.clean", "tr a-z A-Z")
    git(repo, "config", "filter.shout.smudge", "tr A-Z a-z")
    attributes = "*.txt text eol=crlf\n*.up filter=shout\n*.id ident\n"
    commit(repo, {".gitattributes": attributes, "a.txt": "1\r\n", "b.up": "b", "c.id": "$Id$", "d/-.x": "X"})
    commit(repo, {"d/.gitattributes": "*.x filter=shout\n"})
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    ident = git(repo, "rev-parse", "HEAD:c.id")
    # What the worktree says now is about other files.
    write(repo, {".gitattributes": "*.up -filter\n*.txt -text\n", "d/.gitattributes": ""})
    assert checked_out(repo, folder, tree) == {
        ".gitattributes": attributes,
        "a.txt": "1\r\n",
        "b.up": "b",
        "c.id": f"$Id: {ident} $",
        "d/.gitattributes": "*.x filter=shout\n",
        "d/-.x": "x",
    }


def test_it_is_what_a_clone_would_check_out(repo: Path, folder: Path, tmp_path: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    commit(repo, {"text": "1\n2\n", "bytes": b"\0\n", "dir/raw": "1\n", "dir/.gitattributes": "raw -text\n"})
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    other = {name: what for name, what in files(tmp_path / "other").items() if name != ".git"}
    assert checked_out(repo, folder, tree) == other
    assert other["text"] == "1\r\n2\r\n"


def test_a_linked_worktree_checks_out_as_well(repo: Path, folder: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1"})
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    write(linked, {"b": "2"})
    checkout_tree(found(linked), tree_of(linked), folder)
    assert files(folder) == {"a": "1", "b": "2"}


def test_a_submodule_is_an_empty_folder(repo: Path, folder: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    commit(inner, {"secret": "1"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repo, "config", "submodule.recurse", "true")
    found_files = checked_out(repo, folder, tree_of(repo))
    assert (found_files["sub"], sorted(found_files)) == ("empty folder", [".gitmodules", "sub"])


@pytest.mark.parametrize("sparse_index", ["false", "true"])
def test_a_sparse_checkout_leaves_nothing_away_here(repo: Path, folder: Path, sparse_index: str) -> None:
    commit(repo, {"in/a": "1", "out/b": "2", "top": "3"})
    git(repo, "sparse-checkout", "init", "--cone")
    git(repo, "config", "index.sparse", sparse_index)
    git(repo, "sparse-checkout", "set", "in")
    assert not (repo / "out").exists()
    assert checked_out(repo, folder, tree_of(repo)) == {"in/a": "1", "out/b": "2", "top": "3"}


def test_no_program_of_the_repository_runs_but_its_filters(repo: Path, folder: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "post-checkout", "fsmonitor", "reference-transaction"):
        script(hooks / name, f"touch '{tmp_path}/ran'")
    git(repo, "config", "core.hooksPath", str(hooks))
    git(repo, "config", "core.fsmonitor", str(hooks / "fsmonitor"))
    git(repo, "config", "core.splitIndex", "true")
    checkout_tree(found(repo), git(repo, "rev-parse", "HEAD^{tree}"), folder)
    assert files(folder) == {"a": "1"}
    assert not (tmp_path / "ran").exists()
    assert list((repo / ".git").glob("sharedindex.*")) == []


def test_variables_of_an_outer_git_do_not_lead_elsewhere(
    repo: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repo, {"a": "1"})
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo))
    checkout_tree(found(tmp_path), tree, folder)
    assert (files(folder), files_of_worktree(repo)) == ({"a": "1"}, {"a": "1"})
    assert not (tmp_path / "elsewhere").exists()


def test_many_at_once_do_not_meet(repo: Path, tmp_path: Path) -> None:
    commit(repo, {f"{number}": "x" for number in range(50)})
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    program = (
        "import os, sys\nfrom pathlib import Path\n"
        "from git_blackbird.git.worktree.saved_trees import checkout_tree\n"
        "from git_blackbird.git.core.repository import discover\n"
        "checkout_tree(discover(Path(sys.argv[1]), os.environ), sys.argv[2], Path(sys.argv[3]))\n"
    )
    folders = [tmp_path / f"out {number}" for number in range(4)]
    for place in folders:
        place.mkdir()
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(repo), tree, str(place)], cwd=Path(__file__).parents[2]
        )
        for place in folders
    ]
    assert [process.wait() for process in started] == [0] * 4
    assert [len(files(place)) for place in folders] == [50] * 4


def test_the_folder_may_lie_in_the_git_directory(repo: Path) -> None:
    commit(repo, {"a": "1", "dir/b": "2"})
    with private_folder(found(repo), "review") as inside:
        checkout_tree(found(repo), git(repo, "rev-parse", "HEAD^{tree}"), inside)
        assert files(inside) == {"a": "1", "dir/b": "2"}
    assert list((repo / ".git" / "blackbird").iterdir()) == []


def test_a_folder_with_something_in_it_is_refused(repo: Path, folder: Path) -> None:
    write(folder, {"mine": "1"})
    with pytest.raises(CheckoutError) as raised:
        checkout_tree(found(repo), EMPTY_TREE, folder)
    assert raised.value.message == f"cannot check out into {folder}: it is not empty"
    assert files(folder) == {"mine": "1"}


def test_a_folder_that_is_not_there_is_refused(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckoutError) as raised:
        checkout_tree(found(repo), EMPTY_TREE, tmp_path / "none")
    assert raised.value.message.startswith(f"cannot check out {EMPTY_TREE} into {tmp_path / 'none'}: ")


def test_a_tree_that_is_not_there_is_told(repo: Path, folder: Path) -> None:
    missing = "1" * 40
    with pytest.raises(CheckoutError) as raised:
        checkout_tree(found(repo), missing, folder)
    assert raised.value.message == (
        f"cannot check out {missing} into {folder}: failed to unpack tree object {missing}"
    )
    assert files(folder) == {}


def test_a_tree_that_would_write_a_git_directory_is_refused(repo: Path, folder: Path) -> None:
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"[core]\n")
    inner = git(repo, "mktree", stdin=f"100644 blob {blob}\tconfig\n".encode())
    tree = git(repo, "mktree", stdin=f"040000 tree {inner}\t.git\n".encode())
    with pytest.raises(CheckoutError) as raised:
        checkout_tree(found(repo), tree, folder)
    assert raised.value.message == f"cannot check out {tree} into {folder}: invalid path '.git/config'"
    assert files(folder) == {}


def test_a_filter_that_must_work_and_does_not_is_told(repo: Path, folder: Path) -> None:
    commit(repo, {".gitattributes": "*.bin filter=strict\n", "a.bin": "1"})
    git(repo, "config", "filter.strict.smudge", "false")
    git(repo, "config", "filter.strict.required", "true")
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    with pytest.raises(CheckoutError) as raised:
        checkout_tree(found(repo), tree, folder)
    assert raised.value.message == (
        f"cannot check out {tree} into {folder}: a.bin: smudge filter strict failed"
    )


@pytest.mark.parametrize("leaves_its_group", [False, True])
def test_a_filter_that_never_ends_is_bounded(
    repo: Path, folder: Path, tmp_path: Path, leaves_its_group: bool
) -> None:
    commit(repo, {".gitattributes": "f filter=slow\n", "f": "1"})
    escape = escaping(tmp_path) + "; " if leaves_its_group else ""
    git(repo, "config", "filter.slow.smudge", f"{escape} sleep 600")
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    with pytest.raises(CheckoutError) as raised:
        checkout_tree(found(repo), tree, folder, timeout_seconds=1)
    (tmp_path / "release").touch()
    assert (raised.value.message, raised.value.hint) == (
        f"the checkout of {tree} was not done after 1 s",
        "a filter of this repository may hang",
    )
    assert os.listdir(repo / ".git" / "blackbird") == []


_HELD = """
import os, sys
from pathlib import Path
from git_blackbird.git.core.repository import discover
from git_blackbird.git.worktree.index import private_folder
with private_folder(discover(Path(sys.argv[1]), dict(os.environ)), "files") as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_folder_of_a_killed_process_goes_and_that_of_another_at_work_stays(repo: Path) -> None:
    command = [sys.executable, "-c", _HELD, str(repo)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    pipes["cwd"] = Path(__file__).parents[2]
    with subprocess.Popen(command, **pipes) as killed, subprocess.Popen(command, **pipes) as at_work:
        assert killed.stdout is not None
        assert at_work.stdout is not None
        left, held = (Path(out.readline().strip()) for out in (killed.stdout, at_work.stdout))
        killed.kill()
        killed.wait()
        assert left.is_dir()
        with private_folder(found(repo), "snapshot"):
            assert (left.exists(), held.is_dir()) == (False, True)
        at_work.communicate("")
    assert not held.exists()
