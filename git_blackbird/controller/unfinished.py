"""Work that was broken off, and requests that cannot be delivered: what is asked, and how a call stops."""

from git_blackbird.controller.checkpoints import request_obstacle
from git_blackbird.controller.face import Face
from git_blackbird.controller.finishing import steps_in
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.commands import restart_command, task_command
from git_blackbird.model.conversation import Question
from git_blackbird.model.decisions import paused_runs
from git_blackbird.model.due import AskPaused, Call, CarryOut, Continue
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.owed import resume_command
from git_blackbird.model.run import Run, TerminalReason
from git_blackbird.model.standing import Standing
from git_blackbird.model.stop import Stop, StopReason

PAUSED_QUESTION = "paused"
CONTINUE = "Continue in its session"
RESTART = "Restart in a new session"
LEAVE = "Leave it paused and stop here"
_LIMITS = {
    TerminalReason.WALL_LIMIT: "its time limit",
    TerminalReason.IDLE_LIMIT: "its limit without output",
}


def paused_question(run: Run) -> Question:
    """Return what a person is asked of a run that a limit paused."""
    prompt = f"Run {run.id} of {run.task_id} {_reached(run)}. What next?"
    return Question(id=PAUSED_QUESTION, prompt=prompt, options=(CONTINUE, RESTART, LEAVE))


def paused_stop(due: AskPaused) -> Stop:
    """Return the stop at a run that a limit paused: nobody said how it goes on."""
    run = due.run
    steps = (
        task_command("resume", run.task_id, remark="continue in its session"),
        task_command("restart", run.task_id, remark="start again in a new session"),
        task_command("retry", run.task_id, remark="todo again"),
    )
    text = f"{run.task_id} is paused: run {run.id} {_reached(run)}"
    return Stop(StopReason.WAITING_USER, text, steps, run.task_id)


def _reached(run: Run) -> str:
    what = _LIMITS.get(run.terminal_reason, "a limit") if run.terminal_reason else "a limit"
    return f"reached {what}"


def undeliverable_stop(workspace: Workspace, standing: Standing, due: CarryOut | Continue) -> Stop | None:
    """Return the stop where a session cannot go on, as far as is known; None where it can."""
    obstacle = request_obstacle(workspace, standing.history(due.task.id), due.run)
    if obstacle is None:
        return None
    return Stop(
        StopReason.AGENT_UNAVAILABLE,
        f"{_what_waits(due)}: {obstacle}",
        (restart_command(due.task.id),),
        due.task.id,
    )


def agent_missing_stop(due: CarryOut | Continue, error: AgentUnavailableError) -> Stop:
    """Return the stop where the agent whose session is to go on cannot be started at all."""
    steps = (*steps_in(error.hint or ""), restart_command(due.task.id))
    return Stop(
        StopReason.AGENT_UNAVAILABLE,
        f"{_what_waits(due)}: {error.message}",
        tuple(dict.fromkeys(steps)),
        due.task.id,
    )


def _what_waits(due: CarryOut | Continue) -> str:
    if isinstance(due, CarryOut):
        return f"the change request on {due.task.id} cannot be delivered"
    return f"{due.task.id} cannot be continued"


def name_paused(face: Face, standing: Standing, call: Call) -> None:
    """Name the half-done work of other tasks: one that was asked for by name starts beside it."""
    for task, _ in paused_runs(standing):
        if not call.covers(task.id):
            text = f"{task.id} is paused: its unfinished edits are in the worktree"
            face.notify(Notice(Weight.WARNING, text, resume_command(standing, task), task.id))
