"""How moments, spans, money and statuses are put for people, in one way everywhere."""

from datetime import datetime

from git_blackbird.cli.amounts import render_cost, render_duration
from git_blackbird.cli.review_text import verdict_word
from git_blackbird.cli.tables import Cell
from git_blackbird.model.plan import Status
from git_blackbird.model.run import APPROVALS, DecisionState, Run, RunStatus
from git_blackbird.model.timestamps import parse_timestamp, seconds_between

_NANOSECONDS = 1_000_000_000
COLORS = {
    "DONE": "green",
    "READY": "cyan",
    "IN_PROGRESS": "blue",
    "WAITING_USER": "yellow",
    "FAILED": "red",
    "BLOCKED": "magenta",
}
_RUN_COLORS = {
    RunStatus.SUCCESS: "green",
    RunStatus.FAILED: "red",
    RunStatus.RUNNING: "blue",
    RunStatus.WAITING_USER: "yellow",
    RunStatus.PAUSED: "yellow",
}


def shown_moment(timestamp: str) -> str:
    """Write a timestamp as local time to the minute; unreadable ones as they are."""
    try:
        moment = parse_timestamp(timestamp) / _NANOSECONDS
        return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OSError, OverflowError):
        return timestamp[:16]


def shown_seconds(seconds: float | None) -> str:
    """Write a span; ``-`` where nobody knows it."""
    return "-" if seconds is None or seconds < 0 else render_duration(seconds)


def run_seconds(run: Run, now: str) -> float | None:
    """Give how long a run took, or has taken so far; None where its record does not say."""
    if run.completed_at is not None:
        return seconds_between(run.started_at, run.completed_at)
    return seconds_between(run.started_at, now) if run.status is RunStatus.RUNNING else None


def shown_cost(dollars: float | None) -> str:
    """Write dollars; ``-`` where nobody told."""
    if dollars is None:
        return "-"
    return render_cost(dollars) if dollars else "$0"


def shown_decision(run: Run) -> str:
    """Write the decision on a run, or a review's verdict, in a word; ``-`` where there is none."""
    if run.is_review:
        return verdict_word(run)
    if run.decision_state is None:
        return "-"
    if run.decision_state in APPROVALS:
        return "approved"
    return "changes" if run.decision_state is DecisionState.CHANGES_REQUESTED else run.decision_state.value


def status_cell(run: Run) -> Cell:
    """Write a run's status in its colour; an overtaken run is dim."""
    return Cell(
        run.status.value, None if run.superseded_at else _RUN_COLORS[run.status], dim=bool(run.superseded_at)
    )


def label_cell(label: str) -> Cell:
    """Write a task's label in its colour."""
    return Cell(label, COLORS.get(label))


def counted(number: int, what: str) -> str:
    """Write ``1 task``, ``2 tasks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


BAR = (
    (Status.DONE, "#", "green"),
    (Status.IN_PROGRESS, ">", "blue"),
    (Status.QUEUED, ">", "blue"),
    (Status.WAITING_USER, "?", "yellow"),
    (Status.FAILED, "x", "red"),
    (Status.BLOCKED, ".", None),
    (Status.TODO, ".", None),
    (Status.SKIPPED, "-", None),
)
