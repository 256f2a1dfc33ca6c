"""Snapshots within the configured limits."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.repository import open_libgit2
from git_blackbird.git.worktree.snapshot import Snapshot, SnapshotLimits, take_snapshot
from git_blackbird.git.worktree.submodules import submodule_states
from git_blackbird.storage.paths import HIDDEN


def submodules(workspace: Workspace) -> dict[str, str]:
    """Return digests of uncommitted content in submodules; empty if it cannot be read.

    Raises GitStoppedError.
    """
    try:
        return submodule_states(workspace.repo, float(workspace.config.snapshot.timeout_seconds))
    except GitStoppedError:
        raise
    except BlackbirdError:
        # The snapshot itself does not depend on it.
        return {}


def snapshot(workspace: Workspace, since: str | None = None) -> Snapshot:
    """Take a snapshot of the worktree, without the program's own state.

    What the tree ``since`` held and the worktree still has stays in, also when it is ignored by now.
    Raises SnapshotError, or UnusableError for a repository that cannot be read.
    """
    open_libgit2(workspace.repo).free()
    limits = SnapshotLimits(
        timeout_seconds=float(workspace.config.snapshot.timeout_seconds),
        max_untracked_bytes=workspace.config.snapshot.max_untracked_bytes,
    )
    return take_snapshot(workspace.repo, limits=limits, hidden=HIDDEN, since=since)
