"""What a terminal shows when a person is needed, drawn so that it is not overlooked."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from git_blackbird.messages.display.checkpoint import TITLE, Style, StyledLine, render_checkpoint
from git_blackbird.messages.display.events import render_event
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Question, RunStatus
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, Level, Notice, RunEnded

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
