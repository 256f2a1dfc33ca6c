"""What was approved is taken back and brought back on the screen, as the screen said before."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.model.plan.status import Status
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.modal import ConfirmModal
from tests.controller.support import APPROVE, Person, configure, execute, leaf, put_plan, status
from tests.support import commit
from tests.tui.driver import drive, is_over, screen_text, see, wait_for


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", "write a.txt one"), leaf("beta", "write b.txt one", deps=["alpha"]))
    return repo


def test_an_approved_change_is_taken_back_and_brought_back(planned: Path) -> None:
    execute(planned, Person([APPROVE, APPROVE]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("U")
        await see(app, pilot, "Take the change of alpha out of your files?", "would take back", "a.txt")
        await see(app, pilot, "beta depends on alpha and has run since", "1. Leave it", "2. Take it back")
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen is app.main)
        assert (planned / "a.txt").exists()
        await pilot.press("U")
        await see(app, pilot, "2. Take it back")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: is_over(app) and not (planned / "a.txt").exists())
        await pilot.press("2")
        await see(app, pilot, "took back the change of alpha: 1 file", "to turn that round: R on alpha")
        await wait_for(pilot, lambda: app.is_possible("redo"))
        await pilot.press("1")
        ways = "R: bring a change back", "m: send", "b: set the task back to todo", "w: start the task"
        await see(app, pilot, "TAKEN_BACK, updated", *ways)
        await pilot.press("R")
        await see(app, pilot, "Bring back the change of alpha?", "would bring back")
        await pilot.press("2", "enter")
        await see(app, pilot, "brought back the change of alpha: 1 file")
        assert (planned / "a.txt").read_text() == "one\n"
        assert status(planned, "alpha") is Status.DONE

    drive(planned, session, (140, 40))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(60, 20), (200, 60)])
def test_the_question_is_to_be_seen_however_many_files_there_are(
    planned: Path, size: tuple[int, int]
) -> None:
    long = "write a.txt " + "one\\n" * 90
    put_plan(
        planned, leaf("alpha", "\n".join([long, *(f"write dir/{number:02}.txt one" for number in range(69))]))
    )
    execute(planned, Person([APPROVE]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("U")
        await see(
            app, pilot, "would take back the change of alpha: 70 files", "1. Leave it", "2. Take it back"
        )
        await see(app, pilot, "Take the change of alpha out of your files?", "enter chooses")
        if size > (100, 0):
            # Where there is room, no row of the summary is broken.
            await see(app, pilot, "| 90 " + "-" * 40)
        await pilot.press("ctrl+end")
        await see(app, pilot, "70 files changed", "1. Leave it")
        await pilot.press("escape")

    drive(planned, session, size)


@pytest.mark.exhaustive
def test_why_there_is_nothing_to_take_back_is_said(planned: Path) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("R")
        await see(app, pilot, "nothing of alpha was taken back")
        await pilot.press("U")
        await see(app, pilot, "a decision on alpha is pending")
        await pilot.press("down", "U")
        await see(app, pilot, "Undo of beta is not possible now: it has not run")
        assert not isinstance(app.screen, ConfirmModal)
        assert "a.txt" not in screen_text(app)

    drive(planned, session, (140, 40))


def test_a_refusal_names_the_key_for_the_command_in_its_hint(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "say There is nothing to do."))
    execute(planned, Person([APPROVE]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("U")
        await see(
            app, pilot, "alpha has changed nothing that could be taken back", "h shows what tasks changed"
        )
        await pilot.press("2")
        await see(app, pilot, "h shows what tasks changed")
        assert "git blackbird" not in screen_text(app)

    drive(planned, session, (140, 40))
