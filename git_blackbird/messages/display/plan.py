"""A plan in words: what is found wrong with it, what comes before and after a task, what would be started."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_blackbird.messages.display.quantities import counted, some_of
from git_blackbird.messages.document import Line, Span, Style, line, listed, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import Labels, state_label, unmet_deps
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.limits import AgentModel
from git_blackbird.model.rules.lint import LintFinding, Severity

_MAX_NAMED = 4
_SEVERITIES = {Severity.BLOCKING: Style.FAULT, Severity.WARNING: Style.WARNING}
_MOST_LINES = 200
_INDENT = 3


def order_lines(
    steps: Iterable[tuple[str, Task]], agents: Mapping[TaskId, AgentModel], most: int | None = None
) -> Iterator[Line]:
    """Yield what an execute would do, in order: the words before each task, the task, and its agent."""
    lines = []
    for number, (what, task) in enumerate(steps, start=1):
        named = " ".join(filter(None, agents.get(task.id, ())))
        by = f"  [{named}]" if named else ""
        lines.append(f"{number}. {what}{task.id}  {task.title}{by}")
    yield from listed(lines, len(lines) if most is None else most)


def lint_lines(findings: Sequence[LintFinding]) -> Iterator[Line]:
    """Say each finding, what to do about it, and where it is; then how many there are.

    What is to be said of several tasks alike is said once.
    """
    for one, *others in sorted(_alike(findings), key=lambda alike: alike[0].severity):
        tasks = [same.task_id for same in (one, *others) if same.task_id is not None]
        where = f"{tasks[0]}: " if len(tasks) == 1 else f"{counted(len(tasks), 'task')}: " if tasks else ""
        text = f"{where}{one.message} ({one.code})"
        yield line(Span(f"{one.severity}:", _SEVERITIES[one.severity]), f" {text}")
        yield line(f"    {one.suggestion}")
        yield from (line(f"    {place}") for place in _places(one, tasks))
    blocking = sum(one.severity is Severity.BLOCKING for one in findings)
    warnings = counted(len(findings) - blocking, "warning")
    yield line(f"{blocking} blocking, {warnings}" if findings else "nothing to say about the plan")


def blocking_lines(findings: Sequence[LintFinding], hint: str = "") -> Iterator[Line]:
    """Name the tasks of findings, what is alike in one line; ``hint`` ends it."""
    for one, *others in _alike(findings):
        tasks = some_of([same.task_id for same in (one, *others) if same.task_id is not None], _MAX_NAMED)
        yield styled(f"{one.message} ({one.code}): {tasks}{hint}", Style.FAINT)


def _alike(findings: Sequence[LintFinding]) -> Iterator[list[LintFinding]]:
    """Yield the findings of tasks that say the same together, each of the whole plan by itself."""
    groups: dict[object, list[LintFinding]] = {}
    for place, one in enumerate(findings):
        said = (one.severity, one.code, one.message, one.suggestion)
        groups.setdefault(place if one.task_id is None else said, []).append(one)
    yield from groups.values()


def _places(finding: LintFinding, tasks: Sequence[TaskId]) -> Iterator[str]:
    """Yield where a finding is that does not name its task."""
    if len(tasks) > 1:
        yield some_of(tasks, _MAX_NAMED)
    elif not tasks:
        yield from finding.places


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
        yield styled(f"{task.id}  {task.title}", Style.HEADING)
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
    text = f"  {' ' * _INDENT * step.depth}{task.id}  {task.title}: {word}{again}"
    return styled(text, Style.FAINT if task.is_over or step.is_again else Style.PLAIN)
