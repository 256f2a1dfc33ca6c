"""What the user put away with `git stash`."""

from typing import NamedTuple

from git_blackbird.git.core.repository import Repository, open_libgit2, using_objects


class Stash(NamedTuple):
    """The newest entry of the stash: its commit, which has the files, and the commit below it."""

    commit: str
    base: str


def has_stash(repo: Repository) -> bool:
    """Whether there may be one; its log goes with the last entry."""
    return (repo.common_dir / "logs" / "refs" / "stash").exists()


def find_stash(repo: Repository) -> Stash | None:
    """Return the newest entry; None without any. Raises UnusableError."""
    objects = open_libgit2(repo)
    import pygit2  # loaded by now

    with using_objects(repo):
        reference = objects.references.get("refs/stash")
        if reference is None:
            return None
        commit = reference.peel(pygit2.Commit)
        return Stash(str(commit.id), str(commit.parent_ids[0])) if commit.parent_ids else None
