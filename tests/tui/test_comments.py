"""Comments on lines: written at the diff, sent with a request, looked after at the next checkpoint."""

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.choices import ChoiceRow
from git_blackbird.tui.widgets.diff.pane import DiffPane
from tests.controller.support import configure, execute, leaf, open_at, put_plan, runs_of, status
from tests.records import fact
from tests.support import commit
from tests.tui.at_screen import SELECT_ALL
from tests.tui.driver import drive, is_over, screen_text, see, wait_for

PROMPT = "write a.txt one\\ntwo\\nthree\\nfour\non-feedback write a.txt one\\n2\\nthree\\nfour"


async def at_diff(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    await pilot.press("d")
    await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
    await pilot.press("v")
    await see(app, pilot, "4 + four")


async def write_comment(app: BlackbirdApp, pilot: Pilot[None], text: str) -> None:
    await pilot.press("c")
    await wait_for(pilot, lambda: isinstance(app.screen, CommentScreen))
    await pilot.press(SELECT_ALL, *text, "escape")
    await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))


def test_comments_are_kept_sent_and_looked_after(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_EDITOR", "printf 'a digit' >")
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)

    async def write(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await at_diff(app, pilot)
        await pilot.press("j", "j", "j")
        await write_comment(app, pilot, "digit")
        await see(app, pilot, "\u2503 you: digit")
        await pilot.press("j", "j", "v", "j")
        await write_comment(app, pilot, "in words?")
        await see(app, pilot, "\u2503 you (lines 3-4): in words?")
        await pilot.press("k", "k", "k", "k")
        await write_comment(app, pilot, "gone")
        await see(app, pilot, "you: gone")
        await pilot.press("c", SELECT_ALL, "delete", "escape", *["escape"] * 2)
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(planned, write, (100, 40))
    run = runs_of(planned, "alpha")[0]
    drafts = Drafts(open_at(planned))
    digit, _ = drafts.comments(run).items
    # The program was killed while an editor had the comment.
    drafts.comment(run, digit).edit(open_at(planned))

    async def send(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await at_diff(app, pilot)
        await see(app, pilot, "you: digit", "you (lines 3-4): in words?")
        assert "gone" not in screen_text(app)
        assert [file.path for file in app.screen.query_one(DiffPane).shown] == ["a.txt"]
        await pilot.press("j", "j", "j", "c")
        await wait_for(pilot, lambda: isinstance(app.screen, CommentScreen))
        await pilot.press("escape")
        await see(app, pilot, "you: a digit")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        for _ in range(2):
            # The cursor is on a line of its own, below an empty one.
            assert app.screen.query_one(TextArea).text == f"{REQUEST}\n\n"
            await pilot.press("escape", "enter")
            await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await pilot.press(*"ok", "enter", "ctrl+s")
        await see(app, pilot, "Changes requested:", "Your comments:")
        await see(app, pilot, "changed      a.txt:2: a digit", "not changed  a.txt:3-4: in words?")
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, send, (100, 60))
    run = runs_of(planned, "alpha")[0]
    assert run.decision_feedback == f"{REQUEST}\n\nok"
    record = json.loads(next((planned / ".git/blackbird/runs/alpha").glob(f"{run.id}.json")).read_text())
    assert fact(record, "comments") == [
        {"path": "a.txt", "side": "new", "start": 2, "end": 2, "quoted": "+two", "text": "a digit"},
        {
            "path": "a.txt",
            "side": "new",
            "start": 3,
            "end": 4,
            "quoted": "+three\n+four",
            "text": "in words?",
        },
    ]
    assert not list((planned / ".git/blackbird").rglob("comments-*"))


@pytest.mark.exhaustive
def test_comments_of_all_requests_are_looked_after_until_the_decision(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", f"{PROMPT}\\nfive"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await at_diff(app, pilot)
        await pilot.press("j", "j", "j")
        await write_comment(app, pilot, "a digit")
        await pilot.press("j", "j")
        await write_comment(app, pilot, "in words?")
        await request(app, pilot, "")
        looked_after = "changed      a.txt:2: a digit", "not changed  a.txt:3: in words?"
        await see(app, pilot, "round 2", *looked_after)
        await request(app, pilot, "Go on.")
        await see(app, pilot, "round 3", *looked_after)
        await pilot.press("i", "right_curly_bracket")
        await see(app, pilot, "none in what changed since the request; I shows all")
        await pilot.press("I")
        await see(app, pilot, "requested before, not changed: in words?")
        # One on the same line is in its place.
        await pilot.press("j", "j", "j", "j")
        await write_comment(app, pilot, "in letters?")
        await request(app, pilot, "")
        await see(app, pilot, "round 4", looked_after[0], "not changed  a.txt:3: in letters?")
        assert "in words?" not in screen_text(app)
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session, (100, 60))


@pytest.mark.exhaustive
def test_a_comment_at_the_header_is_on_the_file(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await at_diff(app, pilot)
        await write_comment(app, pilot, "split it")
        await see(app, pilot, "\u2503 you: split it", "* commented")
        await pilot.press("j")
        await write_comment(app, pilot, "split it in two")
        await see(app, pilot, "\u2503 you: split it in two", "1 comment")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        assert app.screen.query_one(TextArea).text == "a.txt: split it in two\n\n"
        await pilot.press("ctrl+s")
        await see(app, pilot, "changed      a.txt: split it in two")

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_a_finding_is_taken_over_as_a_comment_and_edited(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true", reviews__mode="parallel")
    configure(planned, reviews__maxIterations="1")
    wanted = "spec-wants a.txt 4 | critical | a.txt has no 4"
    put_plan(planned, leaf("alpha", f"{PROMPT}\n{wanted}"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await at_diff(app, pilot)
        await see(app, pilot, "spec reviewer, critical: a.txt has no 4")
        await pilot.press("t")
        await see(app, pilot, "no finding on a file of this diff here; } goes to the next")
        await pilot.press("right_curly_bracket")
        await see(app, pilot, "commented line 1 of 1; t makes the finding your comment")
        await pilot.press("t")
        await see(app, pilot, "\u2503 you: a.txt has no 4", "it is your comment now; c edits it")
        await pilot.press("t")
        await see(app, pilot, "your comment here has it already")
        await write_comment(app, pilot, "a.txt needs 4")
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        assert app.screen.query_one(TextArea).text.endswith("\na.txt needs 4\n\n")

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_a_comment_on_added_context_is_shown_at_the_file_without_it(planned: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(40))
    commit(planned, {"a.txt": f"{lines}\n"})
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", "write a.txt here\\n" + lines.replace("\n", "\\n")))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("v")
        await see(app, pilot, "line 0")
        await pilot.press("r", "r", "r")
        await see(app, pilot, "the whole file", "line 30")
        await pilot.press(*["j"] * 30)
        await write_comment(app, pilot, "far away")
        await see(app, pilot, "\u2503 you: far away")
        await pilot.press("R", "R", "R")
        await see(app, pilot, "you (line 29, not in this diff): far away", "3 lines of context")
        await pilot.press("g")
        await write_comment(app, pilot, "too long")
        await see(app, pilot, "you: too long", "far away")
        await pilot.press("j")
        await write_comment(app, pilot, "farther")
        await see(app, pilot, "(line 29, not in this diff): farther", "you: too long")

    drive(planned, session, (100, 50))


async def request(app: BlackbirdApp, pilot: Pilot[None], text: str) -> None:
    before = app.screen
    await pilot.press("3", "enter")
    await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
    await pilot.press(*text, "ctrl+s")
    await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen) and app.screen is not before)


@pytest.mark.exhaustive
def test_comments_are_dropped_only_where_that_is_confirmed(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)
    warning = "Careful: 1 comment is not sent; 3 sends it."

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await at_diff(app, pilot)
        await pilot.press("j", "j", "j")
        await write_comment(app, pilot, "a digit")
        for choice, does in (("1", "approve"), ("4", "reject changes")):
            await pilot.press(choice, "enter")
            await see(app, pilot, warning, "1. Go back", f"2. Drop it: {does}")
            # Enter alone goes back.
            await pilot.press("enter")
            await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await pilot.press("escape", "4", "enter")
        await see(app, pilot, "a change request and 1 comment are not sent; 3", "2. Drop them")
        assert status(planned, "alpha") is Status.WAITING_USER
        await pilot.press("2", "enter")
        await see(app, pilot, "Why is alpha rejected?")
        await pilot.press("enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.FAILED)

    drive(planned, session, (100, 40))
    assert runs_of(planned, "alpha")[0].decision_state is DecisionState.REJECTED
    assert not list((planned / ".git/blackbird").rglob("comments-*"))


@pytest.mark.exhaustive
def test_a_click_on_a_choice_drops_no_comments_either(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", PROMPT))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await at_diff(app, pilot)
        await pilot.press("j", "j", "j")
        await write_comment(app, pilot, "a digit")
        await see(app, pilot, ">1. Approve")
        await pilot.press("2")
        await pilot.click(ChoiceRow, offset=(2, 0))
        await pilot.press("enter")
        await see(app, pilot, "1 comment is not sent", "Drop it?")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)

    drive(planned, session, (100, 40))


REQUEST = """\
a.txt:2
> +two
a digit

a.txt:3-4
> +three
> +four
in words?"""
