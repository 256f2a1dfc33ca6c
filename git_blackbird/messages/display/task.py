"""A task: its sections for ``show`` and the screen, and the text of a request to merge its change."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from git_blackbird.clean import clean, one_line
from git_blackbird.messages.display.evidence import evidence_lines, evidence_word
from git_blackbird.messages.display.format import (
    dependency_title,
    label_span,
    message_lines,
    ruling_lines,
    undo_lines,
)
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.display.queue import item_lines, item_words
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.messages.display.runs import OF_TASK, run_line, runs_table
from git_blackbird.messages.document import (
    Line,
    Section,
    Span,
    Style,
    Table,
    block,
    line,
    section,
    table,
)
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import Due
from git_blackbird.model.change.work import next_steps
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import REVIEWS_OF_PARENTS
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, CheckOutcome
from git_blackbird.model.views.task import TaskView

if TYPE_CHECKING:
    # Imported on demand, because only a reviewed change needs it.
    from git_blackbird.model.run.findings import MergedReview

_STEP = "    "


def text_sections(task: Task, most: int | None = None) -> Iterator[Section]:
    """Yield what the task says; of a text of more than ``most`` characters the beginning."""
    criteria = (f"- {text}" for text in task.acceptance_criteria)
    yield section("description", block(task.description, most))
    yield section("acceptance criteria", criteria)
    yield section("prompt", block(task.prompt, most))
    yield section("notes", block(task.notes or "", most))


def neighbour_sections(view: TaskView, most: int | None = None) -> Iterator[Section]:
    """Yield the tasks that it depends on, and the first ``most`` of those that depend on it."""
    reasons = view.task.dep_rationale
    for title, tasks in (("depends on", view.deps), ("needed by", view.dependents)):
        rows = [
            (one.id, label_span(view.labels[one.id]), dependency_title(one, reasons.get(one.id)))
            for one in tasks[:most]
        ]
        more = len(tasks) - len(rows)
        yield section(title, [table(rows), *([f"and {more} more"] if more else [])])


def due_sections(view: TaskView) -> Iterator[Section]:
    """Yield what is due of it, whether it can start or why not, and how a rejected change is taken back."""
    yield section("due", _due(view))
    if not view.task.is_over:
        yield section("ready" if view.readiness.is_ready else "not ready", _readiness(view))
    yield section("rejected change", undo_lines(view.undo))


def _due(view: TaskView) -> Iterator[Line]:
    for item in view.due:
        if item.due in {Due.START, Due.UNREADABLE}:
            continue
        yield line(Span(item_words(item), Style.WARNING))
        yield from (one.behind(_STEP) for one in item_lines(item))
        steps = next_steps(item.run) if item.due is Due.FAILED and item.run is not None else ()
        if item.due in REVIEWS_OF_PARENTS:
            steps = (TaskCommand("review show", view.task.id),)
        yield from (line(_STEP, step) for step in steps if step != item.command)


def _readiness(view: TaskView) -> Iterator[Line]:
    yield from (line(item.command) for item in view.due if item.due is Due.START)
    yield from map(line, view.readiness.reasons)
    yield from (line(_STEP, hint) for hint in view.readiness.hints)


def told_sections(view: TaskView, most: int | None = None) -> Iterator[Section]:
    """Yield what its agent is to be told, and what it decided itself.

    What is to be told is what is new, and what was sent before.
    """
    for title, part in (
        ("sent with the next start", view.words.select(sent=False)),
        ("sent before, repeated until the task is done", view.words.select(sent=True)),
    ):
        yield section(title, block("\n".join(message_lines(part)), most))
    rulings = Change.of(view.history).standing_rulings
    yield section(counted(len(rulings), "ruling"), chain.from_iterable(map(ruling_lines, rulings)))


def run_sections(view: TaskView, now: str, most: int, *, narrow: bool = False) -> Iterator[Section]:
    """Yield its newest runs, as lines instead of a table where it is narrow, and what was made of them."""
    yield section("runs", _runs(view.history.runs[::-1], view.task, now, most, narrow=narrow))
    run = view.history.latest
    yield section("check", () if run is None else _check(run))
    yield section("reviews", () if run is None else _reviews(run))


def _runs(runs: Sequence[Run], task: Task, now: str, most: int, *, narrow: bool) -> Iterator[Line | Table]:
    if narrow:
        yield from (run_line(run, now) for run in runs[:most])
    else:
        yield runs_table(runs[:most], now, OF_TASK)
    if len(runs) > most:
        yield line(f"and {len(runs) - most} more: ", TaskCommand("runs", task.id))


def _check(run: Run) -> Iterator[str | Line]:
    if run.evidence is not None:
        yield from evidence_lines(run.evidence)
    if run.landing_evidence is not None:
        first, *rest = evidence_lines(run.landing_evidence)
        yield from (f"of the merged files: {first}", *rest)
    if run.evidence is not None or run.landing_evidence is not None:
        yield line(_STEP, TaskCommand("runs", run.task_id, f" {run.id}"))


def _reviews(run: Run) -> Iterator[Line]:
    if run.merged_review is not None:
        word = overall_word(merged_or_none(run))
        yield line(f"{word}, round {run.review_round or 1}: ", TaskCommand("review show", run.task_id))


def request_title(task: Task) -> str:
    """Return the title of the task on one line."""
    return one_line(task.title) or task.id


def request_body(task: Task, run: Run, merged: "MergedReview | None") -> str:
    """Return what the task asked for, and what is known of its change."""
    return "\n".join(_body_lines(task, run, merged)).strip("\n") + "\n"


def _body_lines(task: Task, run: Run, merged: "MergedReview | None") -> Iterator[str]:
    if task.description.strip():
        yield from (clean(task.description).strip("\n"), "")
    if task.acceptance_criteria:
        yield "What must hold:"
        yield from ("", *(f"- {one_line(one, 1000)}" for one in task.acceptance_criteria), "")
    known = tuple(_known(run, merged))
    if known:
        yield from ("What is known of it:", "", *(f"- {one_line(one)}" for one in known), "")
    if run.final_text:
        yield from ("What the agent says:", "")
        yield from (f"> {line}".rstrip() for line in clean(run.final_text).splitlines())
        yield ""
    yield f"Task {task.id}, run {run.id}"


def _known(run: Run, merged: "MergedReview | None") -> Iterator[str]:
    evidence = run.landing_evidence or run.evidence
    if evidence is not None and evidence.outcome is not CheckOutcome.DUE:
        yield f"check: {evidence_word(evidence)}"
    if run.merged_review is not None:
        yield f"reviews: {overall_word(merged)}"
    if run.decision_state in APPROVALS:
        yield "approved by a person"
