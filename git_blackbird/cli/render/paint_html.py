"""The painter of pages: documents as HTML, in which whatever a plan or an agent says is escaped."""

import html
from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.messages.document import Line, Span, Style, Table
from git_blackbird.model.base.next_steps import ShellLine

_CLASSES: Mapping[Style, str] = {
    Style.FAINT: "dim",
    Style.ADDED: "done",
    Style.DONE: "done",
    Style.READY: "run",
    Style.WORKING: "run",
    Style.WAITING: "wait",
    Style.WARNING: "wait",
    Style.REMOVED: "fail",
    Style.FAILED: "fail",
    Style.FAULT: "fail",
}


def paint_html(parts: Iterable[Line | Table]) -> Iterator[str]:
    """Yield lines as paragraphs, and tables; an indented line belongs to the one above it."""
    item: list[str] = []
    for part in parts:
        is_more = isinstance(part, Line) and part.text.startswith(" ")
        if item and not is_more:
            yield _paragraph(item)
            item = []
        if isinstance(part, Table):
            yield from _table(part)
        else:
            item.append("".join(map(_painted, part.spans)).strip())
    if item:
        yield _paragraph(item)


def _paragraph(lines: list[str]) -> str:
    kind = ' class="item"' if len(lines) > 1 else ""
    return f"<p{kind}>{'<br>'.join(lines)}</p>"


def _table(table: Table) -> Iterator[str]:
    """Write a table, which scrolls if the window is narrower."""
    if table.rows:
        yield '<div class="scroll"><table>'
        yield from (f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
        yield "</table></div>"


def _cell(span: Span) -> str:
    if span.style is Style.HEADING:
        return f"<th>{html.escape(span.text)}</th>"
    return f"<td>{_painted(span)}</td>"


def _painted(span: Span) -> str:
    """Write a span in its look; what a command says of itself stands beside it."""
    text = html.escape(span.text)
    if isinstance(span.about, ShellLine):
        # What a span is about was not cleaned.
        step, remark = (html.escape(Span(part).text) for part in (span.about.command, span.about.remark))
        return f'<code>{step}</code> <span class="dim">{remark}</span>' if remark else f"<code>{step}</code>"
    if span.style is Style.HEADING:
        return f"<b>{text}</b>"
    kind = _CLASSES.get(span.style)
    return f'<span class="{kind}">{text}</span>' if kind else text
