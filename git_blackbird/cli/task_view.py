"""One task as programs are told it."""

from typing import Any

from git_blackbird.model.plan import Task


def task_data(task: Task, label: str) -> dict[str, Any]:
    """Give one task as the plan file names its fields, and its label."""
    return {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "acceptanceCriteria": list(task.acceptance_criteria),
        "prompt": task.prompt,
        "parentId": task.parent,
        "childIds": list(task.children),
        "deps": list(task.deps),
        "status": task.status.value,
        "label": label,
        "createdAt": task.created_at,
        "updatedAt": task.updated_at,
        "notes": task.notes,
    }
