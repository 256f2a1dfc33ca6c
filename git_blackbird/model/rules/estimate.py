"""What is left of a plan, in time and money, going by what tasks have taken so far."""

import heapq
import math
import random
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Annotated, NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.graph import find_deadlock, subtree_leaves
from git_blackbird.model.plan.plan import Plan, Task

_DRAWS = 200
# Fewer say nothing of a range.
_LEAST_SAMPLES = 5
_SEED = 0

Before = Mapping[TaskId, Sequence[TaskId]]
"""Which of the tasks that are left each waits for."""


class Sample(NamedTuple):
    """What one task took until it was done, its reviews included; None where no cost is known."""

    agent: str
    runs: int
    seconds: float
    cost_usd: float | None


class Spread(NamedTuple):
    """A quantity that is estimated."""

    median: Annotated[float, Shown("Half of the times it is no more than this.")]
    p90: Annotated[
        float | None, Shown("9 of 10 times it is no more than this; null where too few were done to say.")
    ]


class Estimate(NamedTuple):
    """What tasks that are left will take, going by ``samples``; the spreads are None where nothing is known.

    ``seconds`` and ``cost_usd`` are of all of them, the time with ``jobs`` of them at once. ``chain`` is the
    longest of tasks that wait for one another, ``chain_seconds`` what it takes however many jobs there are.
    """

    samples: tuple[Sample, ...]
    tasks: tuple[TaskId, ...]
    jobs: int
    task_seconds: Spread | None = None
    task_cost_usd: Spread | None = None
    seconds: Spread | None = None
    cost_usd: Spread | None = None
    chain: tuple[TaskId, ...] = ()
    chain_seconds: Spread | None = None

    @property
    def runs(self) -> int:
        return sum(sample.runs for sample in self.samples)


def estimate(plan: Plan, left: Sequence[Task], samples: Sequence[Sample], agent: str, jobs: int) -> Estimate:
    """Estimate leaves of a plan that are ``left``; those without an agent of their own are ``agent``'s.

    Each is taken to be like one of the tasks that its own agent has done, or any agent where that has done
    none; all of it is drawn many times, always the same ones.
    """
    agents = {task.id: task.agent or agent for task in left}
    if not samples or not left:
        return Estimate(tuple(samples), tuple(agents), jobs)
    before = _before(plan, list(agents))
    by_agent = {name: [one for one in samples if one.agent == name] for name in agents.values()}
    pools = {task_id: by_agent[name] or samples for task_id, name in agents.items()}
    dice = random.Random(_SEED)  # noqa: S311  # not a secret: the same plan has the same estimate
    draws = [{task_id: dice.choice(pool) for task_id, pool in pools.items()} for _ in range(_DRAWS)]
    times = [{task_id: sample.seconds for task_id, sample in draw.items()} for draw in draws]
    middle = {
        task_id: _spread((sample.seconds for sample in pool), is_ranged=False).median
        for task_id, pool in pools.items()
    }
    chain = _longest(before, middle)
    every = [sample for pool in pools.values() for sample in pool]
    is_ranged = min(map(len, pools.values())) >= _LEAST_SAMPLES
    return Estimate(
        tuple(samples),
        tuple(agents),
        jobs,
        _spread((sample.seconds for sample in every), is_ranged=is_ranged),
        _costs(([sample.cost_usd] for sample in every), is_ranged=is_ranged),
        _spread((_makespan(before, one, jobs) for one in times), is_ranged=is_ranged),
        _costs(([sample.cost_usd for sample in draw.values()] for draw in draws), is_ranged=is_ranged),
        chain,
        _spread((sum(one[task_id] for task_id in chain) for one in times), is_ranged=is_ranged),
    )


def _before(plan: Plan, left: Sequence[TaskId]) -> dict[TaskId, tuple[TaskId, ...]]:
    """Return which of the tasks that are left each waits for; none where some would wait for ever."""
    if find_deadlock(plan) is not None:
        return dict.fromkeys(left, ())
    open_tasks = frozenset(left)
    return {
        task_id: tuple(
            {
                leaf.id: None
                for dep in plan.tasks[task_id].deps
                for leaf in subtree_leaves(plan, plan.tasks[dep])
                if leaf.id in open_tasks
            }
        )
        for task_id in left
    }


def _longest(before: Before, seconds: Mapping[TaskId, float]) -> tuple[TaskId, ...]:
    ends: dict[TaskId, tuple[float, TaskId | None]] = {}
    for task_id in TopologicalSorter(before).static_order():
        latest = max(before[task_id], key=lambda other: ends[other][0], default=None)
        ends[task_id] = seconds[task_id] + (0.0 if latest is None else ends[latest][0]), latest
    last: TaskId | None = max(ends, key=lambda task_id: ends[task_id][0])
    chain: list[TaskId] = []
    while last is not None:
        chain.append(last)
        last = ends[last][1]
    return tuple(reversed(chain))


def _makespan(before: Before, seconds: Mapping[TaskId, float], jobs: int) -> float:
    """Return when the last task ends if the first that is ready is started whenever a job is free."""
    order = list(before)
    unmet = {task_id: len(others) for task_id, others in before.items()}
    after: dict[TaskId, list[int]] = {task_id: [] for task_id in order}
    for place, others in enumerate(before.values()):
        for other in others:
            after[other].append(place)
    ready = [place for place, task_id in enumerate(order) if not unmet[task_id]]
    running: list[tuple[float, TaskId]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < jobs:
            task_id = order[heapq.heappop(ready)]
            heapq.heappush(running, (now + seconds[task_id], task_id))
        now, ended = heapq.heappop(running)
        for place in after[ended]:
            unmet[order[place]] -= 1
            if not unmet[order[place]]:
                heapq.heappush(ready, place)
    return now


def _spread(values: Iterable[float], *, is_ranged: bool) -> Spread:
    """Return the nearest values in a sequence, which must not be empty."""
    ordered = sorted(values)
    median, p90 = (ordered[math.ceil(part * len(ordered)) - 1] for part in (0.5, 0.9))
    return Spread(median, p90 if is_ranged else None)


def _costs(parts: Iterable[Sequence[float | None]], *, is_ranged: bool) -> Spread | None:
    """Return the spread of sums; None where a part of one is not known."""
    sums: list[float] = []
    for part in parts:
        known = [one for one in part if one is not None]
        if len(known) < len(part):
            return None
        sums.append(sum(known))
    return _spread(sums, is_ranged=is_ranged)
