"""Usage limits of agents in words: who is at one, until when, and for how long that is."""

from collections.abc import Sequence

from git_blackbird.messages.display.quantities import format_moment, render_duration
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.base.timestamps import SECOND, format_timestamp, moment_of
from git_blackbird.model.rules.limits import LimitHold


def limit_words(hold: LimitHold) -> str:
    """Say which agent is at its usage limit, and until when by local time."""
    name = " ".join(map(clean_line, filter(None, hold.by)))
    at = format_moment(format_timestamp(hold.until))
    if hold.is_guess:
        return f"{name} is at its usage limit and {_said(hold)}: next try (a guess) at {at}"
    return f"{name} is at its usage limit until {at}"


def _said(hold: LimitHold) -> str:
    """Say what the provider said, and why that is not believed."""
    named = moment_of(hold.run.limit.until) if hold.run.limit else None
    if named is None:
        return "does not say until when"
    why = "had passed" if named.nanoseconds < hold.until else "is more than 8 days away"
    return f"says until {format_moment(named.text)}, which {why} and is not believed"


def countdown(hold: LimitHold, now: int) -> str:
    """Say the same, and how long that is from ``now``, in nanoseconds since 1970."""
    return f"{limit_words(hold)}, in {render_duration(max(0, hold.until - now) / SECOND)}"


def waiting_text(holds: Sequence[LimitHold], now: int) -> str:
    """Say on one line what a call waits for, and how that is ended."""
    return f"waiting: {'; '.join(countdown(hold, now) for hold in holds)} (Ctrl+C ends the waiting)"
