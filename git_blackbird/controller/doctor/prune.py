"""References and records of runs that lack the other, and removing what nothing needs any more."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace, hold_controller
from git_blackbird.controller.setup.install import other_layouts
from git_blackbird.git.worktree.saved_trees import delete_refs, list_our_refs, run_refs
from git_blackbird.model.base.ids import PLANNING, build_run_id
from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.change.work import is_in_use, unneeded_runs
from git_blackbird.model.run.run import Run
from git_blackbird.storage.files import remove_copy
from git_blackbird.storage.paths import SETUP_STREAM, Paths
from git_blackbird.storage.records import ENDING

_DAY = 86_400 * 10**9


@dataclass(frozen=True)
class Removable:
    """What nothing needs: runs, logs with their size, and references of runs without a record."""

    runs: tuple[Run, ...]
    logs: tuple[Path, ...]
    log_bytes: int
    references: tuple[str, ...]


def find_removable(workspace: Workspace, days: int) -> Removable:
    """Find what can be removed of runs that ended more than so many days ago.

    Raises UnusableError, OSError where not all records can be read.
    """
    records, before = workspace.store.records, workspace.environment.now() - days * _DAY
    runs: list[Run] = []
    logs: list[Path] = []
    for task_id in (*records.tasks(), PLANNING):
        history, reviews = records.history(task_id), records.reviews(task_id)
        if is_in_use(history) or reviews.faults:
            continue
        old = [
            run
            for run in (*history.runs, *reviews.runs)
            if (ended := moment_of(run.completed_at)) is not None and ended.nanoseconds < before
        ]
        unneeded = {run.id for run in unneeded_runs(history)}
        runs += [run for run in old if {run.id, run.reviewed_run} & unneeded]
        logs += [log for run in old for log in _logs_of(workspace.paths, run) if log.is_file()]
    size = sum(log.stat().st_size for log in logs)
    return Removable(tuple(runs), tuple(logs), size, tuple(stale_refs(workspace)))


def _logs_of(paths: Paths, run: Run) -> Iterator[Path]:
    yield from (paths.log(run.task_id, run.id, name) for name in ("stdout", "stderr"))
    yield from (paths.check_log(run.task_id, run.id, name) for name in (*run.check_streams, SETUP_STREAM))


def remove_unneeded(workspace: Workspace, days: int) -> Removable:
    """Remove what can be removed, and return it.

    Raises LockedError while another command runs agents, RequestError for an agent, SaveError, GitError.
    """
    workspace.environment.forbid_agents("remove records")
    with hold_controller(workspace, "prune"), workspace.transaction() as transaction:
        found = find_removable(workspace, days)
        for run in found.runs:
            transaction.drop_run(run)
        for log in found.logs:
            with contextlib.suppress(OSError):  # it is a log: the next time
                if log.is_relative_to(workspace.paths.state):
                    remove_copy(workspace.paths, log)
                else:
                    log.unlink()
        held = {f"refs/blackbird/{family}/{run.id}" for run in found.runs for family in ("runs", "commits")}
        delete_refs(workspace.repo, [*held.intersection(list_our_refs(workspace.repo)), *found.references])
    return found


# A reference is made just before its record.
_HOUR = 3_600 * 10**9


def unheld_runs(workspace: Workspace) -> Iterator[Run]:
    """Yield the runs whose trees git may remove, since no reference holds them."""
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
    folders = workspace.paths.runs, *(other.runs for other in other_layouts(workspace))
    return {name for folder in folders for name in _recorded(folder)}


def _recorded(folder: Path) -> Iterator[str]:
    """Yield the ids of all runs that have a record in a folder, or one that was moved away there."""
    if os.path.lexists(folder):
        for _, _, names in os.walk(folder, onerror=_fail):
            yield from (name.partition(".")[0] for name in names)


def _fail(error: OSError) -> None:
    raise error
