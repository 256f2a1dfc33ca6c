"""Terminal output while agents run: permanent lines, and a line of current activity for each agent."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO, cast

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from git_blackbird.cli.ui.writer import STDOUT, Writer
from git_blackbird.messages.display.checkpoint import TITLE
from git_blackbird.messages.display.dialogue import question_title
from git_blackbird.messages.display.events import render_event
from git_blackbird.messages.display.quantities import render_duration, render_spent, some_of
from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.spending import Spent
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.events import Event, Level, Notice, RunEnded

_FRAME_SECONDS = 0.1
_MOST_LINES = 5
_SCREEN_PART = 4
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_FRAMES = "-\\|/"
_BORDERS = _PADDING = 2


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
        self._activities: Sequence[LiveActivity] = ()
        self._live: Live | None = None
        self._console = Console(
            file=cast("TextIO", _Terminal(self)),
            force_terminal=True,
            color_system="auto" if colored else None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self._frames = _FRAMES if self._console.encoding.startswith("utf") else _ASCII_FRAMES
        super().__init__()

    @property
    def columns(self) -> int:
        return self._console.width

    @property
    def rows_in_panel(self) -> int:
        """How many rows are left on the screen inside a panel."""
        return self._console.height - _BORDERS

    def height(self, line: Line) -> int:
        """Return how many rows a line takes inside a panel."""
        return len(_drawn(line).wrap(self._console, max(1, self.columns - _BORDERS - _PADDING)))

    def put(self, text: str, stream: int = STDOUT) -> None:
        """Write one piece of text; the line that moves makes way for it."""
        self.perform(lambda: self._write_alone(text, stream), len(text))

    def _write_alone(self, text: str, stream: int) -> None:
        self.make_way()
        self.write(text, stream)

    def show(self, renderable: RenderableType) -> None:
        """Print something that stays, above the lines that move."""
        self.perform(lambda: self._console.print(renderable))

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
        if self._live is None:
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(Group(*self._lines(activities)), refresh=True)

    def make_way(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _lines(self, activities: Sequence[LiveActivity]) -> Iterator[Text]:
        """Give each agent a line, as far as they leave most of the screen to what stays."""
        most = min(_MOST_LINES, self._console.height // _SCREEN_PART)
        if len(activities) > 1 >= most:
            yield Text(f"{self._frame} {at_work_text(activities)}", no_wrap=True, overflow="ellipsis")
            return
        yield from map(self._line, activities[:most] or activities)
        if len(activities) > most > 0:
            yield Text(f"  and {len(activities) - most} more", "dim")

    @property
    def _frame(self) -> str:
        return self._frames[int(time.monotonic() / _FRAME_SECONDS) % len(self._frames)]

    def _line(self, activity: LiveActivity) -> Text:
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{self._frame} ", "cyan")
        line.append(activity.task_id, "bold")
        line.append(f" {render_duration(activity.seconds)}", "cyan")
        if spent := render_spent(activity.spent):
            line.append(f" {spent}", "dim")
        line.append(f"  {activity.last or activity.title}")
        return line


class _Terminal:
    """The file that rich writes to; its writing may block, and happens in the writer's thread."""

    def __init__(self, display: LiveDisplay) -> None:
        self._display = display
        self.encoding = sys.stdout.encoding

    def write(self, text: str) -> int:
        self._display.write(text, STDOUT)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return STDOUT


_STYLES = {
    Style.PLAIN: "",
    Style.HEADING: "bold",
    Style.ADDED: "green",
    Style.REMOVED: "red",
    Style.PLACE: "cyan",
    Style.WARNING: "yellow",
    Style.FAINT: "dim",
}
_ENDS = {RunStatus.SUCCESS: "green", RunStatus.FAILED: "bold red"}
_WEIGHTS = {Level.INFO: "", Level.WARNING: "yellow", Level.ERROR: "bold red"}


def checkpoint_panel(lines: Sequence[Line]) -> Panel:
    """Draw a checkpoint."""
    return _panel(TITLE, lines)


def question_panel(task: Task, question: Question, place: tuple[int, int]) -> Panel:
    """Draw one question; ``place`` is its number and how many there are."""
    head = styled(f"Task: {task.id} - {clean_line(task.title)}", Style.FAINT)
    return _panel(
        question_title(task.id, place), [head, *map(styled, strip_controls(question.prompt).splitlines())]
    )


def _panel(title: str, lines: Sequence[Line]) -> Panel:
    return Panel(
        Group(*map(_drawn, lines)),
        title=Text(title, "bold"),
        title_align="left",
        border_style="bold yellow",
        box=box.HEAVY,
        padding=(0, 1),
    )


def _drawn(line: Line) -> Text:
    return Text.assemble(*((span.text, _STYLES.get(span.style, "")) for span in line.spans), overflow="fold")


def event_line(event: Event) -> Text | None:
    """Draw an event as a line that stays; None for what is no line."""
    text = render_event(event)
    if text is None:
        return None
    style = "bold"
    if isinstance(event, RunEnded):
        wanting = event.run.parent_review_passed is False
        style = "bold yellow" if wanting else _ENDS.get(event.run.status, "bold yellow")
    elif isinstance(event, Notice):
        style = _WEIGHTS[event.weight]
    return Text(text, style, overflow="fold")
