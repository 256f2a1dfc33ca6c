"""What ``execute`` and ``status`` say of usage limits and of a time until which a call goes on."""

import json
import re
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

import pytest

from git_blackbird.cli.commands.run import parse_until
from git_blackbird.errors import UsageError
from tests.cli.terminal import Terminal
from tests.controller.limited import HOUR, SECOND, enlist, started
from tests.controller.support import agree_to_agent
from tests.support import commit
from tests.trial.program import Trial

EVENT = "limits_held"


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    trial.configure({"agent": "claude", "execution.stopAfterEachTask": "false"})
    return trial


def test_a_call_that_waits_says_until_when_and_a_signal_ends_the_waiting(trial: Trial) -> None:
    at = int(time.time()) + 2 * HOUR
    enlist(trial.repo, a=[f"cut {at}"])
    trial.plan({"a": ()})
    trial.configure({"execution.onLimit": "wait"})
    with trial.start("execute", "--json", "--no-input") as process:
        _waits(trial, process, at)
    # Where a call is not to wait, it tries at once.
    trial.configure({"execution.onLimit": "stop"})
    trial.expect(0, "execute", "--no-input")
    assert started(trial.repo) == ["a", "a"]
    assert "usage limit" not in trial.expect(0, "status")


def _waits(trial: Trial, process: subprocess.Popen[str], at: int) -> None:
    assert process.stdout is not None
    events = (json.loads(line) for line in process.stdout)
    held = next(event for event in events if event["event"] == EVENT)
    (limit,) = held["limits"]
    assert (limit["agent"], limit["task"], limit["isGuess"]) == ("claude", "a", False)
    assert datetime.fromisoformat(limit["until"]).timestamp() == at
    said = trial.expect(0, "status")
    clock = f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M}"
    assert f"at a usage limit\n  claude is at its usage limit until {clock}, in 1h59m\n" in said
    assert "Ctrl+C there ends the waiting" in said
    assert json.loads(trial.expect(0, "status", "--json"))["data"]["limits"] == [limit]
    process.send_signal(signal.SIGINT)
    (stop,) = (event for event in events if event["event"] == "stop")
    assert (process.wait(), stop["reason"]) == (130, "interrupted")
    assert stop["nextSteps"] == ["git blackbird execute --no-input"]


def test_a_limit_beyond_the_end_of_a_call_ends_it(trial: Trial) -> None:
    now = time.time()
    enlist(trial.repo, a=[f"refused {int(now) + 100 * HOUR}"])
    trial.plan({"a": ()})
    end = f"{datetime.fromtimestamp(now + HOUR).astimezone():%H:%M}"
    said = trial.expect(8, "execute", "--until", end, "--no-input")
    assert re.search(
        rf"starts nothing after 20\d\d-\d\d-\d\d {end}\nthis call waits at usage limits that end", said
    )
    assert ", after the end of this call; claude: You have hit your limit; a is unchanged" in said


NOW = datetime(2026, 3, 4, 7, 30, 20).astimezone().timestamp()


@pytest.mark.parametrize(
    ("until", "text"),
    [
        ("25:00", '--until: "25:00" is no time'),
        ("soon", '--until: "soon" is no time'),
        ("99999-01-01", "is no time"),
        ("2026-01-01T07:30", "--until: 2026-01-01T07:30 has passed"),
        ("2026-01-01T07:30:00Z", "has passed"),
        ("2026-03-04", "has passed"),
        (
            "7:30",
            "it is 7:30 already, so nothing would start; --until 2026-03-05T07:30 is that time tomorrow",
        ),
    ],
)
def test_what_is_no_time_to_come_is_refused(until: str, text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_until(until, int(NOW * SECOND))
    assert text in raised.value.line


@pytest.mark.parametrize(
    ("until", "at"),
    [
        ("7:31", "2026-03-04T07:31"),
        ("07:29", "2026-03-05T07:29"),
        ("2026-03-05", "2026-03-05T00:00"),
        ("2026-05-01T07:30+02:00", "2026-05-01T07:30+02:00"),
    ],
)
def test_a_time_of_day_is_the_next_such_time(until: str, at: str) -> None:
    assert parse_until(until, int(NOW * SECOND)) == datetime.fromisoformat(at).timestamp() * SECOND


def test_a_terminal_counts_down(trial: Trial) -> None:
    enlist(trial.repo, a=[f"cut {int(time.time()) + 2 * HOUR}"])
    trial.plan({"a": ()})
    agree_to_agent(trial.repo)
    with Terminal(trial.repo, "execute") as terminal:
        terminal.wait_to_match(r"claude 1h59m  usage limit; Ctrl\+C ends the waiting")
        assert "waiting: claude is at its usage limit until 2" in terminal.text
        terminal.type("\x03")
        assert terminal.end() == 130
        assert "interrupted while it waited for a usage limit" in terminal.text
