"""The references and the records of runs: those that lack the other."""

import os
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.setup.install import other_layouts
from git_blackbird.git.worktree.saved_trees import run_refs
from git_blackbird.model.base.ids import build_run_id
from git_blackbird.model.run.run import Run
from git_blackbird.storage.record_file import ENDING

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
    known = {*_recorded_ids(workspace), *_recorded(paths.run_copies)}
    return [
        name for run_id, name in run_refs(workspace.repo).items() if run_id not in known and run_id < young
    ]


def lost_records(workspace: Workspace) -> Iterator[Path]:
    """Yield the records that are gone from here, though a reference has their trees and a copy is left.

    Raises GitError, OSError where not all records can be read.
    """
    held, known, copies = run_refs(workspace.repo), _recorded_ids(workspace), workspace.paths.run_copies
    for path in sorted(copies.rglob(f"*{ENDING}")):
        if path.stem in held and path.stem not in known and path.is_file() and not path.is_symlink():
            yield workspace.paths.runs / path.relative_to(copies)


def _recorded_ids(workspace: Workspace) -> set[str]:
    """Return the ids of all runs that have a record in any worktree."""
    folders = workspace.paths.runs, *(other.runs for other in other_layouts(workspace))
    return {name for folder in folders for name in _recorded(folder)}


def _recorded(folder: Path) -> Iterator[str]:
    """Yield the ids of all runs that have a record in a folder, or one that was moved away there."""
    if os.path.lexists(folder):
        for _, _, names in os.walk(folder, onerror=_fail):
            yield from (name.partition(".")[0] for name in names)


def _fail(error: OSError) -> None:
    raise error
