"""The details of one task: what waits for a person, why it is or is not ready, its texts and runs."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from git_blackbird.controller.queries.status import TaskView
from git_blackbird.messages.display.format import (
    adoptable_lines,
    dependency_title,
)
from git_blackbird.messages.display.quantities import format_moment
from git_blackbird.messages.display.queue import item_words, why_text
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.messages.display.runs import run_line
from git_blackbird.messages.display.task import message_sections, text_sections
from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.change.stages import Due
from git_blackbird.model.change.work import next_steps
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.tui.keys import KeyTable
from git_blackbird.tui.widgets.line_view import (
    LONGEST,
    LONGEST_TEXT,
    WrappedView,
    bulleted,
    document_lines,
    section,
)

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
    view = shown.view
    task = view.task
    yield styled(f"{task.id}  {clean_line(task.title)}", Style.HEADING)
    yield styled(f"{view.state_text}, updated {format_moment(task.updated_at)}", Style.FAINT)
    yield from section("Due", _due(shown))
    if not view.task.is_over:
        yield from section("Ready" if view.readiness.is_ready else "Not ready", _readiness(shown))
    yield from document_lines(text_sections(task, LONGEST_TEXT, LONGEST))
    yield from section("Depends on", _neighbours(view, view.deps, task.dep_rationale))
    yield from section("Needed by", _neighbours(view, view.dependents, {}))
    yield from document_lines(message_sections(view.words, LONGEST_TEXT))
    yield from section("Runs", _runs(shown, now))
    yield from section("Reviews", _reviews(shown))
    yield from section("Of another program or clone, not counted", bulleted(adoptable_lines(view.adoptable)))
    yield from section(
        "Unreadable", bulleted((f"{error.path}: {error.what}" for error in view.unreadable), Style.WARNING)
    )


def _due(shown: TaskAndKeys) -> Iterator[Line]:
    ways = () if shown.view.history.latest is None else next_steps(shown.view.history.latest)
    for item in shown.view.due:
        if item.due is Due.START:
            continue
        yield from bulleted([": ".join(filter(None, (item_words(item), why_text(item))))], Style.WARNING)
        yield from bulleted(f"{question.id}: {question.prompt}" for question in item.questions)
        steps = (item.command,) if item.flagged is None else item.flagged.commands
        yield from _steps(shown, *steps, *(ways if item.due is Due.FAILED else ()))


def _steps(shown: TaskAndKeys, *steps: str) -> Iterator[Line]:
    """Yield what a person can do, by its keys."""
    yield from bulleted(
        dict.fromkeys(shown.keys.as_key_hint(step, shown.view.task.id) for step in steps), Style.FAINT
    )


def _readiness(shown: TaskAndKeys) -> Iterator[Line]:
    view = shown.view
    if view.readiness.is_ready:
        yield from _steps(shown, TaskCommand("execute", view.task.id))
    yield from bulleted(view.readiness.reasons)
    yield from _steps(shown, *view.readiness.hints)


def _neighbours(view: TaskView, tasks: tuple[Task, ...], reasons: Mapping[TaskId, str]) -> Iterator[Line]:
    for task in tasks[:_MAX_NEIGHBOURS]:
        title = dependency_title(task, reasons.get(task.id))
        yield from bulleted([f"{task.id}  {view.labels[task.id]}  {title}"])
    if len(tasks) > _MAX_NEIGHBOURS:
        yield from bulleted([f"and {len(tasks) - _MAX_NEIGHBOURS} more"], Style.FAINT)


def _runs(shown: TaskAndKeys, now: str) -> Iterator[Line]:
    view = shown.view
    newest_first = view.history.runs[::-1]
    yield from bulleted(run_line(run, now).text for run in newest_first[:_MAX_RUNS])
    if len(newest_first) > _MAX_RUNS:
        yield from bulleted([f"and {len(newest_first) - _MAX_RUNS} more"], Style.FAINT)
        yield from _steps(shown, TaskCommand("runs", view.task.id))


def _reviews(shown: TaskAndKeys) -> Iterator[Line]:
    view = shown.view
    run = view.history.latest
    if run is not None and run.merged_review is not None:
        yield from bulleted([f"{overall_word(merged_or_none(run))}, round {run.review_round or 1}"])
        yield from _steps(shown, TaskCommand("review show", view.task.id))
