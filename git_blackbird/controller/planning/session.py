"""One call that plans: an agent answers, a person is asked, and the plan is changed or stays."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.agent_run import open_run
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.reading_run import Reading, ReadingEnd, Role, read
from git_blackbird.controller.change.stops import NotAgreedError, budget_stop, interrupted_stop
from git_blackbird.controller.change.work.starts import Start
from git_blackbird.controller.core.agents import adding_way_out, require_planner
from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.ui import Unanswered, UserInterface, inform
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.engine.recovery import recover
from git_blackbird.controller.engine.stops import not_started_stop
from git_blackbird.controller.launch.ledger import BudgetSpentError
from git_blackbird.controller.launch.run_files import sweep_scratch_dirs
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.controller.plan.editor import keep_page
from git_blackbird.controller.plan.page_reading import page_of
from git_blackbird.controller.planning.diff import proposal_lines
from git_blackbird.controller.planning.proposal import Proposal, read_proposal, save_proposal
from git_blackbird.errors import AgentUnavailableError, RequestError
from git_blackbird.messages.display.dialogue import PlanChoice, PlanPanel, PlanReply
from git_blackbird.messages.incoming.plan_answer import (
    OrdersAnswer,
    PlanAnswer,
    build_plan_schema,
    parse_plan_answer,
)
from git_blackbird.messages.incoming.questions import match_answers, take_answer
from git_blackbird.messages.outgoing.planning import (
    PlanKind,
    PlanRequest,
    build_planning_context,
    render_planning_prompt,
)
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.base.next_steps import ANOTHER_AGENT, EXECUTE, REQUEST, ShellLine, TaskCommand
from git_blackbird.model.plan.plan import Plan, new_task
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Answer, Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType, TerminalReason
from git_blackbird.model.views.stop import Stop, StopReason
from git_blackbird.storage.store import Transaction

MAX_QUESTION_ROUNDS = 2
_ROLE = Role("planner", "planning", "plan", asks=True)
Answered = tuple[tuple[Question, Answer], ...]


class _PlanReading(Reading[PlanAnswer]):
    role = _ROLE

    def __init__(self, start: Start, run: Run, form: type[OrdersAnswer]) -> None:
        super().__init__(start, run)
        self._form = form

    def parse(self, transaction: Transaction, ended: Ended) -> PlanAnswer:  # noqa: ARG002  # the same whenever
        return parse_plan_answer(ended.final_text, self._form)


async def run_planner(call: Call, agent: Agent, request: PlanRequest, plan: Plan) -> ReadingEnd[PlanAnswer]:
    """Let an agent plan, from its snapshot to its closed record. Raises as ``read``."""
    workspace = call.workspace
    form = OrdersAnswer if request.kind is PlanKind.INFER else PlanAnswer
    base = await run_in_thread(lambda: snapshot(workspace))
    pack = build_planning_context(request, plan)
    task = new_task(PLANNING, request.kind.value, workspace.environment.timestamp())
    start = Start(task, agent, pack, render_planning_prompt(pack), schema=build_plan_schema(form))
    version = await call.here.version_of(agent)
    run = open_run(workspace, start, RunType.PLANNING, base.tree, version)
    return await read(call, Opened(workspace), _PlanReading(start, run, form))


@dataclass(frozen=True)
class Planned:
    """How a planning call ended; ``draft`` is where an unsaved proposal is kept.

    ``is_to_edit``: a person wants to edit it now.
    """

    stop: Stop
    proposal: Proposal | None = None
    is_saved: bool = False
    draft: Path | None = None
    is_to_edit: bool = False


class PlanSession:
    """One call of ``plan generate``, ``plan refine`` or ``deps infer``; needs the controller lock.

    ``accepts``: a proposal that can be accepted is, without a question.
    """

    def __init__(
        self, workspace: Workspace, ui: UserInterface, request: PlanRequest, *, accepts: bool
    ) -> None:
        workspace.require_settings()
        workspace.environment.forbid_agents("plan")
        self._workspace = workspace
        self._request = request
        self._accepts = accepts
        self._call = Call(workspace, ui, CallScope(only=frozenset(), starts_left=0))
        self._rounds_left = MAX_QUESTION_ROUNDS
        self._passes_left = workspace.config.planning.max_plan_auto_refine_passes

    @property
    def scope(self) -> CallScope:
        """What the call may do with tasks: nothing."""
        return self._call.scope

    def interrupt(self) -> None:
        """Stop the agent; a second interrupt kills it."""
        self._call.interrupt()

    async def run(self) -> Planned:
        """Plan to the end of the call. Raises BlackbirdError when something cannot go on at all."""
        workspace, call = self._workspace, self._call
        try:
            state = await run_in_thread(lambda: recover(workspace, call.ui, call.scope))
            sweep_scratch_dirs(workspace.paths)
            self._require_tasks(state.plan)
            planner = require_planner(workspace, self._request.kind)
            with adding_way_out(workspace, ANOTHER_AGENT):
                await call.here.version_of(planner)
            await call.require_consent(planner, as_reviewer=True)
            planned = await self._plan(planner, state.plan)
        except (AgentUnavailableError, NotAgreedError) as error:
            planned = Planned(not_started_stop(error))
        except BudgetSpentError as error:
            planned = Planned(budget_stop(workspace, error.budgets, self._again()))
        stop = planned.stop.with_options(workspace.call_options)
        if stop.reason is not StopReason.COMPLETED:
            call.prompter.end(stop, workspace.plan_state())
        return replace(planned, stop=stop)

    def _require_tasks(self, plan: Plan) -> None:
        """Refuse to change a plan that has no such tasks."""
        for task_id in self._request.only:
            find_task(plan, task_id)
        if not plan.tasks and self._request.kind is not PlanKind.GENERATE:
            way = TaskCommand(PlanKind.GENERATE, blank=REQUEST)
            raise RequestError("the plan has no tasks", hint=way)

    async def _plan(self, planner: Agent, plan: Plan) -> Planned:
        base, request = page_of(plan), self._request
        proposal = Proposal(base, None, None)
        while True:
            end = await self._ask_agent(planner, request, plan)
            if isinstance(end, Stop):
                return self._kept(proposal, end)
            made = read_proposal(self._workspace, base, request, end)
            if end.answer is not None and end.answer.asked and not made.is_masked:
                reply = await self._ask_person(end.answer.asked)
                if isinstance(reply, Stop):
                    return self._kept(proposal, reply)
                request = replace(request, answers=request.answers + reply)
                continue
            proposal = made
            fault = "\n".join(proposal.faults)
            request = replace(request, proposal=end.run.final_text, fault=fault)
            if proposal.faults and self._passes_left:
                self._passes_left -= 1
                text = "this plan cannot be accepted, and its agent is asked again"
                inform(self._call.ui, f"{text}: {'; '.join(proposal.faults)}", PLANNING)
                continue
            decided = await self._decide(proposal)
            if isinstance(decided, Planned):
                return decided
            request = replace(request, change="\n".join(filter(None, (request.change, decided))))

    async def _ask_agent(
        self, planner: Agent, request: PlanRequest, plan: Plan
    ) -> ReadingEnd[PlanAnswer] | Stop:
        """Let an agent plan; return the stop if it gives no answer."""
        work = run_planner(self._call, planner, request, plan)
        with self._call.at_work("stopping", PLANNING):
            end = await self._call.interruptible(work)
        if end is None or self._call.is_interrupted:
            return interrupted_stop("before a plan was made")
        run, again = end.run, self._again()
        if run.terminal_reason in {TerminalReason.AGENT_UNAVAILABLE, TerminalReason.WITHOUT_WORK}:
            why = run.error or "it refused to work"
            steps = tuple(filter(None, (run.way_out, ANOTHER_AGENT)))
            return Stop(StopReason.AGENT_UNAVAILABLE, f"{run.provider}: {why}", steps)
        if run.terminal_reason is TerminalReason.BUDGET:
            return budget_stop(self._workspace, self._call.ledger.spent_lines(PLANNING), self._again())
        if run.terminal_reason is not None or run.final_text is None:
            shows = TaskCommand("runs", PLANNING, f" {run.id}")
            why = run.error or "its agent failed"
            return Stop(StopReason.FAILED, f"no plan was made: {why}", (shows, again))
        return end

    def _again(self) -> TaskCommand:
        kind = self._request.kind
        return TaskCommand(kind, blank=None if kind is PlanKind.INFER else REQUEST)

    async def _ask_person(self, questions: tuple[Question, ...]) -> Stop | Answered:
        """Ask what the agent asks; return the answers with their questions, or the stop without them."""
        if not self._rounds_left:
            text = f"no plan was made: the agent asked again after {MAX_QUESTION_ROUNDS} rounds of questions"
            return Stop(StopReason.FAILED, text, (self._again(),))
        self._rounds_left -= 1
        task = new_task(PLANNING, self._request.kind.value, self._workspace.environment.timestamp())
        reply = await self._call.interruptible(self._call.prompter.answer(task, questions))
        if isinstance(reply, Mapping):
            answers = match_answers(questions, reply, take_answer)
            for question in questions:
                Drafts(self._workspace).answer(PLANNING, question).drop()
            return tuple(zip(questions, answers, strict=True))
        is_left = isinstance(reply, Unanswered) or self._call.is_interrupted
        return Stop(
            StopReason.INTERRUPTED if is_left else StopReason.WAITING_USER,
            "the planner asks before it plans",
            (self._again().with_remark("with the request, and what it asks"),),
        )

    async def _decide(self, proposal: Proposal) -> Planned | str:
        """Return how the call ends, or what the agent is to do otherwise."""
        sound = None if proposal.faults else proposal.change
        if sound is not None and not sound.result.is_changed:
            text = "nothing is to be changed in the plan"
            remark = f": {proposal.remarks}" if proposal.remarks else ""
            return Planned(Stop(StopReason.COMPLETED, text + remark), proposal)
        if sound is not None and self._accepts:
            return self._save(proposal)
        fault = next(iter(proposal.faults), None)
        panel = PlanPanel(tuple(proposal_lines(proposal)), fault, proposal.page is not None)
        reply = await self._call.interruptible(self._call.prompter.review_plan(panel))
        match reply:
            case PlanReply(PlanChoice.REVISE, text):
                return text
            case PlanReply(PlanChoice.ACCEPT):
                return self._save(proposal)
            case PlanReply(PlanChoice.EDIT):
                opened = Stop(StopReason.COMPLETED, "the proposal is opened as a page")
                return replace(self._kept(proposal, opened), stop=opened, is_to_edit=True)
            case _:
                return self._kept(proposal, self._stop_undecided(proposal, reply))

    def _save(self, proposal: Proposal) -> Planned:
        try:
            change = save_proposal(self._workspace, proposal)
        except RequestError as error:
            faulty = replace(proposal, faults=tuple(error.message.splitlines()))
            return self._kept(faulty, Stop(StopReason.FAILED, f"nothing was changed: {error.message}"))
        saved = replace(proposal, change=change)
        return Planned(Stop(StopReason.COMPLETED, "the plan is changed", (EXECUTE,)), saved, is_saved=True)

    def _stop_undecided(self, proposal: Proposal, reply: PlanReply | Unanswered | None) -> Stop:
        if isinstance(reply, Unanswered) or self._call.is_interrupted:
            return Stop(StopReason.INTERRUPTED, "nothing was changed")
        if reply is not None:
            return Stop(StopReason.FAILED, "nothing was changed")
        if proposal.faults:
            return Stop(StopReason.FAILED, "nothing was changed: this plan cannot be accepted")
        return Stop(StopReason.DECISION_REQUIRED, "a plan is proposed, and nothing was changed")

    def _kept(self, proposal: Proposal, stop: Stop) -> Planned:
        """Keep a proposal, and return the end that names it."""
        draft, step = None, ShellLine(f"git blackbird runs {PLANNING} --log", "shows what the agent said")
        if proposal.page is not None:
            draft = keep_page(self._workspace, proposal.base, proposal.page)
            opens = "edit --plan" if proposal.base else "add"
            step = ShellLine(f"git blackbird {opens}", "opens the proposal, which is kept; saved, it counts")
        is_there = proposal.page is not None or bool(proposal.faults)
        steps = (*stop.next_steps, *([step] if is_there else []))
        if proposal.is_masked:
            again = self._again().with_options(self._workspace.call_options)
            unmasked = again.command.replace("git ", "git -c blackbird.records.redact=false ", 1)
            steps = (*steps, ShellLine(unmasked, "masks nothing in that call", again.blank))
        return Planned(replace(stop, next_steps=steps), proposal if is_there else None, draft=draft)
