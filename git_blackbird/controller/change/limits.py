"""What one call does at a usage limit: it stops, waits, or lets other agents start tasks meanwhile."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from git_blackbird import trace
from git_blackbird.agents.registry import load_agent
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.stops import NotAgreedError, agent_refused_stop, interrupted_stop
from git_blackbird.controller.core.agents import model_of, tasks_of_agents
from git_blackbird.controller.core.guards import current_holds
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import LOOKS, WATCH_SECONDS, last_written
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import AgentUnavailableError, RequestError
from git_blackbird.messages.display.quantities import format_moment, limit_words
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.rules.limits import AgentModel, LimitHold
from git_blackbird.model.rules.state import PlanState, ready_tasks
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.run import Run
from git_blackbird.model.views.stop import Stop


def name_what_follows(call: Call) -> None:
    """Announce until when the call starts agents, and what it does at a usage limit unless it stops."""
    which = later = ""
    if call.scope.until is not None:
        inform(call.ui, f"starts nothing after {format_moment(format_timestamp(call.scope.until))}")
        which, later = " that end before then", "; it does not wait for a later one"
    if call.on_limit == "stop":
        return
    names = " or ".join(agent.name for agent in call.stand_ins)
    others = f"; other tasks start with {names}" if names else ""
    waits = f"this call waits at usage limits{which} until they are over{others}"
    inform(call.ui, f"{waits} (Ctrl+C ends the waiting){later}")


async def agree_to_stand_ins(call: Call) -> None:
    """Ask for consent, while a person is here, to the agents that start tasks at a usage limit.

    Those that cannot start or are not agreed to are left out, and named with the reason.
    """
    if call.on_limit != "other-agent":
        return
    config = call.workspace.config
    for name in config.execution.agents:
        try:
            agent = load_agent(name, config)
            await call.here.version_of(agent)
            await call.require_consent(agent)
        except (AgentUnavailableError, NotAgreedError, RequestError) as error:
            text = f"{agent_in_text(name)} of execution.agents is left out: {error.message}"
            warn(call.ui, f"{text}; at a usage limit no task starts with it", hint=error.ways_out)
        else:
            call.stand_ins = (*call.stand_ins, agent)


def holds_of(call: Call, state: PlanState) -> Mapping[AgentModel, LimitHold]:
    """Return the agents that this call leaves alone, since they are at a usage limit."""
    if call.on_limit == "stop":
        return {}
    return current_holds(call.workspace, state, *filter(None, [call.scope.review]))


def with_stand_ins(call: Call, held: Collection[AgentModel]) -> Workspace:
    """Return the workspace in which tasks of agents at a limit start with the first that is at none."""
    free = next((agent.name for agent in call.stand_ins if model_of(agent) not in held), None)
    return replace(call.workspace, stand_ins={} if free is None else dict.fromkeys(held, free))


def name_half_done(call: Call, state: PlanState, held: Collection[AgentModel], task_id: TaskId) -> None:
    """Inform once that unfinished edits keep tasks of free agents from starting."""
    kept = tasks_of_agents(call.workspace, state.plan, held)
    others = any(call.scope.covers(task.id) and task.id not in kept for task in ready_tasks(state))
    if others and task_id not in call.half_done:
        call.half_done.add(task_id)
        text = f"no other task starts over the unfinished edits of {task_id}; with --worktrees they would"
        inform(call.ui, text, task_id)


def in_time(call: Call, holds: Sequence[LimitHold]) -> Sequence[LimitHold]:
    """Return the limits that are over before the call is to end."""
    last = call.scope.until
    return [hold for hold in holds if last is None or hold.until < last]


async def await_limit(call: Call, limits: Sequence[LimitHold]) -> Stop | None:
    """Wait until the first limit is over or something has changed elsewhere; None to go on."""
    holds = in_time(call, limits)
    if not holds:
        hold = limits[0]
        stop = agent_refused_stop(call.workspace, hold.run)
        return replace(stop, text=f"{limit_words(hold)}, after the end of this call; {stop.text}")
    await call.interruptible(limit_over(call, holds))
    return ended_waiting(call)


def ended_waiting(call: Call) -> Stop | None:
    """Return the stop of a call in which nothing ran, if a person ended its waiting."""
    return interrupted_stop("while it waited for a usage limit", EXECUTE) if call.is_interrupted else None


async def limit_over(call: Call, holds: Sequence[LimitHold]) -> None:
    """Return once the first of these limits is over, plan or records have changed, or after a while.

    Timers stop while a machine sleeps, so the wall clock is polled.
    """
    environment, first = call.workspace.environment, min(hold.until for hold in holds)
    seen = last_written(call.workspace)
    call.show_limits(holds)
    trace.event("wait for usage limits", *(f"{hold.by.agent} {hold.until}" for hold in holds))
    for _ in range(LOOKS):
        await asyncio.sleep(WATCH_SECONDS)
        if environment.now() >= first or last_written(call.workspace) != seen:
            return


async def await_agent(call: Call, run: Run) -> Stop | None:
    """Wait until the agent that refused a run for its limit may work again; None to go on."""
    by = AgentModel.of(run)
    while (hold := holds_of(call, call.workspace.plan_state()).get(by)) is not None:
        stop = await await_limit(call, (hold,))
        if stop is not None:
            return stop
    return None
