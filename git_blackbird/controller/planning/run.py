"""One run of an agent that plans: it changes nothing, and its answer is held to a schema."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from git_blackbird.agents.process.outcome import ProcessResult
from git_blackbird.controller.change.review.reviewer import (
    ReviewerRequest,
    Role,
    classify_answer,
    closed_reading,
    reviewed_worktree,
    run_reviewer,
    tell_edits,
)
from git_blackbird.controller.change.work.finish import ending_of
from git_blackbird.controller.change.work.guard import closing_run, store_config, watch_agent
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.launch import RunContext, open_run
from git_blackbird.controller.launch.logs import publish_logs
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.messages.incoming.plan_answer import (
    OrdersAnswer,
    PlanAnswer,
    build_plan_schema,
    parse_plan_answer,
)
from git_blackbird.messages.outgoing.planning import (
    PlanKind,
    PlanRequest,
    build_planning_context,
    render_planning_prompt,
)
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType
from git_blackbird.model.views.events import RunEnded

_ROLE = Role("planner", "planning", "plan", asks=True)


class PlannerEnd(NamedTuple):
    """How a run ended that planned; ``answer`` is None for one that cannot be used.

    ``marks`` are those of secrets that were masked in its output.
    """

    run: Run
    answer: PlanAnswer | None
    marks: Mapping[str, str]


async def run_planner(
    context: RunContext, request: PlanRequest, plan: Plan, force_stop: asyncio.Event
) -> PlannerEnd:
    """Let an agent plan, from its snapshot to its closed record.

    Cancelling it stops the agent and closes the record as failed. Raises SaveError, SnapshotError,
    AgentUnavailableError with nothing left running.
    """
    form = OrdersAnswer if request.kind is PlanKind.INFER else PlanAnswer
    base = await run_in_thread(lambda: snapshot(context.workspace))
    pack = build_planning_context(request, plan)
    reviewer = ReviewerRequest(
        open_run(context, PLANNING, base.tree).updated(run_type=RunType.PLANNING, context=pack),
        request.kind.value,
        render_planning_prompt(pack),
        build_plan_schema(form),
    )
    run, ended = await run_reviewer(context, reviewer, lambda run: _save(context.workspace, run), force_stop)
    head_tree = await run_in_thread(lambda: reviewed_worktree(context, PLANNING, run.base_tree))
    if head_tree not in {None, run.base_tree}:
        warn(context.ui, "the worktree changed during the planning", PLANNING)
    end = _close(context.workspace, run, ended, head_tree, form)
    tell_edits(context, end.run, _ROLE)
    context.ui.notify(RunEnded(end.run, request.kind.value, ended.duration_seconds))
    return end


def _save(workspace: Workspace, run: Run) -> None:
    store_config(workspace)
    with workspace.transaction() as transaction:
        transaction.save_run(run)
        watch_agent(workspace, transaction, run)


def _close(
    workspace: Workspace, run: Run, ended: ProcessResult, head_tree: str | None, form: type[OrdersAnswer]
) -> PlannerEnd:
    outcome, answer = classify_answer(
        ended, lambda reading: parse_plan_answer(reading.final_text, form), _ROLE
    )
    ending = ending_of(ended, outcome, workspace.environment.timestamp())
    with closing_run(workspace, run) as (transaction, check):
        transaction.renew_plan_backup()
        closed = closed_reading(run, ending, head_tree, check, _ROLE)
        transaction.save_run(closed)
    publish_logs(workspace, closed)
    return PlannerEnd(closed, answer, ended.marks)
