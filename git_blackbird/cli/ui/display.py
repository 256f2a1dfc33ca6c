"""Terminal output while agents run: permanent lines, and one line of current activity."""

import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO, cast

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from git_blackbird.cli.ui.base import STDOUT, Writer
from git_blackbird.messages.display.checkpoint import TITLE, Style, StyledLine, render_checkpoint
from git_blackbird.messages.display.events import render_event
from git_blackbird.messages.display.format import UsageCost, render_duration, render_spent
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Question, RunStatus
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, Level, Notice, RunEnded

_FRAME_SECONDS = 0.1
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_FRAMES = "-\\|/"


@dataclass(frozen=True)
class LiveActivity:
    """What is going on; ``since`` by the monotonic clock. ``spent`` counts the whole call."""

    task_id: str
    title: str
    since: float
    spent: UsageCost
    last: str = ""


class LiveDisplay(Writer):
    """Draws in the writer's thread alone: a terminal that is held (Ctrl+S) holds up no agent."""

    def __init__(self, *, colored: bool) -> None:
        self._activity: LiveActivity | None = None
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

    def put(self, text: str, stream: int = STDOUT) -> None:
        """Write one piece of text; the line that moves makes way for it."""
        self.perform(lambda: self._write_alone(text, stream), len(text))

    def _write_alone(self, text: str, stream: int) -> None:
        self._stop()
        self.write(text, stream)

    def show(self, renderable: RenderableType) -> None:
        """Print something that stays, above the line that moves."""
        self.perform(lambda: self._console.print(renderable))

    def follow(self, activity: LiveActivity) -> None:
        """Show this activity, with its running time, until the next one or ``rest``.

        What comes faster than the line is drawn is not seen.
        """
        is_first = self._activity is None
        self._activity = activity
        if is_first:
            self.perform(self.idle)

    def rest(self) -> None:
        self._activity = None
        self.perform(self._stop)

    def close(self) -> None:
        """Take the moving line away, write what is left and end the thread."""
        self.rest()
        super().close()

    def pause_seconds(self) -> float | None:
        """Move as long as there is something to follow."""
        return None if self._activity is None else _FRAME_SECONDS

    def idle(self) -> None:
        activity = self._activity
        if activity is None:
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
        self._live.update(self._line(activity), refresh=True)

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _line(self, activity: LiveActivity) -> Text:
        frame = self._frames[int(time.monotonic() / _FRAME_SECONDS) % len(self._frames)]
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{frame} ", "cyan")
        line.append(activity.task_id, "bold")
        line.append(f" {render_duration(time.monotonic() - activity.since)}", "cyan")
        if activity.spent:
            line.append(f" {render_spent(activity.spent)}", "dim")
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


def checkpoint_panel(checkpoint: Checkpoint) -> Panel:
    """Draw a checkpoint."""
    return _panel(TITLE, render_checkpoint(checkpoint))


def question_panel(task: Task, question: Question, place: tuple[int, int]) -> Panel:
    """Draw one question; ``place`` is its number and how many there are."""
    number, count = place
    title = f"{task.id} asks" + (f" ({number} of {count})" if count > 1 else "")
    head = StyledLine(f"Task: {task.id} - {clean_line(task.title)}", Style.FAINT)
    return _panel(title, [head, *map(StyledLine, strip_controls(question.prompt).splitlines())])


def _panel(title: str, lines: Sequence[StyledLine]) -> Panel:
    drawn: Iterable[Text] = (Text(line.text, _STYLES[line.tone], overflow="fold") for line in lines)
    return Panel(
        Group(*drawn),
        title=Text(title, "bold"),
        title_align="left",
        border_style="bold yellow",
        box=box.HEAVY,
        padding=(0, 1),
    )


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
