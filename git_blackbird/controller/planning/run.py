"""One run of an agent that plans: it changes nothing, and its answer is held to a schema."""

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.agent_run import open_run
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.reading_run import Reading, ReadingEnd, Role, read
from git_blackbird.controller.change.work.starts import Start
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.worktrees import Opened
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
from git_blackbird.model.plan.plan import Plan, new_task
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType
from git_blackbird.storage.store import Transaction

_ROLE = Role("planner", "planning", "plan", asks=True)


class _PlanReading(Reading[PlanAnswer]):
    """Who plans."""

    role = _ROLE

    def __init__(self, start: Start, run: Run, form: type[OrdersAnswer]) -> None:
        super().__init__(start, run)
        self._form = form

    def parse(self, transaction: Transaction, ended: Ended) -> PlanAnswer:  # noqa: ARG002  # the same whenever
        """Read the proposal, or the questions before it."""
        return parse_plan_answer(ended.final_text, self._form)


async def run_planner(call: Call, agent: Agent, request: PlanRequest, plan: Plan) -> ReadingEnd[PlanAnswer]:
    """Let an agent plan, from its snapshot to its closed record. Raises as ``read``."""
    workspace = call.workspace
    form = OrdersAnswer if request.kind is PlanKind.INFER else PlanAnswer
    base = await run_in_thread(lambda: snapshot(workspace))
    pack = build_planning_context(request, plan)
    task = new_task(PLANNING, request.kind.value, workspace.environment.timestamp())
    start = Start(task, agent, pack, render_planning_prompt(pack), schema=build_plan_schema(form))
    version = await call.version_of(agent)
    run = open_run(workspace, start, RunType.PLANNING, base.tree, version)
    return await read(call, Opened(workspace), _PlanReading(start, run, form))
