"""What an execute would do if every task succeeded and every review passed."""

from collections.abc import Sequence
from typing import NamedTuple

from git_blackbird.controller.agents import require_reviewer
from git_blackbird.controller.readying import require_ready
from git_blackbird.controller.review_stops import reviews_required
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.model.due import Call, ReviewsRequired, next_due
from git_blackbird.model.gate import Gate, Moment
from git_blackbird.model.graph import depth_first, ready
from git_blackbird.model.held import parents_to_review
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.status import apply_statuses, settled_parents
from git_blackbird.model.stop import Stop


class Forecast(NamedTuple):
    """What would be started, in order, parents for their review; or how the call would stop at once."""

    order: tuple[Task, ...]
    stop: Stop | None = None


def forecast(workspace: Workspace, task_ids: Sequence[str], limit: int | None) -> Forecast:
    """Give the order in which an execute would start agents.

    Raises RequestError for a task that is named and not ready, AgentUnavailableError where nobody can review
    the parents, as the execute would.
    """
    image = workspace.store.image()
    standing = workspace.standing(image)
    only = frozenset(require_ready(image, find_task(image.plan, task_id)).id for task_id in task_ids)
    call = Call(only=only or None, starts_left=limit)
    if any(call.covers_parent(image.plan, parent) for parent in parents_to_review(standing)):
        require_reviewer(workspace)
    due = next_due(standing, call)
    if isinstance(due, ReviewsRequired):
        return Forecast((), reviews_required(standing, due))
    passing = Moment(workspace.world.timestamp(), Gate(is_on=False, histories={}))
    before, plan = image.plan, settled_parents(image.plan, passing)
    order: list[Task] = []
    starts = 0
    while True:
        if standing.is_gated:
            order += [one for one in _newly_done(before, plan) if call.covers_parent(plan, one)]
        task = next((one for one in ready(plan) if call.covers(one.id)), None)
        if task is None or starts == limit:
            return Forecast(tuple(order))
        order.append(task)
        starts += 1
        before, plan = plan, apply_statuses(plan, {task.id: Status.DONE}, passing)


def _newly_done(before: Plan, after: Plan) -> list[Task]:
    """Give the parents that are ``done`` only afterwards, from the leaves up."""
    parents = [task for _, task in depth_first(after) if task.children and task.status == Status.DONE]
    return [task for task in reversed(parents) if before.tasks[task.id].status != Status.DONE]
