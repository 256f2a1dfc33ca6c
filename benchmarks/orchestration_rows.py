"""Rows 9 and 10: what a run costs beside its agent, and whether that grows with the plan."""

import dataclasses
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Sample, run_call, run_process
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import seconds_between
from git_blackbird.model.entities.plan import Plan, Task, new_task
from git_blackbird.storage.plan_file import render_plan

_FILES = 50
_SIZES = (100, 1000)
_HUNDRED = 100
_REFERENCE = b"0" * 40 + b"\n"
_STAMP = "2026-01-02T03:04:05Z"


@dataclass(frozen=True)
class Executed:
    """One execute of so many tasks: how long it took, and what each of them wrote."""

    tasks: int
    took: Sample
    bare: Sample
    starts: tuple[str, ...]
    record_bytes: int
    plan_bytes: int


def per_task(bench: Bench) -> Iterator[Row]:
    """Row 9: against the parts that cannot be left out, done bare."""
    for tasks in _SIZES:
        done = _executed(bench, tasks)
        ours, bare = (
            (sample.cpu if bench.ruler.by_cpu else sample.wall) / tasks for sample in (done.took, done.bare)
        )
        remark = (
            f"bare: 1 process; 2 times git update-index --refresh and git write-tree; "
            f"2 records of {done.record_bytes} and 2 plans of {done.plan_bytes} bytes, fsynced; "
            f"1 plan, its place and 2 references, not fsynced"
        )
        what = f"a run of an agent that does nothing, {tasks} tasks / its parts bare"
        yield Row("9", what, ours, bare, ours / bare, 1.8, remark=remark)


def growth(bench: Bench) -> Iterator[Row]:
    """Row 10: by the times at which the records began, the last hundred against the first."""
    starts = _executed(bench, max(_SIZES)).starts
    first = seconds_between(starts[0], starts[_HUNDRED])
    last = seconds_between(starts[-1 - _HUNDRED], starts[-1])
    assert first is not None
    assert last is not None
    ours, reference = (seconds * 1000 / _HUNDRED for seconds in (last, first))
    what = f"a run, the last hundred of {max(_SIZES)} / the first"
    yield Row("10", what, ours, reference, ours / reference, 1.3)


_executions: dict[int, Executed] = {}


def _executed(bench: Bench, tasks: int) -> Executed:
    if tasks not in _executions:
        _executions[tasks] = _execute(bench, tasks)
    return _executions[tasks]


def _execute(bench: Bench, tasks: int) -> Executed:
    say(f"executing {tasks} tasks")
    repo = bench.make_repository(f"row-9-{tasks}", _FILES)
    plan = {task_id(number): build_task(number) for number in range(tasks)}
    (repo / "blackbird.plan.json").write_bytes(render_plan(Plan(plan)))
    bench.git(repo, "config", "blackbird.agent", "command")
    bench.git(repo, "config", "blackbird.command.run", "true")
    bench.git(repo, "config", "blackbird.execution.acceptNoChange", "true")
    took = run_process((bench.program, "execute", "--no-input"), bench.environ, repo)
    records = sorted((repo / ".blackbird" / "runs").glob("*/*.json"))
    assert len(records) == tasks, len(records)
    starts = sorted(str(json.loads(path.read_bytes())["startedAt"]) for path in records)
    record, planned = records[-1].read_bytes(), (repo / "blackbird.plan.json").read_bytes()
    bare = _bare(bench, repo, tasks, (record, planned))
    return Executed(tasks, took, bare, tuple(starts), len(record), len(planned))


def task_id(number: int) -> TaskId:
    return TaskId(f"t{number:04}")


def build_task(number: int) -> Task:
    return dataclasses.replace(new_task(task_id(number), f"Do part {number}", _STAMP), prompt="Do nothing.")


def _bare(bench: Bench, repo: Path, tasks: int, contents: tuple[bytes, bytes]) -> Sample:
    """Do what cannot be left out so many times."""
    place = repo.with_name(f"{repo.name}-bare")
    place.mkdir()
    environ = {**bench.environ, "GIT_INDEX_FILE": str(place / "index")}

    def work() -> None:
        for number in range(tasks):
            subprocess.run(("/bin/sh", "-c", "true"), cwd=repo, env=bench.environ, check=True)
            for turn in range(2):
                shutil.copy2(repo / ".git" / "index", place / "index")
                for command in (("update-index", "-q", "--refresh"), ("write-tree",)):
                    run_process(("git", *command), environ, repo)
                for name, data in zip((f"{number}.json", "plan.json"), contents, strict=True):
                    save(place / f"{turn}.tmp", place / name, data)
                replace(place / f"{turn}.tmp", place / f"{number}.ref", _REFERENCE)
            # The copy of the plan that is kept while an agent works, and where the plan lies.
            for name, data in (("known.json", contents[1]), ("known.place", bytes(place))):
                replace(place / "known.tmp", place / name, data)

    return run_call(work)


def save(temporary: Path, target: Path, data: bytes) -> None:
    """Write a file so that a crash leaves the old or the new one."""
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(target)
    folder = os.open(target.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def replace(temporary: Path, target: Path, data: bytes) -> None:
    """Write a file so that others see the old or the new one."""
    temporary.write_bytes(data)
    temporary.rename(target)
