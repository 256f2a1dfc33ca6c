"""Prepare the loop for execute, decide, resume and restart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.decide.adopt import UnansweredError
from git_blackbird.controller.change.decide.checkpoint import require_requestable, why_not_resumable
from git_blackbird.controller.change.decide.step import decide
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.questions import answers_needed_error
from git_blackbird.controller.change.work.starts import (
    Restart,
    Start,
    answering,
    changing,
    continuing,
    going_on_by_hand,
)
from git_blackbird.controller.core.agents import (
    adding_way_out,
    find_agent_for_run,
    probe,
    start_with_other_agent,
)
from git_blackbird.controller.core.guards import require_readable, require_ready
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.engine.stops import decided_stop
from git_blackbird.controller.launch.launch import Launcher
from git_blackbird.errors import AgentUnavailableError, RequestError
from git_blackbird.git.change.merging import require_merge_tree
from git_blackbird.messages.incoming.questions import match_answers, parse_answer, questions_of
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import MESSAGE, TaskCommand, restart_command
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.change.stages import Due
from git_blackbird.model.change.work import answers_blank, decide_run_command
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item, Seen
from git_blackbird.model.rules.scope import CallScope, next_item
from git_blackbird.model.rules.state import PlanState, feedback_below, full_readiness, waits_for
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus
from git_blackbird.model.views.stop import Stop


@dataclass(frozen=True)
class ResumeRequest:
    """``resume TASK``: a message and answers by question id, either may be absent.

    With ``launcher`` a person goes on with the session at a terminal.
    """

    task_id: str
    message: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    launcher: Launcher | None = None


def execute_loop(
    workspace: Workspace,
    ui: UserInterface,
    task_ids: Sequence[str],
    limit: int | None,
    until: int | None = None,
) -> Loop:
    """Prepare an execute, of everything or of these leaves only.

    It starts at most ``limit`` tasks, and nothing from ``until`` on, in nanoseconds since 1970.
    Its first step raises RequestError naming the reasons for a task that is not ready. Raises GitTooOldError.
    """
    workspace.require_settings()
    if workspace.uses_worktrees:
        require_merge_tree(workspace.repo)

    def check(state: PlanState) -> None:
        for task_id in task_ids:
            require_ready(state, find_task(state.plan, task_id))

    only = frozenset(map(TaskId, task_ids)) or None
    return Loop(workspace, ui, CallScope(only=only, starts_left=limit, until=until), check)


def decide_loop(workspace: Workspace, ui: UserInterface, task_ids: Sequence[str], *, only_next: bool) -> Loop:
    """Prepare to ask for the decisions on these tasks, or on all, and to land what is approved."""
    return Loop(workspace, ui, _scope_of_decisions(workspace, task_ids, only_next=only_next))


def _scope_of_decisions(workspace: Workspace, task_ids: Sequence[str], *, only_next: bool) -> CallScope:
    plan = workspace.store.plan()
    only = frozenset(find_task(plan, task_id).id for task_id in task_ids) or None
    return CallScope(only=only, starts_left=0, starts_agents=False, decisions_left=1 if only_next else None)


async def decide_beside(
    workspace: Workspace, ui: UserInterface, task_ids: Sequence[str], *, only_next: bool
) -> Stop:
    """Ask for decisions while another call is at work, which acts on them."""
    from git_blackbird.controller.queries.status import call_at_work  # few decide beside another call

    call = Call(workspace, ui, _scope_of_decisions(workspace, task_ids, only_next=only_next))
    while True:
        state = workspace.plan_state()
        while (item := next_item(state, call.scope)) is not None and item.due is not Due.DECIDE:
            call.scope = call.scope._replace(busy=call.scope.busy | {item.task.id})
        if item is None:
            return decided_stop(state, call.scope, Seen(call=call_at_work(workspace)))
        if isinstance(stop := await decide(call, item), Stop):
            return stop


def resume_loop(workspace: Workspace, ui: UserInterface, request: ResumeRequest) -> Loop:
    """Prepare to resume a task's session, as its latest run requires.

    The first step raises RequestError when there is nothing to resume.
    """
    workspace.require_settings()
    scope = _scope_of(request.task_id)
    return Loop(workspace, ui, scope, lambda state: _resume(workspace, state, request))


def resume_all_loop(workspace: Workspace, ui: UserInterface, parent_id: str) -> Loop:
    """Prepare to send the open review feedback to every leaf below a parent, in plan order.

    Raises RequestError when there is none.
    """
    workspace.require_settings()
    state = workspace.plan_state()
    parent = find_task(state.plan, parent_id)
    leaves = feedback_below(state, parent)
    if not leaves:
        if items := workspace.store.unanswered(state):
            raise UnansweredError(items)
        raise RequestError(
            f"no review feedback is pending below {parent.id}",
            hint=TaskCommand("review show", parent.id) if parent.children else None,
        )
    for leaf in leaves:
        run = state.history(leaf.id).latest
        obstacle = (
            why_not_resumable(workspace, state.history(leaf.id), run) if run else "it has no current run"
        )
        if obstacle is not None:
            warn(ui, f"{leaf.id} cannot be resumed: {obstacle}", leaf.id, restart_command(leaf.id))
    owing = frozenset(leaf.id for leaf in leaves)
    # Open questions are asked first: the feedback goes with the answers.
    asked = frozenset(
        run.id for task, run in state.latest_runs if task.id in owing and run.status is RunStatus.WAITING_USER
    )
    scope = CallScope(only=owing, starts_left=0, carries=owing, asked=asked, is_resume=True)
    return Loop(workspace, ui, scope)


def restart_loop(workspace: Workspace, ui: UserInterface, task_id: str, message: str | None) -> Loop:
    """Prepare to start a task again in a new session, with every pending message.

    The first step raises RequestError, with nothing touched, when the task cannot be started.
    """
    workspace.require_settings()

    def first(state: PlanState) -> Restart:
        task = find_task(state.plan, task_id)
        require_readable(state, task)
        if not task.is_leaf or waits_for(state, task):
            reasons = full_readiness(state, task).reasons
            ways = full_readiness(state, task).hints or (TaskCommand("show", task.id),)
            raise RequestError(f"{task.id} cannot be started: {'; '.join(reasons)}", hint=ways)
        return Restart(task, message)

    return Loop(workspace, ui, _scope_of(task_id), first)


def _scope_of(task_id: str) -> CallScope:
    return CallScope(only=frozenset({TaskId(task_id)}), starts_left=0, is_resume=True)


def _resume(
    workspace: Workspace, state: PlanState, request: ResumeRequest
) -> Start | tuple[Item, str | None] | PlanState:
    task, run = _latest_run(state, request.task_id)
    history, owed = state.history(task.id), state.pending_messages(task.id)
    if run.is_pending:
        return _request_changes(workspace, task, run, request)
    _require_session(workspace, history, run)
    if request.launcher is not None:
        _require_attachable(workspace, task, run)
        return going_on_by_hand(workspace, run, task, request.launcher)
    if request.answers and run.status is not RunStatus.WAITING_USER:
        raise RequestError(
            f"{task.id} has no open questions", hint=TaskCommand("resume", task.id, blank=MESSAGE)
        )
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        _, summary = change_of(workspace, state, task.id)
        return changing(workspace, run, task, owed, request.message, summary)
    if run.status is RunStatus.WAITING_USER:
        return _answer(workspace, Item(Due.ANSWER, task, run, state=state), owed, request)
    is_owed = owed.review is not None or bool(owed.select(sent=False))
    if run.status is not RunStatus.PAUSED and not request.message and not is_owed:
        raise RequestError(
            f"nothing to resume: {task.id} is {task.status}",
            hint=TaskCommand("resume", task.id, blank=MESSAGE),
        )
    return continuing(workspace, run, task, owed, request.message)


def _require_attachable(workspace: Workspace, task: Task, run: Run) -> None:
    """Refuse a session that no program opens by hand on this machine. Raises RequestError."""
    way = TaskCommand("resume", task.id, blank=MESSAGE)
    if run.is_remote:
        raise RequestError(f"the session of {task.id} is on worker {run.worker}, not here", hint=way)
    from git_blackbird.agents.program import ProgramAgent  # few sessions are opened by hand

    agent = find_agent_for_run(workspace, run, task)
    if not isinstance(agent, ProgramAgent):
        text = f"{agent_in_text(agent.name)} opens no session by hand; it worked on {task.id}"
        raise RequestError(text, hint=way)


def require_messageable(workspace: Workspace, task_id: str, *, is_answered: bool = False) -> Run:
    """Return the run that a message would go to; refuse one that ``resume -m`` would refuse.

    ``is_answered``: the message goes with answers to the agent's questions.
    Raises RequestError, AgentUnavailableError.
    """
    state = workspace.plan_state_of(task_id)
    task, run = _latest_run(state, task_id)
    require = require_requestable if run.is_pending else _require_session
    require(workspace, state.history(task.id), run)
    questions = questions_of(run) if run.status is RunStatus.WAITING_USER and not is_answered else ()
    # A message answers the one question that there is.
    if len(questions) > 1:
        raise answers_needed_error(task, TaskCommand("resume", task.id, blank=answers_blank(questions)))
    return run


def _latest_run(state: PlanState, task_id: str) -> tuple[Task, Run]:
    task = find_task(state.plan, task_id)
    require_readable(state, task)
    run = state.history(task.id).latest
    if run is None:
        raise _nothing_to_resume(state, task)
    return task, run


def _nothing_to_resume(state: PlanState, task: Task) -> RequestError:
    if task.id in state.feedback:
        return RequestError(
            f"{task.id} cannot be resumed: it has no current run", hint=restart_command(task.id)
        )
    if not task.is_leaf:
        return RequestError(
            f"{task.id} has children; only leaves are resumed",
            hint=TaskCommand("resume --all", task.id, remark="sends the review feedback pending below it"),
        )
    unready = full_readiness(state, task)
    if task.is_over:
        ways: tuple[str, ...] = (TaskCommand("set-status", task.id, " todo"),)
    elif waits_for(state, task):
        ways = unready.hints or (TaskCommand("show", task.id, remark="says what it waits for"),)
    else:
        ways = (TaskCommand("execute", task.id) if unready.is_ready else restart_command(task.id),)
    if not state.history(task.id).work_runs:
        return RequestError(f"no runs found for {task.id}", hint=ways)
    what = f"nothing to resume: {task.id} has no current run; its status was set to {task.status}"
    return RequestError(what, hint=ways)


def _request_changes(workspace: Workspace, task: Task, run: Run, request: ResumeRequest) -> PlanState:
    # Carrying it out is due then.
    if not request.message:
        raise RequestError(f"a decision is due on {task.id} (run {run.id})", hint=decide_run_command(run))
    if run.provider_session_ref is not None:
        with adding_way_out(
            workspace, start_with_other_agent(workspace, restart_command(task.id), run.provider, task)
        ):
            probe(workspace, find_agent_for_run(workspace, run))
    decision = Decision(DecisionState.CHANGES_REQUESTED, request.message)
    from git_blackbird.controller.change.decide.record import record_decision

    return record_decision(workspace, task.id, decision, run.id).state


def _require_session(workspace: Workspace, history: History, run: Run) -> None:
    obstacle = why_not_resumable(workspace, history, run)
    if obstacle is not None:
        raise AgentUnavailableError(
            f"{run.task_id} cannot be resumed: {obstacle}", hint=restart_command(run.task_id)
        )


def _answer(
    workspace: Workspace, item: Item, owed: PendingMessages, request: ResumeRequest
) -> Start | tuple[Item, str | None]:
    task, run = item.task, item.of_run
    questions, given, message = questions_of(run), request.answers, request.message
    # Answers that were given before, to a session that refused to go on.
    known = {answer.id: answer for answer in owed.select(sent=False).answers}
    if not given and message is None and known.keys() >= {question.id for question in questions}:
        asked = tuple(known[question.id] for question in questions)
        others = tuple(answer for answer in owed.answers if answer not in asked)
        return answering(workspace, run, task, owed._replace(answers=others), asked)
    if message is not None and not given and len(questions) == 1:
        given, message = {questions[0].id: message}, None
    if given:
        start = answering(workspace, run, task, owed, match_answers(questions, given, parse_answer))
        return start if message is None else start.with_message(message)
    return item, message
