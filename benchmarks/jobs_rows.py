"""Rows 15, 16 and 16b: what a worktree for a task costs, what several jobs are worth, and their waiting."""

import shutil
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Ruler, Sample, in_turns, row_of, run_call, run_process, take_rounds
from benchmarks.plans import build_tasks, choose_agent, execute, save_plan

_FILES = 50
_TAKEN = 20
_MOST_ROUNDS = 5
# A short one: those that people wait for take minutes.
_AGENT_SECONDS = 20
_JOBS = (2, 4, 8)
_LEAVES_LINE = 'echo more >"$BLACKBIRD_TASK_ID.txt"'
_places = count()


def worktrees(bench: Bench) -> Iterator[Row]:
    """Row 15: a task in a worktree of its own, landed, against ``git worktree add`` and the task in place."""
    tasks = _TAKEN * 2 * (_MOST_ROUNDS + 1)
    here, there = (_prepared(bench, tasks, _LEAVES_LINE) for _ in range(2))
    bench.git(there, "config", "blackbird.execution.worktrees", "true")
    say(f"executing {_TAKEN} tasks in worktrees of their own and in place")
    ruler = Ruler(min(bench.ruler.rounds, _MOST_ROUNDS), bench.ruler.by_cpu)
    execute(bench, here, 1)
    execute(bench, there, 1)
    turns = [lambda: execute(bench, there, _TAKEN), lambda: _in_place(bench, here)]
    ours, bare = take_rounds(turns, ruler.rounds)
    mine, reference = (ruler.figure(column) / _TAKEN for column in (ours, bare))
    what = "a task in its worktree, landed / git worktree add and the task in place"
    yield Row("15", what, mine, reference, ruler.ratio(ours, bare), 1.5)


def _in_place(bench: Bench, repo: Path) -> Sample:
    def add() -> None:
        for _ in range(_TAKEN):
            argv = ("git", "worktree", "add", "-q", "--detach", f"../added-{next(_places)}")
            run_process(argv, bench.environ, repo)

    added = run_call(add)
    for folder in repo.parent.glob("added-*"):
        shutil.rmtree(folder)
    bench.git(repo, "worktree", "prune")
    return added + execute(bench, repo, _TAKEN)


def speed_up(bench: Bench) -> Iterator[Row]:
    """Row 16: agents that wait, as many as there are jobs, against one after the other."""
    for jobs in _JOBS[: 1 if bench.quick else None]:
        say(f"{jobs} agents that wait {_AGENT_SECONDS} seconds, at once and one by one")
        together, apart = (
            _prepared(bench, jobs, f"sleep {_AGENT_SECONDS}; {_LEAVES_LINE}") for _ in range(2)
        )
        bench.git(together, "config", "blackbird.execution.jobs", str(jobs))
        ruler = Ruler(1, by_cpu=False)
        ours, reference = take_rounds(
            [lambda: execute(bench, together, jobs), lambda: execute(bench, apart, jobs)],  # noqa: B023  # now
            1,
        )
        what = f"{jobs} tasks on {jobs} jobs / one by one"
        limit = 1 / (0.9 * jobs)
        yield Row(
            "16", what, ruler.figure(ours), ruler.figure(reference), ruler.ratio(ours, reference), limit
        )


def waiting(bench: Bench) -> Iterator[Row]:
    """Row 16b: the processor time of a call whose agents wait, against one whose agents do not."""
    jobs = _JOBS[-1]
    say(f"{jobs} agents at once that wait {_AGENT_SECONDS} seconds, and as many that do not")
    commands = (f"sleep {_AGENT_SECONDS}; {_LEAVES_LINE}", _LEAVES_LINE)
    repos = [_prepared(bench, jobs * (_MOST_ROUNDS + 1), command) for command in commands]
    for repo in repos:
        bench.git(repo, "config", "blackbird.execution.jobs", str(jobs))
    ruler = Ruler(1 if bench.quick else min(bench.ruler.rounds, _MOST_ROUNDS), by_cpu=True)
    ours, reference = in_turns([partial(execute, bench, repo, jobs) for repo in repos], ruler.rounds)
    what = f"{jobs} agents on {jobs} jobs that wait / that do not, processor time"
    yield row_of(ruler, "16b", what, 1.3, ours, reference)


def _prepared(bench: Bench, tasks: int, command: str) -> Path:
    repo = bench.make_repository(f"row-15-{next(_places)}", _FILES)
    save_plan(repo, build_tasks(range(tasks + 1)))
    choose_agent(bench, repo, "command", command__run=command)
    return repo
