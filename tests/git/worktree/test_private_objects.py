"""A file that is its owner's alone becomes an object that is too; git's other objects stay as they were."""

import stat
from pathlib import Path

import pytest

from git_blackbird.git.commit.create import make_commit
from git_blackbird.git.commit.plan import plan_commit
from git_blackbird.git.worktree.snapshot import take_snapshot
from git_blackbird.model.run.summary import Trees
from tests.git.support import LIMITS, found, tree_of
from tests.support import commit, git, write

READERS = stat.S_IRGRP | stat.S_IROTH


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def loose(repo: Path, oid: str) -> Path:
    return repo / ".git" / "objects" / oid[:2] / oid[2:]


def all_modes(repo: Path) -> dict[Path, int]:
    objects = repo / ".git" / "objects"
    return {path: mode(path) for path in objects.rglob("*") if len(path.name) in {2, 38}}


def put_secret(repo: Path, name: str = "secret") -> None:
    write(repo, {name: f"the {name}\n"})
    (repo / name).chmod(0o600)


@pytest.fixture(params=["", "group", "all", "0660"])
def shared(repo: Path, request: pytest.FixtureRequest) -> Path:
    """A repository that is shared in one of git's ways, or not at all, with one commit."""
    if request.param:
        git(repo, "config", "core.sharedRepository", request.param)
    commit(repo, {"a": "1\n"})
    return repo


def usual_modes(repo: Path) -> tuple[int, int]:
    place = loose(repo, git(repo, "rev-parse", "HEAD:a"))
    return mode(place.parent), mode(place)


def test_nobody_else_reads_what_nobody_else_could_read(shared: Path) -> None:
    write(shared, {"open": "an open one\n", "folder/deep": "x\n"})
    put_secret(shared)
    put_secret(shared, "folder/other")
    before = all_modes(shared)
    tree = tree_of(shared)
    secret = {git(shared, "rev-parse", f"{tree}:{name}") for name in ("secret", "folder/other")}
    usual_folder, usual_file = usual_modes(shared)
    for path, seen in all_modes(shared).items():
        if len(path.name) == 2:
            assert seen == before.get(path, usual_folder), path
        elif path.parent.name + path.name in secret:
            assert seen == 0o400
        else:
            assert seen == before.get(path, usual_file), path
    assert git(shared, "cat-file", "-p", f"{tree}:secret") == "the secret"
    assert tree_of(shared) == tree


def test_what_is_committed_by_an_approval_is_read_as_any_other(shared: Path) -> None:
    base = tree_of(shared)
    put_secret(shared)
    head = tree_of(shared)
    place = loose(shared, git(shared, "rev-parse", f"{head}:secret"))
    assert not mode(place) & READERS
    repo = found(shared)
    make_commit(repo, plan_commit(repo, Trees(base, head), head), "it is approved\n")
    assert mode(place) == usual_modes(shared)[1]
    git(shared, "fsck", "--strict")


def test_a_tracked_file_is_as_it_was_when_it_was_added(repo: Path) -> None:
    commit(repo, {"a": "1\n"})
    (repo / "a").chmod(0o600)
    write(repo, {"a": "2\n"})
    tree = tree_of(repo)
    assert mode(loose(repo, git(repo, "rev-parse", f"{tree}:a"))) == 0o444


def test_one_that_is_ignored_by_now_stays_private(repo: Path) -> None:
    commit(repo, {"a": "1\n"})
    put_secret(repo)
    since = tree_of(repo)
    write(repo, {".gitignore": "secret\n", "secret": "another\n"})
    tree = take_snapshot(found(repo), limits=LIMITS, since=since).tree
    oid = git(repo, "rev-parse", f"{tree}:secret")
    assert mode(loose(repo, oid)) == 0o400
    assert git(repo, "cat-file", "-p", oid) == "another"
