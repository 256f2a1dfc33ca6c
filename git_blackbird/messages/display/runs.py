"""Format times, money and decisions of runs, and the effects of a status change."""

from collections.abc import Iterator
from datetime import datetime

from git_blackbird.messages.display.format import render_cost, render_duration, render_path
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.base.timestamps import parse_timestamp, seconds_between
from git_blackbird.model.entities.change import OutsideMove, Summary, Undo
from git_blackbird.model.entities.run import (
    APPROVALS,
    REVIEWER_TYPES,
    SUPERSEDED_BY_PLAN,
    DecisionState,
    Run,
    RunStatus,
    RunType,
)
from git_blackbird.model.rules.reviews import result_of
from git_blackbird.model.views.stop import StatusChange

_NANOSECONDS = 1_000_000_000
_VERDICTS = {"APPROVED": "approved", "APPROVED_WITH_MINOR": "minor", "ISSUES": "issues"}
OUTSIDE = "HEAD moved during the run; not part of the change:"
OUTSIDE_UNKNOWN = "HEAD moved during the run; part of the change, since nobody knows who did it:"
MAX_LISTED = 10


def review_word(run_type: RunType) -> str:
    """Return the kind of review of a run; "" if it is not a review."""
    return run_type.value.replace("_", " ") if run_type in REVIEWER_TYPES else ""


def format_moment(timestamp: str) -> str:
    """Format a timestamp as local time to the minute; unreadable ones unchanged."""
    try:
        moment = parse_timestamp(timestamp) / _NANOSECONDS
        return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OSError, OverflowError):
        return timestamp[:16]


def format_seconds(seconds: float | None) -> str:
    """Format a duration; ``-`` if unknown."""
    return "-" if seconds is None or seconds < 0 else render_duration(seconds)


def run_seconds(run: Run, now: str) -> float | None:
    """Return the duration of a run, so far or in total; None if unknown."""
    if run.completed_at is not None:
        return seconds_between(run.started_at, run.completed_at)
    return seconds_between(run.started_at, now) if run.status is RunStatus.RUNNING else None


def format_cost(dollars: float | None) -> str:
    """Format dollars; ``-`` if unknown."""
    if dollars is None:
        return "-"
    return render_cost(dollars) if dollars else "$0"


def format_decision(run: Run) -> str:
    """Return the decision on a run, or a review's verdict, in a word; ``-`` if there is none."""
    if run.is_review:
        return verdict_word(run)
    if run.was_superseded_undecided:
        return "superseded"
    if run.decision_state is None:
        return "-"
    if run.decision_state in APPROVALS:
        return "approved"
    return "changes" if run.decision_state is DecisionState.CHANGES_REQUESTED else run.decision_state.value


def verdict_word(run: Run) -> str:
    """Return the result of a review in a word; ``-`` without a verdict."""
    if run.is_of_change:
        result = result_of(run)
        return "-" if result is None else _VERDICTS[result.counted_verdict]
    if run.parent_review_dismissed is not None:
        return "dismissed"
    if run.parent_review_passed is None:
        return "-"
    word = "passed" if run.parent_review_passed else "failed"
    return f"{word}, void" if run.superseded_by == SUPERSEDED_BY_PLAN else word


def render_reset(reset: StatusChange) -> Iterator[str]:
    """Describe the effects of a status change, in lines; empty if there were none."""
    yield from reset.commits
    for run in reset.overtaken:
        if run.decision_state is DecisionState.PENDING:
            yield f"the decision due on run {run.id} is dropped"
        if run.decision_state is DecisionState.CHANGES_REQUESTED and run.decision_feedback in reset.pending:
            yield f"the change request on run {run.id} stays pending: it is sent with the next start"
    if reset.let_go is not None:
        yield f"feedback from the review of {reset.let_go.parent_task_id} was dropped; it was never sent"
    if reset.reopened:
        yield f"also changed: {', '.join(reset.reopened)}"
    if reset.dependents:
        yield f"not reset, although they depend on it: {', '.join(reset.dependents)}"


def undo_lines(undo: Undo) -> Iterator[str]:
    """Return each command, then each path that they leave alone, with the reason."""
    yield from (f"to take the change back: {clean_line(command)}" for command in undo.commands)
    yield from (
        f"  it leaves {render_path(path.path)} as it is: {clean_line(path.reason)}" for path in undo.kept
    )


def submodule_lines(summary: Summary) -> list[str]:
    """List the submodules of a change and what is new in each, in git's words."""
    lines = []
    for submodule in summary.submodules:
        news = {"new commits": submodule.commits, "modified content": submodule.content}
        what = ", ".join(text for text, is_so in news.items() if is_so)
        lines.append(f"submodule {render_path(submodule.path)}: {what}")
    return lines


def outside_lines(summary: Summary, *, in_change: bool) -> list[str]:
    """List what others did to HEAD during the run, in git's words, and where the change includes it."""
    return [
        f"{move.new[:10]} {clean_line(move.text)}{_also_changed(move)}"
        for move in summary.outside
        if move.in_change is in_change
    ]


def _also_changed(move: OutsideMove) -> str:
    if not move.paths:
        return ""
    more = f" and {len(move.paths) - MAX_LISTED} more" if len(move.paths) > MAX_LISTED else ""
    return f"; also changed by it: {', '.join(map(render_path, move.paths[:MAX_LISTED]))}{more}"
