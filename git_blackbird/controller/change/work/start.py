"""Start an agent on a task, or continue its session, where the files of the task are."""

import contextlib
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from git_blackbird import trace
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.commit.approval import warn_uncommitted
from git_blackbird.controller.change.limits import await_agent, name_what_follows
from git_blackbird.controller.change.move import bring_merge
from git_blackbird.controller.change.stops import interrupted_stop, undelivered_stop
from git_blackbird.controller.change.work.finish import count_as_failure
from git_blackbird.controller.change.work.instructions import Instruction
from git_blackbird.controller.change.work.task_run import StaleTaskError, run_task, warn_left_out
from git_blackbird.controller.change.work.worktree_setup import set_up_worktree
from git_blackbird.controller.core.agents import (
    adding_way_out,
    agent_for,
    find_agent_for_run,
    require_session_name,
    start_with_other_agent,
)
from git_blackbird.controller.core.other_worktrees import runs_elsewhere
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.launch.launch import RunContext
from git_blackbird.controller.place.missing_files import name_bound_copies, name_missing_files
from git_blackbird.controller.place.worktrees import open_place
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE, restart_command
from git_blackbird.model.rules.next_action import ApplyChangeRequest, ContinueRun, is_continued
from git_blackbird.model.rules.other_tasks import based_at, brought_at, other_tasks
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Requester, TerminalReason
from git_blackbird.model.views.events import Phase
from git_blackbird.model.views.stop import Stop


async def work_on(call: Call, instruction: Instruction) -> Stop | None:
    """Run an agent on a task, to what follows from its end.

    Raises AgentUnavailableError, NotAgreedError, BudgetSpentError, RequestError.
    """
    task_id = instruction.task.id
    call.ledger.require(task_id)
    with call.start_of(task_id), contextlib.ExitStack() as held:
        context = await _context_of(call, instruction)
        await call.require_consent(context)
        _warn_before(call, instruction)
        await call.finish_background_work(task_id)
        placed = await call.interruptible(run_in_thread(lambda: _placed(call, context, instruction)))
        ready = None if placed is None else await _set_up(call, placed, task_id, held)
        run = None
        if placed is not None and ready is not None:
            instruction = placed.instruction
            with call.at_work("pausing", task_id):
                run = await call.interruptible(run_task(ready, instruction, call.force_stop))
    if run is None:
        return interrupted_stop(f"before {task_id} was started")
    call.empty_starts.note_end(run)
    if run.terminal_reason is TerminalReason.WITHOUT_WORK:
        gated = call.workspace.config.execution.stop_after_each_task or instruction.gated
        call.empty_starts.hold(task_id, partial(_count_as_failure, call, run, gated=gated))
        return None
    if call.goes_on_after(run):
        return await _go_on_after_limit(call, instruction, run)
    return call.stop_after_run(run, instruction.resumes)


async def _go_on_after_limit(call: Call, instruction: Instruction, run: Run) -> Stop | None:
    """Leave what the limit kept from being done to the next choice, if it is made again by itself."""
    resumed = instruction.resumes
    if resumed is None:
        call.count_start(-1 if run.is_superseded else 0)
        return None
    if not run.is_superseded or is_continued(resumed):
        return None
    stop = await await_agent(call, run)
    latest = call.workspace.store.records.history(run.task_id).latest
    if stop is not None or latest is None or latest.id != resumed.id:
        return stop
    return await work_on(call, instruction)


async def _context_of(call: Call, instruction: Instruction) -> RunContext:
    """Return the context of a run: a session stays with its agent, and only a start can be in another."""
    workspace, resumed = call.workspace, instruction.resumes
    if resumed is None:
        agent = agent_for(workspace, instruction.task)
    else:
        agent = find_agent_for_run(workspace, resumed, instruction.task)
        require_session_name(agent, resumed)
    is_one_of_all = resumed is None and call.scope.only is None
    way = EXECUTE if is_one_of_all else restart_command(instruction.task.id)
    with adding_way_out(workspace, start_with_other_agent(workspace, way, agent.name, instruction.task)):
        return await call.context_of_work(agent, instruction.launcher)


def _warn_before(call: Call, instruction: Instruction) -> None:
    """Warn of files that agents will not see, once a call, and of runs of the task in other worktrees."""
    workspace, task_id = call.workspace, instruction.task.id
    if not call.touched:
        name_what_follows(call)
        warn_uncommitted(workspace, call.ui)
        if workspace.uses_worktrees and call.launcher.is_here:
            name_missing_files(workspace, call.ui)
        if call.launcher.is_here:
            name_bound_copies(workspace, call.ui)
    if instruction.resumes is not None and task_id not in call.touched:
        for other in runs_elsewhere(workspace, {task_id}):
            warn(call.ui, f"{task_id}: {other.text}", task_id)
    call.touched.add(task_id)


class _Placed(NamedTuple):
    """A run at its place: its context, and the instruction with what other tasks do."""

    context: RunContext
    instruction: Instruction


def _placed(call: Call, context: RunContext, instruction: Instruction) -> _Placed:
    """Open the place of a run."""
    workspace, task_id, resumed = call.workspace, instruction.task.id, instruction.resumes
    since, brought = (None, None) if resumed is None else (based_at(resumed), brought_at(resumed))
    now = workspace.environment.timestamp()
    place = open_place(workspace, task_id, resumed)
    if resumed is not None and resumed.brought is not None and resumed.requested_by is Requester.LANDING:
        bring_merge(workspace, resumed, place.workspace.repo, resumed.brought.merge.base)
        place = replace(place, base=resumed.brought.merge.base)
    for text in place.notices:
        inform(call.ui, text, task_id)
    warn_left_out(call.ui, call.left_out, place.left_out)
    context = replace(
        context,
        workspace=place.workspace,
        worktree_base=place.base,
        worktree_base_at=brought or now,
        begins=place.begins,
    )
    if place.workspace.is_task_worktree:
        others = other_tasks(workspace.plan_state(), task_id, frozenset(call.starting), since)
        instruction = instruction.with_other_tasks(others)
    return _Placed(context, instruction)


async def _set_up(
    call: Call, placed: _Placed, task_id: TaskId, held: contextlib.ExitStack
) -> RunContext | None:
    """Set up a worktree on this machine, with a slot until ``held`` is closed; None if interrupted."""
    context = placed.context
    place = context.workspace
    if not place.is_task_worktree or not context.launcher.is_here:
        return context
    slot = held.enter_context(call.slots.take(place.repo))
    log = place.paths.setup_log(task_id)
    setup = call.set_up(task_id, f"the worktree of {task_id}", place.repo.top, log, slot)
    with trace.measured(Phase.WORKTREE, task_id), call.at_work("stopping the set-up of", task_id, "it"):
        if not await call.interruptible(set_up_worktree(setup, place.repo)):
            return None
    begins = context.begins if setup.is_empty else None
    return replace(context, begins=begins, variables=slot.variables)


def _count_as_failure(call: Call, run: Run, *, gated: bool) -> None:
    count_as_failure(call.workspace, run, gated=gated)
    inform(call.ui, f"{run.task_id} counts as failed: no other task was refused like it", run.task_id)


async def go_on(
    call: Call, action: ApplyChangeRequest | ContinueRun, instruction: Instruction
) -> Stop | None:
    """Run an agent in the session of an action; stop where that agent cannot start.

    What was said to the task meanwhile goes with the next turn.
    """
    try:
        return await work_on(call, instruction)
    except StaleTaskError:
        return None
    except AgentUnavailableError as error:
        return undelivered_stop(action, error.message, error.ways_out)
