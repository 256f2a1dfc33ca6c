"""Rows 12 and 14: many records, and a large plan."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, compare, in_turns, run_call, run_process
from git_blackbird.model.base.ids import TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.entities.plan import Plan, Task
from git_blackbird.model.entities.run import RECORDER, Run, RunStatus
from git_blackbird.model.entities.status import Status
from git_blackbird.storage.plan_file import parse_plan, render_plan
from git_blackbird.storage.records import render_record

TASKS = 10_000
CHILDREN = 9
RUNS_OF_TASK = 10
_BEGAN = 1_767_323_045 * 10**9
_MINUTE = 60 * 10**9
_RUNS_MS = 150.0


def newest_runs(bench: Bench) -> Iterator[Row]:
    """Row 12: the newest 20 of 100,000 records over 10,000 tasks; against 1,000 over 100."""
    few, many = bench.make_repository("row-12-few", 1), bench.make_repository("row-12-many", 1)
    say("writing 101,000 records")
    save_records(few, TASKS // 100)
    save_records(many, TASKS)
    turns = [
        lambda repo=repo: run_process((bench.program, "runs"), bench.environ, repo) for repo in (many, few)
    ]
    ours, other = in_turns(turns, bench.ruler.rounds)
    ruler = bench.ruler
    what = "runs: the newest 20 of 100,000 records / of 1,000"
    figures = (ruler.figure(ours), ruler.figure(other), ruler.ratio(ours, other))
    yield Row("12", what, *figures, limit=2.0, or_below=_RUNS_MS)


def save_records(repo: Path, tasks: int) -> None:
    """Write ten records for each of so many tasks, in the order of their times."""
    for turn in range(RUNS_OF_TASK):
        for number in range(tasks):
            moment = _BEGAN + (turn * tasks + number) * _MINUTE // 10
            run = build_run(task_id(number), moment)
            folder = repo / ".blackbird" / "runs" / run.task_id
            if turn == 0:
                folder.mkdir(parents=True)
            (folder / f"{run.id}.json").write_bytes(render_record(run))
            os.utime(folder, ns=(moment, moment))


def build_run(task: TaskId, moment: int) -> Run:
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
        recorder=RECORDER,
        base_tree="0" * 40,
        head_tree="0" * 40,
    )


def loading(bench: Bench) -> Iterator[Row]:
    """Row 14: load and validate 10,000 tasks; against ``json.loads`` of their bytes."""
    data = render_plan(build_plan())
    yield compare(
        bench.ruler,
        "14",
        f"load and validate a plan of {TASKS} tasks / json.loads",
        3.0,
        lambda: run_call(lambda: parse_plan(data, "plan")),
        lambda: run_call(lambda: json.loads(data)),
    )


def build_plan(tasks: int = TASKS) -> Plan:
    """Groups of a parent and nine children, each child after the one before; a third is done."""
    found: dict[TaskId, Task] = {}
    for number in range(0, tasks, CHILDREN + 1):
        parent = task_id(number)
        children = tuple(task_id(number + step) for step in range(1, CHILDREN + 1))
        found[parent] = build_task(number, children=children)
        for step, child in enumerate(children, start=1):
            deps = (task_id(number + step - 1),) if step > 1 else ()
            found[child] = build_task(number + step, parent=parent, deps=deps)
    return Plan(found)


def task_id(number: int) -> TaskId:
    return TaskId(f"w_{number:012x}")


def build_task(
    number: int,
    *,
    parent: TaskId | None = None,
    children: tuple[TaskId, ...] = (),
    deps: tuple[TaskId, ...] = (),
) -> Task:
    finished = number % 3 == 0
    created = "2026-01-02T03:04:05.123456789Z"
    updated = f"2026-01-{3 + number % 27:02d}T03:04:05.{number:09d}Z"
    return Task(
        id=task_id(number),
        title=f"Do part {number} of the work",
        created_at=created,
        updated_at=updated if finished else created,
        description="What this part is about, in a sentence or two, as people write it.",
        acceptance_criteria=("the tests pass", "the documentation says how it is used"),
        prompt="Write the code and the tests of this part, and nothing beyond it.",
        parent=parent,
        children=children,
        deps=deps,
        status=Status.DONE if finished else Status.TODO,
    )
