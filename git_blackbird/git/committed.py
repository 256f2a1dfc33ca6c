"""What a commit did, as two trees like those of a run."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from git_blackbird.git.commit_plan import tree_of
from git_blackbird.git.program import operands, revisions
from git_blackbird.git.repository import Repository
from git_blackbird.git.trees import Trees
from git_blackbird.model.change import TreePair

_SHOW = ("log", "-1", "--no-show-signature", "--format=%T %P")


@dataclass(frozen=True)
class Committed:
    """The change of one commit against its first parent; None for a commit without one."""

    parent: str | None
    pair: TreePair


def look_at_commit(repo: Repository, oid: str, hidden: Sequence[str]) -> Committed:
    """Give what a commit changed, less the entries ``hidden`` of the top of the worktree.

    A commit without a parent begins with the empty tree. Raises GitError, UnusableError.
    """
    named = repo.git(*_SHOW, *revisions(oid), *operands()).out.decode().split()
    tree, parent = named[0], named[1] if len(named) > 1 else None
    trees = Trees(repo)
    names = [os.fsencode(name) for name in hidden]
    base = trees.save({}) if parent is None else tree_of(repo, parent)
    return Committed(parent, TreePair(trees.without(base, names), trees.without(tree, names)))
