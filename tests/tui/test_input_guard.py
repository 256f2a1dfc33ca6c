"""A screen that opens by itself ignores keys that were meant for the previous one."""

import asyncio
from pathlib import Path

import pytest
from textual.events import Key, MouseDown, MouseUp
from textual.pilot import Pilot

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.widgets.choices import ChoiceRow
from tests.controller.support import APPROVE, configure, execute, leaf, open_at, put_plan, runs_of
from tests.support import commit
from tests.tui.driver import RealApp, StartingApp, drive, environment_at, screen_text, see, wait_for

HINT = "esc leaves it open"
LEFT, RIGHT = 1, 3


class PatientApp(StartingApp):
    """Ignores keys for longer than a test takes, until the test ends that itself."""

    pause_seconds = 3600.0


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    return repo


def test_a_checkpoint_is_not_approved_by_keys_that_were_under_way(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("enter", "4", "enter")
        assert isinstance(app.screen, CheckpointScreen)
        assert app.screen.query_one(ChoiceRow).cursor == 0
        assert HINT not in screen_text(app)
        await see(app, pilot, "  A a.txt ")
        app.accept_input()
        await wait_for(pilot, lambda: HINT in screen_text(app))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: not isinstance(app.screen, CheckpointScreen))

    drive(planned, session, kind=PatientApp)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.APPROVED_CONTINUE]


@pytest.mark.exhaustive
def test_keys_that_choose_nothing_work_at_once_where_a_checkpoint_comes_up(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("j", "down", "k", "v")
        await see(app, pilot, "+ one")
        assert app.screen.query_one(ChoiceRow).cursor == 0
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: not isinstance(app.screen, CheckpointScreen))

    drive(planned, session, kind=PatientApp)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.PENDING]


@pytest.mark.exhaustive
def test_a_checkpoint_is_not_approved_by_a_click_that_was_meant_for_the_plan(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await see(app, pilot, "  A a.txt ")
        click(app)
        await pilot.press("j")
        assert isinstance(app.screen, CheckpointScreen)
        app.accept_input()
        await see(app, pilot, HINT)
        click(app, RIGHT)
        await pilot.press("j", "k")
        assert isinstance(app.screen, CheckpointScreen)
        click(app)
        await pilot.press("enter")
        await wait_for(pilot, lambda: not isinstance(app.screen, CheckpointScreen))

    drive(planned, session, kind=PatientApp)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.APPROVED_CONTINUE]


def test_keys_that_depend_on_the_records_wait_until_they_are_read(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta"))
    execute(planned)

    class ReadingApp(RealApp):
        is_read = False

        def poll(self) -> None:
            if self.is_read:
                super().poll()

    async def run() -> None:
        environment = environment_at(planned)
        app = ReadingApp(environment, WorktreeWatcher(environment))
        async with app.run_test(size=(100, 30)) as pilot:
            await see(app, pilot, "reading the records...", "alpha", "beta")
            await pilot.press("down")
            assert app.current is not None
            assert app.current.id == "beta"
            await pilot.press("up", "d", "down")
            await see(app, pilot, "reading the records...")
            assert app.current.id == "alpha"
            app.is_read = True
            app.poll()
            await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
            await see(app, pilot, "your decision on alpha")
            await pilot.press("escape")
            await wait_for(pilot, lambda: app.screen is app.main)

    asyncio.run(run())


def test_enter_typed_with_a_stray_key_is_for_nothing_however_late_it_is_taken(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, HINT)
        await asyncio.sleep(app.pause_seconds)
        await pilot.press("1")
        typed = Key("X", "X"), Key("enter", None)
        for key in typed:
            app.post_message(key)
            await asyncio.sleep(1.2 * app.pause_seconds)
        assert isinstance(app.screen, CheckpointScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(planned, session, kind=StartingApp)


def test_a_key_right_after_the_one_that_goes_to_the_other_pane_belongs_to_it(planned: Path) -> None:
    put_plan(planned, *(leaf(f"t{number}") for number in range(10, 50)))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for place, keys in enumerate((("tab",), ("plus", "tab"), ("5", "tab")), start=11):
            for key in (*keys, "pagedown", "escape", "down"):
                app.post_message(Key(key, None))
            # One line down, and no page.
            await wait_for(pilot, lambda place=place: app.current.id == f"t{place}")  # type: ignore[misc, union-attr]

    drive(planned, session)


def click(app: BlackbirdApp, button: int = LEFT) -> None:
    """Click on the first choice behind the line that is none, as a terminal reports it."""
    x, y = app.screen.query_one(ChoiceRow).content_region.offset
    x += len(" (choose)  ")
    for kind in (MouseDown, MouseUp):
        app.post_message(kind(None, x, y, 0, 0, button, shift=False, meta=False, ctrl=False))


@pytest.mark.exhaustive
def test_a_pause_is_waited_for_and_a_question_answered_after_it(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "ask tone Which? | kind | brief\nanswered tone b.txt"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await wait_for(pilot, lambda: HINT in screen_text(app))
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))

    drive(planned, session, kind=StartingApp)
    assert (planned / "b.txt").read_text() == "brief\n"


@pytest.mark.exhaustive
def test_a_checkpoint_that_comes_up_while_the_palette_is_open_is_decided_after_it(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await see(app, pilot, "Search for commands")
        app.commands.execute()
        await see(app, pilot, "decision on alpha: it opens when this is closed")
        await pilot.press("escape")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: app.screen is app.main)

    drive(planned, session)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.APPROVED_CONTINUE]


@pytest.mark.exhaustive
def test_what_is_typed_where_an_editor_goes_away_starts_nothing(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta", "write b.txt one"))
    execute(planned, None, "alpha")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: "What should change?" in screen_text(app))
        await pilot.press(*"Say")
        record_decision(open_at(planned), "alpha", APPROVE)
        await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.press("x", "e", "enter", "j", "k")
        assert not app.runner.is_busy
        app.accept_input()
        await pilot.press("down", "x")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))

    drive(planned, session, kind=PatientApp)
    assert [len(runs_of(planned, task)) for task in ("alpha", "beta")] == [1, 1]


@pytest.mark.exhaustive
def test_the_cursor_moves_on_after_a_key_that_does_nothing_now(planned: Path) -> None:
    put_plan(planned, leaf("alpha"), leaf("beta"), leaf("gamma"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "Decide of alpha is not possible now")
        for task_id in ("beta", "gamma"):
            await pilot.press("j")
            assert app.current is not None
            assert app.current.id == task_id
        await pilot.press("home", "x")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))

    drive(planned, session, kind=PatientApp)


@pytest.mark.exhaustive
def test_ctrl_c_in_an_editor_leaves_the_editor_and_keeps_the_text(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await wait_for(pilot, lambda: "What should change in alpha?" in screen_text(app))
        await pilot.press(*"Say", "ctrl+c")
        await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.press("m")
        await wait_for(pilot, lambda: "Say" in screen_text(app))

    drive(planned, session)


def test_the_footer_names_no_key_while_keys_are_ignored(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "e Execute", "q Quit")
        app.ignore_pending_input()
        await wait_for(pilot, lambda: "q Quit" not in screen_text(app))
        app.accept_input()
        await see(app, pilot, "e Execute", "q Quit")

    drive(planned, session, kind=PatientApp)
