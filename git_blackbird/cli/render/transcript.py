"""What an agent does as blocks of text, step by step, and sanitized coloured output of git."""

import re
from collections.abc import Iterator
from itertools import accumulate, takewhile

import click

from git_blackbird.cli.render.tables import width_of
from git_blackbird.messages.display.format import UsageCost, render_spent
from git_blackbird.model.base.sanitize import StreamSanitizer, clean_line, escape_controls, strip_controls
from git_blackbird.model.entities.agent_io import Progress, ProgressKind
from git_blackbird.model.entities.run import Usage

# What a plain output's last line is was printed already; figures alone are no step.
_VERBS = {
    ProgressKind.SAYS: "says",
    ProgressKind.READS: "reads",
    ProgressKind.EDITS: "edits",
    ProgressKind.RUNS: "runs",
    ProgressKind.TOOL: "uses",
    ProgressKind.NOTE: "note",
}
_INDENT = "  "
_VERB_COLUMNS = 7
_MARGIN = len(_INDENT) + _VERB_COLUMNS
_LEAST_COLUMNS = 20
_MAX_SUBJECT = 400
_MAX_MESSAGE = 20_000
# Figures are said again once they have grown by half, and by at least so much.
_LEAST_TOKENS = 10_000
_LEAST_DOLLARS = 0.05


class ProgressLog:
    """Formats the steps of one run after another, with what a run has spent whenever that has grown much."""

    def __init__(self, *, colored: bool) -> None:
        self._colored = colored
        self._spent = UsageCost()
        self._said = UsageCost()

    def render(self, step: Progress, columns: int | None = None) -> str:
        """Return a step's block of lines, at most ``columns`` wide; "" for what is nothing to read.

        Nothing in it steers a terminal, and it is bounded.
        """
        block = self._block(_VERBS.get(step.kind, ""), _lines(step), columns)
        self._spent = self._spent.updated(step.usage, step.cost_usd)
        return block + (self._figures() if _has_grown(self._spent, self._said) else "")

    def finish(self, usage: Usage | None, cost_usd: float | None) -> str:
        """Return what the run has spent, unless the last line said so; the next step is another run's."""
        self._spent = self._spent.updated(usage, cost_usd)
        block = self._figures() if self._spent and self._spent != self._said else ""
        self._spent = self._said = UsageCost()
        return block

    def remark(self, text: str) -> str:
        """Return a block of our own among the steps."""
        return self._dim(f"{_INDENT}[{clean_line(text, _MAX_SUBJECT)}]") + "\n"

    def _figures(self) -> str:
        self._said = self._spent
        return self._dim(f"{_INDENT}{'spent'.ljust(_VERB_COLUMNS)}{render_spent(self._spent)}") + "\n"

    def _block(self, verb: str, lines: list[str], columns: int | None) -> str:
        if not verb or not lines:
            return ""
        room = None if columns is None else columns - _MARGIN
        parts = [part for line in lines for part in wrap(line, room)]
        head = _INDENT + self._dim(verb) + " " * (_VERB_COLUMNS - len(verb))
        rest = (" " * _MARGIN + part for part in parts[1:])
        return "\n".join(line.rstrip() for line in (head + parts[0], *rest)) + "\n"

    def _dim(self, text: str) -> str:
        return click.style(text, dim=True) if self._colored else text


def _lines(step: Progress) -> list[str]:
    if step.kind is not ProgressKind.SAYS:
        subject = clean_line(step.text[: 10 * _MAX_SUBJECT], _MAX_SUBJECT)
        return [subject] if subject else []
    lines = strip_controls(step.text[:_MAX_MESSAGE]).strip().splitlines()
    if len(step.text) > _MAX_MESSAGE:
        lines.append(f"[{len(step.text) - _MAX_MESSAGE} more characters]")
    return lines


def _has_grown(spent: UsageCost, said: UsageCost) -> bool:
    return (
        spent.tokens >= said.tokens + said.tokens // 2 + _LEAST_TOKENS
        or spent.cost_usd >= said.cost_usd * 1.5 + _LEAST_DOLLARS
    )


def wrap(line: str, columns: int | None) -> Iterator[str]:
    """Break a line into parts of at most so many terminal columns, at spaces where there are some.

    It stays whole where ``columns`` is None or so few that nothing could be read.
    """
    if columns is None or columns < _LEAST_COLUMNS:
        yield line
        return
    rest = line.expandtabs().rstrip()
    while (end := _fitting(rest, columns)) < len(rest):
        space = rest.rfind(" ", 0, end + 1)
        cut = space if rest[: max(space, 0)].strip() else end
        yield rest[:cut].rstrip()
        rest = rest[cut:].lstrip()
    yield rest


def _fitting(text: str, columns: int) -> int:
    """Count the characters from the start that fit into so many columns."""
    return sum(1 for _ in takewhile(lambda used: used <= columns, accumulate(map(width_of, text))))


_COLOR = re.compile(r"(\x1b\[[0-9;]*m)")
# Not the eighth of the 256 colours.
_CONCEALS = re.compile(r"(?<![34]8;5)[\[;]0*8[;m]")
# A Windows line end, which git colours by itself.
_LINE_END = re.compile(r"\r(?=(?:\x1b\[[0-9;]*m)*\n)")


class AnsiSanitizer(StreamSanitizer):
    """Cleans what a program of the user's colours, as git does a diff: colours stay, unless they conceal."""

    def _shown(self, text: str) -> str:
        parts = _COLOR.split(_LINE_END.sub("", text))
        shown = "".join(
            escape_controls(part) if index % 2 == 0 else "" if _CONCEALS.search(part) else part
            for index, part in enumerate(parts)
        )
        if shown:
            self._ends_line = True
        return shown


def colored_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Sanitize coloured output for a terminal."""
    stream = AnsiSanitizer()
    for data in pieces:
        yield stream.feed(data).encode()
    yield stream.finish().encode()
