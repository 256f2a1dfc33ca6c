"""Rows 22 and 23: what workers of a cluster are worth, and what a run on one costs."""

from collections.abc import Iterator
from itertools import count

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Ruler, take_rounds
from benchmarks.plans import build_tasks, choose_agent, execute, save_plan

_FILES = 50
_WORKERS = 3
_WAITING_TASKS = 9
_WAITING_SECONDS = 20
_QUICK_TASKS = 24
_LEAVES_LINE = 'cat >/dev/null; sleep %d; echo more >"$BLACKBIRD_TASK_ID.txt"'
_places = count()


def speed_up(bench: Bench) -> Iterator[Row]:
    """Row 22: agents that wait, on three workers, against one after the other; the workers start with it."""
    say(f"{_WAITING_TASKS} agents that wait {_WAITING_SECONDS} seconds, on {_WORKERS} workers and one by one")
    what = f"{_WAITING_TASKS} tasks on {_WORKERS} workers / one by one"
    yield _compared(bench, "22", what, {}, (_WAITING_TASKS, _WAITING_SECONDS), 1 / 2.7)


def per_run(bench: Bench) -> Iterator[Row]:
    """Row 23: a task on one of three workers, the start of these included, against three jobs here."""
    say(f"{_QUICK_TASKS} agents that do nothing, on {_WORKERS} workers and with {_WORKERS} jobs")
    what = f"a task of {_QUICK_TASKS} on {_WORKERS} workers / with --jobs {_WORKERS}"
    yield _compared(bench, "23", what, {"execution.jobs": str(_WORKERS)}, (_QUICK_TASKS, 0), None)


def _compared(
    bench: Bench, name: str, what: str, settings: dict[str, str], work: tuple[int, int], limit: float | None
) -> Row:
    """Execute tasks on workers, and with other settings; ``work`` is their number and how long each waits."""
    tasks, seconds = work
    repos = []
    for chosen in ({"cluster.address": f"local:{_WORKERS}"}, settings):
        repo = bench.make_repository(f"row-22-{next(_places)}", _FILES)
        save_plan(repo, build_tasks(range(tasks)))
        choose_agent(bench, repo, "command", command__run=_LEAVES_LINE % seconds)
        for key, value in chosen.items():
            bench.git(repo, "config", f"blackbird.{key}", value)
        repos.append(repo)
    there, here = repos
    ruler = Ruler(1, by_cpu=False)
    ours, reference = take_rounds(
        [lambda: execute(bench, there, tasks), lambda: execute(bench, here, tasks)], ruler.rounds
    )
    mine, other = (ruler.figure(column) / tasks for column in (ours, reference))
    return Row(name, what, mine, other, ruler.ratio(ours, reference), limit)
