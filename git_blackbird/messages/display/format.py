"""Format money, durations, sizes of changes and paths; light, because reading commands import it."""

import json

from git_blackbird.model.entities.change import Summary


def counted(number: int, what: str) -> str:
    """Return ``1 task``, ``2 tasks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def render_totals(summary: Summary) -> str:
    """Count the files and lines of a change."""
    totals = summary.totals
    files = max(totals.files, len(summary.files))
    if not files:
        return "no changes" if summary.minimal is None else "changes unknown"
    return f"{files} file{'' if files == 1 else 's'}, +{totals.additions} -{totals.deletions}"


def render_cost(dollars: float) -> str:
    """Format an amount of money; small ones are not rounded to zero."""
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.4f}"


def render_duration(seconds: float) -> str:
    """Format a duration in whole seconds, minutes and hours."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


def render_path(path: str) -> str:
    """Return a path on one line; quoted if it contains what a terminal cannot show."""
    return path if path.isprintable() else json.dumps(path)
