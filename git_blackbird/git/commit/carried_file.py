"""A file that a commit takes along beside its change, as it is in trees and in the user's index."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from git_blackbird.errors import UnusableError
from git_blackbird.git.commit.create import update_index
from git_blackbird.git.commit.plan import CommitPlan
from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import EXECUTABLE, REGULAR, TreeEntry, TreeStore
from git_blackbird.git.worktree.index import read_entry

_MOST_BYTES = 64 * 1024 * 1024


def content_in_tree(repo: Repository, tree: str, name: str) -> bytes | None:
    """Return the content of a file at the top of a tree; None if there is no such file that can be read."""
    trees = TreeStore(repo)
    return _content(trees, trees.entry(tree, os.fsencode(name)))


def is_ignored_by_flag(repo: Repository, name: str) -> bool:
    """Whether the user's index has a mark at a file with which git ignores its changes."""
    _, tag = read_entry(repo, name)
    return tag.upper() == b"S" or tag.islower()


def with_content(repo: Repository, plan: CommitPlan, name: str, data: bytes) -> CommitPlan:
    """Return a commit plan in which a file that HEAD has at the top has this content."""
    trees, path = TreeStore(repo), os.fsencode(name)
    entry = trees.entry(plan.base_tree, path)
    edits = {} if entry is None else {path: _with_data(repo, trees, entry, data)}
    return replace(plan, tree=trees.edited(plan.tree, edits), edits={**plan.edits, **edits})


def edit_staged(repo: Repository, name: str, committed: str, edit: Callable[[bytes], bytes | None]) -> None:
    """Edit a file that the user has staged otherwise than it is at the top of the tree ``committed``.

    Raises UnusableError; the index is untouched then.
    """
    trees, path = TreeStore(repo), os.fsencode(name)
    entry, _ = read_entry(repo, name)
    content = None if entry == trees.entry(committed, path) else _content(trees, entry)
    edited = None if content is None else edit(content)
    if entry is not None and edited is not None and edited != content:
        both = entry, _with_data(repo, trees, entry, edited)
        update_index(repo, *(trees.save({path: each}) for each in both))


def _content(trees: TreeStore, entry: TreeEntry | None) -> bytes | None:
    if entry is not None and entry.mode in {REGULAR, EXECUTABLE}:
        # It may be too large, or not fetched.
        with suppress(UnusableError):
            return trees.content(entry.oid, _MOST_BYTES)
    return None


def _with_data(repo: Repository, trees: TreeStore, entry: TreeEntry, data: bytes) -> TreeEntry:
    with using_objects(repo):
        return entry._replace(oid=str(trees.objects.create_blob(data)))
