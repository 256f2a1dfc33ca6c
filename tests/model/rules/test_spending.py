"""Budgets, and what of them is spent."""

from collections.abc import Mapping

import pytest

from git_blackbird.messages.display.quantities import budget_text, spent_text
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.config.config import Amounts
from git_blackbird.model.rules.spending import BudgetScope, Spent, budget_lines, spent_in, total_of
from git_blackbird.model.run.parts import Usage
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason
from tests.records import run_of

TOKENS = {"input_tokens": 70, "output_tokens": 30}
NOW = "2026-01-01T00:10:00Z"


def a_run(status: RunStatus, reason: TerminalReason | None = None, **facts: object) -> Run:
    return run_of(
        id="0123456789abcdef",
        task_id="a",
        provider="codex",
        status=status,
        started_at="2026-01-01T00:00:00Z",
        completed_at=None if status is RunStatus.RUNNING else "2026-01-01T00:02:00Z",
        terminal_reason=reason,
        **facts,
    )


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            a_run(RunStatus.SUCCESS, usage=TOKENS, cost_usd=0.5),
            (120.0, 100, 0.5, {}, {}),
        ),
        (
            a_run(RunStatus.FAILED, usage=TOKENS),
            (120.0, 100, None, {"codex": 1}, {}),
        ),
        (a_run(RunStatus.PAUSED), (120.0, 0, None, {"codex": 1}, {"codex": 1})),
        (a_run(RunStatus.RUNNING), (600.0, 0, None, {}, {})),
        (a_run(RunStatus.FAILED, TerminalReason.WITHOUT_WORK), (120.0, 0, None, {}, {})),
    ],
)
def test_a_run_is_counted_by_what_its_record_says(
    run: Run, expected: tuple[float, int, float | None, Mapping[str, int], Mapping[str, int]]
) -> None:
    spent = spent_in(run, NOW)
    assert (spent.seconds, spent.tokens, spent.cost_usd, spent.no_cost, spent.no_tokens) == expected


def test_newer_figures_take_the_place_of_older_ones() -> None:
    begun = Spent.of("codex").updated(Usage(input_tokens=100), None)
    assert (begun.tokens, begun.cost_usd, begun.no_cost, begun.no_tokens) == (100, None, {"codex": 1}, {})
    paid = begun.updated(Usage(input_tokens=250, output_tokens=50), 0.25).updated(None, None)
    assert (paid.tokens, paid.cost_usd, paid.no_cost) == (300, 0.25, {})


SPENT = total_of(
    [
        Spent.of("claude", 600.0).updated(Usage(input_tokens=40_000, output_tokens=2_000), 3.1),
        Spent.of("gemini", 60.0).updated(Usage(input_tokens=1_000), None),
        Spent.of("gemini", 60.0).updated(Usage(output_tokens=1_000), None),
        Spent.of("command", 1080.0).updated(None, None),
    ]
)


@pytest.mark.parametrize(
    ("amounts", "is_spent", "text"),
    [
        (
            Amounts(usd=5.0),
            False,
            "3.10 USD of 5.00; 1 run of the agent 'command' reports no cost; 2 runs of gemini report no cost",
        ),
        (
            Amounts(tokens=44_000),
            True,
            "44.0k tokens of 44.0k; 1 run of the agent 'command' reports no tokens",
        ),
        (Amounts(minutes=29), True, "30.0 minutes of 29"),
        (Amounts(minutes=31), False, "30.0 minutes of 31"),
    ],
)
def test_a_limit_says_what_is_spent_and_what_the_sum_lacks(
    amounts: Amounts, is_spent: bool, text: str
) -> None:
    (line,) = budget_lines(BudgetScope.PLAN, amounts, lambda: SPENT)
    assert (line.is_spent, budget_text(line)) == (is_spent, text)


def test_what_is_spent_is_said_once() -> None:
    limits, on_task = Amounts(usd=1.0, minutes=10), Spent(seconds=720.0, cost_usd=1.5)
    of_task = budget_lines(BudgetScope.TASK, limits, lambda: on_task, TaskId("a"))
    of_plan = [*budget_lines(BudgetScope.PLAN, Amounts(usd=2.0), lambda: Spent(cost_usd=2.5))]
    assert spent_text([*of_task, *of_plan, *of_plan]) == (
        "the budget of a is spent: 1.50 USD of 1.00; the budget of a is spent: 12.0 minutes of 10; "
        "the budget of the plan is spent: 2.50 USD of 2.00"
    )


def test_without_limits_nothing_is_added_up() -> None:
    assert not [*budget_lines(BudgetScope.CALL, Amounts(), lambda: pytest.fail("it is not asked for"))]
