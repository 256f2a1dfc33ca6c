"""The status of a task in the plan, which the commit of its change takes along.

It is laid over the plan as HEAD has it: no other edit of the plan is committed. Where HEAD has no plan that
can be read, or not the task, nothing goes along.
"""

from collections.abc import Callable
from dataclasses import replace

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.commit.create import (
    CreatedCommit,
    content_in_tree,
    edit_staged,
    is_ignored_by_flag,
    update_index,
    with_content,
)
from git_blackbird.git.commit.plan import CommitPlan
from git_blackbird.git.worktree.log import commit_parts, tree_of
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.system import PLAN_NAME
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.change.stages import following
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.written_plan import restated_tasks, with_status_of, with_statuses
from git_blackbird.model.run.run import Run

Becomes = Callable[[Run, str], Run]
"""Returns what the record of a run becomes once its commit is made, at that time."""


def carries_status(workspace: Workspace, planned: CommitPlan, task_id: TaskId) -> bool:
    """Whether the commit of a change takes the status of a task along."""
    plan = _committed_plan(workspace, planned)
    return plan is not None and task_id in plan.tasks


def with_status(workspace: Workspace, planned: CommitPlan, run: Run, becomes: Becomes) -> CommitPlan:
    """Return a commit plan with what the plan says of the task of ``run`` once that is recorded.

    Raises UnusableError if the repository cannot be written.
    """
    committed = _committed_plan(workspace, planned)
    if committed is None:
        return planned
    state, now = workspace.plan_state(), workspace.environment.timestamp()
    stored = state.history(run.task_id).find(run.id) or run
    after = following(becomes(stored, now), stored, lambda: now)
    then = _with_run(state, after)
    plan = with_status_of(run.task_id, committed, then.written(then.plan))
    if not restated_tasks(committed, plan):
        return planned
    return with_content(workspace.repo, planned, PLAN_NAME, workspace.store.renderer.render(plan))


def _with_run(state: PlanState, run: Run) -> PlanState:
    history = state.history(run.task_id)
    recent = tuple(run if one.id == run.id else one for one in history.recent)
    return replace(state, histories={**state.histories, run.task_id: replace(history, recent=recent)})


def _committed_plan(workspace: Workspace, planned: CommitPlan) -> Plan | None:
    """Return the plan in HEAD; None where there is none to be changed."""
    if is_ignored_by_flag(workspace.repo, PLAN_NAME):
        return None
    return _plan_in(workspace, planned.base_tree)


def _plan_in(workspace: Workspace, tree: str) -> Plan | None:
    data = content_in_tree(workspace.repo, tree, PLAN_NAME)
    return None if data is None else _parsed(workspace, data)


def _parsed(workspace: Workspace, data: bytes) -> Plan | None:
    try:
        return workspace.store.editable_plan(data)
    except UnusableError:
        return None


def at_commit(workspace: Workspace, oid: str | None = None, task_id: TaskId | None = None) -> Workspace:
    """Return the workspace at the time that a commit gave to the status of a task, else now.

    What is recorded after a crash leads to the plan that is committed then.
    """
    now = workspace.environment.timestamp()
    if oid is not None:
        tree, parents = commit_parts(workspace.repo, oid)
        before = tree_of(workspace.repo, parents[0] if parents else oid)
        restated = _restated_between(workspace, before, tree)
        now = next((task.updated_at for task in restated if task.id == task_id), now)
    moment = parse_timestamp(now)
    return replace(workspace, environment=workspace.environment._replace(now=lambda: moment))


def follow_commit(workspace: Workspace, before: str, after: str) -> None:
    """Update the user's index from the tree before a commit to its own.

    A plan with edits that the user staged gets the statuses of the commit; the edits stay staged. Raises
    UnusableError.
    """
    update_index(workspace.repo, before, after)
    _restate_staged_plan(workspace, before, after)


def follow_in_staged_plan(workspace: Workspace, before: str, created: CreatedCommit) -> CreatedCommit:
    """Give a plan with edits that the user staged the statuses of a new commit; note if that fails."""
    if created.left_behind is None:
        try:
            _restate_staged_plan(workspace, before, created.tree)
        except UnusableError as error:
            return replace(created, left_behind=error.message)
    return created


def _restate_staged_plan(workspace: Workspace, before: str, after: str) -> None:
    def edit(data: bytes) -> bytes | None:
        restated, plan = _restated_between(workspace, before, after), _parsed(workspace, data)
        if plan is None or not restated:
            return None
        return workspace.store.renderer.render(with_statuses(plan, restated))

    edit_staged(workspace.repo, PLAN_NAME, after, edit)


def _restated_between(workspace: Workspace, before: str, after: str) -> tuple[Task, ...]:
    was, now = _plan_in(workspace, before), _plan_in(workspace, after)
    return () if was is None or now is None else restated_tasks(was, now)
