"""What a terminal shows when a person is needed, drawn so that it is not overlooked."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from git_blackbird.messages.checkpoint_text import TITLE, Line, Tone, render_checkpoint
from git_blackbird.messages.event_text import render_event
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.conversation import Question
from git_blackbird.model.events import Event, Notice, RunEnded, Weight
from git_blackbird.model.plan import Task
from git_blackbird.model.run import RunStatus
from git_blackbird.model.text import clean, clean_line

_STYLES = {
    Tone.PLAIN: "",
    Tone.HEADING: "bold",
    Tone.ADDED: "green",
    Tone.REMOVED: "red",
    Tone.PLACE: "cyan",
    Tone.WARNING: "yellow",
    Tone.FAINT: "dim",
}
_ENDS = {RunStatus.SUCCESS: "green", RunStatus.FAILED: "bold red"}
_WEIGHTS = {Weight.INFO: "", Weight.WARNING: "yellow", Weight.ERROR: "bold red"}


def checkpoint_panel(checkpoint: Checkpoint) -> Panel:
    """Draw a checkpoint."""
    return _panel(TITLE, render_checkpoint(checkpoint))


def question_panel(task: Task, question: Question, place: tuple[int, int]) -> Panel:
    """Draw one question; ``place`` is its number and how many there are."""
    number, count = place
    title = f"{task.id} asks" + (f" ({number} of {count})" if count > 1 else "")
    head = Line(f"Task: {task.id} - {clean_line(task.title)}", Tone.FAINT)
    return _panel(title, [head, *map(Line, clean(question.prompt).splitlines())])


def _panel(title: str, lines: Sequence[Line]) -> Panel:
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
