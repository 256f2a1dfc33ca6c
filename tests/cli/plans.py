"""Tasks and records made by hand, for what readers show."""

from dataclasses import replace
from typing import Any

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.plan import Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, RunStatus
from tests.records import run_of

STAMP = "2026-01-01T00:00:00Z"
FIRST_RUN = "019b7c4e52000001"


def task(
    task_id: str,
    title: str = "",
    *,
    status: Status = Status.TODO,
    deps: tuple[str, ...] = (),
    parent: str | None = None,
    children: tuple[str, ...] = (),
    prompt: str = "",
) -> Task:
    return replace(
        new_task(TaskId(task_id), title or f"Task {task_id}", STAMP),
        status=status,
        deps=tuple(map(TaskId, deps)),
        parent=None if parent is None else TaskId(parent),
        children=tuple(map(TaskId, children)),
        prompt=prompt,
    )


def run(task_id: str, run_id: str = FIRST_RUN, status: RunStatus = RunStatus.SUCCESS, **fields: Any) -> Run:
    told = {
        "provider": "demo",
        "provider_session_ref": "a-session",
        "startedAt": "2026-01-02T02:00:00Z",
        "completedAt": None if status is RunStatus.RUNNING else "2026-01-02T02:01:05Z",
        "program": PROGRAM,
        **fields,
    }
    return run_of(id=RunId(run_id), taskId=task_id, status=status, **told)
