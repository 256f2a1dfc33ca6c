"""Agents on the workers of a Dask scheduler; the only package that imports it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Most calls use no cluster.
    from git_blackbird.controller.core.workspace import Workspace
    from git_blackbird.controller.engine.loop import Machines


def join_cluster(
    workspace: "Workspace", say: Callable[[str], None]
) -> "AbstractAsyncContextManager[Machines]":
    """Return the workers behind the configured scheduler, connected within the block.

    What takes long is told with ``say``. Raises UnusableError on entering.
    """
    from git_blackbird.cluster.joined import JoinedCluster

    return JoinedCluster(workspace, say)
