"""The picture of a plan: its edges lead past boxes that they have nothing to do with."""

import re
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.cli.render.plan_picture import draw_plan
from git_blackbird.model.plan.layers import layered_graph
from git_blackbird.model.plan.plan import Plan
from tests.cli.plans import task

Box = tuple[float, float, float, float]
Point = tuple[float, float]
_STEPS = 20


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans whose layers may take several columns, and whose edges may pass several layers."""
    names = [f"t{number:02}" for number in range(draw(st.integers(2, 45)))]
    deps = [draw(st.lists(st.sampled_from(names[:at]), max_size=3)) if at else [] for at in range(len(names))]
    tasks = [task(name, deps=tuple(dict.fromkeys(found))) for name, found in zip(names, deps, strict=True)]
    return Plan({one.id: one for one in tasks})


@settings(max_examples=60, deadline=None)
@given(plans())
def test_no_edge_passes_behind_a_box_that_it_does_not_touch(plan: Plan) -> None:
    graph = layered_graph(plan, [], 200)
    drawn = draw_plan(plan, graph)
    found = re.findall(
        r'<title>(\S+) .*?</title>\n<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', drawn
    )
    boxes: dict[str, Box] = {}
    for name, *sizes in found:
        x, y, width, height = map(float, sizes)
        boxes[name] = (x, y, x + width, y + height)
    paths = re.findall(r'<path d="(\S.*?)" class="edge"', drawn)
    assert (len(boxes), len(paths)) == (len(plan.tasks), len(graph.edges))
    for edge, path in zip(graph.edges, paths, strict=True):
        points = list(points_of(path))
        assert points[0][0] == boxes[edge.first][2]
        assert points[-1][0] == boxes[edge.then][0]
        others = [box for name, box in boxes.items() if name not in edge]
        assert not [box for box in others for point in points if is_within(box, point)]


def is_within(box: Box, point: Point) -> bool:
    return box[0] < point[0] < box[2] and box[1] < point[1] < box[3]


def points_of(path: str) -> Iterator[Point]:
    """Yield points of a path of curves and horizontal lines, as close as they need be."""
    at: Point = (0.0, 0.0)
    for kind, numbers in re.findall(r"([MCH])([^MCH]*)", path):
        values = [float(number) for number in numbers.split()]
        if kind == "M":
            at = (values[0], values[1])
            yield at
            continue
        ends = [at, *zip(values[::2], values[1::2], strict=False)]
        if kind == "H":
            ends = [at, (values[0], at[1])]
        yield from (bezier(ends, step / _STEPS) for step in range(1, _STEPS + 1))
        at = ends[-1]


def bezier(ends: list[Point], share: float) -> Point:
    while len(ends) > 1:
        pairs = pairwise(ends)
        ends = [(x + (to - x) * share, y + (down - y) * share) for (x, y), (to, down) in pairs]
    return ends[0]
