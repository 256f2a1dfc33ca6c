"""What a run cost and used; the shapes are those of 2.1.329 and 2.1.197."""

from typing import Any

import pytest

from git_blackbird.agents.claude.collected import LiveUsage, UsageTotals
from git_blackbird.agents.claude.events import Message, Result
from git_blackbird.model.run.parts import Usage

USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 30,
    "output_tokens": 4,
}


def models(cost: float, output_tokens: int) -> dict[str, Any]:
    return {
        "model-a": {"costUSD": cost, "outputTokens": output_tokens},
        "model-b": {"costUSD": 0.25},
        "odd": 1,
    }


def account(*results: dict[str, Any], **before: float) -> UsageTotals:
    taken = UsageTotals(before or {"total_cost_usd": 1.25})
    for result in results:
        taken.take(Result.model_validate({"type": "result", "usage": USAGE} | result))
    return taken


@pytest.mark.parametrize(
    ("result", "cost"),
    [
        ({"total_cost_usd": 2.0, "model_usage_since_last_result": models(0.5, 4)}, 0.75),
        ({"total_cost_usd": 2.0, "model_usage_since_last_result": {}}, 0.0),
        ({"total_cost_usd": 2.0, "modelUsage": models(2.0, 99)}, 0.75),
        ({"total_cost_usd": 2.0, "modelUsage": models(2.0, 4)}, 2.0),
        ({"total_cost_usd": 1.0, "modelUsage": models(1.0, 99)}, 1.0),
        ({"total_cost_usd": None}, None),
        ({"total_cost_usd": "much"}, None),
        ({"total_cost_usd": float("nan")}, None),
        ({"total_cost_usd": 10**400}, None),
    ],
)
def test_cost_is_that_of_this_run(result: dict[str, Any], cost: float | None) -> None:
    assert account(result).cost_usd == cost


def test_a_run_that_works_on_after_a_result_costs_the_sum_of_all() -> None:
    first = {"total_cost_usd": 2.0, "model_usage_since_last_result": models(0.5, 4)}
    second = {"total_cost_usd": 2.5, "model_usage_since_last_result": models(0.25, 3)}
    both = account(first, second)
    assert (both.cost_usd, both.usage) == (1.25, Usage(output_tokens=7))
    assert both.totals == {"total_cost_usd": 2.5}


def test_a_run_with_subagents_is_no_session_total_when_it_shows_less_than_before() -> None:
    """2.1.197 counts a run, and its models' usage has the subagents in it."""
    result = {"total_cost_usd": 0.004, "modelUsage": models(0.004, 80)}
    again = account(result, total_cost_usd=0.004, model_output_tokens=80.0)
    assert (again.cost_usd, again.usage) == (0.004, Usage(output_tokens=80))
    more = account({**result, "total_cost_usd": 0.01, "modelUsage": models(0.01, 84)}, **again.totals)
    assert more.cost_usd == pytest.approx(0.006)
    assert more.usage == Usage(input_tokens=60, output_tokens=4, cached_tokens=30)


def test_totals_are_kept_for_the_next_resume() -> None:
    assert account({"total_cost_usd": 2.0, "modelUsage": models(2.0, 99)}).totals == {
        "total_cost_usd": 2.0,
        "model_output_tokens": 99.0,
    }


@pytest.mark.parametrize("results", [(), ({"total_cost_usd": 0},), ({"total_cost_usd": "x"},)])
def test_totals_go_on_over_a_run_that_counted_nothing(results: tuple[dict[str, Any], ...]) -> None:
    assert account(*results).totals == {"total_cost_usd": 1.25}


def test_nothing_is_known_of_a_run_without_a_result() -> None:
    assert (account().cost_usd, account().usage) == (None, None)
    assert account({"usage": None}).usage is None


def message(name: Any, usage: Any) -> Message:
    return Message.model_validate({"id": name, "usage": usage})


def test_a_message_in_several_events_counts_once() -> None:
    so_far = LiveUsage()
    assert [so_far.take_message(message("m1", USAGE)) for _ in range(3)] == [True, False, False]
    assert so_far.take_message(message("m2", {"output_tokens": 2}))
    assert not so_far.take_message(Message.model_validate({"usage": USAGE}))
    assert not so_far.take_message(message(["odd"], "odd"))
    assert so_far.usage == Usage(input_tokens=60, output_tokens=6, cached_tokens=30)


def test_little_is_remembered_of_a_long_stream() -> None:
    so_far = LiveUsage()
    for at in range(1000):
        so_far.take_message(message(str(at), {"output_tokens": 1}))
    assert so_far.usage == Usage(output_tokens=1000)
    assert len(so_far._recent) < 300
