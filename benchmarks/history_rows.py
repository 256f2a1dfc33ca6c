"""Row 20: what a long history costs: 10,000 records over 1,000 tasks."""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Ruler, Sample, in_turns, row_of
from benchmarks.plan_rows import RUNS_OF_TASK
from benchmarks.plans import build_tasks, choose_agent, execute, save_plan, save_records
from benchmarks.startup_rows import starting
from git_blackbird.model.plan.status import Status

_TASKS = 1000
_FEW = 100
_FURTHER = 5
_MOST_ROUNDS = 3
_STATUS_MS = 300.0
_STATUS_MEGABYTES = 90.0
_FIRST_START_MS = 1500.0
_FURTHER_RATIO = 2.0
# In a small process of its own: the figure counts what the process took that starts the program.
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def long_history(bench: Bench) -> Iterator[Row]:
    """Row 20: ``status`` over ``list``, and the first and the further tasks of ``execute``."""
    say("writing 10,000 records")
    large, small = _make(bench, "row-20-large", _TASKS), _make(bench, "row-20-small", 0)
    ruler = bench.ruler
    sides = [starting(bench, large, bench.program, command) for command in ("status", "list")]
    status, listed = in_turns(sides, ruler.rounds)
    more, less = ruler.figure(status), ruler.figure(listed)
    remark = f"{more:.0f} ms against {less:.0f} ms"
    what = "status with 10,000 records, beyond list"
    yield Row("20", what, more - less, most=_STATUS_MS, remark=remark)
    peak = bench.run(sys.executable, "-c", _PEAK, bench.program, "status", cwd=large)
    megabytes = int(peak.split()[-1]) / 1024
    yield Row("20", "status with 10,000 records: memory", megabytes, unit="MB", most=_STATUS_MEGABYTES)
    yield from _executing(bench, large, small)


def _executing(bench: Bench, large: Path, small: Path) -> Iterator[Row]:
    say("executing tasks over 10,000 records")
    # Agents say by the clock on the wall when they start.
    ruler = Ruler(min(bench.ruler.rounds, _MOST_ROUNDS), by_cpu=False)
    firsts: dict[Path, list[Sample]] = {large: [], small: []}
    further: dict[Path, list[Sample]] = {large: [], small: []}
    for _ in range(ruler.rounds):
        for repo in (large, small):
            first, *later = _starts(bench, repo)
            firsts[repo].append(Sample(first, 0))
            further[repo].append(Sample((later[-1] - first) / _FURTHER, 0))
    what = "execute over 10,000 records, until the agent starts / 100 tasks"
    yield replace(row_of(ruler, "20", what, None, *firsts.values()), most=_FIRST_START_MS)
    what = "each further task over 10,000 records / 100 tasks"
    yield row_of(ruler, "20", what, _FURTHER_RATIO, *further.values())


def _starts(bench: Bench, repo: Path) -> list[float]:
    """Execute a few tasks; gives the milliseconds from the start of the command to that of each agent."""
    stamps = repo / ".git" / "stamps"
    stamps.unlink(missing_ok=True)
    began = time.time_ns()
    execute(bench, repo, 1 + _FURTHER)
    return [(int(stamp) - began) / 1e6 for stamp in stamps.read_text().split()]


def _make(bench: Bench, name: str, done: int) -> Path:
    """Make a repository of so many tasks that are done, of ten runs each, and a hundred to be done."""
    repo = bench.make_repository(name, 50)
    save_records(repo, done, RUNS_OF_TASK)
    finished = build_tasks(range(done), Status.DONE)
    save_plan(repo, (*finished, *build_tasks(range(done, done + _FEW))))
    choose_agent(bench, repo, "command", command__run="date +%s%N >>.git/stamps")
    return repo
