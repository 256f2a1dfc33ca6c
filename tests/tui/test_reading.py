import time
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import set_status
from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from tests.controller.limited import HOUR, Clock, Waiter, call_at, enlist
from tests.controller.support import (
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
)
from tests.support import commit
from tests.tui.driver import drive, environment_at, screen_text, see, wait_for


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo")
    put_plan(
        repo,
        parent_of("guide", ["guide-faq", "guide-use"]),
        leaf("guide-faq", "write faq.md questions", parent="guide"),
        leaf("guide-use", "write use.md usage", parent="guide", deps=["guide-faq"]),
        leaf("alpha", "write alpha.txt one"),
    )
    return repo


def test_the_plan_and_the_task_under_the_cursor_are_shown(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide", "guide-faq", "guide-use")
        await pilot.press("down", "j", "j")
        await see(
            app,
            pilot,
            "[········] 0/3 · demo · 2 ready",
            "Task guide-use  guide-use",
            "its dependency guide-faq is todo, not done",
        )
        await pilot.press("k")
        assert app.current is not None
        assert app.current.id == "guide-faq"

    drive(planned, session, (120, 30))


def test_budgets_are_shown_with_what_is_spent(planned: Path) -> None:
    configure(planned, budget__plan__tokens="1", budget__plan__usd="2.5")
    execute(planned, limit=1)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(
            app, pilot, "the plan 0.00 USD of 2.50 · the plan ", "the budget of the plan is spent ([c])"
        )

    drive(planned, session, (160, 30))


def test_titles_come_first_where_there_is_no_room_for_ids(planned: Path) -> None:
    title = "Say how errors are answered"
    put_plan(planned, replace(leaf("guide-on-errors-of-users"), title=title), leaf("short"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        tree = [line[:40] for line in screen_text(app).splitlines()]
        assert "┃  Say how errors are answered    READY┃" in tree
        assert "┃  Task short  short              READY┃" in tree
        # The title beside the tree and the details have the id.
        await see(app, pilot, "guide-on-errors-of-users")
        await pilot.resize_terminal(160, 30)
        await see(app, pilot, "┃  Say how errors are answered  guide-on-errors-of-users")

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_task_that_a_record_stops_is_not_shown_as_ready(planned: Path) -> None:
    put_plan(planned, leaf("alpha"), leaf("beta", deps=["alpha"]), leaf("gamma"))
    folder = planned / ".git/blackbird/runs/gamma"
    folder.mkdir(parents=True)
    unreadable = folder / "0123456789abcdef.json"
    unreadable.write_text("{")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, " · 1 ready", "Task alpha  alpha              READY")
        await see(app, pilot, "Task gamma  gamma            BLOCKED")
        await pilot.press("f")
        assert app.main.plan_tree.shown_ids() == ("alpha",)
        await pilot.press("f")
        assert app.main.plan_tree.shown_ids() == ("beta", "gamma")
        unreadable.unlink()
        await wait_for(pilot, lambda: app.main.plan_tree.shown_ids() == ("beta",))

    drive(planned, session)


def test_what_is_odd_is_said_above_the_plan(planned: Path) -> None:
    folder = planned / ".git/blackbird/runs/alpha"
    folder.mkdir(parents=True)
    (folder / "0123456789abcdef.json").write_text("{")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "1 unreadable record ([a])")
        (folder / "0123456789abcdef.json").unlink()
        await wait_for(pilot, lambda: "unreadable" not in screen_text(app))

    drive(planned, session)


def test_a_click_goes_to_the_task_that_is_clicked(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.click("#tree", offset=(5, 3))
        assert app.current is not None
        assert app.current.id == "guide-faq"
        await pilot.click("#tree", offset=(5, 12))
        assert app.current.id == "guide-faq"

    drive(planned, session)


def test_parents_fold_from_themselves_and_from_their_children(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "enter")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide")
        await pilot.press("space", "down", "enter")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide")
        assert app.current is not None
        assert app.current.id == "guide"

    drive(planned, session)


def test_a_search_or_filter_puts_the_cursor_on_a_task_that_it_finds(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def stands_on(task_id: str) -> bool:
            return app.current is not None and app.current.id == task_id

        await pilot.press("slash", *"use")
        await wait_for(pilot, lambda: stands_on("guide-use"))
        await pilot.press("escape", "escape")
        assert stands_on("guide-use")
        # What comes first of all is found where nothing comes later.
        await pilot.press("f")
        await see(app, pilot, "filter ready: 2")
        assert stands_on("alpha")
        await pilot.press("escape", "down", "space", "f")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide", "guide-faq")
        assert stands_on("guide-faq")
        await pilot.press("escape", "home", "slash", *"e-f")
        await wait_for(pilot, lambda: stands_on("guide-faq"))
        # Each letter begins where the search began.
        await pilot.press("backspace", "backspace")
        await wait_for(pilot, lambda: stands_on("guide"))

    drive(planned, session)


def test_filters_follow_one_another(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide", "guide-faq")
        await see(app, pilot, "filter ready: 2 · esc shows all · ")
        await pilot.press("f")
        assert app.main.plan_tree.shown_ids() == ("guide", "guide-use")
        await pilot.press("f")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide", "guide-faq", "guide-use")
        await see(app, pilot, "filter todo: 4")
        # Those of no task are passed over, in both directions.
        await pilot.press("f")
        assert not app.main.plan_tree.narrowed.filter_name
        await pilot.press("F")
        await see(app, pilot, "filter todo: 4")
        await pilot.press("escape")
        await wait_for(
            pilot, lambda: "filter" not in screen_text(app) and not app.main.plan_tree.narrowed.filter_name
        )
        await pilot.press("f", "slash", *"faq", "enter")
        assert app.main.plan_tree.shown_ids() == ("guide", "guide-faq")
        # From the field, esc ends the search alone.
        await pilot.press("slash", "escape")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide", "guide-faq")
        await pilot.press("slash", *"use", "enter")
        await see(app, pilot, "no task is shown: esc shows all")
        await pilot.press("escape")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide", "guide-faq", "guide-use")

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_rejected_task_is_counted_once(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    execute(planned, None, "alpha")
    execute(planned, None, "guide-faq")
    record_decision(open_at(planned), "alpha", Decision(DecisionState.REJECTED))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "Action required (2)", " · 1 waits · 1 failed")

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_search_in_the_diff_tab_names_its_keys(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    execute(planned, None, "alpha")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def bottom() -> str:
            return screen_text(app).splitlines()[-1].strip()

        await pilot.press("4", "tab")
        await see(app, pilot, "1 + one")
        await pilot.press("slash")
        await wait_for(pilot, lambda: bottom() == "enter searches, esc ends the search")
        await pilot.press(*"one", "enter")
        await see(app, pilot, "match 1 of 1")
        await wait_for(pilot, lambda: bottom().startswith("enter next match, backspace the one before"))
        await pilot.press("escape")
        await wait_for(pilot, lambda: bottom().endswith("demo") and "? Help" in bottom())

    drive(planned, session, (100, 30))


def test_a_search_shows_what_it_finds_and_escape_drops_it(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"FAQ")
        assert app.main.plan_tree.shown_ids() == ("guide", "guide-faq")
        await pilot.press("enter", "down")
        assert app.main.plan_tree.has_focus
        assert app.current is not None
        assert app.current.id == "guide-faq"
        await pilot.press("escape")
        assert app.main.plan_tree.shown_ids() == ("alpha", "guide", "guide-faq", "guide-use")
        assert app.current.id == "guide-faq"

    drive(planned, session)


def test_matches_are_counted_and_gone_through(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def current() -> str | None:
            return None if app.current is None else app.current.id

        await pilot.press("slash", *"guide-", "enter")
        assert current() == "guide-faq"
        await see(app, pilot, "search guide-: 1 of 2 · ")
        await pilot.press("n")
        assert current() == "guide-use"
        await pilot.press("n", "N")
        await see(app, pilot, "search guide-: 2 of 2 · ")

    drive(planned, session)


def test_tabs_show_what_is_known_of_the_task_under_the_cursor(planned: Path) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down", "5")
        await see(app, pilot, "Comes after nothing", "Unblocks 1 task", "guide-use  Task guide-use: DONE")
        await pilot.press("4")
        await see(app, pilot, "faq.md  +1 -0  added", "1 + questions")
        await pilot.press("3")
        await see(app, pilot, "execute  success  -")
        await pilot.press("plus")
        await wait_for(pilot, lambda: "execute  success" not in screen_text(app))
        await see(app, pilot, "Task guide-use  guide-use")
        await pilot.press("tab")
        await see(app, pilot, "execute  success  -")
        await pilot.press("plus", "1")
        await see(app, pilot, "DONE, updated", "Task guide-use  guide-use")

    drive(planned, session)


@pytest.mark.parametrize(("columns", "places"), [(79, "above"), (80, "beside")])
def test_panes_are_beside_each_other_where_there_is_room(planned: Path, columns: int, places: str) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        tree, tabs = app.main.plan_tree, app.main.tabs
        await wait_for(pilot, lambda: (tree.region.y == tabs.region.y) == (places == "beside"))
        before = tree.size
        await pilot.press("greater_than_sign")
        await wait_for(pilot, lambda: tree.size.area > before.area)
        await pilot.press("less_than_sign")
        await wait_for(pilot, lambda: tree.size == before)

    drive(planned, session, (columns, 24))


def test_tab_goes_to_the_other_pane_and_t_switches_it(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("tab")
        assert not app.main.plan_tree.has_focus
        await pilot.press("t")
        await see(app, pilot, "no agent is at work")
        await pilot.press("tab")
        assert app.main.plan_tree.has_focus

    drive(planned, session)


@pytest.mark.exhaustive
def test_what_a_person_owes_is_announced_and_found(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "Action required (1): [a] opens alpha: decision due")
        await pilot.press("end", "a")
        await see(app, pilot, "ACTION REQUIRED  your decision on alpha")
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is app.main)
        assert app.current is not None
        assert app.current.id == "alpha"
        await see(app, pilot, "d: decide on the task's run")
        await pilot.press("d")
        await see(app, pilot, "ACTION REQUIRED  your decision on alpha")

    drive(planned, session, (120, 30))


def test_nothing_is_announced_when_nothing_is_owed(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        assert "Action required" not in screen_text(app)

    drive(planned, session)


def test_what_another_process_does_is_seen(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        set_status(open_at(planned), "alpha", Status.DONE)
        await wait_for(pilot, lambda: "] 1/3 · " in screen_text(app))
        put_plan(planned, leaf("beta"))
        await wait_for(pilot, lambda: app.main.plan_tree.shown_ids() == ("beta",))

    drive(planned, session)


def test_a_plan_that_breaks_is_named_and_seen_again_when_it_is_mended(planned: Path) -> None:
    plan = planned / "blackbird.plan.json"
    good = plan.read_bytes()

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        plan.write_bytes(b"{")
        await wait_for(pilot, lambda: "blackbird.plan.json" in screen_text(app))
        plan.write_bytes(good)
        await wait_for(pilot, lambda: "] 0/3 · " in screen_text(app))

    drive(planned, session, (240, 24))


def test_control_sequences_markup_and_long_lines_are_shown_harmlessly(repo: Path) -> None:
    title = "\x1b[2J[bold red]not markup[/]\x1b]0;t\x07 " + "x" * 5000
    put_plan(repo, replace(leaf("alpha", f"[link=https://example.com]{title}"), title=title))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        shown = screen_text(app)
        assert "\x1b" not in shown
        assert "[link=https://example.com]" in shown
        assert "[bold red]not markup[/]" in shown

    drive(repo, session)


def test_q_leaves(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("q")
        await wait_for(pilot, lambda: not app.is_running)

    drive(planned, session)


def test_the_line_at_the_top_counts_down_to_the_end_of_a_usage_limit_and_a_key_ends_the_waiting(
    planned: Path,
) -> None:
    clock = Clock(environment_at(planned).now() - time.time_ns())
    enlist(planned, alpha=[f"refused {clock.seconds() + 3 * HOUR}"])
    configure(planned, agent="claude", execution__worktrees="true")
    call_at(
        planned,
        Waiter(is_on_terminal=False, clock=clock),
        lambda workspace, ui: execute_loop(workspace, ui, ("alpha",), None),
    )

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "claude at its limit: in 2h59m")
        await pilot.press("x", "t")
        await see(app, pilot, "waiting: claude is at its usage limit")
        await pilot.press("ctrl+c")
        await see(app, pilot, "interrupted while it waited for a usage limit")

    drive(planned, session, (120, 30))
