"""What must be done before a task, and what it unblocks, as two trees of lines."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.plan import Plan, Task

_MAX_LINES = 200
_WORD_COLUMNS = 9
_STYLES = {
    "DONE": Style.ADDED,
    "FAILED": Style.REMOVED,
    "READY": Style.PLACE,
    "IN_PROGRESS": Style.PLACE,
    "WAITING_USER": Style.WARNING,
}

Neighbours = Callable[[Task], tuple[TaskId, ...]]


class PlanGraph:
    """The dependencies of a plan in both directions; built once for a plan, asked for many tasks."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._dependents: Mapping[TaskId, list[TaskId]] = {}
        dependents: dict[TaskId, list[TaskId]] = {}
        for task in plan.tasks.values():
            for dep in task.deps:
                dependents.setdefault(dep, []).append(task.id)
        self._dependents = dependents

    def lines(self, task: Task, label: Callable[[Task], str]) -> Iterator[StyledLine]:
        """Yield a task between what it needs and what it unblocks, each with its state (``label``)."""
        yield StyledLine("Must be done first", Style.HEADING)
        yield from _tree(_Drawing(self.plan, lambda one: one.deps, label, set()), task, "nothing")
        yield StyledLine("")
        yield _line("", task, label)
        yield StyledLine("")
        yield StyledLine("Is unblocked by it", Style.HEADING)
        yield from _tree(_Drawing(self.plan, self._needed_by, label, set()), task, "nothing")

    def _needed_by(self, task: Task) -> tuple[TaskId, ...]:
        return tuple(self._dependents.get(task.id, ()))


class _Drawing(NamedTuple):
    plan: Plan
    neighbours: Neighbours
    label: Callable[[Task], str]
    drawn: set[TaskId]


def _tree(drawing: _Drawing, root: Task, none: str) -> Iterator[StyledLine]:
    count = 0
    for line in _below(drawing, root):
        if count == _MAX_LINES:
            yield StyledLine("and more", Style.FAINT)
            return
        count += 1
        yield line
    if not count:
        yield StyledLine(none, Style.FAINT)


def _below(drawing: _Drawing, root: Task) -> Iterator[StyledLine]:
    """Yield what is reached from a task; what was drawn already is not opened again."""
    stack = [(task_id, "") for task_id in reversed(drawing.neighbours(root))]
    while stack:
        task_id, indent = stack.pop()
        task = drawing.plan.tasks.get(task_id)
        if task is None:
            continue
        is_new = task_id not in drawing.drawn
        below = drawing.neighbours(task) if is_new else ()
        drawing.drawn.add(task_id)
        more = "" if is_new or not drawing.neighbours(task) else "  (see above)"
        yield _line(indent, task, drawing.label, more)
        stack += [(next_id, f"{indent}  ") for next_id in reversed(below)]


def _line(indent: str, task: Task, label: Callable[[Task], str], more: str = "") -> StyledLine:
    word = label(task)
    name = word.replace("_", " ").lower().replace("waiting user", "waiting")
    title = clean_line(task.title)
    return StyledLine(
        f"{name:<{_WORD_COLUMNS}} {indent}{task.id}  {title}{more}", _STYLES.get(word, Style.PLAIN)
    )
