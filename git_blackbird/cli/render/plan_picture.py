"""The plan as a picture: layers of tasks, from left to right what unblocks what."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from git_blackbird.cli.render.svg import box, escape, fitted, label, picture, task_class
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import NO_LABELS, Labels, state_label
from git_blackbird.model.plan.layers import Edge, LayeredGraph
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status

MOST_TASKS = 200
_ROWS = 14
_WIDTH, _HEIGHT = 190.0, 52.0
_ACROSS, _DOWN = 56.0, 12.0
# Between the columns of one layer.
_NARROW = 14.0
_MARGIN = 8.0
_COLUMNS = 27
_SIGNS = {
    Status.DONE: "\N{CHECK MARK}",
    Status.IN_PROGRESS: "\N{BLACK RIGHT-POINTING TRIANGLE}",
    Status.QUEUED: "\N{BLACK RIGHT-POINTING TRIANGLE}",
    Status.WAITING_USER: "?",
    Status.FAILED: "\N{MULTIPLICATION SIGN}",
    Status.SKIPPED: "\N{EN DASH}",
}


class _Point(NamedTuple):
    x: float
    y: float


def draw_plan(plan: Plan, graph: LayeredGraph, labels: Labels = NO_LABELS) -> str:
    """Draw the graph of a plan, and say what is left out."""
    places = _places(graph)
    width = max((place.x + _WIDTH for place in places.values()), default=0.0) + _MARGIN
    height = max((place.y + _HEIGHT for place in places.values()), default=0.0) + _MARGIN
    parts = [
        *(_edge(edge, places) for edge in graph.edges),
        *(
            part
            for task_id, place in places.items()
            for part in _node(plan, plan.tasks[task_id], place, labels)
        ),
    ]
    return picture(width, height, "The plan: what unblocks what", parts)


def remark_on(graph: LayeredGraph) -> str:
    """Say what the picture leaves out."""
    said = "From left to right, each task after what it needs; a line that others imply is left out."
    if graph.left_out:
        shown = sum(map(len, graph.layers))
        said += (
            f" {counted(shown, 'task')} of {shown + graph.left_out}: those of this report, then open ones."
        )
    return said


def _places(graph: LayeredGraph) -> Mapping[TaskId, _Point]:
    """Give each task a place; a long layer takes several columns."""
    places: dict[TaskId, _Point] = {}
    x = _MARGIN
    for layer in graph.layers:
        columns = -(-len(layer) // _ROWS)
        rows = -(-len(layer) // columns)
        for number, task_id in enumerate(layer):
            column, row = divmod(number, rows)
            left = x + column * (_WIDTH + _NARROW)
            places[task_id] = _Point(left, _MARGIN + row * (_HEIGHT + _DOWN))
        x += columns * (_WIDTH + _NARROW) - _NARROW + _ACROSS
    return places


def _edge(edge: Edge, places: Mapping[TaskId, _Point]) -> str:
    """Draw an edge; where columns lie between its ends it passes them between two rows."""
    start, end = places[edge.first], places[edge.then]
    x, y, to = start.x + _WIDTH, start.y + _HEIGHT / 2, end.y + _HEIGHT / 2
    between = sorted({place.x for place in places.values() if start.x < place.x < end.x})
    path = f"M{x:.1f} {y:.1f}"
    if between:
        row = round(((y + to) / 2 - _MARGIN) / (_HEIGHT + _DOWN))
        gap = _Point(between[0], _MARGIN + row * (_HEIGHT + _DOWN) - _DOWN / 2)
        path += f"{_curve(_Point(x, y), gap)}H{between[-1] + _WIDTH:.1f}"
        x, y = between[-1] + _WIDTH, gap.y
    return f'<path d="{path}{_curve(_Point(x, y), _Point(end.x, to))}" class="edge"/>'


def _curve(start: _Point, end: _Point) -> str:
    middle = (start.x + end.x) / 2
    return f"C{middle:.1f} {start.y:.1f} {middle:.1f} {end.y:.1f} {end.x:.1f} {end.y:.1f}"


def _node(plan: Plan, task: Task, place: _Point, labels: Labels) -> Iterator[str]:
    kind, word = task_class(task, labels), state_label(plan, task, labels)
    tip = f"{escape(task.id)} ({word}): {escape(task.title)}"
    yield f"<g><title>{tip}</title>"
    yield box(place.x, place.y, _WIDTH, _HEIGHT, f"node {kind}" + ("" if task.is_leaf else " parent"))
    yield box(place.x, place.y, 5, _HEIGHT, f"bar {kind}")
    yield label(place.x + 12, place.y + 16, fitted(task.id, _COLUMNS - 3), "name")
    yield label(place.x + 12, place.y + 31, fitted(task.title, _COLUMNS), "small")
    yield label(place.x + 12, place.y + 45, word, f"small {kind}")
    if task.id not in labels and (sign := _SIGNS.get(task.status)):
        yield label(place.x + _WIDTH - 16, place.y + 16, sign, f"sign {kind}")
    yield "</g>"
