"""What an agent does as blocks of text, step by step, and sanitized coloured output of git."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from git_blackbird.cli.paint import paint
from git_blackbird.messages.display.quantities import render_spent
from git_blackbird.messages.document import Line, Style, block, char_width, code, line, wrapped
from git_blackbird.model.rules.spending import Spent
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.parts import Usage

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence

# What a plain output's last line is was printed already; figures alone are no step.
_VERBS = {
    ProgressKind.SAYS: "says",
    ProgressKind.READS: "reads",
    ProgressKind.EDITS: "edits",
    ProgressKind.RUNS: "runs",
    ProgressKind.TOOL: "uses",
    ProgressKind.NOTE: "note",
    ProgressKind.WAITS: "waits",
}
_INDENT = "  "
_VERB_COLUMNS = 7
_MARGIN = len(_INDENT) + _VERB_COLUMNS
_LEAST_COLUMNS = 20
_MAX_MESSAGE = 20_000
# Figures are shown again once they have grown by half, and by at least so much.
_LEAST_TOKENS = 10_000
_LEAST_DOLLARS = 0.05


class ProgressLog:
    """Formats the steps of one run after another, with what a run has spent whenever that has grown much."""

    def __init__(self, *, colored: bool) -> None:
        self._colored = colored
        self._spent = self._reported = Spent()

    def render(self, step: Progress, columns: int | None = None) -> str:
        """Return a step's block of lines, at most ``columns`` wide; "" for what is nothing to read.

        Nothing in it steers a terminal, and it is bounded.
        """
        block = self._block(_VERBS.get(step.kind, ""), _lines(step), columns)
        self._spent = self._spent.updated(step.usage, step.cost_usd)
        return block + (self._figures() if _has_grown(self._spent, self._reported) else "")

    def finish(self, usage: Usage | None, cost_usd: float | None) -> str:
        """Return what the run has spent, unless the last line has it; the next step is another run's."""
        self._spent = self._spent.updated(usage, cost_usd)
        block = self._figures() if render_spent(self._spent) and self._spent != self._reported else ""
        self._spent = self._reported = Spent()
        return block

    def remark(self, text: str) -> str:
        """Return a block of our own among the steps."""
        return self._dim(line(f"{_INDENT}[{text}]").text) + "\n"

    def _figures(self) -> str:
        self._reported = self._spent
        return self._dim(f"{_INDENT}{'spent'.ljust(_VERB_COLUMNS)}{render_spent(self._spent)}") + "\n"

    def _block(self, verb: str, lines: list[Line], columns: int | None) -> str:
        if not verb or not lines:
            return ""
        room = None if columns is None else columns - _MARGIN
        parts = [part.text for line in lines for part in wrap(line, room)]
        head = _INDENT + self._dim(verb) + " " * (_VERB_COLUMNS - len(verb))
        rest = (" " * _MARGIN + part for part in parts[1:])
        return "\n".join(line.rstrip() for line in (head + parts[0], *rest)) + "\n"

    def _dim(self, text: str) -> str:
        return paint(text, Style.FAINT) if self._colored else text


def _lines(step: Progress) -> list[Line]:
    if step.kind is not ProgressKind.SAYS:
        return [line(step.text)] if step.text.strip() else []
    lines = list(block(step.text[:_MAX_MESSAGE].strip()))
    if len(step.text) > _MAX_MESSAGE:
        lines.append(line(f"[{len(step.text) - _MAX_MESSAGE} more characters]"))
    return lines


def _has_grown(spent: Spent, reported: Spent) -> bool:
    return (
        spent.tokens >= reported.tokens + reported.tokens // 2 + _LEAST_TOKENS
        or (spent.cost_usd or 0.0) >= (reported.cost_usd or 0.0) * 1.5 + _LEAST_DOLLARS
    )


def wrap(line: Line, columns: int | None) -> Iterable[Line]:
    """Break a line; it stays whole where there are so few columns that nothing could be read."""
    if columns is None or columns < _LEAST_COLUMNS:
        return (line,)
    return wrapped(line.without_tabs(), columns, char_width)


_RESET = "\x1b[m"


def painted_diff(pieces: Iterator[bytes], colors: Mapping[str, str]) -> Iterator[bytes]:
    """Colour a plain diff with these colours of git's; escapes that its files have are shown as ``^[``."""
    is_header = True
    for row in _lines_of(pieces):
        is_header = row.startswith(b"diff ") or (is_header and not row.startswith(b"@@"))
        slot = "meta" if is_header else _SLOTS.get(row[:1], "")
        # A Windows line end is no part of what changed.
        text = code(row.removesuffix(b"\r").decode(errors="replace")).text
        color = colors.get(slot, "")
        yield f"{color}{text}{_RESET if color else ''}\n".encode()


def marked_diff(
    pieces: Iterator[bytes],
    colors: Mapping[str, str],
    evidence: "Evidence | None",
    find_unproven: Callable[[], str] = str,
) -> Iterator[bytes]:
    """Colour a plain diff, below the diff of what is unproven.

    A column before it has marks if no test ran some of its lines, or nothing notices them.
    """
    if evidence is None or (evidence.coverage is None and evidence.proof is None):
        yield from painted_diff(pieces, colors)
        return
    # Few changes have such lines.
    from git_blackbird.messages.display.evidence import proof_word
    from git_blackbird.messages.patch.marks import marked_lines, marks_words
    from git_blackbird.messages.patch.parse import Patch

    whole = b"".join(pieces)
    if evidence.proof is not None and (unproven := find_unproven()):
        yield f"{proof_word(evidence.proof)}; first what is not:\n".encode()
        yield from painted_diff(iter([unproven.encode()]), colors)
    marks = marked_lines(Patch(whole.decode(errors="replace")), evidence)
    if marks:
        yield f"{marks_words(marks)}\n".encode()
    for number, row in enumerate(painted_diff(iter([whole]), colors)):
        mark = marks.get(number, " ") if marks else ""
        yield (paint(mark, Style.WARNING) if colors and mark.strip() else mark).encode() + row


_SLOTS = {b"@": "frag", b"+": "new", b"-": "old"}


def _lines_of(pieces: Iterator[bytes]) -> Iterator[bytes]:
    begun: list[bytes] = []
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun = [others[-1]]
    if any(begun):
        yield b"".join(begun)
