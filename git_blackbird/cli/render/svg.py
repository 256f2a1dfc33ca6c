"""Pictures as SVG inside of a page: escaped text, and the shapes that they are made of."""

import html
from collections.abc import Iterable

from git_blackbird.cli.render.tables import truncate
from git_blackbird.model.base.sanitize import clean_line
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


def escape(text: str, limit: int = 400) -> str:
    """Return text of anyone's on one line, as text or as the value of an attribute."""
    return html.escape(clean_line(text, limit))


def fitted(text: str, columns: int) -> str:
    """Return the beginning of a text that fits into so many columns."""
    return html.escape(truncate(clean_line(text), columns))


def label(x: float, y: float, text: str, kind: str = "") -> str:
    """Write escaped text at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{text}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    """Draw a rectangle; ``tip`` is escaped text, shown under the mouse."""
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" class="{kind}"'
    return f"{shape}><title>{tip}</title></rect>" if tip else f"{shape}/>"


def picture(width: float, height: float, name: str, parts: Iterable[str]) -> str:
    """Put shapes into a picture of its own size, which scrolls where the window is narrower."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    start = f'<div class="picture"><svg {size} role="img" aria-label="{html.escape(name)}">'
    return "\n".join([start, *parts, "</svg></div>"])
