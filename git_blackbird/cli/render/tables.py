"""Lists in columns, as a terminal shows them."""

from collections.abc import Iterable, Iterator, Sequence

from git_blackbird.cli.render.paint import paint, paint_table
from git_blackbird.messages.document import Span, Style, Table, row
from git_blackbird.model.base.sanitize import strip_controls


def render_table(
    fields: Iterable[Sequence[Span | str]], columns: int | None, flexible: int = -1
) -> list[str]:
    """Align rows of the same length; the flexible column gives way where all do not fit."""
    return paint_table(Table([row(*cells) for cells in fields], flexible), columns)


def render_section(title: str, lines: Iterable[str], *, are_styled: bool = False) -> Iterator[str]:
    """Put lines below a title, with a blank line before it; nothing where there are none.

    ``are_styled``: they have colours of ours, as rows of a table, and their texts were cleaned before.
    """
    for number, line in enumerate(lines):
        if number == 0:
            yield ""
            yield paint(title, Style.HEADING)
        yield f"  {line if are_styled else strip_controls(line)}".rstrip()


def render_facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Align indented names and their values."""
    return render_table(((f"  {name}", text) for name, text in facts), None)


def bounded(lines: Sequence[str], limit: int, more: str = "") -> Iterator[str]:
    """Yield at most ``limit`` lines, and how many there are more."""
    yield from lines[:limit]
    if len(lines) > limit:
        yield f"and {len(lines) - limit} more{more}"


_LABELS = {
    "DONE": Style.DONE,
    "READY": Style.READY,
    "IN_PROGRESS": Style.WORKING,
    "WAITING_USER": Style.WAITING,
    "FAILED": Style.FAILED,
    "BLOCKED": Style.BLOCKED,
}


def label_span(label: str) -> Span:
    """Return a task's label."""
    return Span(label, _LABELS.get(label, Style.PLAIN))
