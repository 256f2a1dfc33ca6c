"""How a call stops at a decision, or after one."""

from collections.abc import Iterator

from git_blackbird.controller.checkpoints import request_obstacle
from git_blackbird.controller.decide import Recorded
from git_blackbird.controller.workspace import Workspace
from git_blackbird.messages.undo_text import undo_lines
from git_blackbird.model.choices import Choice, ChoiceText, choices_for
from git_blackbird.model.commands import EXECUTE, decide_run_command, task_command
from git_blackbird.model.due import Call, Nothing, next_due
from git_blackbird.model.events import Event, Notice, Weight
from git_blackbird.model.history import History, requested_change, since_done
from git_blackbird.model.plan import Task
from git_blackbird.model.run import CHANGED_NOTHING, DecisionState, Run
from git_blackbird.model.stop import Stop, StopReason


def decision_required(workspace: Workspace, task: Task, run: Run) -> Stop:
    """Nobody decided: every command that does is a next step, or what does the same where one is refused."""
    history = workspace.store.records.history(run.task_id)
    was_requested = requested_change(since_done(history)) is not None
    steps = (_step(workspace, history, run, offer) for offer in choices_for(run, was_requested=was_requested))
    why = f": {CHANGED_NOTHING}" if run.no_change else ""
    text = f"a decision is due on {task.id}{why}"
    return Stop(StopReason.DECISION_REQUIRED, text, tuple(steps), task.id, is_choice=True)


def _step(workspace: Workspace, history: History, run: Run, offer: ChoiceText) -> str:
    if offer.choice is Choice.REQUEST_CHANGES and request_obstacle(workspace, history, run) is not None:
        return task_command("restart", run.task_id, " -m TEXT", remark="a new session, told TEXT")
    return offer.command_for(run.task_id)


def decision_left_open(task: Task, run: Run) -> Stop:
    """Somebody was asked and went away."""
    command = decide_run_command(run)
    return Stop(StopReason.INTERRUPTED, f"the decision on {task.id} is left open", (command,), task.id)


def recorded_events(recorded: Recorded) -> Iterator[Event]:
    """Tell what was decided, what is not as it was meant, and how a rejected change is taken back."""
    run = recorded.run
    if recorded.decided is not None:
        yield recorded.decided
    yield from (Notice(Weight.WARNING, text, task_id=run.task_id) for text in recorded.warnings)
    yield from (Notice(Weight.INFO, line, task_id=run.task_id) for line in undo_lines(recorded.undo))


def stop_after(workspace: Workspace, run: Run) -> Stop | None:
    """Give the stop that a recorded decision means; None when the call goes on."""
    if run.decision_state is DecisionState.REJECTED and run.superseded_at is None:
        return Stop(
            StopReason.FAILED,
            f"{run.task_id} was rejected",
            (
                task_command("retry", run.task_id, remark="makes it todo again; starts nothing"),
                task_command("restart", run.task_id, " -m TEXT", remark="starts it again, told TEXT"),
            ),
            run.task_id,
            is_choice=True,
        )
    if run.decision_state is DecisionState.APPROVED_QUIT:
        is_over = isinstance(next_due(workspace.standing(), Call()), Nothing)
        steps = () if is_over else (EXECUTE,)
        return Stop(StopReason.COMPLETED, f"{run.task_id} is approved", steps, run.task_id)
    return None
