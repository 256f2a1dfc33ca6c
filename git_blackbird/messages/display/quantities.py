"""Numbers as people read them: counts, sizes, durations, costs; budgets and usage limits in words."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.timestamps import SECOND, format_timestamp, moment_of, parse_timestamp
from git_blackbird.model.rules.limits import LimitHold
from git_blackbird.model.rules.spending import BudgetLine, BudgetScope, BudgetUnit, Spent


def counted(number: int, what: str) -> str:
    """Return ``1 task``, ``2 tasks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def some_of(names: Sequence[str], most: int) -> str:
    """Return ``a, b and 3 more``: the first names, and how many there are beside them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def render_cost(dollars: float) -> str:
    """Format an amount of money; small ones are not rounded to zero."""
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.4f}"


_SIZES = ("bytes", "KB", "MB", "GB", "TB")


def render_bytes(size: float) -> str:
    """Format a number of bytes with about two digits."""
    unit = 0
    while size >= 1000 and unit < len(_SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_SIZES[unit]}" if unit and size < 10 else f"{size:.0f} {_SIZES[unit]}"


def render_duration(seconds: float) -> str:
    """Format a duration in whole seconds, minutes and hours."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
# Agents may report any number; larger ones are ignored in calculations.
_MOST = 10**12


def render_spent(spent: Spent) -> str:
    """Format tokens and cost briefly, as ``12.3k tokens, $0.04``; "" if nothing is known."""
    tokens = f"{short_number(spent.tokens)} tokens" if spent.tokens > 0 else ""
    dollars = min(spent.cost_usd or 0.0, _MOST)
    cost = render_cost(dollars) if dollars > 0 else ""
    return ", ".join(filter(None, (tokens, cost)))


def short_number(number: int) -> str:
    """Format a number briefly, as ``12.3k``; one that nothing can have is bounded."""
    bounded = min(number, _MOST)
    for size, letter in _UNITS:
        if bounded >= size:
            # Rounded down: 999,999 must not become 1000k.
            return f"{bounded // size}.{bounded * 10 // size % 10}{letter}"
    return str(bounded)


def format_moment(timestamp: str) -> str:
    """Format a timestamp as local time to the minute; unreadable ones unchanged."""
    try:
        moment = parse_timestamp(timestamp) / SECOND
        return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OSError, OverflowError):
        return timestamp[:16]


def format_seconds(seconds: float | None) -> str:
    """Format a duration; ``-`` if unknown."""
    return "-" if seconds is None or seconds < 0 else render_duration(seconds)


def format_cost(dollars: float | None) -> str:
    """Format dollars; ``-`` if unknown."""
    if dollars is None:
        return "-"
    return render_cost(dollars) if dollars else "$0"


_REPORTED = {BudgetUnit.USD: "cost", BudgetUnit.TOKENS: "tokens"}


def amount_text(line: BudgetLine) -> str:
    """Return what is spent of a limit, such as ``3.10 USD of 5.00``."""
    match line.unit:
        case BudgetUnit.USD:
            return f"{line.spent:.2f} USD of {line.limit:.2f}"
        case BudgetUnit.TOKENS:
            return f"{short_number(int(line.spent))} tokens of {short_number(int(line.limit))}"
        case BudgetUnit.MINUTES:
            return f"{line.spent:.1f} minutes of {line.limit:.0f}"


def budget_text(line: BudgetLine) -> str:
    """Return the same with what the sum lacks, such as ``; 2 runs of gemini report no cost``."""
    return "; ".join((amount_text(line), *_lacking(line)))


def _lacking(line: BudgetLine) -> Iterator[str]:
    if not line.lacking:
        return
    from git_blackbird.model.run.agent_io import agent_in_text  # most sums lack nothing

    for agent, number in sorted(line.lacking.items()):
        verb = "reports" if number == 1 else "report"
        who = agent_in_text(agent)
        yield f"{counted(number, 'run')} of {who} {verb} no {_REPORTED[line.unit]}"


def budget_name(line: BudgetLine) -> str:
    """Return what a budget is for, in words."""
    match line.scope:
        case BudgetScope.CALL:
            return "the call"
        case BudgetScope.TASK:
            return line.task_id or "each task"
        case BudgetScope.PLAN:
            return "the plan"


def spent_text(lines: Iterable[BudgetLine]) -> str:
    """Say that budgets are spent, each once."""
    texts = (f"the budget of {budget_name(line)} is spent: {budget_text(line)}" for line in lines)
    return "; ".join(dict.fromkeys(texts)) or "the budget is spent"


def enough_text(line: BudgetLine) -> str:
    """Return a limit that leaves as much again as was spent, as it is typed."""
    return f"{line.enough:.2f}" if line.unit is BudgetUnit.USD else f"{line.enough:.0f}"


def raise_command(line: BudgetLine) -> ShellLine:
    """Return the command that raises a limit, whichever file it is from."""
    remark = "raises it in this clone; leaves as much again as was spent"
    return ShellLine(f"git blackbird config {line.key} {enough_text(line)}", remark)


def budget_rows(lines: Iterable[BudgetLine]) -> Iterator[str]:
    """Write one line for each limit, and below one that is spent the command that raises it."""
    for line in lines:
        yield f"{budget_name(line)}: {budget_text(line)}"
        if line.is_spent:
            yield f"    no agent starts{'' if line.task_id is None else ' on it'}"
            yield f"    {raise_command(line)}"


def limit_words(hold: LimitHold) -> str:
    """Say which agent is at its usage limit, and until when by local time."""
    name = " ".join(filter(None, hold.by))
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
