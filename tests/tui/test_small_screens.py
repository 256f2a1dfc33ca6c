"""Eighty columns and 24 lines: what must be read there is neither covered nor cut off."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.questions import QuestionScreen
from tests.controller.support import configure, execute, leaf, put_plan
from tests.support import commit
from tests.tui.driver import drive, screen_text, see, wait_for

LONG = "a-task-whose-name-says-all-that-has-to-be-done-in-it-and-why-that-is-so-1"
TOLD = ("Approved and committed it all.", *(f"next step: git blackbird something {one}" for one in range(12)))


@pytest.fixture
def pending(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    many = "\\n".join(f"line {number}" for number in range(99))
    others = [leaf(f"b{number:02}") for number in range(15)]
    put_plan(
        repo, leaf(LONG, f"write a.txt {many}"), leaf("asks", "ask q Which? | one | two | three"), *others
    )
    execute(repo, None, LONG)
    return repo


def test_what_a_key_opens_is_named_also_with_a_long_id(pending: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, f"Action required (1): [a] opens {LONG[:40]}")

    drive(pending, session)


@pytest.mark.exhaustive
def test_a_notice_covers_neither_the_plan_nor_the_question_nor_the_choices(pending: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        async def notified(*texts: str) -> None:
            """Show a long notice and a short one; all these texts stay where they can be read."""
            await see(app, pilot, *texts)
            app.notify("\n".join(TOLD), markup=False)
            app.notify("This is another.", markup=False)
            await see(app, pilot, TOLD[0], "This is another.", *texts)
            app.clear_notifications()
            await wait_for(pilot, lambda: TOLD[0] not in screen_text(app))

        await pilot.press("end")
        await notified("Task b14  b14", "b14  Task b14", "Action required (1)", "e Execute", "q Quit")
        await pilot.press("home", "d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        choices = ("1. Approve", "2. Approve", "3. Request", "4. Reject", "5. View full diff")
        await notified("ACTION REQUIRED", "Run status", *choices, "enter chooses")
        await pilot.press("escape")
        await pilot.press("end", "s")
        await wait_for(pilot, lambda: isinstance(app.screen, ChoiceModal))
        await notified("Status of b14", "1. todo", "8. skipped", "esc goes back")
        await pilot.press("escape", "home", "down", "x")
        await wait_for(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await notified("asks asks", "Which?", "1. one", "2. two", "3. three", "4. Other", "enter answers")
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(pending, session)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(60, 16), (80, 24), (100, 30), (200, 60)])
def test_all_of_a_task_and_of_a_question_can_be_read(repo: Path, size: tuple[int, int]) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    words = " ".join(f"word-{number}" for number in range(400))
    lines = "\n".join(f"line {number} of it" for number in range(60))
    text = f"write a.txt one\n{lines}\n{words} all.\nThe last line."
    asked = f"ask q Which? {words} Say all. | short | {'long ' * 90}the-end | third"
    put_plan(repo, leaf("alpha", text), leaf("asks", asked))
    for task_id in ("alpha", "asks"):
        execute(repo, None, task_id)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        async def read_to(*texts: str) -> None:
            for text in texts:
                for _ in range(400):
                    if text in screen_text(app):
                        break
                    await pilot.press("pagedown")
                assert text in screen_text(app), screen_text(app)

        of_task = "line 0 of it", "line 59 of it", "word-399 all.", "The last line."
        await pilot.press("plus", "tab")
        await read_to(*of_task)
        await pilot.press("escape", "escape", "d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await read_to(*of_task)
        await pilot.press("escape", "down", "u")
        await wait_for(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await see(app, pilot, "1. short", "enter answers", "esc leaves it open")
        await read_to("word-399 Say all.", "2. long", "the-end")
        await see(app, pilot, "1. short", "enter answers", "esc leaves it open")
        await pilot.press("4", "enter")
        await see(app, pilot, "your answer", "ctrl+j begins a line", "esc goes back")
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(repo, session, size)
