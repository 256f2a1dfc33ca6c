"""The plan as a picture in forms of other programs: Mermaid, DOT, and SVG as a file."""

from collections.abc import Iterator

from git_blackbird.cli.render.plan_picture import draw_plan
from git_blackbird.cli.render.svg import STATUS_CLASSES, STATUS_COLORS, standalone, task_class
from git_blackbird.messages.document import line
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import Labels, state_label
from git_blackbird.model.plan.layers import LayeredGraph, layered_graph
from git_blackbird.model.plan.plan import Plan


def render_graph(plan: Plan, form: str, labels: Labels) -> str:
    """Write every task, and the edges that no others imply, as ``mermaid``, ``dot`` or ``svg``."""
    graph = layered_graph(plan, (), len(plan.tasks))
    if form == "svg":
        return standalone(draw_plan(plan, graph, labels))
    lines = _mermaid(plan, graph, labels) if form == "mermaid" else _dot(plan, graph, labels)
    return "".join(f"{line}\n" for line in lines)


def _names(graph: LayeredGraph) -> dict[TaskId, str]:
    """Return a name for each task: ids may be keywords of the format, or have any character."""
    tasks = (task_id for layer in graph.layers for task_id in layer)
    return {task_id: f"t{number}" for number, task_id in enumerate(tasks, start=1)}


def _mermaid(plan: Plan, graph: LayeredGraph, labels: Labels) -> Iterator[str]:
    names = _names(graph)
    yield "flowchart LR"
    for task_id, name in names.items():
        task = plan.tasks[task_id]
        said = "<br>".join(map(_mermaid_text, (task_id, task.title, state_label(plan, task, labels))))
        yield f'  {name}["{said}"]:::{task_class(task, labels)}'
    yield from (f"  {names[first]} --> {names[then]}" for first, then in graph.edges)
    for kind in sorted(set(STATUS_CLASSES.values())):
        color, _ = STATUS_COLORS.get(kind, STATUS_COLORS["todo"])
        yield f"  classDef {kind} stroke:{color},stroke-width:2px"


def _mermaid_text(text: str) -> str:
    """Return a text in which each character that Mermaid or Markdown could act on is its number."""
    return "".join(
        char if char.isalnum() or char in " -.,:/" else f"#{ord(char)};" for char in line(text).text
    )


def _dot(plan: Plan, graph: LayeredGraph, labels: Labels) -> Iterator[str]:
    names = _names(graph)
    yield "digraph plan {"
    yield "  rankdir=LR;"
    yield '  node [shape=box, style=rounded, fontname="sans-serif"];'
    for task_id, name in names.items():
        task = plan.tasks[task_id]
        color, _ = STATUS_COLORS.get(task_class(task, labels), STATUS_COLORS["todo"])
        said = "\\n".join(map(_dot_text, (task_id, task.title, state_label(plan, task, labels))))
        yield f'  {name} [label="{said}", color="{color}"];'
    yield from (f"  {names[first]} -> {names[then]};" for first, then in graph.edges)
    yield "}"


def _dot_text(text: str) -> str:
    return line(text).text.replace("\\", "\\\\").replace('"', '\\"')
