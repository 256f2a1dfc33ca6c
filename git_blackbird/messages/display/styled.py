"""Lines with their kind, in sections that are fitted into a few rows; user interfaces only add colours."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Style, styled

Height = Callable[[Line], int]
"""How many rows a line takes."""


@dataclass(frozen=True)
class Section:
    """A heading and the lines below it, of which some give way to their number where there is no room.

    The lowest ``rank`` gives way first; without one, all stay. ``least`` lines stay, the heading included:
    the first, or, where the end matters (``keeps_end``), the last. ``rest`` says where the others are seen,
    ``left_out`` how many they are; a heading for sections below it, of which none stays, is not counted.
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

    def shortened(self, excess: int, height: Height) -> "Section":
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

    def dropped(self, _excess: int, _height: Height) -> "Section":
        """Return it without any line, if its heading is all that has to stay."""
        lines = sum(line.stands_for for line in self.lines)
        return self if self.least > 1 else replace(self, lines=(), left_out=self.left_out + lines)


def lines_of(sections: Iterable[Section]) -> list[Line]:
    """Return the lines of all sections."""
    return [line for section in sections for line in section.lines]


def fit(sections: Iterable[Section], rows: int, height: Height) -> list[Section]:
    """Shorten sections until they take so many rows, those of the lowest rank first; then drop some.

    What has to stay is there even where it takes more rows.
    """
    fitted = _shrunk(list(sections), Section.shortened, rows, height)
    if _rows_of(fitted, height) <= rows:
        return fitted
    fitted = _shrunk(fitted, Section.dropped, rows - 1, height)
    dropped = sum(section.left_out for section in fitted if not section.lines)
    words = f"({counted(dropped, 'more line')}: a taller window shows them)"
    return [*fitted, Section((styled(words, Style.FAINT),))] if dropped else fitted


def _shrunk(
    sections: list[Section], shrink: Callable[[Section, int, Height], Section], rows: int, height: Height
) -> list[Section]:
    for at in sorted(range(len(sections)), key=lambda at: sections[at].rank or 0):
        excess = _rows_of(sections, height) - rows
        if excess > 0 and sections[at].rank is not None:
            sections[at] = shrink(sections[at], excess, height)
    return sections


def _rows_of(sections: Iterable[Section], height: Height) -> int:
    return sum(section.rows(height) for section in sections)
