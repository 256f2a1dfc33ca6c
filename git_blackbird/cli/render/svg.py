"""Pictures as SVG inside of a page: escaped text, and the shapes that they are made of."""

import html
from collections.abc import Iterable

from git_blackbird.messages.document import line, truncate
from git_blackbird.model.plan.graph import Labels
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status

STATUS_CLASSES = {
    Status.DONE: "done",
    Status.IN_PROGRESS: "run",
    Status.QUEUED: "run",
    Status.WAITING_USER: "wait",
    Status.FAILED: "fail",
    Status.BLOCKED: "todo",
    Status.TODO: "todo",
    Status.SKIPPED: "skip",
}
"""The class of each status, which its colour hangs on."""
STATUS_COLORS = {
    "done": ("#1a7f37", "#3fb950"),
    "run": ("#0969da", "#58a6ff"),
    "wait": ("#9a6700", "#d29922"),
    "fail": ("#cf222e", "#f85149"),
    "todo": ("#818b98", "#757d88"),
}
"""The colours of the classes, on light and on dark ground."""
_LIGHT, _DARK = (
    " ".join(f"--{name}: {colors[place]};" for name, colors in STATUS_COLORS.items()) for place in (0, 1)
)
PICTURE_STYLE = f"""
:root {{ color-scheme: light dark; --bg: #ffffff; --fg: #1f2328; --dim: #59636e; --line: #d1d9e0;
  --card: #f6f8fa; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ --bg: #0d1117; --fg: #e6edf3; --dim: #9198a1;
  --line: #3d444d; --card: #161b22; {_DARK} }} }}
svg {{ display: block; font: 12px system-ui, sans-serif; }} svg text {{ fill: var(--fg); }}
svg .small {{ fill: var(--dim); font-size: 11px; }} svg .name {{ font-weight: 600; }}
svg .sign {{ font-weight: 700; }}
svg .edge, svg .axis, svg .row, svg .pause {{ fill: none; stroke: var(--todo); stroke-width: 1.2; }}
svg .edge {{ opacity: .75; }} svg .row {{ stroke: var(--line); }} svg .pause {{ stroke-dasharray: 3 3; }}
svg .node {{ fill: var(--card); stroke: var(--line); }} svg .node.parent {{ stroke-dasharray: 4 2; }}
svg .node.wait {{ stroke: var(--wait); }} svg .node.fail {{ stroke: var(--fail); }}
svg .node.run {{ stroke: var(--run); }} svg .node.skip {{ opacity: .6; }}
svg .bar.done, svg text.done {{ fill: var(--done); }} svg .bar.run, svg text.run {{ fill: var(--run); }}
svg .bar.wait, svg text.wait {{ fill: var(--wait); }} svg .bar.fail, svg text.fail {{ fill: var(--fail); }}
svg .bar.todo, svg .bar.skip, svg text.skip {{ fill: var(--todo); }} svg .bar.review {{ opacity: .45; }}
"""
"""The styles of pictures, with the colours that their pages use too."""


def task_class(task: Task, labels: Labels) -> str:
    """Return the class of a task; what its records say differently of it is still to be done."""
    return "todo" if task.id in labels else STATUS_CLASSES[task.status]


def escape(text: str) -> str:
    """Return text of anyone's on one line, as text or as the value of an attribute."""
    return html.escape(line(text).text)


def fitted(text: str, columns: int) -> str:
    """Return the beginning of a text that fits into so many columns."""
    return html.escape(truncate(line(text).text, columns))


def label(x: float, y: float, text: str, kind: str = "") -> str:
    """Write escaped text at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{text}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    """Draw a rectangle; ``tip`` is escaped text, shown under the mouse."""
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" class="{kind}"'
    return f"{shape}><title>{tip}</title></rect>" if tip else f"{shape}/>"


def picture(width: float, height: float, name: str, parts: Iterable[str]) -> str:
    """Put shapes into a picture of its own size, for a page that has the styles."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    start = f'<svg {size} role="img" aria-label="{html.escape(name)}">'
    return "\n".join([start, *parts, "</svg>"])


def scrolling(drawn: str) -> str:
    """Put a picture into a page, where it scrolls if the window is narrower."""
    return f'<div class="picture">{drawn}</div>'


def standalone(drawn: str) -> str:
    """Return a picture that is a file of its own, with its styles."""
    first, rest = drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).split("\n", 1)
    ground = '<rect width="100%" height="100%" style="fill: var(--bg)"/>'
    return f"{first}\n<style>{PICTURE_STYLE}</style>\n{ground}\n{rest}\n"
