"""The prompt of a task's agent if it were started or resumed now."""

from dataclasses import dataclass
from typing import Any

from git_blackbird.agents.protocol import Assignment
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.starts import (
    ProjectOverview,
    Start,
    answering,
    changing,
    continuing,
    load_project_overview,
    new_start,
)
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.other_tasks import based_at, other_tasks
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import is_session_lost
from git_blackbird.model.run.states import DecisionState, RunStatus

_WAITING = frozenset({RunStatus.PAUSED, RunStatus.WAITING_USER})


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
    start = _start(workspace, state, task)
    resumed = start.resumes
    if workspace.gets_worktree(state.history(task.id), resumed):
        since = None if resumed is None else based_at(resumed)
        start = start.with_other_tasks(other_tasks(state, task.id, (), since))
    assignment = Assignment(
        start.agent.name,
        task.id,
        "",
        None if resumed is None else resumed.provider_session_ref,
        start.prompt,
        start.context,
        resume=resumed is not None,
    )
    text = start.agent.launch(assignment).stdin.decode(errors="replace")
    overview = load_project_overview(workspace) if resumed is None else None
    return Preview(start.agent.name, text, start.prompt, start.context, overview)


def _start(workspace: Workspace, state: PlanState, task: Task) -> Start:
    history, owed = state.history(task.id), state.pending_messages(task.id)
    run = history.latest
    is_requested = run is not None and run.decision_state is DecisionState.CHANGES_REQUESTED
    goes_on = is_requested or owed.review is not None
    if run is None or is_session_lost(history, run) or not (goes_on or run.status in _WAITING):
        return new_start(workspace, state, task, None)
    if is_requested:
        _, summary = change_of(workspace, state, task.id)
        return changing(workspace, run, task, owed, None, summary)
    if run.status is RunStatus.WAITING_USER:
        return answering(workspace, run, task, owed, ())
    return continuing(workspace, run, task, owed, None)
