"""Ask a person what an agent asked, or how a paused run goes on."""

from collections.abc import Mapping
from dataclasses import replace

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.work.starts import Restart, Start, answering, continuing
from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.ui import Unanswered, warn
from git_blackbird.controller.core.waiting import race_external_change
from git_blackbird.errors import RequestError
from git_blackbird.messages.incoming.questions import match_answers, questions_of, take_answer
from git_blackbird.model.base.next_steps import Blank, TaskCommand
from git_blackbird.model.change.work import answer_options, answers_blank
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item, is_resumable
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import is_session_lost
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import TerminalReason
from git_blackbird.model.views.stop import Stop, StopReason


async def ask_questions(call: Call, item: Item, message: str | None = None) -> Stop | Start | None:
    """Ask, and return how the session goes on with the answers and the message.

    Raises RequestError if a message was given and nobody is here to answer, SaveError.
    """
    task, run = item.task, item.of_run
    questions = questions_of(run)
    ask = race_external_change(call.workspace, lambda: call.prompter.answer(task, questions), run)
    reply = await call.interruptible(ask)
    if isinstance(reply, Mapping):
        answers = match_answers(questions, reply, take_answer)
        start = answering(call.workspace, run, task, item.state.pending_messages(task.id), answers)
        return start if message is None else start.with_message(message)
    return _without_answers(call, item, message, Unanswered() if call.is_interrupted else reply)


def answers_needed_error(task: Task, hint: str) -> RequestError:
    return RequestError(f"{task.id} is waiting for answers; -m alone does not answer them", hint=hint)


def _without_answers(
    call: Call, item: Item, message: str | None, reply: Run | Unanswered | None
) -> Stop | None:
    """Stop where the questions are open; go on where they were answered by another command.

    The message that was to go with the answers is saved as the task's draft.
    """
    task, questions = item.task, questions_of(item.of_run)
    command = TaskCommand("resume", task.id, blank=answers_blank(questions))
    if message is not None:
        draft = Drafts(call.workspace).message(task.id)
        if message not in draft.text:
            draft.text = "\n\n".join(filter(None, [draft.text.rstrip("\n"), message]))
        draft.save()
        if draft.fault is not None:
            raise draft.fault
        blank = Blank(f"{answer_options(questions)} -e", for_programs="")
        command = TaskCommand("resume", task.id, remark="asks; the text of -m is kept", blank=blank)
        if isinstance(reply, Run):
            text = f"{task.id} was answered elsewhere meanwhile; the text of -m is kept"
            warn(call.ui, text, task.id, TaskCommand("resume", task.id, " -e"))
    if isinstance(reply, Run):
        return None
    if reply is None and message is not None:
        raise answers_needed_error(task, command)
    reason = StopReason.WAITING_USER if reply is None else StopReason.INTERRUPTED
    return Stop(reason, f"{task.id} waits for answers", (command,), task.id)


_QUESTION = "paused"
_CONTINUE = "Continue in its session"
_RESTART = "Restart in a new session"
_LEAVE = "Leave it paused and stop here"
_LIMITS = {TerminalReason.WALL_LIMIT: "its time limit", TerminalReason.IDLE_LIMIT: "its limit without output"}


async def ask_paused(call: Call, item: Item) -> Stop | Start | Restart | None:
    """Ask whether the run goes on, in its session or a new one; another answer is a message to its agent."""
    task, run, state = item.task, item.of_run, item.state
    prompt = f"Run {run.id} of {run.task_id} {_why_paused(run)}. What next?"
    can_continue = is_resumable(state, task)
    options = (*((_CONTINUE,) if can_continue else ()), _RESTART, _LEAVE)
    question = Question(id=_QUESTION, prompt=prompt, options=options)
    ask = race_external_change(call.workspace, lambda: call.prompter.answer(task, (question,)), run)
    reply = await call.interruptible(ask)
    if isinstance(reply, Run):
        return None
    if not isinstance(reply, Mapping):
        is_left_open = isinstance(reply, Unanswered) or call.is_interrupted
        stop = paused_stop(state, run)
        return replace(stop, reason=StopReason.INTERRUPTED) if is_left_open else stop
    answer = reply[_QUESTION]
    if answer == _LEAVE:
        return paused_stop(state, run)
    message = None if answer in {_CONTINUE, _RESTART} else answer
    if answer == _RESTART or not can_continue:
        return Restart(task, message)
    pending = state.pending_messages(task.id)
    return continuing(call.workspace, run, task, pending, message)


def paused_stop(state: PlanState, run: Run) -> Stop:
    is_lost = is_session_lost(state.history(run.task_id), run)
    steps = (
        *(() if is_lost else (TaskCommand("resume", run.task_id, remark="continue in its session"),)),
        TaskCommand("restart", run.task_id, remark="start again in a new session"),
        TaskCommand("retry", run.task_id, remark="todo again"),
    )
    text = f"{run.task_id} is paused: run {run.id} {_why_paused(run)}"
    return Stop(StopReason.WAITING_USER, text, steps, run.task_id)


def _why_paused(run: Run) -> str:
    limit = _LIMITS.get(run.terminal_reason) if run.terminal_reason else None
    return f"did not finish: {(run.error or '').rstrip(' .')}" if limit is None else f"reached {limit}"
