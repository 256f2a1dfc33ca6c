"""Which agents are at a usage limit, by the records and the time alone."""

from typing import Any

import pytest

from git_blackbird.messages.display.quantities import limit_words
from git_blackbird.model.base.timestamps import format_timestamp, parse_timestamp
from git_blackbird.model.rules.limits import AgentModel, LimitHold, held_agents, limit_reached
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_UNAVAILABLE, RunStatus
from tests.model.building import histories, plan_of, run

CLAUDE = AgentModel("claude")
MINUTE = 60 * 10**9


def minute(number: int) -> str:
    return f"2026-01-01T00:{number:02d}:00Z"


def limited(number: int, task: str = "a", until: str | None = None, **fields: Any) -> Run:
    """A run that began in that minute, did nothing, and was refused half a minute later."""
    at = f"2026-01-01T00:{number:02d}:30Z"
    limit = {"at": at, **({"until": until} if until else {})}
    facts = {"provider": "claude", "limit": limit, "completedAt": at}
    facts |= {"superseded_by": SUPERSEDED_BY_UNAVAILABLE}
    return run(number, task_id=task, **{"status": RunStatus.FAILED, **facts, **fields})


def worked(number: int, task: str = "b", **fields: Any) -> Run:
    return run(number, RunStatus.SUCCESS, task, **{"provider": "claude", "completedAt": minute(59), **fields})


def held(*runs: Run, at: int = 10, reviews: tuple[Run, ...] = ()) -> dict[AgentModel, LimitHold]:
    state = PlanState(plan_of(), histories(*runs))
    return dict(held_agents(state, reviews, parse_timestamp(minute(at))))


def ends(*runs: Run, at: int = 10) -> dict[AgentModel, str]:
    return {by: format_timestamp(hold.until) for by, hold in held(*runs, at=at).items()}


def test_a_limit_holds_its_agent_and_model_until_the_time_that_was_named() -> None:
    first = limited(1, until=minute(20), agent_model="opus")
    opus = AgentModel("claude", "opus")
    assert held(first) == {opus: LimitHold(first, parse_timestamp(minute(20)), is_guess=False)}
    assert held(first, at=20) == {}
    later = limited(2, until=minute(30))
    assert ends(first, later) == {opus: minute(20), CLAUDE: minute(30)}


def test_of_several_limits_of_an_agent_the_last_to_end_counts() -> None:
    assert ends(limited(1, until=minute(40)), limited(2, "b", until=minute(20))) == {CLAUDE: minute(40)}


@pytest.mark.parametrize(("tries", "minutes"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (20, 60)])
def test_without_a_time_each_try_in_vain_makes_the_next_wait_longer(tries: int, minutes: int) -> None:
    runs = [limited(number) for number in range(1, tries + 1)]
    hold = held(*runs, at=tries + 1)[CLAUDE]
    assert (hold.is_guess, hold.until) == (
        True,
        parse_timestamp(runs[-1].completed_at or "") + minutes * MINUTE,
    )


def test_tasks_that_are_refused_at_once_are_one_try() -> None:
    assert ends(limited(8, "a"), limited(8, "b"), limited(8, "c")) == {CLAUDE: "2026-01-01T00:13:30Z"}


def test_a_later_run_that_worked_ends_the_limit_and_the_count_of_tries() -> None:
    first = limited(1, until=minute(50))
    assert held(first, worked(2)) == {}
    assert held(first, worked(2, provider="codex")).keys() == {CLAUDE}
    assert held(first, worked(2, agent_model="opus")).keys() == {CLAUDE}
    # One that had begun before says nothing of what is possible since.
    assert held(first, worked(1)).keys() == {CLAUDE}
    paused = limited(9, "b", status=RunStatus.PAUSED, superseded_by=None)
    assert ends(limited(1), limited(2), limited(3), paused) == {CLAUDE: "2026-01-01T00:14:30Z"}


def test_a_reviewer_at_a_limit_holds_its_agent_too() -> None:
    assert held(worked(1), reviews=(limited(2, until=minute(20)),)).keys() == {CLAUDE}


@pytest.mark.parametrize(
    ("seconds", "waits", "words"),
    [
        (5, 15, "until"),
        (59, 59, "until"),
        (8 * 86_400, 8 * 86_400, "until"),
        (8 * 86_400 + 1, 300, "is more than 8 days away and is not believed: next try (a guess) at"),
        (-1, 300, "had passed and is not believed: next try (a guess) at"),
        (None, 300, "does not say until when: next try (a guess) at"),
    ],
)
def test_a_time_is_believed_up_to_eight_days_from_now(seconds: int | None, waits: int, words: str) -> None:
    now = parse_timestamp(minute(10))
    limit = limit_reached(now, None if seconds is None else now // 10**9 + seconds)
    hold = held(limited(9, limit=limit.model_dump(exclude_none=True)))[CLAUDE]
    assert (hold.until, hold.is_guess) == (now + waits * 10**9, words != "until")
    assert words in limit_words(hold)


@pytest.mark.parametrize("named", [None, 0.0, 1e300])
def test_any_other_time_is_none(named: float | None) -> None:
    assert limit_reached(1_800_000_000 * 10**9, named).until is None
