"""The consequences of plan changes, in the words that every interface uses."""

from collections.abc import Iterator, Mapping, Sequence

from git_blackbird.controller.plan.deletion import DeleteResult
from git_blackbird.controller.plan.edit import MoveResult
from git_blackbird.controller.plan.page import PageResult
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, line
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.task_fields import FIELD_NAMES

DEADLOCK_HINT = "a parent is done when its children are: remove one of these dependencies"


def deadlock_text(deadlock: Sequence[TaskId]) -> str:
    return f"these wait for one another forever: {' -> '.join(deadlock)}"


def tree_lines(result: PageResult) -> Iterator[Line]:
    for one in result.added:
        yield line(f"{'  ' * one.depth}{one.id}  {one.title}")


def page_lines(result: PageResult, what: str = "the plan") -> Iterator[Line]:
    """Yield what was done; ``what`` is what nothing was done to."""
    if not result.is_changed:
        yield line(f"{what} is unchanged")
    if len(result.added) == 1:
        yield line(f"added {result.added[0].id}")
    elif result.added:
        yield line(f"added {counted(len(result.added), 'task')}:")
        yield from (one.behind("  ") for one in tree_lines(result))
    for task_id, fields in result.edited.items():
        yield line(f"updated {task_id}: {', '.join(FIELD_NAMES[name] for name in fields)}")
    yield from (line(f"moved {task_id}") for task_id in result.moved)
    yield from (line(f"deleted {task_id}") for task_id in result.deleted)
    if result.is_reordered and not result.moved:
        yield line("changed the order of tasks")


def moved_task_lines(result: MoveResult) -> Iterator[Line]:
    yield line(f"moved {result.task_id}" if result.is_changed else f"{result.task_id} is already there")
    yield from _changed_status_lines(result.followed)
    if result.not_undone:
        yield line(f"  not reset, although they depend on it: {', '.join(result.not_undone)}")
    if result.recreated:
        named = ", ".join(result.recreated)
        yield line(f"  tasks at the top are ordered by createdAt, which was changed for: {named}")


def deletion_lines(result: DeleteResult) -> Iterator[Line]:
    would = result.is_dry_run
    first, *others = result.task_ids
    if not would:
        yield line(f"deleted {counted(len(result.task_ids), 'task')}")
    else:
        below = f" and {counted(len(others), 'task')} below it: {', '.join(others)}" if others else ""
        yield line(f"would delete {first}{below}")
    if result.detached:
        what = "would remove it" if would else "removed"
        yield line(f"{what} from the dependencies of: {', '.join(result.detached)}")
    for run_id in result.dropped:
        yield line(f"  the unfinished change of run {run_id} {'would be' if would else 'is'} dropped")
    for task_id, runs in result.runs.items():
        kept = f"  kept: {counted(len(runs), 'run')} of {task_id} ("
        yield line(kept, TaskCommand("runs", task_id), ")")
    yield from _changed_status_lines(result.followed)


def _changed_status_lines(followed: Mapping[TaskId, Status]) -> Iterator[Line]:
    if followed:
        named = ", ".join(f"{task_id} ({status.value})" for task_id, status in followed.items())
        yield line(f"  also changed: {named}")
