"""What runs took."""

from collections.abc import Mapping

import pytest

from git_blackbird.model.run.parts import Usage
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.spent import Spent, spent_in
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
