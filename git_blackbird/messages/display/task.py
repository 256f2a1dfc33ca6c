"""What there is to read of a task, as sections: for ``show`` and the pane of the screen."""

from collections.abc import Iterator

from git_blackbird.messages.display.format import message_lines
from git_blackbird.messages.document import Section, Span, Style, block, line
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.plan.plan import Task

_LABELS = {
    "DONE": Style.DONE,
    "READY": Style.READY,
    "IN_PROGRESS": Style.WORKING,
    "WAITING_USER": Style.WAITING,
    "FAILED": Style.FAILED,
    "BLOCKED": Style.BLOCKED,
}


def label_span(label: str) -> Span:
    """Return a task's label."""
    return Span(label, _LABELS.get(label, Style.PLAIN))


def text_sections(task: Task, most: int | None = None, criterion: int = 200) -> Iterator[Section]:
    """Yield what the task says; of a text of more than ``most`` characters the beginning.

    A criterion has at most so many characters.
    """
    criteria = (line(f"- {clean_line(text, criterion)}") for text in task.acceptance_criteria)
    yield Section("description", tuple(block(task.description, most)))
    yield Section("acceptance criteria", tuple(criteria))
    yield Section("prompt", tuple(block(task.prompt, most)))
    yield Section("notes", tuple(block(task.notes or "", most)))


def message_sections(messages: PendingMessages, most: int | None = None) -> Iterator[Section]:
    """Yield what its agent is to be told: what is new, and what was sent before."""
    for title, part in (
        ("sent with the next start", messages.select(sent=False)),
        ("sent before, repeated until the task is done", messages.select(sent=True)),
    ):
        yield Section(title, tuple(block("\n".join(message_lines(part)), most)))
