"""One run of an agent on a task: its choice, place, snapshot and record, and what follows."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from git_blackbird import trace
from git_blackbird.agents.protocol import new_session
from git_blackbird.controller.change.agent_run import open_run, run_agent
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.commit.approval import warn_uncommitted
from git_blackbird.controller.change.limits import await_agent, name_what_follows
from git_blackbird.controller.change.move import bring_merge
from git_blackbird.controller.change.stops import interrupted_stop, undelivered_stop
from git_blackbird.controller.change.work.close import close_run, is_gated
from git_blackbird.controller.change.work.manual_commits import require_recorded
from git_blackbird.controller.change.work.starts import Start
from git_blackbird.controller.change.work.watch import (
    start_tracking,
    stop_tracking,
    store_config,
    watch_agent,
)
from git_blackbird.controller.change.work.worktree_setup import set_up_worktree
from git_blackbird.controller.core.agents import (
    adding_way_out,
    can_start,
    require_session_name,
    start_with_other_agent,
)
from git_blackbird.controller.core.guards import (
    StaleTaskError,
    require_not_elsewhere,
    require_usable,
    runs_elsewhere,
)
from git_blackbird.controller.core.status_sync import save_plan, save_status, supersede_runs
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import finish_in_thread, run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import remove_litter, scratch_dir
from git_blackbird.controller.place.missing_files import name_bound_copies, name_missing_files
from git_blackbird.controller.place.place import place_of
from git_blackbird.controller.place.snapshots import snapshot, submodules
from git_blackbird.controller.place.worktrees import Opened, open_place
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.git.core.repository import head, other_worktrees
from git_blackbird.git.worktree.log import log_size
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand, restart_command
from git_blackbird.model.change.stages import Due, due_of
from git_blackbird.model.plan.graph import readiness
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.other_tasks import based_at, brought_at, other_tasks
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.status import derive
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import Worktree
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Requester, RunType, TerminalReason
from git_blackbird.model.run.summary import SkippedPath
from git_blackbird.model.views.events import Phase, RunEnded
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.config_files import global_config_path
from git_blackbird.storage.locks import session_lock, task_lock


async def work_on(call: Call, start: Start) -> Stop | None:
    """Run an agent on a task, to what follows from its end.

    Raises AgentUnavailableError, NotAgreedError, BudgetSpentError, RequestError.
    """
    task_id, launcher = start.task.id, start.by_hand or call.launcher
    call.ledger.require(task_id)
    with contextlib.ExitStack() as held:
        call.starting.add(task_id)
        held.callback(call.starting.discard, task_id)
        if start.resumes is not None:
            require_session_name(start.agent, start.resumes)
        # A session stays with its agent, and only a start can be in another.
        is_one_of_all = start.resumes is None and call.scope.only is None
        way = EXECUTE if is_one_of_all else restart_command(task_id)
        other = start_with_other_agent(call.workspace, way, start.agent.name, start.task)
        with adding_way_out(call.workspace, other):
            version = await launcher.version_of(start.agent)
        await call.require_consent(start.agent)
        if call.workspace.config.check.criteria:
            from git_blackbird.controller.change.check.criteria import asked_criteria  # few have any

            await call.interruptible(asked_criteria(call, start.task))
        if call.is_interrupted:
            return interrupted_stop(f"before {task_id} was started")
        _warn_before(call, start)
        await call.finish_background_work(task_id)
        opened = await call.interruptible(run_in_thread(lambda: _open(call, start)))
        place, start = (None, start) if opened is None else opened
        if place is not None and place.workspace.is_task_worktree and launcher.is_here:
            place = await _set_up(call, place, task_id, held)
        run = None
        if place is not None:
            with call.at_work("pausing", task_id):
                run = await call.interruptible(run_task(call, start, place, version))
    if run is None:
        return interrupted_stop(f"before {task_id} was started")
    call.empty_starts.note_end(run)
    if run.terminal_reason is TerminalReason.WITHOUT_WORK:
        call.empty_starts.hold(task_id, partial(_count_as_failure, call, run))
        return None
    if call.goes_on_after(run):
        return await _go_on_after_limit(call, start, run)
    return call.stop_after_run(run, start.resumes)


async def _go_on_after_limit(call: Call, start: Start, run: Run) -> Stop | None:
    """Leave what the limit kept from being done to the next choice, if it is made again by itself."""
    resumed = start.resumes
    if resumed is None:
        call.count_start(-1 if run.is_superseded else 0)
        return None
    if not run.is_superseded or due_of(resumed) in {Due.REQUEST, Due.CONTINUE}:
        return None
    stop = await await_agent(call, run)
    latest = call.workspace.store.records.history(run.task_id).latest
    if stop is not None or latest is None or latest.id != resumed.id:
        return stop
    return await work_on(call, start)


def _warn_before(call: Call, start: Start) -> None:
    """Warn of files that agents will not see, once a call, and of runs of the task in other worktrees."""
    workspace, task_id = call.workspace, start.task.id
    if not call.touched:
        name_what_follows(call)
        warn_uncommitted(workspace, call.ui)
        if workspace.uses_worktrees and call.launcher.is_here:
            name_missing_files(workspace, call.ui)
        if call.launcher.is_here:
            name_bound_copies(workspace, call.ui)
    if start.resumes is not None and task_id not in call.touched:
        for other in runs_elsewhere(workspace, {task_id}):
            warn(call.ui, f"{task_id}: {other.text}", task_id)
    call.touched.add(task_id)


def _open(call: Call, start: Start) -> tuple[Opened, Start]:
    """Open the place of a run; also return the start with what other tasks do."""
    workspace, task_id, resumed = call.workspace, start.task.id, start.resumes
    since, brought = (None, None) if resumed is None else (based_at(resumed), brought_at(resumed))
    now = workspace.environment.timestamp()
    place = replace(open_place(workspace, task_id, resumed), base_at=brought or now)
    if resumed is not None and resumed.brought is not None and resumed.requested_by is Requester.LANDING:
        bring_merge(workspace, resumed, place.workspace.repo, resumed.brought.merge.base)
        place = replace(place, base=resumed.brought.merge.base)
    for text in place.notices:
        inform(call.ui, text, task_id)
    _warn_left_out(call, place.left_out)
    if place.workspace.is_task_worktree:
        others = other_tasks(workspace.plan_state(), task_id, frozenset(call.starting), since)
        start = start.with_other_tasks(others)
    return place, start


async def _set_up(call: Call, place: Opened, task_id: TaskId, held: contextlib.ExitStack) -> Opened | None:
    """Set up a worktree on this machine, with a slot until ``held`` is closed; None if interrupted."""
    repo, log = place.workspace.repo, place.workspace.paths.setup_log(task_id)
    slot = held.enter_context(call.slots.take(repo))
    setup = call.set_up(task_id, f"the worktree of {task_id}", repo.top, log, slot)
    with trace.measured(Phase.WORKTREE, task_id), call.at_work("stopping the set-up of", task_id, "it"):
        if not await call.interruptible(set_up_worktree(setup, repo)):
            return None
    return replace(
        place, start_snapshot=place.start_snapshot if setup.is_empty else None, variables=slot.variables
    )


def _count_as_failure(call: Call, run: Run) -> None:
    """Count a run that ended without work as its task's failure, if nothing became of the task since."""
    workspace = call.workspace
    with workspace.transaction() as transaction:
        state = transaction.state_of(run.task_id)
        task, history = state.plan.tasks.get(run.task_id), state.history(run.task_id)
        latest = None if history.latest is None else history.latest.id
        is_todo = task is not None and task.status is Status.TODO
        if task is not None and latest == run.resumes and (latest is not None or is_todo):
            failed = (history.find(run.id) or run).updated(
                superseded_at=None,
                superseded_by=None,
                terminal_reason=None,
                landing=place_of(workspace, run).landing,
            )
            now = workspace.environment.timestamp()
            transaction.save_run(failed.awaiting_decision(now) if is_gated(workspace, run) else failed)
            save_status(transaction, run.task_id)
    inform(call.ui, f"{run.task_id} counts as failed: no other task was refused like it", run.task_id)


async def go_on(call: Call, item: Item, start: Start) -> Stop | None:
    """Run an agent in the session of an item; stop where that agent cannot start.

    What was said to the task meanwhile goes with the next turn.
    """
    try:
        return await work_on(call, start)
    except StaleTaskError:
        return None
    except AgentUnavailableError as error:
        return undelivered_stop(item, error.message, error.ways_out)


async def run_task(call: Call, start: Start, place: Opened, version: str) -> Run:
    """Run an agent, from the first snapshot to the closed record, which is returned.

    Cancelling it stops the agent and closes the record as paused; then the record is returned all the
    same. Raises SaveError, SnapshotError, AgentUnavailableError, LockedError or RequestError with nothing
    left running.
    """
    workspace, task_id, name = place.workspace, start.task.id, start.agent.name
    newest = workspace.store.records.history(task_id).newest
    if start.resumes is None and newest is not None and newest.provider not in {"", name}:
        # The rights and the knowledge of its agent differ.
        text = f"{task_id} was started with {agent_in_text(newest.provider)}; {agent_in_text(name)}"
        other = TaskCommand("restart", task_id).with_agent(newest.provider, "with that agent")
        is_there = await run_in_thread(partial(can_start, workspace, newest.provider))
        hint = other if is_there else None
        inform(call.ui, f"{text} starts a new session", task_id, hint)
    # Before the snapshot: what is committed from here on, and not by the agent, is no part of its change.
    size = log_size(workspace.repo.git_dir)
    with trace.measured(Phase.SNAPSHOT, task_id):
        base, inside = await run_in_thread(
            lambda: (
                place.start_snapshot or call.end_snapshot.take(workspace) or snapshot(workspace),
                submodules(workspace),
            )
        )
        _warn_left_out(call, base.left_out)
    digests = {path: state.digest for path, state in inside.items()}
    begun = _begun_run(start, place, base.tree, version)
    begun = begun.updated(reflog_size=size, submodule_digests=digests or None)
    with _hold(call, workspace, begun), scratch_dir(workspace.paths, begun.id) as scratch:
        record = partial(_record, call, workspace, start)
        run, ended = await run_agent(call, start, place, begun, scratch, record)
        trace.spent(Phase.AGENT, task_id, ended.duration_seconds)
        remove_litter(workspace.repo.top, run, start.agent.leftover_dirs)
        close = partial(close_run, workspace, call.ui, run, ended, end=call.end_snapshot)
        closed = await finish_in_thread(close, call.force_stop)
        stop_tracking(workspace)
        if closed.review_summary is not None:
            _warn_left_out(call, closed.review_summary.left_out)
        call.ui.notify(RunEnded(closed, start.task.title, ended.duration_seconds))
        return closed


def _warn_left_out(call: Call, left_out: Sequence[SkippedPath]) -> None:
    for skipped in left_out:
        if skipped.path not in call.left_out:
            call.left_out.add(skipped.path)
            warn(call.ui, f"not in the snapshot: {skipped.path} ({skipped.reason})")


def _begun_run(start: Start, place: Opened, tree: str, version: str) -> Run:
    workspace, resumed = place.workspace, start.resumes
    run = open_run(workspace, start, RunType.EXECUTE, tree, version)
    session = (
        new_session(start.agent, f"{workspace.environment.random_bits(128):032x}")
        if resumed is None
        else resumed.provider_session_ref
    )
    worktree = None
    if workspace.is_task_worktree:
        before = None if resumed is None else resumed.worktree
        worktree = Worktree(
            path=str(workspace.repo.top),
            base=place.base or tree,
            base_at=place.base_at,
            home_branch=(None if before is None else before.home_branch) or head(workspace.home).branch,
        )
    run = run.updated(
        provider_session_ref=session,
        message=start.message,
        answers=start.answers,
        rulings=start.rulings,
        by_hand=start.by_hand is not None,
        worktree=worktree,
    )
    return run if resumed is None else run.resuming(resumed, start.prompt, start.task.updated_at)


@contextlib.contextmanager
def _hold(call: Call, workspace: Workspace, run: Run) -> Iterator[None]:
    """Lock the session of a run against copies of this worktree, and its task against other worktrees.

    If there is no place for the lock on the session, warn and go on. Raises LockedError, BegunElsewhereError.
    """
    holder = f"run {run.id} of {run.task_id} in {workspace.repo.top}"
    with contextlib.ExitStack() as stack:
        if any(other_worktrees(workspace.repo)):
            stack.enter_context(task_lock(workspace.repo.common_dir, run.task_id, holder))
            if run.resumes is None:
                # Another may have had the lock, and be done, since this task was chosen.
                require_not_elsewhere(workspace, run.task_id)
        folder = session_locks(workspace)
        if run.provider_session_ref is not None and folder is not None:
            try:
                stack.enter_context(session_lock(folder, run.provider, run.provider_session_ref, holder))
            except UnusableError as error:
                text = f"{error.message}; the session is not locked against copies of this worktree"
                warn(call.ui, text, run.task_id, error.ways_out)
        yield


def session_locks(workspace: Workspace) -> Path | None:
    """Return the folder of the locks on sessions, which all worktrees share; None without a HOME."""
    config = global_config_path(workspace.environment.environ)
    return None if config is None else config.with_name("sessions")


def _record(call: Call, workspace: Workspace, start: Start, run: Run) -> None:
    """Write record, then plan, under one lock; whether the task may start is judged under it too."""
    is_new = start.resumes is None
    store_config(workspace)
    with trace.measured(Phase.RECORD, run.task_id), workspace.transaction() as transaction:
        state = transaction.state_of(run.task_id)
        plan, task = state.plan, state.plan.tasks.get(run.task_id)
        if task is None:
            raise StaleTaskError(f"{run.task_id} was removed from the plan meanwhile")
        require_usable(task.id, state.history(task.id))
        resumed = start.resumes
        stored = None if resumed is None else state.history(task.id).find(resumed.id)
        known = None if resumed is None else resumed.messages_while_working
        if stored is not None and stored.messages_while_working != known:
            way = TaskCommand("resume", task.id)
            raise StaleTaskError(f"{task.id} was told more before it went on", hint=way)
        if is_new:
            if reasons := readiness(plan, task).reasons:
                raise StaleTaskError(f"{task.id} is no longer ready: {'; '.join(reasons)}")
            require_recorded(workspace, task.id)
        transaction.save_run(run)
        if is_new:
            now = workspace.environment.timestamp()
            supersede_runs(transaction, state.history(task.id), now, run.id)
        histories = {**state.histories, task.id: History((run,))}
        started = derive(state.saved, histories, state.gate, only_lasting=state.only_lasting)
        save_plan(transaction, state, started, is_derived=True)
        watch_agent(workspace, transaction, run)
    start_tracking(workspace, call.ui, run)
