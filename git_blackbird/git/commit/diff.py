"""The change of a commit, as two trees like those of a run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from git_blackbird.git.commit.plan import tree_of
from git_blackbird.git.core.process import operands, revisions
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.model.entities.change import TreePair

_SHOW = ("log", "-1", "--no-show-signature", "--format=%T %P")


@dataclass(frozen=True)
class CommitDiff:
    """The change of one commit against its first parent; None for a commit without one."""

    parent: str | None
    pair: TreePair


def commit_diff(repo: Repository, oid: str, hidden: Sequence[str]) -> CommitDiff:
    """Return the change of a commit without the entries ``hidden`` of the top of the worktree.

    A commit without a parent is compared with the empty tree. Raises GitError, UnusableError.
    """
    named = repo.git(*_SHOW, *revisions(oid), *operands()).out.decode().split()
    tree, parent = named[0], named[1] if len(named) > 1 else None
    trees = TreeStore(repo)
    names = [os.fsencode(name) for name in hidden]
    base = trees.save({}) if parent is None else tree_of(repo, parent)
    return CommitDiff(parent, TreePair(trees.without(base, names), trees.without(tree, names)))
