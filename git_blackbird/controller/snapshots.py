"""Snapshots as the configuration bounds them."""

from git_blackbird.controller.workspace import Workspace
from git_blackbird.git.snapshot import Snapshot, SnapshotLimits, take_snapshot
from git_blackbird.storage.layout import HIDDEN


def snapshot(workspace: Workspace) -> Snapshot:
    """Take the worktree as it is, without the program's own state.

    Raises SnapshotError.
    """
    limits = SnapshotLimits(
        timeout_seconds=float(workspace.settings.number("snapshot.timeoutSeconds")),
        max_untracked_bytes=workspace.settings.number("snapshot.maxUntrackedBytes"),
    )
    return take_snapshot(workspace.repo, limits=limits, hidden=HIDDEN)
