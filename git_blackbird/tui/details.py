"""What there is to know of one task: what it is, why it is or is not ready, what is due, its runs."""

from collections.abc import Iterator, Sequence

from git_blackbird.controller.held_parents import REVIEW_WORDS, ReviewWait
from git_blackbird.controller.overview import CHANGE_REVIEW, TaskView
from git_blackbird.controller.required import Required
from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.review_text import overall_word
from git_blackbird.messages.run_text import (
    run_seconds,
    shown_cost,
    shown_decision,
    shown_moment,
    shown_seconds,
)
from git_blackbird.model.commands import EXECUTE, task_command
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.run import Run
from git_blackbird.model.task_review import readable_merged
from git_blackbird.model.text import clean_line
from git_blackbird.tui.line_view import FoldedView
from git_blackbird.tui.lines import listed, paragraph, section

_MAX_RUNS = 8
_MAX_NEIGHBOURS = 20


class Details(FoldedView, can_focus=True):
    """Shows one task; scrolls."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self._task_id: TaskId | None = None

    def show_task(self, view: TaskView, waits: Sequence[Required], now: str) -> None:
        """Show a task; ``waits`` is what of it waits for a person, ``now`` the time it is."""
        show = self.renew if view.task.id == self._task_id else self.show
        show(task_lines(view, waits, now))
        self._task_id = view.task.id

    def show_none(self, why: str) -> None:
        """Say why there is no task to be shown."""
        self._task_id = None
        self.show([Line(why, Tone.FAINT)])


def task_lines(view: TaskView, waits: Sequence[Required], now: str) -> Iterator[Line]:
    """Say everything of a task."""
    task = view.task
    yield Line(f"{task.id}  {clean_line(task.title)}", Tone.HEADING)
    yield Line(
        f"{view.label.replace('_', ' ').capitalize()}, updated {shown_moment(task.updated_at)}", Tone.FAINT
    )
    yield from section("Due", _due(view, waits))
    if not view.task.is_over:
        yield from section("Ready" if view.readiness.is_ready else "Not ready", _readiness(view))
    yield from section("Description", paragraph(task.description))
    yield from section("Acceptance criteria", listed(f"- {one}" for one in task.acceptance_criteria))
    yield from section("Prompt", paragraph(task.prompt))
    yield from section("Notes", paragraph(task.notes or ""))
    yield from section("Depends on", _neighbours(view.deps))
    yield from section("Needed by", _neighbours(view.dependents))
    yield from section("Sent with the next start", _words(view))
    yield from section("Runs", _runs(view, now))
    yield from section("Reviews", _reviews(view))
    yield from section(
        "Not confirmed", listed((f"{one.path}: {one.what}" for one in view.unconfirmed), Tone.WARNING)
    )
    yield from section(
        "Unreadable", listed((f"{one.path}: {one.what}" for one in view.unreadable), Tone.WARNING)
    )


def _due(view: TaskView, waits: Sequence[Required]) -> Iterator[Line]:
    asked = () if view.owed is None else view.owed.questions
    for one in waits:
        yield from listed([": ".join(filter(None, (one.what, one.why)))], Tone.WARNING)
        yield from listed(f"{question.id}: {question.prompt}" for question in asked)
        yield from listed([one.command], Tone.FAINT)
    if view.to_review is not None and view.owed is None:
        yield from listed([CHANGE_REVIEW], Tone.WARNING)
        yield from listed([EXECUTE], Tone.FAINT)
    elif view.unreviewed is not None and view.owed is None:
        if view.unreviewed.wait is ReviewWait.OWED:
            yield from listed([REVIEW_WORDS[view.unreviewed.wait]], Tone.WARNING)
        shown = {one.command for one in waits}
        yield from listed((one for one in view.unreviewed.commands if one not in shown), Tone.FAINT)


def _readiness(view: TaskView) -> Iterator[Line]:
    if view.readiness.is_ready:
        yield from listed([task_command("execute", view.task.id)], Tone.FAINT)
    yield from listed(view.readiness.reasons)
    yield from listed(view.readiness.ways_out, Tone.FAINT)


def _neighbours(tasks: tuple[Task, ...]) -> Iterator[Line]:
    yield from listed(f"{task.id}  {task.status}  {task.title}" for task in tasks[:_MAX_NEIGHBOURS])
    if len(tasks) > _MAX_NEIGHBOURS:
        yield from listed([f"and {len(tasks) - _MAX_NEIGHBOURS} more"], Tone.FAINT)


def _words(view: TaskView) -> Iterator[Line]:
    if view.words.review is not None:
        yield from listed([f"from the review of {view.words.review.parent_task_id}:"], Tone.FAINT)
        yield from paragraph(view.words.review.feedback)
    for text in view.words.texts:
        yield from paragraph(text)
    yield from listed(f"{answer.id}: {answer.value}" for answer in view.words.answers)


def _runs(view: TaskView, now: str) -> Iterator[Line]:
    newest_first = view.history.runs[::-1]
    yield from listed(run_line(run, now) for run in newest_first[:_MAX_RUNS])
    if len(newest_first) > _MAX_RUNS:
        command = task_command("runs", view.task.id)
        yield from listed([f"and {len(newest_first) - _MAX_RUNS} more: {command}"], Tone.FAINT)


def _reviews(view: TaskView) -> Iterator[Line]:
    """Say what the reviewers of the latest change came to."""
    run = view.history.latest
    if run is not None and run.merged_review is not None:
        yield from listed([f"{overall_word(readable_merged(run))}, round {run.review_round or 1}"])
        yield from listed([task_command("review show", view.task.id)], Tone.FAINT)


def run_line(run: Run, now: str) -> str:
    """Say a run in one line."""
    overtaken = ", overtaken" if run.superseded_at else ""
    return (
        f"{run.id}  {run.run_type} {run.status}{overtaken}, {shown_decision(run)}, "
        f"{shown_moment(run.started_at)}, {shown_seconds(run_seconds(run, now))}, {shown_cost(run.cost_usd)}"
    )
