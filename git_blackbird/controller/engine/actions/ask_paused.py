"""Ask how to continue a run that reached a limit."""

from collections.abc import Mapping
from dataclasses import replace

from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.decisions.external_change import race_external_change
from git_blackbird.controller.engine.actions.restart_task import restart_task
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.runs.instructions import Restart, order_continue
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.run import Question, Run, TerminalReason
from git_blackbird.model.rules.next_action import AskPaused
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop, StopReason

_QUESTION = "paused"
_CONTINUE = "Continue in its session"
_RESTART = "Restart in a new session"
_LEAVE = "Leave it paused and stop here"
_LIMITS = {TerminalReason.WALL_LIMIT: "its time limit", TerminalReason.IDLE_LIMIT: "its limit without output"}


async def ask_paused(engine: Engine, action: AskPaused, state: PlanState) -> Stop | None:
    """Continue, restart or leave the run, as answered; any other answer is a message to its agent."""
    task, run = action.task, action.run
    ask = race_external_change(engine.workspace, lambda: engine.ui.answer(task, (_question(run),)), run)
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
    return await engine.run_task(order_continue(run, task, state.pending_messages(task.id), message))


def paused_stop(run: Run) -> Stop:
    """Return the stop at a run that reached a limit, if nobody chose how to continue."""
    steps = (
        task_command("resume", run.task_id, remark="continue in its session"),
        task_command("restart", run.task_id, remark="start again in a new session"),
        task_command("retry", run.task_id, remark="todo again"),
    )
    text = f"{run.task_id} is paused: run {run.id} reached {_limit(run)}"
    return Stop(StopReason.WAITING_USER, text, steps, run.task_id)


def _question(run: Run) -> Question:
    prompt = f"Run {run.id} of {run.task_id} reached {_limit(run)}. What next?"
    return Question(id=_QUESTION, prompt=prompt, options=(_CONTINUE, _RESTART, _LEAVE))


def _limit(run: Run) -> str:
    return _LIMITS.get(run.terminal_reason, "a limit") if run.terminal_reason else "a limit"
