"""Small plans and runs to reason about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, RunStatus
from tests.records import run_of

STAMP = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"


def task(
    task_id: str,
    status: Status = Status.TODO,
    *,
    deps: Sequence[str] = (),
    parent: str | None = None,
    children: Sequence[str] = (),
) -> Task:
    return replace(
        new_task(TaskId(task_id), f"Task {task_id}", STAMP),
        parent=None if parent is None else TaskId(parent),
        children=tuple(map(TaskId, children)),
        deps=tuple(map(TaskId, deps)),
        status=status,
    )


def plan_of(*tasks: Task) -> Plan:
    return Plan({one.id: one for one in tasks})


def tree(statuses: Mapping[str, Status], parents: Mapping[str, str]) -> Plan:
    """A plan of tasks with statuses; ``parents`` maps a task to the one above it."""
    return plan_of(
        *(
            task(
                name,
                status,
                parent=parents.get(name),
                children=[child for child, above in parents.items() if above == name],
            )
            for name, status in statuses.items()
        )
    )


def statuses(plan: Plan) -> dict[str, str]:
    return {task_id: one.status.value for task_id, one in plan.tasks.items()}


def run(number: int = 1, status: RunStatus = RunStatus.SUCCESS, task_id: str = "t", **fields: Any) -> Run:
    """The run of that number; runs start in the order of their numbers."""
    filled: dict[str, Any] = {
        "id": f"{number:016x}",
        "taskId": task_id,
        "startedAt": f"2026-01-01T00:{number:02d}:00Z",
        "program": PROGRAM,
        "provider_session_ref": "session",
        **fields,
    }
    return run_of(**filled, status=status)


def history(*runs: Run) -> History:
    return History(runs)


def histories(*runs: Run) -> dict[TaskId, History]:
    return {
        name: History(tuple(one for one in runs if one.task_id == name))
        for name in dict.fromkeys(one.task_id for one in runs)
    }


def ids(tasks: Iterable[Task]) -> list[str]:
    return [one.id for one in tasks]
