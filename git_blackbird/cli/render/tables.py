"""Lists in columns, as a terminal shows them."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import click

from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus

_WIDE = frozenset("WF")
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})
MINIMUM = 8


class Cell(NamedTuple):
    """One field of a table, and how it is styled."""

    text: str
    color: str | None = None
    bold: bool = False
    dim: bool = False

    def styled(self, text: str) -> str:
        """Return ``text`` in this cell's style."""
        if not (self.color or self.bold or self.dim):
            return text
        return click.style(text, fg=self.color, bold=self.bold or None, dim=self.dim or None)


def width_of(text: str) -> int:
    """Return the terminal columns that one line of text takes."""
    if text.isascii():
        return len(text)
    return sum(map(char_width, text))


def char_width(char: str) -> int:
    """Return the terminal columns that one character takes."""
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def truncate(text: str, columns: int | None) -> str:
    """Cut a line to so many columns; what was cut shows as ``...``."""
    if columns is None or width_of(text) <= columns:
        return text
    fitting, used = [], 0
    for char in text:
        used += char_width(char)
        if used > columns - 3:
            break
        fitting.append(char)
    return "".join(fitting) + "..."[: max(columns, 0)]


def render_table(
    fields: Iterable[Sequence[Cell | str]], columns: int | None, flexible: int = -1
) -> list[str]:
    """Align rows of the same length; the flexible column gives way where all do not fit.

    Two spaces lie between columns, one where that makes them fit.
    """
    rows = [[_clean_cell(field) for field in row] for row in fields]
    if not rows:
        return []
    count = len(rows[0])
    flexible %= count
    widths = [max(width_of(row[index].text) for row in rows) for index in range(count)]
    if columns is None:
        return [_render_row(row, widths, "  ") for row in rows]
    least = min(MINIMUM, widths[flexible])
    others = sum(widths) - widths[flexible]
    gap = next((gap for gap in (2, 1) if sum(widths) + gap * (count - 1) <= columns), 2)
    if others + least + gap * (count - 1) > columns:
        gap = 1
    widths[flexible] = max(least, min(widths[flexible], columns - others - gap * (count - 1)))
    return [_render_row(row, widths, " " * gap) for row in rows]


def _clean_cell(field: Cell | str) -> Cell:
    """Return a field without what a terminal acts on: once it is styled, nobody tells its colours apart."""
    if isinstance(field, Cell):
        return field._replace(text=strip_controls(field.text))
    return Cell(strip_controls(field))


def _render_row(row: Sequence[Cell], widths: Sequence[int], gap: str) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = truncate(cell.text, width)
        padding = "" if index == len(row) - 1 else " " * (width - width_of(text))
        parts.append(cell.styled(text) + padding)
    return gap.join(parts).rstrip(" ")


def render_section(title: str, lines: Iterable[str], *, are_styled: bool = False) -> Iterator[str]:
    """Put lines below a title, with a blank line before it; nothing where there are none.

    ``are_styled``: they have colours of ours, as rows of a table, and their texts were cleaned before.
    """
    for number, line in enumerate(lines):
        if number == 0:
            yield ""
            yield click.style(title, bold=True)
        yield f"  {line if are_styled else strip_controls(line)}".rstrip()


def render_facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Align indented names and their values."""
    return render_table(((f"  {name}", text) for name, text in facts), None)


def bounded(lines: Sequence[str], limit: int, more: str = "") -> Iterator[str]:
    """Yield at most ``limit`` lines, and how many there are more."""
    yield from lines[:limit]
    if len(lines) > limit:
        yield f"and {len(lines) - limit} more{more}"


COLORS = {
    "DONE": "green",
    "READY": "cyan",
    "IN_PROGRESS": "blue",
    "WAITING_USER": "yellow",
    "FAILED": "red",
    "BLOCKED": "magenta",
}
_RUN_COLORS = {
    RunStatus.SUCCESS: "green",
    RunStatus.FAILED: "red",
    RunStatus.RUNNING: "blue",
    RunStatus.WAITING_USER: "yellow",
    RunStatus.PAUSED: "yellow",
}


def status_cell(run: Run) -> Cell:
    """Write a run's status in its colour; a superseded run is dim."""
    return Cell(
        run.status.value,
        None if run.is_superseded else _RUN_COLORS[run.status],
        dim=run.is_superseded,
    )


def label_cell(label: str) -> Cell:
    """Write a task's label in its colour."""
    return Cell(label, COLORS.get(label))
