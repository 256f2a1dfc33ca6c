"""What the user put away with `git stash`."""

from typing import NamedTuple

from git_blackbird.git.core.repository import Repository, open_libgit2, using_objects


class Stash(NamedTuple):
    """The newest entry of the stash: its tree, and the commit and the tree that it was made on."""

    tree: str
    base: str
    base_tree: str


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
        if not commit.parents:
            return None
        base = commit.parents[0]
        return Stash(str(commit.tree_id), str(base.id), str(base.tree_id))
