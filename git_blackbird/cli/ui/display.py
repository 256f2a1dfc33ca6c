"""Terminal output while agents run: permanent lines, and a line of current activity for each agent."""

import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from git_blackbird.cli.paint import painted_lines
from git_blackbird.cli.ui.writer import STDOUT, Writer
from git_blackbird.messages.display.quantities import render_duration, render_spent, some_of
from git_blackbird.messages.document import (
    Line,
    Span,
    Style,
    line,
    shortened,
    styled,
    width_of,
    wrapped,
)
from git_blackbird.model.rules.spending import Spent

_FRAME_SECONDS = 0.1
_MOST_LINES = 5
_SCREEN_PART = 4
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_FRAMES = "-\\|/"
_BORDERS = _PADDING = 2
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_CLEAR_LINE, _LINE_ABOVE = "\r\x1b[2K", "\x1b[1A"
# Corners, and what is between them: of the usual characters, and of ASCII.
_BORDER, _ASCII_BORDER = tuple("┏━┓┃┗┛"), tuple("+-+|++")


@dataclass(frozen=True)
class LiveActivity:
    """What an agent does; ``since`` by the monotonic clock. ``spent`` is its run's, or the whole call's.

    ``until`` is the end of a usage limit that it waits for, in seconds since 1970.
    """

    task_id: str
    title: str
    since: float
    spent: Spent
    last: str = ""
    until: float | None = None

    @property
    def seconds(self) -> float:
        """For how long it has gone on, or, where its end is known, how long it will."""
        return time.monotonic() - self.since if self.until is None else max(0.0, self.until - time.time())


def at_work_text(activities: Sequence[LiveActivity]) -> str:
    """Return on one line which tasks are worked on, and for how long; "" for none."""
    if not activities:
        return ""
    named = [f"{one.task_id} {render_duration(one.seconds)}" for one in activities]
    return f"{len(activities)} at work: {some_of(named, _MOST_LINES)}"


class LiveDisplay(Writer):
    """Draws in the writer's thread alone: a terminal that is held (Ctrl+S) holds up no agent."""

    def __init__(self, *, colored: bool) -> None:
        self._colored = colored
        self._activities: Sequence[LiveActivity] = ()
        self._moving = 0
        self._is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        super().__init__()

    @property
    def columns(self) -> int:
        return shutil.get_terminal_size().columns

    @property
    def rows_in_panel(self) -> int:
        """How many rows are left on the screen inside a panel."""
        return shutil.get_terminal_size().lines - _BORDERS

    def height(self, line: Line) -> int:
        """Return how many rows a line takes inside a panel."""
        return sum(1 for _ in _rows(line, self.columns - _BORDERS - _PADDING))

    def put(self, text: str, stream: int = STDOUT) -> None:
        """Write one piece of text; the line that moves makes way for it."""
        self.perform(lambda: self._write_alone(text, stream), len(text))

    def _write_alone(self, text: str, stream: int) -> None:
        self.make_way()
        self.write(text, stream)

    def show(self, lines: Iterable[Line]) -> None:
        """Print something that stays, above the lines that move."""
        shown = tuple(lines)
        self.perform(lambda: self._print(row for line in shown for row in _rows(line, self.columns)))

    def show_panel(self, title: str, lines: Iterable[Line]) -> None:
        """Print lines in a frame."""
        border = _BORDER if self._is_unicode else _ASCII_BORDER
        shown = tuple(lines)
        self.perform(lambda: self._print(_framed(title, shown, self.columns, border)))

    def _print(self, rows: Iterable[Line]) -> None:
        self._write_alone("".join(f"{text}\n" for text in self._painted(rows)), STDOUT)

    def _painted(self, rows: Iterable[Line]) -> Iterator[str]:
        return painted_lines(rows, None, colored=self._colored)

    def follow(self, activities: Sequence[LiveActivity]) -> None:
        """Show these activities, with their running times, until the next ones or ``rest``.

        What comes faster than the lines are drawn is not seen.
        """
        is_first = not self._activities
        self._activities = activities
        if is_first:
            self.perform(self.idle)

    def rest(self) -> None:
        self._activities = ()
        self.perform(self.make_way)

    def close(self) -> None:
        """Take the moving lines away, write what is left and end the thread."""
        self.rest()
        super().close()

    def pause_seconds(self) -> float | None:
        """Move as long as there is something to follow."""
        return _FRAME_SECONDS if self._activities else None

    def idle(self) -> None:
        activities = self._activities
        if not activities:
            return
        columns = self.columns
        # A line that took two rows would be erased by half.
        rows = [next(_rows(shortened(line, columns), columns)) for line in self._lines(activities)]
        self.write(self._erased() + _HIDE_CURSOR + "\n".join(self._painted(rows)))
        self._moving = len(rows)

    def make_way(self) -> None:
        if self._moving:
            self.write(self._erased() + _SHOW_CURSOR)
            self._moving = 0

    def _erased(self) -> str:
        """Return what takes the moving lines away, and leads to where the first began."""
        return _LINE_ABOVE.join([_CLEAR_LINE] * self._moving)

    def _lines(self, activities: Sequence[LiveActivity]) -> Iterator[Line]:
        """Give each agent a line, as far as they leave most of the screen to what stays."""
        most = min(_MOST_LINES, shutil.get_terminal_size().lines // _SCREEN_PART)
        if len(activities) > 1 >= most:
            yield line(f"{self._frame} {at_work_text(activities)}", gives_way=0)
            return
        yield from map(self._line, activities[:most] or activities)
        if len(activities) > most > 0:
            yield styled(f"  and {len(activities) - most} more", Style.FAINT)

    @property
    def _frame(self) -> str:
        frames = _FRAMES if self._is_unicode else _ASCII_FRAMES
        return frames[int(time.monotonic() / _FRAME_SECONDS) % len(frames)]

    def _line(self, activity: LiveActivity) -> Line:
        spent = render_spent(activity.spent)
        parts = (
            Span(f"{self._frame} ", Style.PLACE),
            Span(activity.task_id, Style.HEADING),
            Span(f" {render_duration(activity.seconds)}", Style.PLACE),
            Span(f" {spent}" if spent else "", Style.FAINT),
        )
        return line(*parts, f"  {activity.last or activity.title}", gives_way=len(parts))


def _rows(line: Line, columns: int) -> Iterator[Line]:
    return wrapped(line.without_tabs(), max(1, columns), width_of)


def _framed(title: str, lines: Iterable[Line], columns: int, border: Sequence[str]) -> Iterator[Line]:
    left, across, right, side, lower_left, lower_right = border
    edge, room = Style.FRAME, max(1, columns - _BORDERS - _PADDING)
    name = next(_rows(line(title, gives_way=0), room)).text
    rest = across * (room - width_of(name) - 1)
    yield line(Span(f"{left}{across} ", edge), Span(name, Style.HEADING), Span(f" {rest}{right}", edge))
    for one in lines:
        for row in _rows(one, room):
            blanks = " " * (room - width_of(row.text))
            yield line(Span(f"{side} ", edge), *row.spans, blanks, Span(f" {side}", edge))
    yield line(Span(f"{lower_left}{across * (room + _PADDING)}{lower_right}", edge))
