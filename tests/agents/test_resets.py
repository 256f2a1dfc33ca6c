"""When a limit is over, in the words that the programs print, seen at one moment in one time zone."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from git_blackbird.agents.failures import find_reset

CODEX = "You've hit your usage limit. Visit https://chatgpt.com/settings/usage or try again"
NOW = datetime.fromisoformat("2026-11-28T12:17:30+00:00").timestamp()


@pytest.fixture(autouse=True)
def in_berlin() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("You've hit your 5-hour limit · resets 2:17pm (UTC)", "2026-11-28T14:18:00+00:00"),
        ("You've hit your limit · resets 2pm (Asia/Shanghai)", "2026-11-29T14:01:00+08:00"),
        ("resets Dec 1, 8:17pm (Asia/Shanghai)", "2026-12-01T20:18:00+08:00"),
        ("resets Jan 2, 9am (UTC)", "2027-01-02T09:01:00+00:00"),
        ("You've hit your weekly limit · resets Mon 9am", "2026-11-30T09:01:00+01:00"),
        ("5-hour limit reached ∙ resets 3pm", "2026-11-28T15:01:00+01:00"),
        ("resets 12am (UTC)", "2026-11-29T00:01:00+00:00"),
        ("resets at 15:30", "2026-11-28T15:31:00+01:00"),
        # It has just passed: nobody waits until the next day.
        ("resets 1:12pm", "2026-11-28T13:13:00+01:00"),
        ("Claude AI usage limit reached|1795881600", "2026-11-28T16:00:00+00:00"),
        (f"{CODEX} at 2:17 PM.", "2026-11-28T14:18:00+01:00"),
        (f"{CODEX} at Dec 1st, 2026 12:17 PM.", "2026-12-01T12:18:00+01:00"),
        (f"{CODEX} at Nov 1st, 2026 12:17 PM.", "2026-11-01T12:18:00+01:00"),
    ],
)
def test_a_time_in_words_is_the_next_moment_of_that_name(text: str, moment: str) -> None:
    found = find_reset(text, NOW)
    assert found is not None
    assert datetime.fromtimestamp(found).astimezone() == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "text",
    [
        f"{CODEX} later.",
        "exceeded retry limit, last status: 429 Too Many Requests",
        "resets soon",
        "resets 3",
        "resets 2pm (Nowhere/Land)",
        "resets 2pm (/etc/passwd)",
        "resets 2pm (../../etc/passwd)",
        "resets 77:99pm",
        "resets Feb 30, 9am",
        "resets Dec 1st, 0000 9am",
    ],
)
def test_what_names_no_time_is_none(text: str) -> None:
    assert find_reset(text, NOW) is None
