"""Plans and records for the rows, of any size, and the agents that work on them."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measuring import Sample, run_process
from git_blackbird.model.base.ids import TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, RunStatus
from git_blackbird.storage.plan_file import render_plan
from git_blackbird.storage.records import render_record

PLAN = "blackbird.plan.json"
_BEGAN = 1_767_323_045 * 10**9
_MINUTE = 60 * 10**9


def task_id(number: int) -> TaskId:
    return TaskId(f"w_{number:012x}")


def build_tasks(numbers: Iterable[int], status: Status = Status.TODO) -> list[Task]:
    """Build leaf tasks that wait for nothing."""
    stamp = format_timestamp(_BEGAN)
    return [
        replace(new_task(task_id(number), "Do it", stamp), prompt="Do it.", status=status)
        for number in numbers
    ]


def save_plan(repo: Path, tasks: Iterable[Task]) -> None:
    (repo / PLAN).write_bytes(render_plan(Plan({task.id: task for task in tasks})))


def choose_agent(bench: Bench, repo: Path, agent: str, **values: str) -> None:
    """Choose an agent, which may change nothing; ``values`` are other keys, with ``__`` for a point."""
    for key, value in {"agent": agent, "execution__acceptNoChange": "true", **values}.items():
        bench.git(repo, "config", f"blackbird.{key.replace('__', '.')}", value)


def execute(bench: Bench, repo: Path, tasks: int) -> Sample:
    """Execute so many tasks, and stop at none."""
    argv = (bench.program, "execute", "--no-input", "--no-stop", "--limit", str(tasks))
    return run_process(argv, bench.environ, repo)


def save_records(repo: Path, tasks: int, runs_of_task: int) -> None:
    """Write records for each of so many tasks, in the order of their times."""
    for turn in range(runs_of_task):
        for number in range(tasks):
            moment = _BEGAN + (turn * tasks + number) * _MINUTE // 10
            run = _build_run(task_id(number), moment)
            for top in (repo / ".git" / "blackbird", repo / ".blackbird"):
                folder, record = top / "runs" / run.task_id, top / "runs" / run.task_id / f"{run.id}.json"
                folder.mkdir(parents=True, exist_ok=True)
                record.write_bytes(render_record(run))
                os.utime(record, ns=(moment, moment))
                os.utime(folder, ns=(moment, moment))


def _build_run(task: TaskId, moment: int) -> Run:
    return Run(
        id=build_run_id(moment, 0),
        task_id=task,
        provider="command",
        provider_session_ref="session",
        started_at=format_timestamp(moment),
        completed_at=format_timestamp(moment + _MINUTE),
        status=RunStatus.SUCCESS,
        exit_code=0,
        stdout="what the agent printed, in the end\n" * 10,
        context={"schemaVersion": 1, "task": {"id": task, "title": "Do it"}},
        program=PROGRAM,
        base_tree="0" * 40,
        head_tree="0" * 40,
    )
