"""Questions of agents on a small screen, however many, long or hostile they are."""

from pathlib import Path

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import TextArea

from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import RunStatus
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.questions import QuestionScreen
from tests.controller.support import leaf, put_plan, runs_of, store_at
from tests.model.building import run, task
from tests.tui.driver import drive, is_over, screen_text, see, wait_for

HOSTILE = "\x1b[2J\x1b]0;title\x07[bold red]Which[/]?\u202e"


def is_asked(app: BlackbirdApp, text: str) -> bool:
    return isinstance(app.screen, QuestionScreen) and text in screen_text(app)


def answers(repo: Path) -> list[tuple[str, str]]:
    return [(answer.id, answer.value) for answer in runs_of(repo, "alpha")[-1].answers]


def test_what_was_answered_is_gone_back_to_and_what_was_typed_is_kept(planned: Path) -> None:
    asked = "ask tone Which tone? | friendly | formal | brief\nask name Whose name?\nask more Anything else?"
    put_plan(planned, leaf("alpha", asked))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: is_asked(app, "Which tone?"))
        assert "shift+tab" not in screen_text(app)
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: is_asked(app, "shift+tab goes back"))
        await pilot.press(*"Ada L.", "shift+tab")
        await wait_for(pilot, lambda: is_asked(app, "alpha asks (1 of 3)"))
        await pilot.press("k", "enter")
        await wait_for(pilot, lambda: is_asked(app, "Whose name?"))
        assert app.screen.query_one(TextArea).text == "Ada L."
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_asked(app, "Anything else?"))
        await pilot.press(*"No", "escape")
        await wait_for(pilot, lambda: is_over(app) and app.check_action("resume", ()) is True)
        await pilot.press("u")
        await wait_for(pilot, lambda: is_asked(app, "Which tone?"))
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_asked(app, "Whose name?"))
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_asked(app, "Anything else?"))
        await pilot.press(".", "enter")
        await wait_for(pilot, lambda: len(runs_of(planned, "alpha")) == 2 and is_over(app))

    drive(planned, session)
    assert answers(planned) == [("tone", "formal"), ("name", "Ada L."), ("more", "No.")]


@pytest.mark.exhaustive
def test_another_answer_is_written_and_gone_back_to(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "ask tone Which tone? | friendly | formal\nask name Whose name?"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: is_asked(app, "3. Other..."))
        assert not app.screen.query_one(TextArea).display
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: app.screen.query_one(TextArea).has_focus)
        await pilot.press(*"dry, 2", "enter")
        await wait_for(pilot, lambda: is_asked(app, "Whose name?"))
        await pilot.press("shift+tab")
        await wait_for(pilot, lambda: is_asked(app, "Which tone?"))
        assert app.screen.query_one(TextArea).text == "dry, 2"
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen.query_one(TextArea).has_focus)
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_asked(app, "Whose name?"))
        await pilot.press(*"Ada", "enter")
        await wait_for(pilot, lambda: len(runs_of(planned, "alpha")) == 2 and is_over(app))

    drive(planned, session)
    assert answers(planned) == [("tone", "dry, 2"), ("name", "Ada")]


def put_questions(repo: Path, *questions: Question) -> None:
    put_plan(repo, task("alpha"))
    with store_at(repo).transaction() as transaction:
        transaction.save_run(
            run(1, RunStatus.WAITING_USER, "alpha", provider="demo").updated(questions=questions)
        )


@pytest.mark.exhaustive
def test_long_and_hostile_questions_with_many_options_fit(planned: Path) -> None:
    options = tuple(f"{number} {HOSTILE} {'y' * 500} end-{number}" for number in range(200))
    put_questions(planned, Question(id="q", prompt=f"{HOSTILE} {'x' * 10_000} The end.", options=options))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("u")
        await wait_for(pilot, lambda: is_asked(app, "enter answers, esc leaves it open"))
        shown = screen_text(app)
        assert "\x1b" not in shown
        assert "[bold red]Which[/]?" in shown
        assert "1. 0 [bold red]Which[/]?" in shown
        while "The end." not in screen_text(app):
            await pilot.press("pagedown")
        await pilot.press("ctrl+end")
        # All of an answer of which the list has the beginning.
        await see(app, pilot, "end-199")
        await pilot.press("end", "enter")
        await wait_for(pilot, lambda: app.screen.query_one(TextArea).has_focus)
        await pilot.press("n", "escape")
        await see(app, pilot, "201. Other...")
        await pilot.press("up")
        await see(app, pilot, "200. 199 [bold red]Which[/]?")
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_over(app) and len(runs_of(planned, "alpha")) == 2)

    drive(planned, session)
    assert answers(planned) == [("q", options[199])]


def test_of_a_text_that_is_pasted_nothing_gets_lost(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "ask name Whose name?"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: is_asked(app, "Whose name?"))
        box = app.screen.query_one(TextArea)
        app.post_message(Paste("Ada\rLovelace"))
        await wait_for(pilot, lambda: box.text == "Ada\nLovelace")
        await pilot.press("ctrl+j", *"both", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    assert answers(planned) == [("name", "Ada\nLovelace\nboth")]
