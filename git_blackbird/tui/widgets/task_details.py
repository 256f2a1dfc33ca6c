"""The details of one task: what waits for a person, why it is or is not ready, its texts and runs."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from git_blackbird.messages.display.format import adoptable_lines
from git_blackbird.messages.display.quantities import format_moment
from git_blackbird.messages.display.task import (
    due_sections,
    neighbour_sections,
    request_title,
    run_sections,
    text_sections,
    told_sections,
)
from git_blackbird.messages.document import Line, Style, section, styled
from git_blackbird.model.views.task import TaskView
from git_blackbird.tui.keys import KeyTable
from git_blackbird.tui.widgets.line_view import LONGEST_TEXT, WrappedView, document_lines

_MAX_RUNS = 8
_MAX_NEIGHBOURS = 20


class TaskAndKeys(NamedTuple):
    """A task, and the keys in which its next steps are named."""

    view: TaskView
    keys: KeyTable


class TaskDetails(WrappedView, can_focus=True):
    """Shows one task."""

    def show_task(self, shown: TaskAndKeys, now: str) -> None:
        """Show a task; ``now`` is the time."""
        self.show(task_lines(shown, now), shown.view.task.id)

    def show_none(self, why: str) -> None:
        self.show([styled(why, Style.FAINT)])


def task_lines(shown: TaskAndKeys, now: str) -> Iterator[Line]:
    """Yield the details of a task."""
    view, task = shown.view, shown.view.task
    yield styled(f"{task.id}  {request_title(task)}", Style.HEADING)
    yield styled(f"{view.state_text}, updated {format_moment(task.updated_at)}", Style.FAINT)
    document = chain(
        due_sections(view),
        text_sections(task, LONGEST_TEXT),
        neighbour_sections(view, _MAX_NEIGHBOURS),
        told_sections(view, LONGEST_TEXT),
        run_sections(view, now, _MAX_RUNS, narrow=True),
        [section("of another program or clone, not counted", adoptable_lines(view.adoptable))],
        [section("unreadable", _faults(view))],
    )
    yield from document_lines(shown.keys.in_document(document, task.id))


def _faults(view: TaskView) -> Iterator[Line]:
    return (styled(f"{error.path}: {error.what}", Style.WARNING) for error in view.unreadable)
