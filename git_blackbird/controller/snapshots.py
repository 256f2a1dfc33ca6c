"""Snapshots as the configuration bounds them."""

from git_blackbird.controller.workspace import Workspace
from git_blackbird.git.repository import opened
from git_blackbird.git.snapshot import Snapshot, SnapshotLimits, take_snapshot
from git_blackbird.storage.layout import HIDDEN


def snapshot(workspace: Workspace, since: str | None = None) -> Snapshot:
    """Take the worktree as it is, without the program's own state.

    What the tree ``since`` held and the worktree still has stays in, also when it is ignored by now.
    Raises SnapshotError, or UnusableError for a repository that cannot be read.
    """
    opened(workspace.repo).free()
    limits = SnapshotLimits(
        timeout_seconds=float(workspace.settings.number("snapshot.timeoutSeconds")),
        max_untracked_bytes=workspace.settings.number("snapshot.maxUntrackedBytes"),
    )
    return take_snapshot(workspace.repo, limits=limits, hidden=HIDDEN, since=since)
