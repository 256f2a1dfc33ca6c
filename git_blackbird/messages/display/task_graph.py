"""What must be done before a task, and what it unblocks, as lines."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.plan.graph import Labels, state_label, unmet_deps
from git_blackbird.model.plan.plan import Plan, Task

_MOST_LINES = 200
_INDENT = 3


class _Step(NamedTuple):
    """A task on the way from another, and how deep below it."""

    task: Task
    depth: int
    is_again: bool


class PlanGraph:
    """The graph of one plan, built once and asked for any of its tasks."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._after = _Followers(plan)

    def lines(self, task: Task, labels: Labels) -> Iterator[Line]:
        """Write what comes before a task and what comes after it, each with all that follows, indented."""
        plan, before = self.plan, list(_walk(task, lambda one: _before(self.plan, one)))
        yield styled(f"{clean_line(task.id)}  {clean_line(task.title)}", Style.HEADING)
        yield styled(f"  {state_label(plan, task, labels)}", Style.FAINT)
        yield from _part("Comes after", plan, labels, before)
        yield from _part("Unblocks", plan, labels, list(_walk(task, self._after.of)))


class _Followers:
    """What waits for each task, found once for the whole plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._waiting: dict[TaskId, list[Task]] = {}
        for _, task in plan.walk():
            for dep in task.deps:
                self._waiting.setdefault(dep, []).append(task)

    def of(self, task: Task) -> Iterator[Task]:
        """Return the tasks that depend on one, and its parent where others wait for that."""
        yield from self._waiting.get(task.id, ())
        parent = None if task.parent is None else self._plan.tasks[task.parent]
        if parent is not None and any(self.of(parent)):
            yield parent


def _before(plan: Plan, task: Task) -> Iterator[Task]:
    yield from (plan.tasks[task_id] for task_id in (*task.deps, *task.children))


def _walk(start: Task, following: Callable[[Task], Iterator[Task]]) -> Iterator[_Step]:
    """Follow the edges from a task; what follows a task that was met before is not told again."""
    met = {start.id}
    pending = [_Step(task, 0, is_again=False) for task in reversed(list(following(start)))]
    while pending:
        task, depth, _ = pending.pop()
        yield _Step(task, depth, is_again=task.id in met)
        if task.id not in met:
            met.add(task.id)
            steps = [_Step(one, depth + 1, is_again=False) for one in following(task)]
            pending.extend(reversed(steps))


def _part(title: str, plan: Plan, labels: Labels, steps: list[_Step]) -> Iterator[Line]:
    count = len({step.task.id for step in steps})
    yield styled("")
    yield styled(f"{title} {counted(count, 'task') if count else 'nothing'}", Style.HEADING)
    for step in steps[:_MOST_LINES]:
        yield _line(plan, labels, step)
    if len(steps) > _MOST_LINES:
        yield styled(f"  and {len(steps) - _MOST_LINES} more lines", Style.FAINT)


def _line(plan: Plan, labels: Labels, step: _Step) -> Line:
    task = step.task
    waits = () if task.is_over else unmet_deps(plan, task)
    word = state_label(plan, task, labels) + (f", waits for {len(waits)}" if waits else "")
    again = " (see above)" if step.is_again else ""
    text = f"  {' ' * _INDENT * step.depth}{clean_line(task.id)}  {clean_line(task.title)}: {word}{again}"
    return styled(text, Style.FAINT if task.is_over or step.is_again else Style.PLAIN)
