"""Record the worktree as a tree, in a private index that the next snapshot goes on with."""

import contextlib
import os
from collections.abc import Iterator, Sequence

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.config import is_sparse, may_convert_files
from git_blackbird.git.core.process import GitStoppedError, GitTimeoutError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.index import (
    may_have_attributes,
    writing,
)
from git_blackbird.git.worktree.kept_index import start_kept_index, taken_index
from git_blackbird.git.worktree.snapshot_builder import SnapshotBuilder
from git_blackbird.git.worktree.snapshot_values import Snapshot, SnapshotError, SnapshotLimits
from git_blackbird.model.base.system import describe, hint_in

_SLOW = (
    "a filter of this repository may hang; for very many files allow more time: "
    "git config blackbird.snapshot.timeoutSeconds SECONDS"
)
_INACCESSIBLE = "make room or make it accessible"


def take_snapshot(
    repo: Repository, *, limits: SnapshotLimits, hidden: Sequence[str], since: str | None = None
) -> Snapshot:
    """Record the worktree, tracked and untracked files without ignored ones, as a tree.

    ``hidden`` are entries of the top of the worktree that are never in it. Files of the earlier snapshot
    ``since`` that still exist stay in, even if they are ignored by now: they were not deleted. Index, stash,
    references and files of the user stay unchanged. Raises SnapshotError, or UnusableError for a repository
    that cannot be read.
    """
    with _builder(repo, limits, hidden) as builder:
        return builder.run(since)


def take_full_snapshot(repo: Repository, limits: SnapshotLimits) -> Snapshot:
    """Record a worktree with the entries that no change may have. Raises as ``take_snapshot`` does."""
    with _builder(repo, limits, ()) as builder:
        state, work = builder.update_user_index()
        return Snapshot(state.tree, tuple(work.left_out))


@contextlib.contextmanager
def _builder(repo: Repository, limits: SnapshotLimits, hidden: Sequence[str]) -> Iterator["SnapshotBuilder"]:
    """Return what takes a snapshot, and convert errors in the block to SnapshotError."""
    trees = TreeStore(repo)
    try:
        with taken_index(repo, _settings(limits, hidden)) as index:
            yield SnapshotBuilder(trees, index, limits, tuple(os.fsencode(name) for name in hidden))
    except (SnapshotError, GitStoppedError):
        raise
    except GitTimeoutError as error:
        message = f"the snapshot was not done after {limits.timeout_seconds:g} s"
        raise SnapshotError(message, hint=_SLOW) from error
    except (UnusableError, OSError) as error:
        reason = describe(error)
        # For other errors of git, room or permissions do not help.
        own = error.hint if isinstance(error, UnusableError) else hint_in(reason) or _INACCESSIBLE
        hint = own or hint_in(reason)
        raise SnapshotError(f"cannot take a snapshot of {repo.top}: {reason}", hint=hint) from error


def snapshot_of_checkout(
    repo: Repository, tree: str, *, limits: SnapshotLimits, hidden: Sequence[str]
) -> Snapshot | None:
    """Return the snapshot of a worktree just checked out from ``tree``; None if it has to be taken.

    Files that git converts may differ from the tree. The first snapshot goes on with the index of the
    checkout. Raises UnusableError.
    """
    if is_sparse(repo):
        return None
    start_kept_index(repo, tree, _settings(limits, hidden))
    with writing(repo.index):
        is_certain = not may_have_attributes(repo.index) and not may_convert_files(repo)
    return Snapshot(tree) if is_certain else None


def _settings(limits: SnapshotLimits, hidden: Sequence[str]) -> str:
    """Return a text of the settings that a kept index depends on."""
    return f"{limits.max_untracked_bytes} {hidden}"
