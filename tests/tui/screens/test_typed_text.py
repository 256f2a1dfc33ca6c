"""A text that is typed at a list of choices is none: each letter is a key, or does nothing and says so."""

from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import TextArea

from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.keys import NO_KEY
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.modal import ChoiceModal, HelpScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.choices import ChoiceList
from tests.controller.support import configure, execute, leaf, put_plan, runs_of, status
from tests.support import commit
from tests.tui.at_screen import SELECT_ALL
from tests.tui.driver import StartingApp, drive, is_over, see, wait_for


@pytest.fixture
def pending(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("t1", "write a.txt one\non-feedback write a.txt two"), leaf("t2"))
    execute(repo, None, "t1")
    return repo


def type_ahead(app: BlackbirdApp, *keys: str) -> None:
    """Type keys as a terminal reports many at once, before one of them was read."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))


def test_what_is_typed_at_the_checkpoint_is_no_request_and_decides_nothing(pending: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        for letter in "please @t1\r2":
            app.post_message(Key("enter" if letter == "\r" else letter, letter))
        await see(app, pilot, ">2. Approve and stop")
        await pilot.press("x")
        await see(app, pilot, NO_KEY)
        # After a letter that is none, keys are still keys, and what was said is gone.
        await pilot.press("v")
        await see(app, pilot, "a.txt  +1 -0  added", "V overview")
        await pilot.press("V")
        app.post_message(Paste("approve it\n"))
        await see(app, pilot, NO_KEY)
        await pilot.press("slash")
        await see(app, pilot, "enter searches, esc ends the search")
        await pilot.press(*"one", "enter")
        await see(app, pilot, "match 1 of 1 (1 added): one")
        await pilot.press("escape", "3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        assert app.screen.query_one(TextArea).text == ""
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(pending, session, (100, 30), StartingApp)
    assert [run.decision_state for run in runs_of(pending, "t1")] == [DecisionState.PENDING]


@pytest.mark.exhaustive
def test_after_a_digit_and_letters_of_the_list_the_keys_are_still_those_of_the_list(pending: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("1", "j", "j", "k", "v")
        await see(app, pilot, "a.txt  +1 -0  added")
        await pilot.press("V", "enter")
        await wait_for(pilot, lambda: status(pending, "t1") is Status.DONE)

    drive(pending, session)
    assert [run.decision_state for run in runs_of(pending, "t1")] == [DecisionState.APPROVED_QUIT]


@pytest.mark.exhaustive
def test_a_stray_key_at_a_list_changes_nothing_and_the_next_key_works(pending: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "s")
        await wait_for(pilot, lambda: isinstance(app.screen, ChoiceModal))
        choices = app.screen.query_one(ChoiceList)
        for key, line in (("j", 1), ("4", 3), ("k", 2), ("up", 1)):
            await pilot.press("u")
            await see(app, pilot, NO_KEY)
            await pilot.press(key)
            assert choices.highlighted == line
        await pilot.press("u", "question_mark")
        await wait_for(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("escape", "4", "u", "enter")
        await wait_for(pilot, lambda: status(pending, "t2") is not Status.TODO)

    drive(pending, session)
    assert status(pending, "t2") is list(Status)[3]


def test_enter_chooses_nothing_just_after_a_stray_key_or_a_pasted_text(pending: Path) -> None:
    class PatientApp(BlackbirdApp):
        pause_seconds = 3600.0

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "s")
        await wait_for(pilot, lambda: isinstance(app.screen, ChoiceModal))
        app.post_message(Paste("4\n"))
        await see(app, pilot, NO_KEY)
        await pilot.press(*"up 4", "enter", "enter")
        assert isinstance(app.screen, ChoiceModal)
        app.accept_input()
        await pilot.press("enter")
        await wait_for(pilot, lambda: status(pending, "t2") is not Status.TODO)

    drive(pending, session, kind=PatientApp)
    assert status(pending, "t2") is list(Status)[3]


@pytest.mark.exhaustive
def test_what_is_typed_behind_a_key_that_opens_a_text_is_its_text_and_else_it_is_nothing(
    pending: Path,
) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        async def types(screen: type[Screen[Any]], *keys: str) -> None:
            type_ahead(app, *keys, SELECT_ALL, *"moz")
            await wait_for(pilot, lambda: isinstance(app.screen, screen))
            await wait_for(pilot, lambda: app.screen.query_one(TextArea).text == "moz")
            await pilot.press("escape")

        await see(app, pilot, "[a] opens t1")
        type_ahead(app, "d", "1", "enter")
        await see(app, pilot, "1. Approve", "0 of 1 read")
        await types(RequestScreen, "3", "enter")
        await types(CommentScreen, "v", "c")
        await see(app, pilot, "you: moz", "0 of 1 read")
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: app.screen is app.main)
        await types(RequestScreen, "m")

    drive(pending, session)
    assert runs_of(pending, "t1")[0].decision_state is DecisionState.PENDING


@pytest.mark.exhaustive
def test_of_another_answer_every_letter_arrives_however_fast_it_is_typed(pending: Path) -> None:
    put_plan(pending, leaf("t3", "ask tone Which tone? | friendly | formal"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("x")
        await wait_for(pilot, lambda: isinstance(app.screen, QuestionScreen))
        type_ahead(app, *"zj1jj", "enter", *"yes, 2")
        field = app.screen.query_one(TextArea)
        await wait_for(pilot, lambda: field.text == "yes, 2")
        await pilot.press("escape", "2", "escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(pending, session)
    assert [answer for run in runs_of(pending, "t3") for answer in run.answers] == []
