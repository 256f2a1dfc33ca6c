"""The prompt of a task's agent if it were started or resumed now."""

from dataclasses import dataclass
from typing import Any

from git_blackbird.agents.protocol import Agent, RunRequest
from git_blackbird.controller.core.agents import chosen_agent, find_agent_for_run
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.decisions.checkpoint import change_of
from git_blackbird.controller.runs.instructions import (
    Instruction,
    ProjectOverview,
    load_project_overview,
    order_answers,
    order_changes,
    order_continue,
    order_start,
)
from git_blackbird.errors import RequestError
from git_blackbird.model.entities.history import History, PendingMessages, runs_in_change
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import DecisionState, Run, RunStatus
from git_blackbird.model.rules.attention import is_session_lost
from git_blackbird.model.rules.state import PlanState


@dataclass(frozen=True)
class Preview:
    """A prompt: ``text`` as the agent reads it, ``prompt`` as prose, ``context`` as the pack.

    ``overview`` is the file about the project that a new session gets.
    """

    agent: str
    text: str
    prompt: str
    context: dict[str, Any]
    overview: ProjectOverview | None = None


def preview(workspace: Workspace, task_id: str) -> Preview:
    """Put the prompt together without starting anything.

    Raises RequestError for an unknown id or a parent.
    """
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    if not task.is_leaf:
        raise RequestError(f"{task.id} has children; only leaves are executed")
    order = _instruction(workspace, state, task)
    agent = chosen_agent(workspace) if order.resumes is None else find_agent_for_run(workspace, order.resumes)
    overview = load_project_overview(workspace) if order.resumes is None else None
    return Preview(agent.name, _as_read(workspace, agent, order), order.prompt, order.context, overview)


def _instruction(workspace: Workspace, state: PlanState, task: Task) -> Instruction:
    history, owed = state.history(task.id), state.pending_messages(task.id)
    run = history.latest
    if run is None or not _goes_on(history, run, owed):
        return order_start(workspace, state, task, None)
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        _, summary = change_of(workspace, state, run, runs_in_change(history))
        return order_changes(run, task, owed, None, summary)
    if run.status is RunStatus.WAITING_USER:
        return order_answers(run, task, owed, ())
    return order_continue(run, task, owed, None)


def _goes_on(history: History, run: Run, owed: PendingMessages) -> bool:
    """Whether the next leg would continue this run's session."""
    open_request = run.decision_state is DecisionState.CHANGES_REQUESTED
    waits = run.status in {RunStatus.PAUSED, RunStatus.WAITING_USER}
    return (open_request or waits or owed.review is not None) and not is_session_lost(history, run)


def _as_read(workspace: Workspace, agent: Agent, order: Instruction) -> str:
    """Return what would be on the agent's standard input."""
    resumed = order.resumes
    assignment = RunRequest(
        task_id=order.task.id,
        run_id="",
        session=None if resumed is None else resumed.provider_session_ref,
        prompt=order.prompt,
        context=order.context,
        resume=resumed is not None,
    )
    return agent.launch(assignment, workspace.environment.environ).stdin.decode(errors="replace")
