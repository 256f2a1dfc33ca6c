"""Agents on the workers of a Dask scheduler; the only package that imports it."""

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Most calls use no cluster.
    from git_blackbird.controller.core.ui import UserInterface
    from git_blackbird.controller.core.workspace import Workspace
    from git_blackbird.controller.engine.loop import Machines


def join_cluster(workspace: "Workspace", ui: "UserInterface") -> "AbstractAsyncContextManager[Machines]":
    """Return the workers behind the configured scheduler, connected within the block.

    Raises UnusableError on entering.
    """
    from git_blackbird.cluster.take_up import JoinedCluster

    return JoinedCluster(workspace, ui)
