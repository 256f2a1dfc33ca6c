"""The commits of runs, and the task and run of a commit. Nothing is written."""

import contextlib
from collections.abc import Iterable, Iterator

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.worktree.log import find_commit, reachable, read_commits
from git_blackbird.model.run.commits import (
    Commit,
    CommitProvenance,
    CommitSource,
    Evidence,
    RunCommit,
    run_of_mark,
)
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType


def with_live_commits(workspace: Workspace, run: Run) -> Run:
    """Return a live run with its commits so far, which its record does not list yet."""
    if run.status is RunStatus.RUNNING:
        from git_blackbird.git.hooks.attribution import list_commits  # only a live run pays for it

        # A list that cannot be read is reported when the record is closed.
        with contextlib.suppress(OSError):
            return run.committed_as(*list_commits(workspace.repo, run.id))
    return run


def commits_of(workspace: Workspace, runs: Iterable[Run]) -> tuple[RunCommit, ...]:
    """Return the commits that these runs list, in their order, the newest of each run first."""
    listed = [(run, oid) for run in runs for oid in reversed(run.commits)]
    found = read_commits(workspace.repo, (oid for _, oid in listed))
    there = reachable(workspace.repo, found)
    return tuple(
        RunCommit(run, oid, found[oid].subject if oid in found else None, oid in there) for run, oid in listed
    )


def find_origin(workspace: Workspace, name: str) -> CommitProvenance:
    """Say which tasks and runs made the commit that ``name`` means to git.

    Raises RequestError when there is no such commit, or no record, note or trailer knows.
    """
    oid = find_commit(workspace.repo, name)
    if oid is None:
        raise RequestError(f"there is no commit {name!r} here", hint="use any name git knows for a commit")
    commit = read_commits(workspace.repo, [oid])[oid]
    is_there = bool(reachable(workspace.repo, [oid]))
    runs = [run for history in workspace.store.records.histories().values() for run in history.runs]
    if recorded := _listing(runs, oid):
        return CommitProvenance(commit, is_there, recorded, Evidence.RECORD)
    if noted := _listing((with_live_commits(workspace, run) for run in runs), oid):
        return CommitProvenance(commit, is_there, noted, Evidence.NOTE)
    named = tuple(_named_sources(commit, {run.id: run for run in runs}))
    if not named:
        raise RequestError(
            f"commit {oid[:12]} ({commit.subject}) was not made by a run: "
            "no record lists it, and it names no run"
        )
    # The commits that these runs list instead, or else manual runs of the tasks.
    told = {maker.run_id for maker in named}
    by_hand = {maker.task_id for maker in named if maker.run_id is None}
    instead = commits_of(
        workspace,
        [
            run
            for run in runs
            if run.id in told or (run.task_id in by_hand and run.run_type is RunType.MANUAL)
        ],
    )
    return CommitProvenance(commit, is_there, named, Evidence.TRAILERS, instead)


def _listing(runs: Iterable[Run], oid: str) -> tuple[CommitSource, ...]:
    return tuple(
        CommitSource(run.task_id, run.id, run) for run in runs if oid in (*run.commits, run.undo_commit)
    )


def _named_sources(commit: Commit, runs: dict[str, Run]) -> Iterator[CommitSource]:
    """Return the runs that the trailers name, and the named tasks without such a run."""
    told: set[str | None] = set()
    for run_id in commit.runs:
        run = runs.get(run_of_mark(run_id))
        only_task = commit.tasks[0] if len(commit.tasks) == 1 else None
        task_id = run.task_id if run is not None else only_task
        told.add(task_id)
        yield CommitSource(task_id, run_id, run)
    for task_id in commit.tasks:
        if task_id not in told:
            yield CommitSource(task_id, None, None)
