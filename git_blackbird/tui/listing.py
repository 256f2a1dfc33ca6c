"""The paths that can be named, listed away from the screen before one is wanted."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from textual.app import App

from git_blackbird.controller.viewing import paths_of, tracked_paths_of
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.mentions import KnownPaths


class Listing:
    """Those of one worktree: what was known last is there at once, also while they are listed again."""

    def __init__(self, workspace: Workspace) -> None:
        self.known: KnownPaths | None = None
        self._workspace = workspace
        self._tell: Callable[[], object] | None = None
        self._is_listing = False
        self._listed: list[str] | None = None

    def prepare(self, app: App[Any]) -> None:
        """List them unless that was done before: they may be wanted next."""
        if self.known is None:
            self._begin(app)

    def renew(self, app: App[Any], tell: Callable[[], object]) -> None:
        """List them; ``tell`` is called each time that more are known, in the thread of the screen."""
        self._tell = tell
        self._begin(app)

    def _begin(self, app: App[Any]) -> None:
        if not self._is_listing:
            self._is_listing = True
            app.run_worker(partial(self._list, app), thread=True)

    def _list(self, app: App[Any]) -> None:
        try:
            for paths in self._steps():
                if paths != self._listed:
                    app.call_from_thread(self._know, KnownPaths(paths))
                    self._listed = paths
        finally:
            self._is_listing = False

    def _steps(self) -> Iterator[list[str]]:
        """Give the tracked ones, which are there sooner, then all; a failure gives none."""
        with suppress(BlackbirdError):
            if self.known is None:
                yield tracked_paths_of(self._workspace)
            yield paths_of(self._workspace)

    def _know(self, paths: KnownPaths) -> None:
        self.known = paths
        if self._tell is not None:
            self._tell()
