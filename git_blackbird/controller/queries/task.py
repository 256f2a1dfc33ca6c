"""What there is to show of one task."""

from collections.abc import Iterable

from git_blackbird.controller.core.workspace import Workspace, find_task, lock_holder
from git_blackbird.controller.queries.listing import label_by_records
from git_blackbird.controller.queries.status import raising_commands, read_budgets, running_call
from git_blackbird.model.change.work import undo_commands
from git_blackbird.model.plan.graph import dependents, state_label
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item, Seen, queue
from git_blackbird.model.rules.reviews import skipped_children
from git_blackbird.model.rules.state import PlanState, full_readiness
from git_blackbird.model.views.task import TaskView


def view_task(workspace: Workspace, task_id: str) -> TaskView:
    """Show one task: whether it is ready and why, and what is pending for it.

    Raises RequestError for an unknown id.
    """
    state = workspace.plan_state_of(task_id)
    task = find_task(state.plan, task_id)
    holder = lock_holder(workspace)
    seen = Seen(raising=raising_commands(read_budgets(workspace, state, holder)), call=running_call(holder))
    view = view_in(state, task, queue(state, seen))
    path = str(workspace.paths.feedback_file(task.id))
    return view._replace(
        unreadable=(*view.unreadable, *(one for one in state.lost_feedback if one.path == path)),
        undo=() if view.history.newest is None else undo_commands(view.history.newest),
        adoptable=workspace.store.unanswered(state, task.id),
    )


def view_in(state: PlanState, task: Task, due: Iterable[Item]) -> TaskView:
    plan, history = state.plan, state.history(task.id)
    after, before = dependents(plan, task.id), tuple(plan.tasks[dep] for dep in task.deps)
    return TaskView(
        task,
        _label(state, task),
        full_readiness(state, task),
        after,
        before,
        history,
        tuple(item for item in due if item.task.id == task.id),
        state.pending_messages(task.id),
        history.faults,
        skipped_children(plan.tasks, task),
        labels={other.id: _label(state, other) for other in (*before, *after)},
    )


def _label(state: PlanState, task: Task) -> str:
    return label_by_records(state, task) or state_label(state.plan, task)
