"""Start a task, restart it, or continue its session, also with what a person answers."""

from collections.abc import Mapping
from dataclasses import replace

from git_blackbird.controller.change.review.review import replace_request_by_decision
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.instructions import (
    Restart,
    answers_instruction,
    changes_instruction,
    continue_instruction,
    start_instruction,
)
from git_blackbird.controller.change.work.task_run import StaleTaskError
from git_blackbird.controller.change.work.worktree_setup import SetupError
from git_blackbird.controller.core.agents import adding_way_out, chosen_agent, start_with_other_agent
from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.other_worktrees import BegunElsewhereError, require_not_elsewhere
from git_blackbird.controller.core.ui import Unanswered, warn
from git_blackbird.controller.core.waiting import race_external_change
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.recovery import is_work_deferred
from git_blackbird.controller.engine.stops import interrupted_stop, undeliverable_stop
from git_blackbird.controller.plan.status_changes import reset_task
from git_blackbird.errors import RequestError
from git_blackbird.messages.incoming.questions import match_answers, questions_of, take_answer
from git_blackbird.model.base.next_steps import restart_command, task_command
from git_blackbird.model.change.next_steps import answer_options, answers_blank
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.next_action import (
    ApplyChangeRequest,
    AskPaused,
    AskQuestions,
    ContinueRun,
    SendFeedback,
    StartTask,
)
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_RESTART, TerminalReason
from git_blackbird.model.views.stop import Stop, StopReason
from git_blackbird.storage.locks import TaskLockedError


async def start_task(engine: Engine, action: StartTask, state: PlanState) -> Stop | None:
    """Start a task; one that changed meanwhile is named and left to the next turn.

    One that has begun in another worktree is named and passed over, unless this call is about it alone.
    """
    workspace, task = engine.workspace, action.task
    if workspace.reviews_changes:
        # Fail before the work is done where its reviewers are missing.
        engine.contexts_of_reviewers()
    if is_work_deferred(workspace, engine.ui, task.id):
        return None
    try:
        require_not_elsewhere(engine.workspace, task.id)
        return await _start(engine, state, task)
    except (BegunElsewhereError, TaskLockedError) as error:
        if engine.scope.only == frozenset({task.id}):
            raise
        warn(engine.ui, error.message, task.id, error.hint)
        engine.scope = replace(engine.scope, elsewhere=engine.scope.elsewhere | {task.id})
        return None


async def _start(engine: Engine, state: PlanState, task: Task) -> Stop | None:
    workspace = engine.workspace
    if (left := engine.scope.starts_left) is not None:
        engine.scope = replace(engine.scope, starts_left=left - 1)
    try:
        return await engine.run_task(start_instruction(workspace, state, task, None))
    except StaleTaskError as error:
        warn(engine.ui, error.message, task.id)
    except SetupError as error:
        engine.skip_task(task.id, error)
    return None


async def restart_task(engine: Engine, restart: Restart, state: PlanState) -> Stop | None:
    """Supersede the runs of a task, once an agent can start, and start it."""
    workspace, task = engine.workspace, restart.task
    agent = chosen_agent(engine.workspace)
    way = start_with_other_agent(engine.workspace, restart_command(task.id), agent.name)
    with adding_way_out(engine.workspace, way):
        context = engine.context_of(agent)
    await engine.require_consent(context)
    if engine.is_interrupted:
        return interrupted_stop(f"before {task.id} was started")
    require_not_elsewhere(engine.workspace, task.id)
    if task.status is not Status.TODO:
        reset_task(workspace, task.id, SUPERSEDED_BY_RESTART)
        state = workspace.plan_state()
    return await engine.run_task(start_instruction(workspace, state, task, restart.message))


async def continue_run(engine: Engine, action: ContinueRun, state: PlanState) -> Stop | None:
    """Resume the session; stop with the command that restarts the task where that is impossible."""
    stop = undeliverable_stop(engine.workspace, state, action)
    if _restarts_on_lost_worker(engine, action.run):
        text = f"{action.task.id} starts again elsewhere, since worker {action.run.worker} is gone"
        warn(engine.ui, text, action.task.id)
        return await restart_task(engine, Restart(action.task, None), state)
    if stop is not None:
        return stop
    pending = state.pending_messages(action.task.id)
    return await engine.resume(action, continue_instruction(action.run, action.task, pending, None))


def _restarts_on_lost_worker(engine: Engine, run: Run) -> bool:
    restarts = engine.workspace.config.cluster.on_lost_worker == "restart"
    return restarts and engine.elsewhere is not None and engine.elsewhere.is_machine_lost(run)


async def apply_change_request(engine: Engine, action: ApplyChangeRequest, state: PlanState) -> Stop | None:
    """Resume the session with the request.

    Where that is impossible, a request of the reviewers or the check becomes a decision of a person; one of
    a person stops the call.
    """
    workspace, task, run = engine.workspace, action.task, action.run
    stop = undeliverable_stop(workspace, state, action)
    if stop is None:
        _, summary = change_of(workspace, state, task.id)
        pending = state.pending_messages(task.id)
        return await engine.resume(action, changes_instruction(run, task, pending, None, summary))
    if run.own.decision.by is None:
        return stop
    replace_request_by_decision(workspace, run)
    return None


async def send_feedback(engine: Engine, action: SendFeedback, state: PlanState) -> Stop | None:
    """Resume the session with the feedback, once in a call."""
    task = action.task
    engine.scope = replace(engine.scope, carries=engine.scope.carries - {task.id})
    return await engine.run_task(
        continue_instruction(action.run, task, state.pending_messages(task.id), None)
    )


async def ask_questions(engine: Engine, action: AskQuestions, state: PlanState) -> Stop | None:
    """Ask, and resume the session with the answers.

    Raises RequestError where a message was given and nobody is here to answer, SaveError.
    """
    task, run = action.task, action.run
    questions = questions_of(run)
    ask = race_external_change(engine.workspace, lambda: engine.ui.answer(task, questions), run)
    reply = await engine.interruptible(ask)
    if isinstance(reply, Mapping):
        answers = match_answers(questions, reply, take_answer)
        instruction = answers_instruction(run, task, state.pending_messages(task.id), answers)
        if action.message is not None:
            instruction = instruction.with_message(action.message)
        return await engine.run_task(instruction)
    return _without_answers(engine, action, Unanswered() if engine.is_interrupted else reply)


def answers_needed_error(task: Task, hint: str) -> RequestError:
    """Return the error for a message that cannot stand in for answers to an agent's questions."""
    return RequestError(f"{task.id} is waiting for answers; -m alone does not answer them", hint=hint)


def _without_answers(engine: Engine, action: AskQuestions, reply: Run | Unanswered | None) -> Stop | None:
    """Stop where the questions are open; go on where they were answered by another command.

    The message that was to go with the answers is saved as the task's draft.
    """
    task, questions = action.task, questions_of(action.run)
    command = task_command("resume", task.id, blank=answers_blank(questions))
    if action.message is not None:
        draft = Drafts(engine.workspace).message(task.id)
        if action.message not in draft.text:
            draft.text = "\n\n".join(filter(None, [draft.text.rstrip("\n"), action.message]))
        draft.save()
        if draft.fault is not None:
            raise draft.fault
        command = task_command(
            "resume", task.id, f"{answer_options(questions)} -e", remark="-e continues the text of -m"
        )
        if isinstance(reply, Run):
            text = f"{task.id} was answered elsewhere meanwhile; the text of -m is kept"
            warn(engine.ui, text, task.id, task_command("resume", task.id, " -e"))
    if isinstance(reply, Run):
        return None
    if reply is None and action.message is not None:
        raise answers_needed_error(task, command)
    reason = StopReason.WAITING_USER if reply is None else StopReason.INTERRUPTED
    return Stop(reason, f"{task.id} waits for answers", (command,), task.id)


_QUESTION = "paused"
_CONTINUE = "Continue in its session"
_RESTART = "Restart in a new session"
_LEAVE = "Leave it paused and stop here"
_LIMITS = {TerminalReason.WALL_LIMIT: "its time limit", TerminalReason.IDLE_LIMIT: "its limit without output"}


async def ask_paused(engine: Engine, action: AskPaused, state: PlanState) -> Stop | None:
    """Continue, restart or leave the run, as answered; any other answer is a message to its agent."""
    task, run = action.task, action.run
    prompt = f"Run {run.id} of {run.task_id} reached {_limit(run)}. What next?"
    question = Question(id=_QUESTION, prompt=prompt, options=(_CONTINUE, _RESTART, _LEAVE))
    ask = race_external_change(engine.workspace, lambda: engine.ui.answer(task, (question,)), run)
    reply = await engine.interruptible(ask)
    if isinstance(reply, Run):
        return None
    if not isinstance(reply, Mapping):
        is_left_open = isinstance(reply, Unanswered) or engine.is_interrupted
        stop = paused_stop(run)
        return replace(stop, reason=StopReason.INTERRUPTED) if is_left_open else stop
    answer = reply[_QUESTION]
    if answer == _LEAVE:
        return paused_stop(run)
    if answer == _RESTART:
        return await restart_task(engine, Restart(task, None), state)
    message = None if answer == _CONTINUE else answer
    return await engine.run_task(continue_instruction(run, task, state.pending_messages(task.id), message))


def paused_stop(run: Run) -> Stop:
    """Return the stop at a run that reached a limit, if nobody chose how to continue."""
    steps = (
        task_command("resume", run.task_id, remark="continue in its session"),
        task_command("restart", run.task_id, remark="start again in a new session"),
        task_command("retry", run.task_id, remark="todo again"),
    )
    text = f"{run.task_id} is paused: run {run.id} reached {_limit(run)}"
    return Stop(StopReason.WAITING_USER, text, steps, run.task_id)


def _limit(run: Run) -> str:
    return _LIMITS.get(run.own.terminal_reason, "a limit") if run.own.terminal_reason else "a limit"
