"""Rows 9 and 10: what a run costs beside its agent, and whether that grows with the plan."""

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Ruler, Sample, Turn, run_call, run_process, take_rounds
from benchmarks.plans import PLAN, build_tasks, choose_agent, execute, save_plan

_FILES = 50
_FEW, _MANY, _HUGE = 100, 1_000, 10_000
# So many tasks are executed in a turn.
_TAKEN = 100
_MOST_ROUNDS = 3
_LEAVES_LINE = 'echo more >"$BLACKBIRD_TASK_ID.txt"'
_STAMPS_AND_LEAVES_LINE = f"date +%s%N >>.git/stamps; {_LEAVES_LINE}"
_LEAVES_MEGABYTES = 'head -c 2000000 /dev/urandom >"$BLACKBIRD_TASK_ID.bin"'
_REFERENCE = b"0" * 40 + b"\n"
_places = count()

Column = Sequence[Sample]
# Does so many tasks in a repository.
Work = Callable[[Path, int], Sample]


@dataclass(frozen=True)
class Side:
    """A hundred tasks in each round, and the same parts bare, as many files in the worktree."""

    ours: Column
    bare: Column

    def __add__(self, other: "Side") -> "Side":
        return Side(_sums(self.ours, other.ours), _sums(self.bare, other.bare))


def _sums(one: Column, other: Column) -> Column:
    return [left + right for left, right in zip(one, other, strict=True)]


@dataclass(frozen=True)
class Measured:
    """A plan of a hundred tasks, and the first and the last hundred of a larger one, in the same rounds."""

    small: Side
    first: Side
    last: Side


def per_task(bench: Bench) -> Iterator[Row]:
    """Row 9: against the parts that cannot be left out, done bare in the same rounds."""
    for tasks in _sizes(bench):
        measured = _measured(bench, tasks)
        if tasks == _MANY:
            yield _against_bare(bench, f"{_FEW} tasks", measured.small, 1)
        yield _against_bare(bench, f"{tasks} tasks", measured.first + measured.last, 2)
    say(f"executing {_FEW} tasks that leave 2 MB each")
    (large,) = _take(bench, [_prepared(bench, _FEW, 0, _LEAVES_MEGABYTES)])
    yield _against_bare(bench, f"{_FEW} tasks of 2 MB", large, 1)


def growth(bench: Bench) -> Iterator[Row]:
    """Row 10: the last hundred against the first in one call, and a large plan against a small one."""
    for tasks in _sizes(bench):
        measured = _measured(bench, tasks)
        yield from _in_one_call(bench, tasks)
        whole, small = measured.first + measured.last, measured.small
        what = f"a run of {tasks} tasks / of {_FEW}"
        yield _row(bench, "10", what, 1.3, (whole.ours, (small + small).ours, 2))


def _in_one_call(bench: Bench, tasks: int) -> Iterator[Row]:
    """Compare the ends of one call whose tasks leave a file each, by when their agents start.

    The bare parts, which nothing limits, are taken in the same rounds: they become slower, too.
    """
    say(f"executing {tasks} tasks in one call, and their parts")
    # Agents say by the clock on the wall when they start.
    ruler = Ruler(_ruler(bench).rounds, by_cpu=False)
    source = _prepared(bench, tasks, 0, _STAMPS_AND_LEAVES_LINE)
    sides = {
        f"a run, the last hundred of {tasks} in one call / the first": (_work(bench), 1.3),
        f"its parts bare, the last hundred of {tasks} / the first": (_bare_work(bench, source), None),
    }
    rounds = [
        [_ends_of_call(bench, source, work, tasks) for work, _ in sides.values()] for _ in range(ruler.rounds)
    ]
    for (what, (_, limit)), ends in zip(sides.items(), zip(*rounds, strict=True), strict=True):
        first, last = zip(*ends, strict=True)
        yield _row(bench, "10", what, limit, (last, first, 1), ruler)


def _ends_of_call(bench: Bench, source: Path, work: Work, tasks: int) -> tuple[Sample, Sample]:
    """Return the time of the first hundred tasks of a call, and of the last."""
    copy = _copy_of(bench, source)
    work(copy, tasks)
    stamps = [int(stamp) / 1e6 for stamp in (copy / ".git" / "stamps").read_text().split()]
    first, last = (Sample(stamps[begin + _TAKEN] - stamps[begin], 0) for begin in (0, tasks - 1 - _TAKEN))
    return first, last


def _sizes(bench: Bench) -> tuple[int, ...]:
    return (_MANY, _HUGE) if bench.huge else (_MANY,)


def _ruler(bench: Bench) -> Ruler:
    return Ruler(min(bench.ruler.rounds, _MOST_ROUNDS), bench.ruler.by_cpu)


def _against_bare(bench: Bench, what: str, side: Side, hundreds: int) -> Row:
    remark = (
        "bare: the agent's process; 2 times git add -A and git write-tree; 2 records, 2 plans fsynced; "
        "2 copies of the record, 1 plan, 1 configuration and 2 references, not fsynced"
    )
    what = f"a run that leaves a file, {what} / its parts bare"
    row = _row(bench, "9", what, 2.5, (side.ours, side.bare, hundreds))
    return dataclasses.replace(row, remark=remark)


def _row(
    bench: Bench,
    name: str,
    what: str,
    limit: float | None,
    sides: tuple[Column, Column, int],
    ruler: Ruler | None = None,
) -> Row:
    """Make a row of the times of one task, in columns of so many hundreds."""
    (ours, other, hundreds), ruler = sides, ruler or _ruler(bench)
    mine, reference = (ruler.figure(column) / hundreds / _TAKEN for column in (ours, other))
    return Row(name, what, mine, reference, ruler.ratio(ours, other), limit)


@cache
def _measured(bench: Bench, tasks: int) -> Measured:
    say(f"executing {tasks} tasks")
    stages = [(_FEW, 0), (tasks, 0), (tasks, tasks - _TAKEN)]
    return Measured(*_take(bench, [_prepared(bench, size, done, _LEAVES_LINE) for size, done in stages]))


def _take(bench: Bench, repos: Sequence[Path]) -> list[Side]:
    say(f"executing {len(repos)} times {_TAKEN} tasks and their parts, in {_ruler(bench).rounds} rounds")
    works = [(repo, work) for repo in repos for work in (_work(bench), _bare_work(bench, repo))]
    turns = [_in_copy(bench, repo, work) for repo, work in works]
    columns = take_rounds(turns, _ruler(bench).rounds)
    return [Side(ours, bare) for ours, bare in zip(columns[::2], columns[1::2], strict=True)]


def _prepared(bench: Bench, tasks: int, done: int, command: str) -> Path:
    """Make a repository with a plan of so many tasks and one more, and execute some of them."""
    repo = bench.make_repository(f"row-9-{next(_places)}", _FILES)
    save_plan(repo, build_tasks(range(tasks + 1)))
    choose_agent(bench, repo, "command", command__run=command)
    if done:
        execute(bench, repo, done)
    return repo


def _in_copy(bench: Bench, source: Path, work: Work) -> Turn:
    """Work in a copy: on one task first, which meets new files, and then on a hundred, which count."""

    def turn() -> Sample:
        copy = _copy_of(bench, source)
        work(copy, 1)
        return work(copy, _TAKEN)

    return turn


def _copy_of(bench: Bench, source: Path) -> Path:
    """Copy a repository; all copies stay to the end, as removing some slows what follows on some disks."""
    copy = source.with_name(f"{source.name}-copy-{next(_places)}")
    bench.run("cp", "-a", str(source), str(copy), cwd=bench.place)
    return copy


def _work(bench: Bench) -> Work:
    return partial(execute, bench)


def _bare_work(bench: Bench, source: Path) -> Work:
    """Do what cannot be left out; the agent is started as in the other side."""
    command = bench.git(source, "config", "blackbird.command.run").strip()
    sample = _sample(bench, command)

    def work(copy: Path, tasks: int) -> Sample:
        def some() -> None:
            for _ in range(tasks):
                _do_bare(bench, copy, command, sample)

        return run_call(some)

    return work


@dataclass(frozen=True)
class Written:
    """What a run of such a task writes: its record, and the configuration that is kept while it works."""

    record: bytes
    configuration: bytes


@cache
def _sample(bench: Bench, command: str) -> Written:
    """Return what one run wrote: those of the others are as large."""
    repo = _prepared(bench, 1, 1, f"cp .git/blackbird/config-known.json .git/sample; {command}")
    (record,) = (repo / ".blackbird" / "runs").glob("*/*.json")
    return Written(record.read_bytes(), (repo / ".git" / "sample").read_bytes())


def _do_bare(bench: Bench, repo: Path, command: str, sample: Written) -> None:
    private = repo / ".git" / "bare"
    if not private.exists():
        private.mkdir()
        shutil.copy2(repo / ".git" / "index", private / "index")
    number = next(_places)
    environ = {**bench.environ, "GIT_INDEX_FILE": str(private / "index")}
    plan = (repo / PLAN).read_bytes()
    for turn in range(2):
        for arguments in (("add", "-A"), ("write-tree",)):
            run_process(("git", *arguments), environ, repo)
        replace(private / "tmp", private / f"{number}.ref", _REFERENCE)
        save(private / "tmp", private / f"{number}.json", sample.record)
        replace(private / "tmp", private / f"{number}.copy", sample.record)
        save(private / "tmp", private / "plan.json", plan)
        if turn == 0:
            # What is kept of the plan and of the configuration while an agent works.
            replace(private / "tmp", private / "known.plan", plan)
            replace(private / "tmp", private / "known.configuration", sample.configuration)
            named = {**bench.environ, "BLACKBIRD_TASK_ID": f"bare{number}"}
            run_process(("/bin/sh", "-c", command), named, repo)


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
