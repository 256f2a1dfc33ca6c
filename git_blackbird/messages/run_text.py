"""How moments, spans, money and decisions of runs are put for people, in one way everywhere."""

from datetime import datetime

from git_blackbird.messages.amounts import render_cost, render_duration
from git_blackbird.messages.review_text import verdict_word
from git_blackbird.model.run import APPROVALS, REVIEWER_TYPES, DecisionState, Run, RunStatus, RunType
from git_blackbird.model.timestamps import parse_timestamp, seconds_between

_NANOSECONDS = 1_000_000_000


def review_word(run_type: RunType) -> str:
    """Write which review a run is; "" for one that is none."""
    return run_type.value.replace("_", " ") if run_type in REVIEWER_TYPES else ""


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
