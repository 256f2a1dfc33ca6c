"""The references of runs: those that no record needs, and the records that lack one."""

import os
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.setup.install import other_layouts
from git_blackbird.git.worktree.saved_trees import run_refs
from git_blackbird.model.base.ids import build_run_id
from git_blackbird.model.run.run import Run

# A reference is made just before its record.
_HOUR = 3_600 * 10**9


def unheld_runs(workspace: Workspace) -> Iterator[Run]:
    """Yield the runs whose record names trees that git may remove, since no reference keeps them."""
    held = run_refs(workspace.repo)
    for history in workspace.store.records.histories().values():
        yield from (run for run in history.runs if run.named_trees and run.id not in held)


def stale_refs(workspace: Workspace) -> list[str]:
    """List the references that hold trees of runs of which no worktree has a record, or a copy of one.

    Raises GitError, OSError where not all records can be read.
    """
    young, paths = build_run_id(workspace.environment.now() - _HOUR, 0), workspace.paths
    folders = (paths.run_copies, paths.runs, *(other.runs for other in other_layouts(workspace)))
    known = {name for folder in folders for name in _recorded(folder)}
    return [
        name for run_id, name in run_refs(workspace.repo).items() if run_id not in known and run_id < young
    ]


def _recorded(folder: Path) -> Iterator[str]:
    """Yield the ids of all runs that have a record in a folder, or one that was moved away there."""
    if os.path.lexists(folder):
        for _, _, names in os.walk(folder, onerror=_fail):
            yield from (name.partition(".")[0] for name in names)


def _fail(error: OSError) -> None:
    raise error
