"""Describe the difference of two plans."""

from dataclasses import fields

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.plan import Plan, Task

_QUIET = frozenset({"updated_at", "created_at", "id"})


def describe_changes(before: Plan, after: Plan) -> tuple[str, ...]:
    """List additions, removals and edits, one line for each task, smallest id first."""
    lines: list[str] = []
    for task_id in sorted(before.tasks.keys() | after.tasks.keys()):
        line = _describe(task_id, before.tasks.get(task_id), after.tasks.get(task_id))
        if line is not None:
            lines.append(line)
    return tuple(lines)


def _describe(task_id: TaskId, before: Task | None, after: Task | None) -> str | None:
    if before is None:
        return f"{task_id} was added"
    if after is None:
        return f"{task_id} was removed"
    if before == after:
        return None
    edited = [
        field.name
        for field in fields(Task)
        if field.name not in _QUIET and getattr(before, field.name) != getattr(after, field.name)
    ]
    if not edited:
        return None
    if edited == ["status"]:
        return f"{task_id} was set from {before.status} to {after.status}"
    return f"{task_id} was edited: {', '.join(edited)}"
