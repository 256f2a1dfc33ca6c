"""The hook's lists read beside the history of each worktree's HEAD."""

import os
from pathlib import Path

import pytest

from git_blackbird.git.core.repository import Repository, discover
from git_blackbird.git.hooks.attribution import list_commits, mark_active, unmark_active
from tests.support import commit, git

RUN = "0123456789abcdef"
OTHER = "fedcba9876543210"


@pytest.fixture
def start(repo: Path) -> str:
    return commit(repo, {"a": "0"}, "start")


def at(path: Path) -> Repository:
    return discover(path, os.environ)


def note(repo: Path, owner: str, oid: str, rest: str = "") -> None:
    """Write a line as the hook does."""
    path = Path(git(repo, "rev-parse", "--absolute-git-dir"), "blackbird", "commits")
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write(f"{owner} {oid}{rest}\n")


def make(repo: Path, subject: str) -> str:
    git(repo, "commit", "-q", "--allow-empty", "-m", subject)
    return git(repo, "rev-parse", "HEAD")


def commits(repo: Path, run: str = RUN) -> list[str]:
    return list(list_commits(at(repo), run))


@pytest.mark.usefixtures("start")
def test_without_a_list_there_is_nothing(repo: Path) -> None:
    assert commits(repo) == []


@pytest.mark.usefixtures("start")
def test_a_runs_commits_come_in_the_order_of_its_hooks(repo: Path) -> None:
    made = [make(repo, str(number)) for number in range(3)]
    for oid in made:
        note(repo, RUN if oid != made[1] else OTHER, oid)
    assert commits(repo) == [made[0], made[2]]
    assert commits(repo, OTHER) == [made[1]]


@pytest.mark.usefixtures("start")
def test_commits_that_were_amended_or_reset_are_named_as_well(repo: Path) -> None:
    first = make(repo, "first")
    note(repo, RUN, first)
    git(repo, "commit", "-q", "--allow-empty", "--amend", "-m", "better")
    amended = git(repo, "rev-parse", "HEAD")
    note(repo, RUN, amended)
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    assert commits(repo) == [first, amended]


@pytest.mark.usefixtures("start")
def test_what_a_run_commits_in_another_worktree_is_its_own_too(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    here, there = make(repo, "here"), make(linked, "there")
    note(repo, RUN, here)
    note(linked, RUN, there)
    assert commits(repo) == [here, there]
    assert commits(linked) == [there, here]


@pytest.mark.usefixtures("start")
def test_a_line_of_an_older_hook_is_read_and_nonsense_is_not(repo: Path) -> None:
    own = make(repo, "own")
    note(repo, "nonsense of", "somebody")
    note(repo, RUN, "\x1b[2J")
    note(repo, RUN, own, " 4711\tgitcommit-mown")
    assert commits(repo) == [own]


@pytest.mark.usefixtures("start")
def test_objects_that_are_gone_do_no_harm(repo: Path) -> None:
    own = make(repo, "own")
    note(repo, RUN, own)
    note(repo, RUN, "c0ffee" * 6 + "c0ff")
    (repo / ".git" / "objects" / own[:2] / own[2:]).unlink()
    assert commits(repo) == [own, "c0ffee" * 6 + "c0ff"]


def active(repo: Path) -> bool:
    return (repo / ".git" / "blackbird" / "active").is_dir()


@pytest.mark.usefixtures("start")
def test_lists_go_with_the_last_mark(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    mark_active(at(repo))
    mark_active(at(linked))
    assert active(repo)
    here, there = make(repo, "here"), make(linked, "there")
    note(repo, RUN, here)
    note(linked, OTHER, there)
    unmark_active(at(repo))
    assert active(repo)
    assert (commits(linked), commits(linked, OTHER)) == ([here], [there])
    unmark_active(at(linked))
    assert not active(repo)
    assert commits(linked) == commits(linked, OTHER) == []
    assert not list((repo / ".git").rglob("commits*"))


@pytest.mark.usefixtures("start")
def test_marking_and_unmarking_can_be_repeated(repo: Path) -> None:
    for _ in range(2):
        mark_active(at(repo))
    for _ in range(2):
        unmark_active(at(repo))
    assert not active(repo)


@pytest.mark.usefixtures("start")
def test_the_mark_of_a_worktree_that_was_removed_goes_with_the_next(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    mark_active(at(linked))
    git(repo, "worktree", "remove", str(linked))
    mark_active(at(repo))
    unmark_active(at(repo))
    assert not active(repo)


@pytest.mark.usefixtures("start")
def test_a_list_that_was_left_while_another_began_is_read_as_well(repo: Path) -> None:
    first, second = make(repo, "first"), make(repo, "second")
    note(repo, RUN, first)
    path = repo / ".git" / "blackbird" / "commits"
    path.rename(path.with_name("commits.old"))
    note(repo, RUN, second)
    assert commits(repo) == [first, second]
