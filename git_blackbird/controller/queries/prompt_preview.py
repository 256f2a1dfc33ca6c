"""The prompt of a task's agent if it were started or resumed now."""

from dataclasses import dataclass
from typing import Any

from git_blackbird.agents.protocol import RunRequest
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.instructions import (
    Instruction,
    ProjectOverview,
    answers_instruction,
    changes_instruction,
    continue_instruction,
    load_project_overview,
    start_instruction,
)
from git_blackbird.controller.core.agents import agent_for, find_agent_for_run
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.attention import is_session_lost
from git_blackbird.model.rules.other_tasks import based_at, other_tasks
from git_blackbird.model.rules.state import PlanState
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
    order = _with_others(workspace, state, _instruction(workspace, state, task))
    if order.resumes is None:
        agent = agent_for(workspace, task)
    else:
        agent = find_agent_for_run(workspace, order.resumes, task)
    overview = load_project_overview(workspace) if order.resumes is None else None
    request = RunRequest(
        task_id=order.task.id,
        run_id="",
        session=None if order.resumes is None else order.resumes.provider_session_ref,
        prompt=order.prompt,
        context=order.context,
        resume=order.resumes is not None,
    )
    stdin = agent.launch(request).stdin
    return Preview(agent.name, stdin.decode(errors="replace"), order.prompt, order.context, overview)


def _with_others(workspace: Workspace, state: PlanState, order: Instruction) -> Instruction:
    resumed, task_id = order.resumes, order.task.id
    if not workspace.gets_worktree(state.history(task_id), resumed):
        return order
    since = None if resumed is None else based_at(resumed)
    return order.with_other_tasks(other_tasks(state, task_id, (), since))


def _instruction(workspace: Workspace, state: PlanState, task: Task) -> Instruction:
    history, owed = state.history(task.id), state.pending_messages(task.id)
    run = history.latest
    is_requested = run is not None and run.decision_state is DecisionState.CHANGES_REQUESTED
    goes_on = is_requested or owed.review is not None
    if run is None or is_session_lost(history, run) or not (goes_on or run.status in _WAITING):
        return start_instruction(workspace, state, task, None)
    if is_requested:
        _, summary = change_of(workspace, state, task.id)
        return changes_instruction(run, task, owed, None, summary)
    if run.status is RunStatus.WAITING_USER:
        return answers_instruction(run, task, owed, ())
    return continue_instruction(run, task, owed, None)
