"""Tell a task's agent something while it works: its run is stopped, and goes on with that in its session."""

from git_blackbird.agents.registry import load_agent
from git_blackbird.controller.core.agents import find_agent_for_run
from git_blackbird.controller.core.drafts import drop_recorded_drafts
from git_blackbird.controller.core.guards import is_alive, require_readable
from git_blackbird.controller.core.workspace import Workspace, find_task, lock_holder
from git_blackbird.errors import RequestError
from git_blackbird.model.base.next_steps import MESSAGE, TaskCommand
from git_blackbird.model.change.stages import Stage, label_of, stage_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, TerminalReason

_REMARKS = {
    **dict.fromkeys((Stage.CHECKING, Stage.REVIEWING, Stage.LANDING, Stage.HALF_MOVED), "once that is over"),
    **dict.fromkeys(
        (Stage.DONE, Stage.FAILED, Stage.REJECTED, Stage.UNDONE), "opens it again, in its session"
    ),
}


def tell(workspace: Workspace, task_id: str, text: str, *, at_once: bool = False) -> Run:
    """Record what a person says to a task's agent at work; return its run.

    The call that runs it stops it for that, between two steps of its agent unless ``at_once``; where that is
    gone, the next one goes on with it. Raises RequestError with the way out where no agent could be told,
    UnreadableRecordError, LockedError, SaveError.
    """
    workspace.environment.forbid_agents("tell another what to do")
    workspace.require_settings()
    if not text.strip():
        way = TaskCommand("tell", task_id, blank=MESSAGE)
        raise RequestError(f"nothing was told to {task_id}: the message is empty", hint=way)
    with workspace.transaction() as transaction:
        run = require_tellable(workspace, task_id)
        has_steps = load_agent(run.provider, workspace.config).abilities.prints_events
        run = run.told(text, at_once=at_once or not has_steps)
        transaction.save_run(run)
    drop_recorded_drafts(workspace)
    return run


def require_tellable(workspace: Workspace, task_id: str) -> Run:
    """Return the run of a task at work that can be told something. Raises as ``tell`` does."""
    state = workspace.plan_state_of(task_id)
    task = find_task(state.plan, task_id)
    require_readable(state, task)
    run = state.history(task.id).latest
    if run is None or not _is_at_work(workspace, run):
        raise _not_at_work(task, run)
    restart = TaskCommand("restart", task.id, blank=MESSAGE, remark="once it has ended, in a new session")
    if run.by_hand:
        raise RequestError(f"a person speaks with the agent of {task.id} at a terminal", hint=restart)
    agent = find_agent_for_run(workspace, run, task)
    if not agent.abilities.resume:
        text = f"{agent_in_text(agent.name)} cannot go on in its session, and works on {task.id} to its end"
        raise RequestError(text, hint=restart)
    return run


def _is_at_work(workspace: Workspace, run: Run) -> bool:
    """Whether an agent works in a run, or the call that runs it is about to go on with what it was told."""
    is_watched = lock_holder(workspace) is not None
    if run.status is RunStatus.RUNNING:
        return is_watched or is_alive(run)
    is_sent_back = run.decision_state is DecisionState.CHANGES_REQUESTED and bool(run.messages_while_working)
    return is_watched and (is_sent_back or run.terminal_reason is TerminalReason.TOLD)


def _not_at_work(task: Task, run: Run | None) -> RequestError:
    if not task.is_leaf:
        way = TaskCommand("show", task.id)
        return RequestError(f"{task.id} has children; only the agent of a leaf can be told", hint=way)
    if run is None:
        way = TaskCommand("edit", task.id, remark="says what it is to do")
        return RequestError(f"no agent is at work on {task.id}", hint=way)
    stage = stage_of(run)
    label = "its run was interrupted" if stage is Stage.WORKING else label_of(run)
    ways = [TaskCommand("resume", task.id, blank=MESSAGE, remark=_REMARKS.get(stage, ""))]
    if stage is Stage.DONE:
        ways.append(TaskCommand("undo", task.id, remark="takes its change out of your files"))
    return RequestError(f"no agent is at work on {task.id}: {label}", hint=tuple(ways))
