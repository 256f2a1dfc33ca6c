"""The dependencies of a plan as layers, for a picture of it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task

_SWEEPS = 4

Before = Mapping[TaskId, tuple[TaskId, ...]]
"""What comes before each task: its dependencies, and its children."""


class Edge(NamedTuple):
    first: TaskId
    then: TaskId


class LayeredGraph(NamedTuple):
    """Tasks in layers, each after all that it needs, and the edges that no others imply.

    ``left_out`` counts the tasks that are not shown.
    """

    layers: tuple[tuple[TaskId, ...], ...]
    edges: tuple[Edge, ...]
    left_out: int


def layered_graph(plan: Plan, first: Iterable[TaskId], most: int) -> LayeredGraph:
    """Arrange leaves, and the parents that others depend on, by their dependencies.

    Of a larger plan ``most`` tasks are shown: those named ``first``, then those that are not over.
    """
    nodes = _nodes(plan)
    shown = _choose(plan, nodes, first, most)
    before = {task_id: _before(plan, task_id, shown) for task_id in shown}
    order = _in_order(before)
    direct = _without_implied(order, before)
    layers = _layers(order, direct)
    edges = tuple(Edge(one, task_id) for task_id in order for one in direct[task_id])
    return LayeredGraph(_arranged(layers, edges), edges, len(nodes) - len(shown))


def _nodes(plan: Plan) -> dict[TaskId, Task]:
    needed = {dep for task in plan.tasks.values() for dep in task.deps}
    return {task.id: task for _, task in plan.walk() if task.is_leaf or task.deps or task.id in needed}


def _choose(
    plan: Plan, nodes: Mapping[TaskId, Task], first: Iterable[TaskId], most: int
) -> dict[TaskId, None]:
    if len(nodes) <= most:
        return dict.fromkeys(nodes)
    wanted = (task_id for task_id in first if task_id in nodes)
    undone = (task_id for task_id in nodes if not plan.tasks[task_id].is_over)
    chosen = frozenset(islice(dict.fromkeys((*wanted, *undone, *nodes)), most))
    return {task_id: None for task_id in nodes if task_id in chosen}


def _before(plan: Plan, task_id: TaskId, shown: Collection[TaskId]) -> tuple[TaskId, ...]:
    task = plan.tasks[task_id]
    return tuple(one for one in dict.fromkeys((*task.deps, *task.children)) if one in shown)


def _in_order(before: Before) -> tuple[TaskId, ...]:
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:
        # No plan with one is ever read; a picture of it would still be no reason to fail.
        return tuple(before)


def _without_implied(order: Sequence[TaskId], before: Before) -> Before:
    above: dict[TaskId, frozenset[TaskId]] = {}
    direct = {}
    for task_id in order:
        implied = frozenset[TaskId]().union(*(above.get(one, frozenset()) for one in before[task_id]))
        direct[task_id] = tuple(one for one in before[task_id] if one not in implied)
        above[task_id] = implied | frozenset(before[task_id])
    return direct


def _layers(order: Sequence[TaskId], before: Before) -> list[list[TaskId]]:
    depth: dict[TaskId, int] = {}
    layers: list[list[TaskId]] = []
    for task_id in order:
        depth[task_id] = max((depth.get(one, -1) + 1 for one in before[task_id]), default=0)
        while len(layers) <= depth[task_id]:
            layers.append([])
        layers[depth[task_id]].append(task_id)
    return layers


def _arranged(layers: list[list[TaskId]], edges: Sequence[Edge]) -> tuple[tuple[TaskId, ...], ...]:
    """Bring tasks near to those that they are tied to, so that few edges cross."""
    tied: dict[TaskId, list[TaskId]] = {task_id: [] for layer in layers for task_id in layer}
    for first, then in edges:
        tied[first].append(then)
        tied[then].append(first)
    for sweep in range(_SWEEPS):
        place = {task_id: spot for layer in layers for task_id, spot in _spots(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            layer.sort(key=lambda task_id: _middle(task_id, tied[task_id], place))
            place.update(_spots(layer))
    return tuple(map(tuple, layers))


def _spots(layer: Sequence[TaskId]) -> Iterator[tuple[TaskId, float]]:
    """Place a layer from 0 to 1, so that short layers are compared with long ones."""
    return ((task_id, (number + 0.5) / len(layer)) for number, task_id in enumerate(layer))


def _middle(task_id: TaskId, tied: Sequence[TaskId], place: Mapping[TaskId, float]) -> float:
    # What is tied to nothing goes below the rest.
    return sum(place[one] for one in tied) / len(tied) if tied else 1 + place[task_id]
