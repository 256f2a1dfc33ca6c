"""Budgets in words: what is spent of each, and what the sum lacks."""

from collections.abc import Iterable, Iterator

from git_blackbird.messages.display.quantities import counted, short_number
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.rules.spending import BudgetLine, BudgetScope, BudgetUnit
from git_blackbird.model.run.agent_io import agent_in_text

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
    for agent, number in sorted(line.lacking.items()):
        verb = "reports" if number == 1 else "report"
        who = clean_line(agent_in_text(agent))
        yield f"{counted(number, 'run')} of {who} {verb} no {_REPORTED[line.unit]}"


def budget_name(line: BudgetLine) -> str:
    """Return what a budget is for, in words."""
    match line.scope:
        case BudgetScope.CALL:
            return "the call"
        case BudgetScope.TASK:
            return clean_line(line.task_id or "each task")
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
