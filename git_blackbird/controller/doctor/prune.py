"""Remove old records of runs, logs and references that nothing needs any more."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace, hold_controller
from git_blackbird.controller.doctor.references import stale_refs
from git_blackbird.git.worktree.saved_trees import delete_refs, list_our_refs
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.change.unneeded import is_in_use, unneeded_runs
from git_blackbird.model.run.run import Run
from git_blackbird.storage.files import remove_copy
from git_blackbird.storage.paths import CHECK_STREAM, SETUP_STREAM, Paths

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
        old = [run for run in (*history.runs, *reviews.runs) if _has_ended(run, before)]
        unneeded = {run.id for run in unneeded_runs(history)}
        runs += [run for run in old if {run.id, run.reviewed_run} & unneeded]
        logs += [log for run in old for log in _logs_of(workspace.paths, run) if log.is_file()]
    size = sum(log.stat().st_size for log in logs)
    return Removable(tuple(runs), tuple(logs), size, tuple(stale_refs(workspace)))


def _has_ended(run: Run, before: int) -> bool:
    ended = moment_of(run.completed_at)
    return ended is not None and ended.nanoseconds < before


def _logs_of(paths: Paths, run: Run) -> Iterator[Path]:
    yield from (paths.log(run.task_id, run.id, name) for name in ("stdout", "stderr"))
    yield from (paths.check_log(run.task_id, run.id, name) for name in (CHECK_STREAM, SETUP_STREAM))


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
            _remove_log(workspace.paths, log)
        held = {f"refs/blackbird/{family}/{run.id}" for run in found.runs for family in ("runs", "commits")}
        delete_refs(workspace.repo, [*held.intersection(list_our_refs(workspace.repo)), *found.references])
    return found


def _remove_log(paths: Paths, log: Path) -> None:
    with contextlib.suppress(OSError):  # it is a log: the next time
        if log.is_relative_to(paths.state):
            remove_copy(paths, log)
        else:
            log.unlink()
