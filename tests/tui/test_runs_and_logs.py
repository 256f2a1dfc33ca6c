import signal
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.messages.display.quantities import format_moment
from git_blackbird.model.plan.status import Status
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.screens.review import ParentReviewScreen
from tests.controller.support import (
    Person,
    changes,
    configure,
    execute,
    leaf,
    parent_of,
    put_plan,
    runs_of,
    status,
)
from tests.tui.driver import drive, is_over, screen_text, see, started, wait_for

REVIEWED = "require use.md without a name | guide-use | Say what happens without a name."
MENDED = "write use.md usage\nsay Written.\non-feedback write use.md usage, without a name"


def plan_a_failing_review(repo: Path) -> None:
    put_plan(
        repo,
        replace(parent_of("guide", ["guide-use"]), prompt=REVIEWED),
        leaf("guide-use", MENDED, parent="guide"),
    )


@pytest.mark.exhaustive
def test_a_failing_review_comes_up_and_its_child_is_resumed(planned: Path) -> None:
    plan_a_failing_review(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(app.screen, ParentReviewScreen))
        await see(
            app,
            pilot,
            "Say what happens without a name.",
            "1. Resume guide-use",
            "2. Resume all",
            "3. Dismiss, with a reason",
        )
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_over(app) and status(planned, "guide") is Status.DONE)

    drive(planned, session)
    first, second = runs_of(planned, "guide-use")
    assert second.resumes == first.id


@pytest.mark.exhaustive
def test_all_that_a_review_flagged_is_resumed(planned: Path) -> None:
    plan_a_failing_review(planned)
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "Action required (2): [a] shows guide-use: the parent review")
        await pilot.press("end", "a", "a", "p")
        await wait_for(pilot, lambda: isinstance(app.screen, ParentReviewScreen))
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: is_over(app) and status(planned, "guide") is Status.DONE)

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_review_is_dismissed_with_a_reason(planned: Path) -> None:
    plan_a_failing_review(planned)
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("home", "p")
        await wait_for(pilot, lambda: isinstance(app.screen, ParentReviewScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await pilot.press(*"It is clear", "ctrl+s")
        await wait_for(pilot, lambda: status(planned, "guide") is Status.DONE)

    drive(planned, session)
    dismissal = runs_of(planned, "guide")[-1].dismissed
    assert dismissal is not None
    assert dismissal.reason == "It is clear"


def test_the_runs_of_a_task_and_their_logs_are_shown(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "say First words.\nsay \x1b[31mLast[/] words."))
    execute(planned)
    (run,) = runs_of(planned, "alpha")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await wait_for(pilot, lambda: app.main.tabs.shown == "runs")
        await wait_for(pilot, lambda: "First words." in screen_text(app))
        headings = "Type     Status   Decision  Took  Cost  Started           Run ID"
        row = f"execute  success  -         5s    $0    {format_moment(run.started_at)}  {run.id}"
        await see(app, pilot, headings, row, "Last[/] words.")
        await pilot.press("escape")
        assert app.screen is app.main

    drive(planned, session, (160, 30))


@pytest.mark.exhaustive
def test_the_diff_of_one_run_is_shown_until_the_whole_change_is_asked_for(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", "write a.txt one\non-feedback write a.txt two"))
    execute(planned, Person([changes("Two.")]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await see(app, pilot, "execute  success  pending", "execute  success  changes")
        await pilot.press("v")
        await see(app, pilot, "a.txt  +1 -1  modified", "+ two")
        app.poll()
        await pilot.press("4")
        await see(app, pilot, "a.txt  +1 -0  added", "+ two")

    drive(planned, session, (140, 30))


def test_a_record_that_cannot_be_read_is_named(planned: Path) -> None:
    put_plan(planned, leaf("alpha"))
    folder = planned / ".git/blackbird/runs/alpha"
    folder.mkdir(parents=True)
    (folder / "0123456789abcdef.json").write_text("{")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await wait_for(pilot, lambda: "none of its runs can be read" in screen_text(app))
        await see(app, pilot, "unreadable: ")
        await pilot.press("escape")

    drive(planned, session)


def test_runs_that_come_while_they_are_looked_at_are_shown(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "fail-once 3\nsay Another try.\nsleep 60"))
    execute(planned)
    (first,) = runs_of(planned, "alpha")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await see(app, pilot, "execute  failed", first.id)
        with started(planned, "restart", "alpha", "--no-input") as other:
            await see(app, pilot, "execute  running", "execute  failed ")
            await pilot.press("home")
            await wait_for(pilot, lambda: "Another try." in screen_text(app))
            other.send_signal(signal.SIGINT)
            await wait_for(pilot, lambda: "execute  paused" in screen_text(app))
        await pilot.press("escape")

    drive(planned, session, (160, 30))
