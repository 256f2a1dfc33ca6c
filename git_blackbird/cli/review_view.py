"""How the review of one parent is shown: the verdict, what it left owed, and what gets on with it."""

from collections.abc import Iterator
from typing import Any

import click

from git_blackbird.cli.review_data import review_data
from git_blackbird.cli.review_text import verdict_lines
from git_blackbird.cli.runs_view import run_row
from git_blackbird.cli.tables import Cell, render_section, render_table
from git_blackbird.controller.held_parents import dismiss_command
from git_blackbird.controller.review_views import ReviewView
from git_blackbird.messages.review_text import NO_REASON, verdict_word
from git_blackbird.messages.run_text import shown_moment
from git_blackbird.model.commands import task_command
from git_blackbird.model.gate import GateState, lets_go
from git_blackbird.model.plan import Status
from git_blackbird.model.run import Run
from git_blackbird.model.text import clean, clean_line

_SWITCH = "execution.parentReviewEnabled"
_STATES = {
    GateState.OWED: "owed",
    GateState.REVIEWING: "a reviewer is at work",
    GateState.FAILING: "failed",
}


def review_lines(view: ReviewView) -> Iterator[str]:
    """Write everything of one parent's review."""
    parent = view.parent
    yield f"{click.style(parent.id, bold=True)}  {clean_line(parent.title)}"
    facts = [(Cell(f"  {name}"), Cell(text)) for name, text in _facts(view)]
    yield from render_table(facts, None)
    yield from render_section(
        "acceptance criteria", [f"- {clean_line(one)}" for one in parent.acceptance_criteria]
    )
    if view.said is not None:
        yield from render_section("verdict", list(verdict_lines(view.said)))
        yield from render_section("dismissed", list(_dismissal(view.said)))
    yield from render_section("without a verdict", list(_attempts(view)))
    yield from render_section("owed", list(_owed(view)))
    yield from render_section("next", list(_steps(view)))


def _facts(view: ReviewView) -> Iterator[tuple[str, str]]:
    yield "status", view.parent.status.value
    yield "children", ", ".join(view.parent.children)
    yield "review", _state(view)
    said = view.said
    if said is not None:
        agent = f" by {clean_line(said.provider)}" if said.provider else ""
        yield "run", f"{said.id}, {shown_moment(said.started_at)}{agent}"
        about = "the children as they are now" if view.is_present else "the children as they were before"
        yield "about", about
    if len(view.reviews) > 1:
        yield "rounds", f"{len(view.reviews)} ({task_command('runs', view.parent.id)})"


def _state(view: ReviewView) -> str:
    if view.gate is None:
        return f"not due before they are done: {', '.join(view.open_children)}"
    if view.gate is GateState.OWED and view.parent.status is Status.DONE:
        return "none of its children as they are; it is done all the same"
    return _STATES.get(view.gate) or _open_state(view.said if view.is_present else None)


def _open_state(said: Run | None) -> str:
    if said is None:
        return f"not asked for ({_SWITCH})"
    return verdict_word(said) if lets_go(said) else f"failed; it holds nothing back ({_SWITCH})"


def _dismissal(said: Run) -> Iterator[str]:
    dismissed = said.parent_review_dismissed
    if dismissed is not None:
        by = f" by {clean_line(dismissed.by)}" if dismissed.by else ""
        yield f"{shown_moment(dismissed.at)}{by}"
        yield from clean(dismissed.reason).splitlines()


def _attempts(view: ReviewView) -> Iterator[str]:
    for run in view.attempts:
        yield f"run {run.id}, {shown_moment(run.started_at)}"
        yield f"    {clean_line(run.error or NO_REASON)}"


def _owed(view: ReviewView) -> Iterator[str]:
    for one in view.owed:
        yield f"{one.task.id}  {clean_line(one.task.title)} ({one.task.status.value})"
        yield from (f"    {line}" for line in clean(one.feedback.feedback).splitlines())
        yield f"      {one.command}"


def _steps(view: ReviewView) -> Iterator[str]:
    for step in next_steps(view):
        if step not in {one.command for one in view.owed}:
            yield step


def next_steps(view: ReviewView) -> tuple[str, ...]:
    """Give the commands that get on with a parent that its review holds back."""
    parent = view.parent
    steps = [one.command for one in view.owed]
    if len(view.owed) > 1:
        steps.append(task_command("resume --all", parent.id, remark="all of them"))
    is_owed = view.gate is GateState.OWED and parent.status is not Status.DONE
    if is_owed and not view.owed:
        steps.append(task_command("review run", parent.id, remark="or `git blackbird execute`"))
    if is_owed or view.gate is GateState.FAILING or view.owed:
        steps.append(dismiss_command(parent.id))
    return tuple(steps)


def review_view_data(view: ReviewView, now: str) -> dict[str, Any]:
    """Give the same for programs."""
    return {
        "task": view.parent.id,
        "title": view.parent.title,
        "status": view.parent.status.value,
        "gate": None if view.gate is None else view.gate.value,
        "openChildren": list(view.open_children),
        "verdict": None if view.said is None else {"run": view.said.id, **(review_data(view.said) or {})},
        "isPresent": view.is_present,
        "attempts": [{"run": run.id, "status": run.status, "error": run.error} for run in view.attempts],
        "owed": [
            {
                "task": one.task.id,
                "run": one.feedback.review_run_id,
                "feedback": one.feedback.feedback,
                "command": one.command,
            }
            for one in view.owed
        ],
        "reviews": [run_row(run, now) for run in reversed(view.reviews)],
        "nextSteps": list(next_steps(view)),
    }
