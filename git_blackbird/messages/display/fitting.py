"""Lines in passages that are fitted into a few rows: what matters least gives way."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum, auto

from git_blackbird.messages.display.format import MAX_LISTED
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Style, styled

Height = Callable[[Line], int]
"""How many rows a line takes."""


class Rank(IntEnum):
    """What gives way first where a terminal has few rows."""

    SNIPPETS = auto()
    CRITERIA = auto()
    HEADING = auto()
    SINCE_REQUEST = auto()
    AGENT = auto()
    FILES = auto()
    FACTS = auto()
    CHECK = auto()
    REVIEWS = auto()
    WARNINGS = auto()
    ANSWER = auto()
    REQUEST = auto()


@dataclass(frozen=True)
class Passage:
    """Lines that belong together, of which some give way to their number where there is no room.

    The lowest ``rank`` gives way first; without one, all stay. ``least`` lines stay, a heading included:
    the first, or, where the end matters (``keeps_end``), the last. ``rest`` says where the others are seen,
    ``left_out`` how many they are; a heading for passages below it, of which none stays, is not counted.
    """

    lines: tuple[Line, ...]
    rank: int | None = None
    rest: str = ""
    least: int = 1
    keeps_end: bool = False
    left_out: int = 0

    def rows(self, height: Height) -> int:
        """Return how many rows it takes."""
        return sum(map(height, self.lines))

    def shortened(self, excess: int, height: Height) -> "Passage":
        """Return it with so many rows less, as far as its least lines allow; itself where that is none."""
        kept, given_up, at = list(self.lines), list[Line](), 1 if self.keeps_end else -1
        # One row is for the line that counts them.
        while len(kept) > self.least and sum(map(height, given_up)) <= excess:
            given_up.append(kept.pop(at))
        left_out = sum(line.stands_for for line in given_up)
        where = f": {self.rest}" if self.rest else ""
        if not kept:
            return replace(self, lines=())
        if len(kept) == 1:
            kept = [kept[0].followed_by(f" ({counted(left_out, 'line')}{where})")]
        else:
            words = f"  ({counted(left_out, 'more line')}{where})"
            kept.insert(1 if self.keeps_end else len(kept), styled(words, Style.FAINT, left_out))
        shorter = replace(self, lines=tuple(kept), left_out=left_out)
        return shorter if given_up and shorter.rows(height) < self.rows(height) else self

    def dropped(self, _excess: int, _height: Height) -> "Passage":
        """Return it without any line, if its heading is all that has to stay."""
        lines = sum(line.stands_for for line in self.lines)
        return self if self.least > 1 else replace(self, lines=(), left_out=self.left_out + lines)


def one_line(text: str, style: Style = Style.PLAIN, rank: Rank | None = None) -> Passage:
    """Return a passage of one line."""
    return Passage((styled(text, style),), rank)


def bulleted(
    heading: str, texts: Iterable[str], style: Style, rank: Rank = Rank.WARNINGS
) -> Iterator[Passage]:
    """List texts below a heading; nothing without any."""
    lines = [styled(f"  {text}", style) for text in texts]
    if not lines:
        return
    left_out = len(lines) - MAX_LISTED
    more = [styled(f"  and {left_out} more", style, left_out)] if left_out > 0 else []
    yield Passage((styled(heading, style), *lines[:MAX_LISTED], *more), rank)


def lines_of(passages: Iterable[Passage]) -> list[Line]:
    """Return the lines of all passages."""
    return [line for passage in passages for line in passage.lines]


def fit(passages: Iterable[Passage], rows: int, height: Height) -> list[Passage]:
    """Shorten passages until they take so many rows, those of the lowest rank first; then drop some.

    What has to stay is there even where it takes more rows.
    """
    fitted = _shrunk(list(passages), Passage.shortened, rows, height)
    if _rows_of(fitted, height) <= rows:
        return fitted
    fitted = _shrunk(fitted, Passage.dropped, rows - 1, height)
    dropped = sum(passage.left_out for passage in fitted if not passage.lines)
    words = f"({counted(dropped, 'more line')}: a taller window shows them)"
    return [*fitted, Passage((styled(words, Style.FAINT),))] if dropped else fitted


def _shrunk(
    passages: list[Passage], shrink: Callable[[Passage, int, Height], Passage], rows: int, height: Height
) -> list[Passage]:
    for at in sorted(range(len(passages)), key=lambda at: passages[at].rank or 0):
        excess = _rows_of(passages, height) - rows
        if excess > 0 and passages[at].rank is not None:
            passages[at] = shrink(passages[at], excess, height)
    return passages


def _rows_of(passages: Iterable[Passage], height: Height) -> int:
    return sum(passage.rows(height) for passage in passages)
