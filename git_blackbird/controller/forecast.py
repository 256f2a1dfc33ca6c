"""What an execute would do if every task succeeded and every review passed."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_blackbird.controller.agents import require_reviewers
from git_blackbird.controller.readying import require_ready
from git_blackbird.controller.review_stops import reviews_required
from git_blackbird.controller.unfinished import paused_stop, undeliverable_stop
from git_blackbird.controller.unreadable import unreadable_stop
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.model.due import AskPaused, Call, ReviewsRequired, change_requests, next_due, unfinished
from git_blackbird.model.gate import Gate, Moment
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.plan_progress import PlanProgress
from git_blackbird.model.run import ReviewState
from git_blackbird.model.standing import Standing
from git_blackbird.model.status import apply_statuses, settled_parents
from git_blackbird.model.stop import Stop
from git_blackbird.model.unreadable import is_stopped


class Forecast(NamedTuple):
    """What would be started, in order, parents for their review; or how the call would stop at once.

    Before that, change requests would be carried out to ``requests``, and the change of ``changes`` be
    reviewed. ``continued`` are those in ``order`` whose interrupted run goes on in its session.
    """

    order: tuple[Task, ...]
    stop: Stop | None = None
    changes: tuple[Task, ...] = ()
    requests: tuple[Task, ...] = ()
    continued: tuple[Task, ...] = ()

    @property
    def resumed(self) -> tuple[Task, ...]:
        """Whose session would go on, in order."""
        return (*self.requests, *self.continued)


def forecast(workspace: Workspace, task_ids: Sequence[str], limit: int | None) -> Forecast:
    """Give the order in which an execute would start agents.

    Raises RequestError for a task that is named and not ready, AgentUnavailableError where nobody can review
    the parents, as the execute would.
    """
    image = workspace.store.image()
    standing = workspace.standing(image)
    only = frozenset(require_ready(standing, find_task(image.plan, task_id)).id for task_id in task_ids)
    call = Call(only=only or None, starts_left=limit)
    require_reviewers(workspace, standing, call)
    stop = _first_stop(workspace, standing, call)
    if stop is not None:
        return Forecast((), stop.with_options(workspace.call_options))
    passing = Moment(workspace.world.timestamp(), Gate(is_on=False, histories={}))
    requests = tuple(one.task for one in change_requests(standing, call))
    changes = _changes(workspace, standing, call)
    plan = settled_parents(image.plan, passing)
    plan = apply_statuses(plan, {task.id: Status.DONE for task in (*requests, *changes)}, passing)
    order = list(_reviewed(standing, call, _newly_done(image.plan, plan)))
    progress = PlanProgress(plan)
    continued = tuple(one.task for one in unfinished(standing, call))
    for one in continued:
        order += [one, *_reviewed(standing, call, progress.finish(one))]
    starts = 0
    while starts != limit and (task := progress.take_ready()) is not None:
        if call.covers(task.id) and not is_stopped(standing, task):
            starts += 1
            order += [task, *_reviewed(standing, call, progress.finish(task))]
    return Forecast(tuple(order), unreadable_stop(standing, call), changes, requests, continued)


def _first_stop(workspace: Workspace, standing: Standing, call: Call) -> Stop | None:
    """Return how the call would stop before it starts anything; None where it would not."""
    for request in change_requests(standing, call):
        if (stop := undeliverable_stop(workspace, standing, request)) is not None:
            return stop
    due = next_due(standing, call)
    if isinstance(due, ReviewsRequired):
        return reviews_required(standing, due)
    for one in unfinished(standing, call):
        if isinstance(one, AskPaused):
            return paused_stop(one)
        if (stop := undeliverable_stop(workspace, standing, one)) is not None:
            return stop
    return None


def _reviewed(standing: Standing, call: Call, parents: Sequence[Task]) -> Iterator[Task]:
    """Give those of the parents that this call reviews before they are ``done``."""
    return (one for one in parents if standing.is_gated and call.covers_parent(standing.plan, one))


def _changes(workspace: Workspace, standing: Standing, call: Call) -> tuple[Task, ...]:
    """Give the leaves whose change is to be reviewed, where reviews are on."""
    if not workspace.reviews_changes:
        return ()
    due = ((task, standing.latest(task.id)) for task in standing.plan.leaves() if call.covers(task.id))
    return tuple(task for task, run in due if run is not None and run.review_state is ReviewState.DUE)


def _newly_done(before: Plan, after: Plan) -> list[Task]:
    """Give the parents that are ``done`` only afterwards, from the leaves up."""
    parents = [task for _, task in after.walk() if task.children and task.status == Status.DONE]
    return [task for task in reversed(parents) if before.tasks[task.id].status != Status.DONE]
