"""The screen while several tasks are worked on at once."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import HelpScreen
from tests.controller.support import agree_to_agent, configure, leaf, put_plan, runs_of
from tests.support import commit
from tests.tui.driver import drive, is_over, screen_text, see, wait_for


@pytest.fixture
def parallel(repo: Path) -> Path:
    """A repository with two tasks at once, whose agents speak and wait for files beside it."""
    commit(repo, {"README.md": "# Here\n"})
    script = (
        "cat >/dev/null; echo $BLACKBIRD_TASK_ID speaks; "
        f"until [ -e {repo.parent}/go-$BLACKBIRD_TASK_ID ]; do sleep 0.02; done; "
        "echo work >$BLACKBIRD_TASK_ID.txt"
    )
    configure(repo, agent="command", command__run=script, execution__jobs="2")
    agree_to_agent(repo)
    put_plan(repo, leaf("alpha"), leaf("beta"))
    return repo


def go(repo: Path, task_id: str) -> None:
    (repo.parent / f"go-{task_id}").touch()


def question(app: BlackbirdApp) -> str | None:
    """The task that is asked about."""
    return app.screen.checkpoint.task.id if isinstance(app.screen, CheckpointScreen) else None


def test_decisions_come_one_at_a_time_while_others_work(parallel: Path) -> None:
    configure(parallel, execution__stopAfterEachTask="true")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        # Of both the last line, and the log of the one under the cursor.
        await see(app, pilot, "alpha  alpha speaks", "beta  beta speaks", "alpha: alpha speaks")
        app.poll()
        await see(app, pilot, "2 at work")
        go(parallel, "alpha")
        await wait_for(pilot, lambda: question(app) == "alpha")
        go(parallel, "beta")
        await wait_for(pilot, lambda: runs_of(parallel, "beta")[-1].is_pending)
        assert question(app) == "alpha"
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: question(app) == "beta")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(parallel, session, (120, 40))
    for task_id in ("alpha", "beta"):
        assert runs_of(parallel, task_id)[-1].has_landed
        assert (parallel / f"{task_id}.txt").exists()


@pytest.mark.exhaustive
def test_the_log_goes_on_below_the_help(parallel: Path) -> None:
    prints = "seq -f '%g of 300'"
    script = f"cat >/dev/null; {prints} 3; until [ -e go ]; do sleep 0.02; done; {prints} 300"
    configure(parallel, command__run=script, execution__jobs="1")
    agree_to_agent(parallel)
    put_plan(parallel, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await see(app, pilot, "3 of 300")
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: isinstance(app.screen, HelpScreen))
        # What the help covers is not drawn.
        assert not app.main.is_current
        (parallel / "go").touch()
        await wait_for(pilot, lambda: is_over(app))
        assert "300 of 300" not in screen_text(app)
        await pilot.press("escape")
        await see(app, pilot, "300 of 300")

    drive(parallel, session)


@pytest.mark.exhaustive
def test_the_run_under_the_cursor_comes_first_and_others_change_no_pane(parallel: Path) -> None:
    put_plan(parallel, leaf("alpha"), leaf("beta"), leaf("gamma"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        # Of both the last line, and the log of the one under the cursor.
        await see(app, pilot, "alpha  alpha speaks", "beta  beta speaks", "alpha: alpha speaks")
        app.main.plan_tree.select(runs_of(parallel, "beta")[0].task_id)
        await wait_for(pilot, lambda: app.main.live.followed == "beta")
        await wait_for(pilot, lambda: shown(app)[:1] == ["beta"])
        await see(app, pilot, "beta: beta speaks")
        app.main.toggle_live()
        focused = app.focused
        go(parallel, "alpha")
        await wait_for(pilot, lambda: bool(runs_of(parallel, "gamma")))
        await wait_for(pilot, lambda: "gamma" in shown(app))
        assert app.main.tabs.shown == "details"
        assert app.focused is focused
        go(parallel, "beta")
        go(parallel, "gamma")
        await wait_for(pilot, lambda: is_over(app))

    drive(parallel, session, (120, 40))


def shown(app: BlackbirdApp) -> list[str]:
    """The tasks at work in the order of the live pane, drawn or not."""
    return [line.split()[1] for line in app.main.live._drawn_head.splitlines()]
