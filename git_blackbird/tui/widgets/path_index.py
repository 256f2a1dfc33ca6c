"""The paths that a text can mention, listed in a thread before they are needed."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from textual.app import App

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import paths_of, tracked_paths_of
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.base.path_search import PathIndex


class PathLister:
    """Lists the paths of one worktree; the last list stays available while they are listed again."""

    def __init__(self, workspace: Workspace) -> None:
        self.known: PathIndex | None = None
        self._workspace = workspace
        self._on_change: Callable[[], object] | None = None
        self._is_listing = False
        self._last_paths: list[str] | None = None

    def prepare(self, app: App[Any]) -> None:
        """List the paths, unless that was done before."""
        if self.known is None:
            self._start(app)

    def refresh_paths(self, app: App[Any], on_change: Callable[[], object]) -> None:
        """List the paths again; ``on_change`` is called in the UI thread whenever the paths change."""
        self._on_change = on_change
        self._start(app)

    def _start(self, app: App[Any]) -> None:
        if not self._is_listing:
            self._is_listing = True
            app.run_worker(partial(self._list, app), thread=True)

    def _list(self, app: App[Any]) -> None:
        try:
            for paths in self._path_lists():
                if paths != self._last_paths:
                    app.call_from_thread(self._set_paths, PathIndex(paths))
                    self._last_paths = paths
        finally:
            self._is_listing = False

    def _path_lists(self) -> Iterator[list[str]]:
        """Yield the tracked paths, which takes less time, then all; nothing after an error."""
        with suppress(BlackbirdError):
            if self.known is None:
                yield tracked_paths_of(self._workspace)
            yield paths_of(self._workspace)

    def _set_paths(self, paths: PathIndex) -> None:
        self.known = paths
        if self._on_change is not None:
            self._on_change()
