"""A cluster as the loop of a call is given it."""

import asyncio

from git_blackbird.cluster.client import Cluster
from git_blackbird.cluster.take_up import clear_quietly, take_up_runs
from git_blackbird.controller.core.ui import UserInterface


class JoinedCluster(Cluster):
    """A cluster as a call's loop uses it, with what to do when the call begins and ends."""

    @property
    def about(self) -> str:
        """The cluster in one line."""
        return self.connection.about

    async def take_up(self, ui: UserInterface, force_stop: asyncio.Event) -> None:
        """Follow the runs that workers still make, or have made, to their ends."""
        await take_up_runs(self, self.workspace, ui, force_stop)

    async def clear(self, ui: UserInterface) -> None:
        """Remove the references of recorded runs from the remote."""
        await clear_quietly(self, self.workspace, ui)
