"""Seeing that configuration may have changed, whoever wrote it, without reading it."""

import time
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.config import files_of_settings
from git_blackbird.storage.config_files import global_config_path

TICK_NANOSECONDS = 2_100_000_000
"""For how long a file that was just written may be written again without a later time: clocks have ticks."""


def changed_at(path: Path) -> int:
    """Return when a file was last written, in nanoseconds; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


class ConfigWatch:
    """Looks at the times of all files that configuration comes from; one thread at a time."""

    def __init__(self) -> None:
        self._files: tuple[Path, ...] = ()
        self._seen: tuple[int, ...] | None = None

    def may_differ(self) -> bool:
        """Whether the configuration may be another than when it was last read, as far as files go."""
        return self._seen is None or self._times() != self._seen

    def remember(self, workspace: Workspace) -> None:
        """Take note that a workspace was opened just now.

        What was written in these moments might be in it or not: until it is older, everything may differ.
        Raises UnusableError when a file of git's cannot be read.
        """
        paths = workspace.paths
        files = [*files_of_settings(workspace.repo), paths.config, paths.agent_choice]
        mine = global_config_path(workspace.environment.environ)
        self._files = tuple(files) if mine is None else (*files, mine)
        times, now = self._times(), time.time_ns()
        # A time that lies ahead is no reason to look for ever.
        self._seen = times if all(abs(now - one) > TICK_NANOSECONDS for one in times) else None

    def _times(self) -> tuple[int, ...]:
        return tuple(map(changed_at, self._files))
