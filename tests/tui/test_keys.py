"""Keys that no other test presses, and keys without a meaning."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import OptionList

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.keys import ACTIONS, NO_KEY
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import ChoiceModal, HelpScreen, KeyLines
from git_blackbird.tui.screens.settings import SettingsScreen
from git_blackbird.tui.widgets.choices import ChoiceRow
from git_blackbird.tui.widgets.diff.view import DiffView
from git_blackbird.tui.widgets.live_log import LiveLog
from git_blackbird.tui.widgets.task_details import TaskDetails
from tests.controller.support import configure, execute, leaf, parent_of, put_plan, runs_of
from tests.support import commit
from tests.tui.at_screen import SELECT_ALL
from tests.tui.driver import PATIENCE_SECONDS, drive, screen_text, see, wait_for

FREE = ("g", "r")
LONG = "\\n".join(f"line {number} of {'many ' * 40}" for number in range(80))


@pytest.fixture
def planned(repo: Path) -> Path:
    """A decision is due on the first of many tasks, whose change and whose log are long."""
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    says = "\n".join(f"say Step {number}." for number in range(80))
    first = replace(leaf("a00", f"{says}\nwrite a.txt {LONG}"), acceptance_criteria=("It is long.",) * 19)
    put_plan(repo, first, *(leaf(f"a{one}") for one in range(10, 60)))
    execute(repo)
    return repo


async def opened(app: BlackbirdApp, pilot: Pilot[None], key: str, screen: type[object]) -> None:
    await pilot.press(key)
    await wait_for(pilot, lambda: isinstance(app.screen, screen) and "reading..." not in screen_text(app))


@pytest.mark.exhaustive
def test_g_and_r_are_free(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is said of one stays while the others are pressed.
    monkeypatch.setattr(BlackbirdApp, "NOTIFICATION_TIMEOUT", PATIENCE_SECONDS)
    assert not {action.key for action in ACTIONS} & {*FREE}

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        async def nothing_happens() -> None:
            assert not app.screen.active_bindings.keys() & {*FREE}
            before, screen = "", app.screen
            # The previous screen may still be drawn.
            while before != screen_text(app):
                before = screen_text(app)
                await pilot.pause(0.1)
            await pilot.press(*FREE)
            assert (screen_text(app), app.screen) == (before, screen)

        await pilot.press("g")
        await see(app, pilot, NO_KEY)
        await nothing_happens()
        await pilot.press("tab")
        await nothing_happens()
        await pilot.press("t")
        await nothing_happens()
        for key, screen in (
            ("c", SettingsScreen),
            ("s", ChoiceModal),
            ("question_mark", HelpScreen),
        ):
            await opened(app, pilot, key, screen)
            await nothing_happens()
            await pilot.press("escape")

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_key_without_a_meaning_says_so(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for keys in (("X",), ("9",), ("tab", "f"), ("X",), ("s", "z"), ("9",)):
            # Letters typed by mistake are told once.
            app._dead_key_told = -PATIENCE_SECONDS
            app.clear_notifications()
            await wait_for(pilot, lambda: NO_KEY not in screen_text(app))
            await pilot.press(*keys)
            await see(app, pilot, NO_KEY)

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_key_without_a_meaning_at_a_decision_says_so_wherever_the_focus_is(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        async def is_said(key: str, text: str) -> None:
            await pilot.press(key)
            await see(app, pilot, text)
            await pilot.press("down")
            await wait_for(pilot, lambda: text not in screen_text(app))

        await opened(app, pilot, "d", CheckpointScreen)
        await see(app, pilot, "of 1 read")
        for key in "czwsgZ":
            await is_said(key, f"{key} works in the diff: v goes there")
        for key in "xX0":
            await is_said(key, NO_KEY)
        await pilot.press("tab")
        await is_said("c", "c works in the diff: v goes there")
        await pilot.press("v")
        for key in "xuX<>0":
            await is_said(key, NO_KEY)

    drive(planned, session, (100, 30))


@pytest.mark.exhaustive
def test_plus_gives_the_diff_the_room_of_the_files(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "d", CheckpointScreen)
        await see(app, pilot, "Change: 1 file, +80 -0")
        await pilot.press("v")
        await see(app, pilot, "of 1 read", "1 + line 0")
        view = app.screen.query_one(DiffView)
        before = view.size.height
        assert before >= 10
        app.notify("Many lines.\n" * 9)
        await see(app, pilot, "Many lines.")
        # A notice takes its room from everything else.
        assert view.size.height >= 10
        app.clear_notifications()
        await pilot.press("+")
        await wait_for(pilot, lambda: view.size.height >= before + 2)
        await see(app, pilot, "━ 0 of 1 read ━")
        assert "A a.txt" not in screen_text(app)
        await pilot.press("+", "V", "tab", "tab", "+")
        # What is not shown has no focus.
        await wait_for(pilot, lambda: app.screen.focused is app.screen.query_one("#overview"))
        await pilot.press("+")
        await see(app, pilot, "of 1 read")

    drive(planned, session, (60, 20))


async def moves(
    pilot: Pilot[None], where: Callable[[], float], forth: tuple[str, ...], back: tuple[str, ...]
) -> None:
    """Assert that the keys ``forth`` increase a position, and the keys ``back`` decrease it."""
    for keys, sign in ((forth, 1), (back, -1)):
        for key in keys:
            before = where()
            await pilot.press(key)
            await wait_for(pilot, lambda before=before, sign=sign: (where() - before) * sign > 0)  # type: ignore[misc]


async def scrolls(pilot: Pilot[None], shown: Widget) -> None:
    await moves(pilot, lambda: shown.scroll_y, ("pagedown",), ("pageup",))
    await moves(pilot, lambda: shown.scroll_y, ("ctrl+end",), ("ctrl+home",))


@pytest.mark.exhaustive
def test_what_is_long_is_paged_in_both_panes(planned: Path) -> None:
    keys = ("pagedown", "down", "j", "end"), ("pageup", "up", "k", "home")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        tree, details, log = app.main.plan_tree, app.main.query_one(TaskDetails), app.main.query_one(LiveLog)
        await moves(pilot, lambda: tree._cursor, *keys)
        await pilot.press("tab")
        await moves(pilot, lambda: details.scroll_y, *keys)
        await pilot.press("t")
        for number in range(80):
            app.main.live.log_line(f"line {number}")
        await wait_for(pilot, lambda: log.max_scroll_y > 40)
        await pilot.press("home")
        await moves(pilot, lambda: log.scroll_y, *keys)

    drive(planned, session)


def test_every_screen_lists_its_keys_is_left_by_q_and_has_a_palette(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for key, screen, told in (
            ("d", CheckpointScreen, "Leave the hunk, file or folder out of an approval"),
            ("s", ChoiceModal, "find an action by name"),
            ("c", SettingsScreen, "find an action by name"),
        ):
            await opened(app, pilot, key, screen)
            await opened(app, pilot, "question_mark", HelpScreen)
            await pilot.press("slash", *told[:12])
            await see(app, pilot, told)
            await pilot.press("enter", "q")
            await wait_for(pilot, lambda screen=screen: isinstance(app.screen, screen))  # type: ignore[misc]
            await pilot.press("ctrl+p")
            await see(app, pilot, "Search for commands", " esc q")
            await pilot.press("escape", "q")
            await wait_for(pilot, lambda: app.screen is app.main)

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_y_copies_what_has_the_focus(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(BlackbirdApp, "copy_to_clipboard", lambda _, text: copied.append(text))
    run = runs_of(planned, "a00")[0].id

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("y", "h")
        await see(app, pilot, "Step 1.")
        await pilot.press("y")
        await opened(app, pilot, "d", CheckpointScreen)
        await see(app, pilot, "of 1 read")
        await pilot.press("y")
        await see(app, pilot, "nothing here can be copied; tab goes to a text that can")
        await pilot.press("shift+tab", "y")
        assert "y Copy the overview" in await lines_of_help(app, pilot)
        await pilot.press("v", "n", "down", "y")
        # At the choices it is what the diff shows.
        await pilot.press("down", "2", "y")
        await wait_for(pilot, lambda: len(copied) == 5)

    drive(planned, session, (140, 30))
    assert copied.pop(2).startswith("Task: a00 - ")
    assert copied == ["a00", run, "a.txt:1", "a.txt:2"]


def test_the_line_below_a_decision_names_what_keys_do_now(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def is_gone(text: str) -> Callable[[], bool]:
            return lambda: text not in screen_text(app)

        await opened(app, pilot, "d", CheckpointScreen)
        await see(app, pilot, "enter chooses, tab next pane, v diff,", "esc leaves it open")
        await pilot.press("v")
        await see(app, pilot, "c comments, v range, / searches,", "V overview")
        await pilot.press("slash", *"none")
        await see(app, pilot, "enter searches, esc ends the search")
        await pilot.press("enter")
        await see(app, pilot, "no line and no file name has none", "/ searches again, esc ends the search")
        await pilot.press("j")
        await wait_for(pilot, is_gone("no line and no file name has none"))
        await pilot.press("slash", SELECT_ALL, *"many", "enter")
        await see(app, pilot, "match 1 of 80 (80 added): many", "enter next match, backspace the one before")
        await pilot.press("slash")
        # What was said about the first search makes room for the second.
        await wait_for(pilot, is_gone("match 1 of 80"))
        await pilot.press("escape", "v")
        await see(app, pilot, "move to the end of the range; c comments it, esc gives it up")
        await pilot.press("escape", "s")
        await see(app, pilot, "side by side needs 140 columns", "V overview")
        # From the choices as well, the next key ends it.
        await pilot.press("1")
        await wait_for(pilot, is_gone("side by side"))
        await see(app, pilot, "enter chooses, v to the diff, V overview,")

    drive(planned, session, (130, 30))


async def lines_of_help(app: BlackbirdApp, pilot: Pilot[None]) -> list[str]:
    await opened(app, pilot, "question_mark", HelpScreen)
    lines = app.screen.query_one(KeyLines).copied_text.splitlines()
    await pilot.press("escape")
    return [" ".join(line.split()) for line in lines]


@pytest.mark.exhaustive
def test_help_and_palette_name_what_keys_do_there_and_plain_movement_last(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "d", CheckpointScreen)
        at_choices = await lines_of_help(app, pilot)
        assert at_choices[0] == "esc q Leave the decision open"
        # What the focus is one key away from is named as well.
        assert at_choices.index("In the diff, to which v goes") < at_choices.index("w Wrap lines")
        begin = at_choices.index("1 Approve and continue with a10")
        assert at_choices[begin : begin + 7] == [
            "1 Approve and continue with a10",
            "2 Approve and stop",
            "3 Request changes",
            "4 Reject changes",
            "5 View full diff",
            "9 Reject and take back",
            "\u2190 \u2191 k Choice before",
        ]
        assert "v Go to the diff" in at_choices
        await pilot.press("v")
        in_diff = await lines_of_help(app, pilot)
        assert "v Begin or give up a range of lines" in in_diff
        assert "esc q Leave the decision open" in in_diff
        assert in_diff[0] == "n Next hunk"
        assert not [line for line in in_diff if line.startswith("In the diff")]
        assert in_diff.index("c Comment the line or the range") < in_diff.index("5 View full diff")
        assert in_diff.index("5 View full diff") < in_diff.index("\u2193 j Down")
        assert not [line for line in at_choices + in_diff if "since your request" in line]
        await pilot.press("ctrl+p")
        await see(app, pilot, "Search for commands")
        await pilot.press(*"next")
        await see(app, pilot, "Next hunk")

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_a_checkpoint_is_read_and_chosen_from_by_keys(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "d", CheckpointScreen)
        choices = app.screen.query_one(ChoiceRow)
        said, diff = app.screen.query_one("#overview"), app.screen.query_one(DiffView)
        await pilot.resize_terminal(80, 12)
        forth, back = ("down", "j", "right", "5"), ("up", "k", "left", "1")
        await moves(pilot, lambda: choices.cursor, forth, back)
        # Beyond the last there is no way round to an approval; the line that chooses nothing is the first.
        await pilot.press("9", "right", "down", "j")
        assert choices.cursor == 6
        await scrolls(pilot, said)
        await pilot.press("v")
        await wait_for(pilot, lambda: "added" in screen_text(app))
        await moves(pilot, lambda: diff.left, ("right",), ("left",))
        await scrolls(pilot, diff)

    drive(planned, session)


@pytest.mark.exhaustive
def test_what_is_only_looked_at_is_read_and_left_by_keys(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await wait_for(pilot, lambda: "Step 1." in screen_text(app))
        log = app.screen.query_one("#log-of-run")
        await scrolls(pilot, log)
        await pilot.press("escape")
        await opened(app, pilot, "c", SettingsScreen)
        about, settings = app.screen.query_one("#about"), app.screen.query_one(OptionList)
        await moves(pilot, lambda: settings.highlighted or 0, ("down", "j", "end"), ("up", "k", "home"))
        await pilot.resize_terminal(80, 12)
        await moves(pilot, lambda: about.scroll_y, ("pagedown",), ("pageup",))
        await pilot.press("escape")
        for key in ("question_mark", "q"):
            await opened(app, pilot, "question_mark", HelpScreen)
            text = app.screen.query_one(KeyLines)
            await pilot.resize_terminal(50, 12)
            await see(app, pilot, f"{'':13}do it until someone must decide")
            await moves(pilot, lambda text=text: text.scroll_y, ("pagedown", "down"), ("pageup", "up"))  # type: ignore[misc]
            await pilot.press(key)
            assert app.screen is app.main

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_question_is_gone_back_to(repo: Path) -> None:
    configure(repo, agent="demo")
    put_plan(
        repo, leaf("a", "ask tone Which tone? | kind | brief\nask name Whose name?\nanswered tone t.txt")
    )

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: "a asks (1 of 2)" in screen_text(app))
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: "a asks (2 of 2)" in screen_text(app))
        await pilot.press(*"Ada", "shift+tab")
        await wait_for(pilot, lambda: "a asks (1 of 2)" in screen_text(app))
        await pilot.press("up", "enter")
        await wait_for(pilot, lambda: "a asks (2 of 2)" in screen_text(app))
        await see(app, pilot, "Ada")
        await pilot.press("enter")
        await wait_for(pilot, lambda: "] 1/1 · " in screen_text(app))

    drive(repo, session)
    assert (repo / "t.txt").read_text() == "kind\n"
    assert [(answer.id, answer.value) for answer in runs_of(repo, "a")[1].answers] == [
        ("tone", "kind"),
        ("name", "Ada"),
    ]


def test_a_key_that_does_nothing_now_says_why_and_what_does_something(repo: Path) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, parent_of("par", ["tc", "two"]), leaf("tc", parent="par"), leaf("two", parent="par"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: app.view_state is not None)
        await pilot.press("home", "d")
        await see(app, pilot, "Decide of par is not possible now: it is a parent; its")
        await pilot.press("j", "u")
        await see(app, pilot, "Resume of tc is not possible now: it is READY; x: run this")
        await pilot.press("a")
        await see(app, pilot, "not possible now: nothing waits for you")

    drive(repo, session)
