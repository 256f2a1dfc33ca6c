"""Rows 12 and 14: many records, and a large plan."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Sample, Turn, compare
from benchmarks.plans import PLAN, save_plan, save_records, task_id
from benchmarks.startup_rows import starting
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status

TASKS = 10_000
_CHILDREN = 9
RUNS_OF_TASK = 10
_RUNS_MS = 150.0


def newest_runs(bench: Bench) -> Iterator[Row]:
    """Row 12: the newest 20 of 100,000 records over 10,000 tasks; against 1,000 over 100."""
    few, many = bench.make_repository("row-12-few", 1), bench.make_repository("row-12-many", 1)
    say("writing 101,000 records")
    save_records(few, TASKS // 100, RUNS_OF_TASK)
    save_records(many, TASKS, RUNS_OF_TASK)
    what = "runs: the newest 20 of 100,000 records / of 1,000"
    sides = [starting(bench, repo, bench.program, "runs") for repo in (many, few)]
    yield replace(compare(bench.ruler, "12", what, 2.0, *sides), most=_RUNS_MS)


def loading(bench: Bench) -> Iterator[Row]:
    """Row 14: load and validate 10,000 tasks; against ``json.loads`` of their bytes."""
    save_plan(bench.place, _groups())
    path = bench.place / PLAN
    what = f"load and validate a plan of {TASKS} tasks / json.loads"
    sides = (_loading(bench, path, *call) for call in (_PARSE_PLAN, _LOADS))
    yield compare(bench.ruler, "14", what, 3.0, *sides)


# The collector is told of all that is loaded to that end, and is on from there, as in a command.
_LOADING = """
import gc, sys, time
gc.disable()
from pathlib import Path
{}
data = Path(sys.argv[1]).read_bytes()
gc.freeze()
gc.enable()
began = time.perf_counter(), time.process_time()
loaded = {}
print(time.perf_counter() - began[0], time.process_time() - began[1])
"""
_PARSE_PLAN = ("from git_blackbird.storage.plan_file import parse_plan", "parse_plan(data, 'plan')")
_LOADS = ("import json", "json.loads(data)")


def _loading(bench: Bench, path: Path, loaded: str, call: str) -> Turn:
    """Load a plan in a process of its own, whose start does not count."""
    argv = (bench.python, "-c", _LOADING.format(loaded, call), str(path))

    def turn() -> Sample:
        wall, cpu = map(float, bench.run(*argv, cwd=bench.place).split())
        return Sample(wall * 1000, cpu * 1000)

    return turn


def _groups() -> Iterator[Task]:
    """Groups of a parent and nine children, each child after the one before; a third is done."""
    for number in range(0, TASKS, _CHILDREN + 1):
        children = tuple(task_id(number + step) for step in range(1, _CHILDREN + 1))
        yield _build_task(number, children=children)
        for step in range(1, _CHILDREN + 1):
            deps = (task_id(number + step - 1),) if step > 1 else ()
            yield _build_task(number + step, parent=task_id(number), deps=deps)


def _build_task(
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
