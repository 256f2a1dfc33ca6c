"""Messages to an agent from the screen: what ``resume -m`` accepts, and drafts that survive a refusal."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import TextArea

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState, RunStatus
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.request import RequestScreen
from tests.controller.support import (
    APPROVE,
    agree_to_agent,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    runs_of,
    status,
)
from tests.support import git
from tests.tui.driver import drive, is_over, screen_text, wait_for

PROMPT = "write a.txt one\non-feedback write a.txt two"


def is_writing(app: BlackbirdApp) -> bool:
    return isinstance(app.screen, RequestScreen)


def written(app: BlackbirdApp) -> str:
    return app.screen.query_one(TextArea).text


@pytest.mark.exhaustive
def test_a_done_task_is_told_more_in_its_session(planned: Path) -> None:
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app))
        await pilot.press(*"Say two.", "ctrl+s")
        await wait_for(pilot, lambda: len(runs_of(planned, "alpha")) == 2 and is_over(app))
        await wait_for(pilot, lambda: app.check_action("tell", ()) is True)
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app))
        assert written(app) == ""

    drive(planned, session)
    first, second = runs_of(planned, "alpha")
    assert (second.resumes, second.message) == (first.id, "Say two.")
    assert (planned / "a.txt").read_text() == "two\n"


@pytest.mark.exhaustive
def test_an_agent_at_work_is_told_something(planned: Path) -> None:
    script = 'cat >/dev/null; [ -n "$BLACKBIRD_RESUME" ] || exec sleep 600; echo told >a.txt'
    configure(planned, agent="command", command__run=script, execution__stopGraceSeconds="0")
    put_plan(planned, leaf("alpha"))
    agree_to_agent(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: app.check_action("tell", ()) is True)
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app))
        await pilot.press(*"Say two.", "ctrl+s")
        await wait_for(pilot, lambda: len(runs_of(planned, "alpha")) == 2 and is_over(app))
        assert app.drafts.message(leaf("alpha").id).text == ""

    drive(planned, session)
    first, second = runs_of(planned, "alpha")
    assert first.messages_while_working == ("Say two.",)
    assert (second.resumes, second.message) == (first.id, "Say two.")
    assert (planned / "a.txt").read_text() == "told\n"


@pytest.mark.exhaustive
def test_a_path_that_is_not_there_is_asked_about_once(planned: Path) -> None:
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app))
        await pilot.press(*"@gone and @a.txt again", "ctrl+s")
        await wait_for(pilot, lambda: "Careful: @gone is not there." in screen_text(app))
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_writing(app))
        await pilot.press("ctrl+s")
        await wait_for(pilot, lambda: len(runs_of(planned, "alpha")) == 2 and is_over(app))

    drive(planned, session)
    assert runs_of(planned, "alpha")[1].message == "@gone and @a.txt again"


@pytest.mark.exhaustive
def test_a_message_on_a_pending_decision_is_a_change_request(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app) and "What should change in alpha?" in screen_text(app))
        # Pasted lines end as Enter does, or as in a file of Windows.
        app.post_message(Paste("Say\rtwo\r\nand\n"))
        await wait_for(pilot, lambda: app.screen.query_one(TextArea).text == "Say\ntwo\nand\n")
        await pilot.press(*"three.", "ctrl+s")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    first, second = runs_of(planned, "alpha")
    assert (first.decision_state, first.decision_feedback) == (
        DecisionState.CHANGES_REQUESTED,
        "Say\ntwo\nand\nthree.",
    )
    assert (second.resumes, second.decision_state) == (first.id, DecisionState.APPROVED_CONTINUE)


@pytest.mark.exhaustive
def test_feedback_of_a_review_is_carried_with_a_message(planned: Path) -> None:
    put_plan(
        planned,
        replace(parent_of("guide", ["use"]), prompt="require use.md more | use | Say more."),
        leaf("use", "write use.md usage\non-feedback write use.md more", parent="guide"),
    )
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("end", "m")
        await wait_for(pilot, lambda: is_writing(app))
        await pilot.press(*"In a word.", "ctrl+s")
        await wait_for(pilot, lambda: is_over(app) and status(planned, "guide") is Status.DONE)

    drive(planned, session)
    told = runs_of(planned, "use")[-1].prompt or ""
    assert "In a word." in told
    assert "Say more." in told


def test_who_asks_is_to_be_answered_and_that_is_said_before_anything_is_written(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "ask tone Which tone?\nask end Which end?"), leaf("beta"))
    execute(planned, None)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await wait_for(pilot, lambda: "alpha is waiting for answers; -m alone does" in screen_text(app))
        assert app.screen is app.main

    drive(planned, session, (120, 30))


def test_a_draft_is_kept_for_its_task_and_a_refused_message_is_none_that_is_lost(planned: Path) -> None:
    put_plan(planned, leaf("alpha", PROMPT), leaf("beta", PROMPT))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app))
        await pilot.press(*"Say two.", "escape")
        await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.press("down", "m")
        await wait_for(pilot, lambda: is_writing(app))
        assert written(app) == ""
        await pilot.press("escape", "up", "m")
        await wait_for(pilot, lambda: is_writing(app))
        git(planned, "config", "blackbird.execution.timeoutMinutes", "soon")
        await pilot.press("ctrl+s")
        await wait_for(pilot, lambda: is_over(app) and "configuration is not usable" in screen_text(app))
        git(planned, "config", "--unset", "blackbird.execution.timeoutMinutes")
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app))
        assert written(app) == "Say two."
        await pilot.press("ctrl+s")
        await wait_for(pilot, lambda: len(runs_of(planned, "alpha")) == 2 and is_over(app))

    drive(planned, session, (120, 40))
    assert [run.status for run in runs_of(planned, "alpha")] == [RunStatus.SUCCESS, RunStatus.SUCCESS]


@pytest.mark.exhaustive
def test_a_change_request_outlasts_a_decision_that_closes_it(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", PROMPT))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: is_writing(app))
        await pilot.press(*"Say two.", "ctrl+c")
        await wait_for(pilot, lambda: is_over(app))
        await wait_for(pilot, lambda: app.check_action("decide", ()) is True)
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: is_writing(app))
        assert written(app) == "Say two."
        record_decision(open_at(planned), "alpha", APPROVE)
        await wait_for(pilot, lambda: app.screen is app.main)
        await wait_for(pilot, lambda: app.check_action("tell", ()) is True)
        await pilot.press("m")
        await wait_for(pilot, lambda: is_writing(app))
        assert written(app) == "Say two."

    drive(planned, session, (120, 40))
