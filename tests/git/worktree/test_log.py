"""Commits in HEAD since another one, which may be gone, or may be none."""

from pathlib import Path

import pytest

from git_blackbird.git.worktree.log import commit_of_run, commits_in_head, find_tree
from tests.git.support import found
from tests.support import commit, git

RUN = "019b7c4e52000001"


@pytest.fixture
def ids(repo: Path) -> list[str]:
    """Return three commits, oldest first; the second is of a run."""
    messages = {"a": "a", "b": f"b\n\nBlackbird-Run: {RUN}", "c": "c"}
    return [commit(repo, {name: name}, message) for name, message in messages.items()]


def test_commits_since_another(repo: Path, ids: list[str]) -> None:
    first, second, third = ids
    assert commits_in_head(found(repo), ids, second) == [(third, (second,))]
    assert [oid for oid, _ in commits_in_head(found(repo), ids, None)] == [third, second, first]
    assert commit_of_run(found(repo), RUN, first) == second
    assert commit_of_run(found(repo), RUN, second) is None


@pytest.mark.parametrize("name", ["HEAD^{tree}", "HEAD:a", "1" * 40])
def test_since_what_is_no_commit_all_count(repo: Path, ids: list[str], name: str) -> None:
    since = git(repo, "rev-parse", name)
    assert [oid for oid, _ in commits_in_head(found(repo), ids, since)] == ids[::-1]
    assert commit_of_run(found(repo), RUN, since) == ids[1]


def test_nothing_is_in_a_head_without_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert commits_in_head(found(tmp_path), ["1" * 40], None) == []
    assert commit_of_run(found(tmp_path), RUN, "1" * 40) is None


def test_the_tree_of_a_commit_that_may_be_gone(repo: Path) -> None:
    oid = commit(repo, {"a": "a"})
    assert find_tree(found(repo), oid) == git(repo, "rev-parse", f"{oid}^{{tree}}")
    assert find_tree(found(repo), "1" * 40) is None
