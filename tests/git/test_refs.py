import os
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.git.worktree.saved_trees import delete_refs, hold_trees, list_our_refs
from tests.git.support import found, tree_of
from tests.support import commit, git, run_trees, write

RUN = "0123456789abcdef"


def test_a_runs_trees_are_kept_and_named(repo: Path) -> None:
    there = found(repo)
    commit(repo, {"file": "one\n"})
    base = tree_of(repo)
    hold_trees(there, RUN, {"base": base, "head": None}, ())
    assert run_trees(repo, RUN) == (base, None)
    write(repo, {"file": "two\n"})
    head = tree_of(repo)
    hold_trees(there, RUN, {"base": base, "head": head}, ())
    assert run_trees(repo, RUN) == (base, head)
    name = f"refs/blackbird/runs/{RUN}"
    assert git(repo, "diff", "--numstat", f"{name}:base", f"{name}:head") == "1\t1\tfile"
    git(repo, "pack-refs", "--all")
    git(repo, "gc", "-q", "--prune=now")
    assert run_trees(repo, RUN) == (base, head)
    assert git(repo, "fsck", "--strict") == ""
    delete_refs(there, list_our_refs(there))
    delete_refs(there, list_our_refs(there))
    assert run_trees(repo, RUN) == (None, None)
    assert git(repo, "for-each-ref", "refs/blackbird") == ""


def test_the_empty_tree_can_be_kept(repo: Path) -> None:
    there = found(repo)
    base = tree_of(repo)
    hold_trees(there, RUN, {"base": base, "head": base}, ())
    assert run_trees(repo, RUN) == (base, base)
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""


def test_a_linked_worktree_shares_them(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"file": "x"})
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    base = tree_of(tmp_path / "linked")
    hold_trees(found(tmp_path / "linked"), RUN, {"base": base, "head": None}, ())
    assert run_trees(repo, RUN) == (base, None)


def test_a_reference_that_cannot_be_written_is_told(repo: Path) -> None:
    base = tree_of(repo)
    commit(repo, {"file": "one\n"})
    write(repo, {f".git/refs/blackbird/runs/{RUN}/other": f"{git(repo, 'rev-parse', 'HEAD')}\n"})
    with pytest.raises(UnusableError, match=r"cannot lock ref '.*': "):
        hold_trees(found(repo), RUN, {"base": base, "head": None}, ())


def test_a_lock_that_a_killed_process_left_is_removed(repo: Path) -> None:
    base, lock = tree_of(repo), repo / f".git/refs/blackbird/runs/{RUN}.lock"
    write(repo, {f".git/refs/blackbird/runs/{RUN}.lock": ""})
    os.utime(lock, (1_000_000_000, 1_000_000_000))
    hold_trees(found(repo), RUN, {"base": base, "head": None}, ())
    assert run_trees(repo, RUN) == (base, None)
    assert not lock.exists()
