"""Take up runs that workers made without a call to follow them, and clear the remote."""

import asyncio
import contextlib
from collections.abc import Collection, Iterable, Iterator

from git_blackbird.cluster.client import Cluster
from git_blackbird.cluster.follow import RemoteRun
from git_blackbird.cluster.orders import ALL_REFS, RunRefs
from git_blackbird.controller.change.agent_run import follow_agent, started_event
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.work.close import close_run
from git_blackbird.controller.change.work.starts import recorded_reader
from git_blackbird.controller.core.agents import find_agent_for_run
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import finish_in_thread, run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.launch import limits_of
from git_blackbird.controller.place.worktrees import reopen_place
from git_blackbird.errors import BlackbirdError, UnusableError
from git_blackbird.git.core.process import GitError
from git_blackbird.git.worktree.remote_refs import fetch_checked, list_refs, push
from git_blackbird.git.worktree.saved_trees import delete_refs, keep_commit
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.timestamps import SECOND, format_timestamp, parse_timestamp, seconds_between
from git_blackbird.model.run.ended import ExitCause
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason
from git_blackbird.model.views.events import RunEnded
from git_blackbird.storage.notes import keep_keys


class JoinedCluster(Cluster):
    """A cluster as a call's loop uses it, with what to do when the call begins and ends."""

    @property
    def about(self) -> str:
        return self.connection.about

    async def take_up(self, call: Call) -> None:
        """Follow the runs that workers still make, or have made, to their ends, and close their records.

        This includes runs whose worker was given up as lost, and is back or has sent the end.
        """
        workspace = self.workspace
        histories = workspace.store.records.histories()
        there = await run_in_thread(lambda: list_refs(workspace.repo, self.connection.remote, ALL_REFS))
        known = {*there, *(RunRefs.of(run_id).end for run_id in self.connection.runs)}
        runs = [run for history in histories.values() for run in _open_runs(history, known)]
        await asyncio.gather(*(_take_up(self, call, run) for run in runs))

    async def clear(self) -> None:
        """Remove the references of recorded runs from the remote; what fails is left to a later call."""
        try:
            await run_in_thread(lambda: clear_remote(self, self.workspace))
        except GitError as error:
            warn(self.ui, f"references of ended runs stay on the remote: {error.message}")


def _open_runs(history: History, ends: Collection[str]) -> Iterator[Run]:
    yield from (run for run in history.at_work if run.is_remote)
    run = history.latest
    is_lost = run is not None and run.terminal_reason is TerminalReason.WORKER_LOST
    if run is not None and is_lost and RunRefs.of(run.id).end in ends:
        yield run


async def _take_up(cluster: Cluster, call: Call, run: Run) -> None:
    """Take up a run; a failure concerns this run alone."""
    try:
        await _follow_to_end(cluster, call, run)
    except BlackbirdError as error:
        text = f"{run.task_id}: run {run.id} is not taken up: {error.message}"
        warn(call.ui, text, run.task_id, error.ways_out)


async def _follow_to_end(cluster: Cluster, call: Call, run: Run) -> None:
    workspace, ui = cluster.workspace, call.ui
    place = await run_in_thread(lambda: reopen_place(workspace, run))
    agent = find_agent_for_run(workspace, run)
    plan = workspace.store.plan()
    title = plan.tasks[run.task_id].title if run.task_id in plan.tasks else run.task_id
    reader, limits = recorded_reader(workspace, agent, run), limits_of(workspace)
    child = RemoteRun(cluster.connection, ui, place, run, reader, limits, worker=run.worker)
    ui.notify(started_event(run, title, child)._replace(is_taken_up=True))
    ended = await follow_agent(call, agent, place, run, child)
    is_stopped = ended.cause in {ExitCause.INTERRUPTED, ExitCause.TOLD}
    if is_stopped and run.id in child.connection.runs:
        warn(ui, f"{run.task_id}: run {run.id} goes on on its worker; the next call takes it up", run.task_id)
        return
    record = run.updated(process=child.process)
    at = None
    if child.has_ended and ended.duration_seconds:
        # It may have ended long ago.
        at = format_timestamp(parse_timestamp(run.started_at) + int(ended.duration_seconds * SECOND))
    closed = await finish_in_thread(lambda: close_run(place, ui, record, ended, at=at), call.force_stop)
    if child.has_ended:
        # A failure is reported at the end of the call, and each later call tries again.
        with contextlib.suppress(GitError):
            await run_in_thread(lambda: _remove(cluster, workspace, RunRefs.of(run.id)))
    seconds = seconds_between(closed.started_at, closed.completed_at or "")
    ui.notify(RunEnded(closed, title, seconds or ended.duration_seconds))


def clear_remote(cluster: Cluster, workspace: Workspace) -> None:
    """Remove the references of recorded runs; results that came too late are kept here. Raises GitError."""
    there = list_refs(workspace.repo, cluster.connection.remote, ALL_REFS)
    runs = [run for history in workspace.store.records.histories().values() for run in history.runs]
    ended = [run for run in runs if run.is_remote and run.status is not RunStatus.RUNNING]
    lost = {run.id for run in ended if run.terminal_reason is TerminalReason.WORKER_LOST}
    given_up = {run.id for run in ended if run.id in lost and run.is_superseded}
    known = {run.id for run in ended} - lost | given_up
    for run_id in given_up:
        if (end := RunRefs.of(run_id).end) in there:
            # An end that cannot be read is not kept either.
            with contextlib.suppress(UnusableError):
                fetch_checked(workspace.repo, cluster.connection.remote, end)
                keep_commit(workspace.repo, run_id, there[end])
    at_work = {run.id for run in runs if run.is_remote and run.id not in known}
    keep_keys(workspace.paths, at_work)
    _remove(cluster, workspace, [ref for ref in there if RunId(ref.split("/")[3]) in known])


def _remove(cluster: Cluster, workspace: Workspace, refs: Iterable[str]) -> None:
    remote = cluster.connection.remote
    there = list_refs(workspace.repo, remote, ALL_REFS).keys() & set(refs)
    if there:
        push(workspace.repo, remote, dict.fromkeys(there, ""))
        delete_refs(workspace.repo, there)
