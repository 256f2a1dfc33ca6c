"""Lists for people, in columns as a terminal shows them, and for scripts, as records (docs/porcelain.md)."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from git_blackbird.cli.output import CommandContext
from git_blackbird.model.base.sanitize import quoted_field, strip_controls
from git_blackbird.model.entities.cli_hints import runnable
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Run, RunStatus
from git_blackbird.model.entities.status import Status

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
        run.status.value, None if run.superseded_at else _RUN_COLORS[run.status], dim=bool(run.superseded_at)
    )


def label_cell(label: str) -> Cell:
    """Write a task's label in its colour."""
    return Cell(label, COLORS.get(label))


if TYPE_CHECKING:
    # Only who lists tasks pays for loading it.
    from git_blackbird.controller.queries.status import StatusReport

LINE_END, NUL = "\n", "\0"
_ABSENT = "-"
_RUN_FIELDS = (
    "id",
    "task_id",
    "run_type",
    "provider",
    "provider_session_ref",
    "started_at",
    "completed_at",
    "status",
    "terminal_reason",
    "exit_code",
    "decision_state",
    "cost_usd",
    "resumes",
    "superseded_by",
)

Record = Sequence[object]


def record_end_of(call: CommandContext, *, porcelain: bool, nul: bool) -> str | None:
    """Return what ends a record with ``--porcelain`` and ``-z``; None without either.

    Raises click.UsageError when JSON is asked for as well.
    """
    if call.as_json and (porcelain or nul):
        raise click.UsageError("--json and --porcelain do not go together")
    return NUL if nul else LINE_END if porcelain else None


def print_records(call: CommandContext, records: Iterable[Record], end: str) -> None:
    """Print records; in lines, a field that would break them is quoted as in C."""
    texts = (_record_text(record, end) for record in records)
    call.raw("".join(text + end for text in texts).encode(errors="replace"))


def _record_text(record: Record, end: str) -> str:
    """Join the fields. Ended by NUL, only the last may hold a tab, and none may hold what ends the record."""
    fields = [_ABSENT if field is None or field == "" else str(field) for field in record]
    if end == LINE_END:
        return "\t".join(map(quoted_field, fields))
    *first, last = fields
    return "\t".join([*(field.replace("\t", "\ufffd") for field in first), last]).replace(NUL, "\ufffd")


def list_records(rows: Iterable[tuple[int, Task, str]]) -> Iterator[Record]:
    """Yield each task, of its depth, itself and its label: id, status, label, depth, parent, title."""
    for depth, task, word in rows:
        yield task.id, task.status.value, word, depth, task.parent, task.title


def run_records(runs: Iterable[Run]) -> Iterator[Record]:
    """Yield each run: the fields of RUN of docs/json.md in their order, less the seconds."""
    for run in runs:
        yield [getattr(run, name) for name in _RUN_FIELDS]


def status_records(overview: "StatusReport") -> Iterator[Record]:
    """Return the status report as records; the first field of each is its kind."""
    from git_blackbird.controller.queries.attention import due_groups  # a list of runs has none

    for status in Status:
        yield "count", status.value, overview.counts[status]
    if overview.locked_by is not None:
        yield "holder", overview.locked_by
    for live in overview.running:
        yield "running", live.run.task_id, live.run.id, live.run.pid, "alive" if live.alive else "gone"
    if overview.approving is not None:
        yield "approving", overview.approving.task.id, overview.approving.run_id
    for items in due_groups(overview).values():
        for item in items:
            yield "due", item.kind, item.task.id, item.run_id, runnable(item.command) or item.command
    yield from _irregular_records(overview)


def _irregular_records(overview: "StatusReport") -> Iterator[Record]:
    for task_id, deps in sorted(overview.blocked.items()):
        yield from (("blocked", task_id, dep) for dep in deps)
    for task_id, (stored, derived) in overview.drift.items():
        yield "drift", task_id, stored.value, derived.value
    for fault in overview.unreadable:
        yield "unreadable", fault.path, fault.what
    for copy in overview.stale:
        yield "copy", copy.path, copy.what
    if overview.foreign:
        yield "foreign", overview.foreign
    for run in overview.orphaned:
        yield "elsewhere", run.task_id, run.id
