"""An agent plans on the screen: it is told, asks, proposes, and nothing changes before that is accepted."""

import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.model.base.ids import PLANNING
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.proposal import ProposalScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.mention_editor import MentionArea
from tests.cli.golden_harness import store_at
from tests.controller.support import configure, leaf, put_plan, runs_of
from tests.support import commit, wait_until
from tests.tui.driver import drive, is_over, screen_text, see, wait_for
from tests.tui.tmux import Tmux

REQUEST = "ask db Which database? | sqlite | mysql\n- Use it | With the database."


def titles(repo: Path) -> list[str]:
    return [task.title for _, task in store_at(repo).plan().walk()]


@pytest.fixture
def empty(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    configure(repo, agent="demo")
    put_plan(repo)
    return repo


async def describe(app: BlackbirdApp, pilot: Pilot[None], text: str) -> None:
    await pilot.press("P")
    await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
    await write(app, pilot, text)


async def write(app: BlackbirdApp, pilot: Pilot[None], text: str) -> None:
    app.screen.query_one(MentionArea).insert(text)
    await pilot.press("ctrl+s")


async def proposed(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    await wait_for(pilot, lambda: isinstance(app.screen, ProposalScreen))


def test_questions_revision_and_consent_lead_to_a_plan(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "the plan has no tasks; A adds one")
        await describe(app, pilot, REQUEST)
        await wait_for(pilot, lambda: isinstance(app.screen, QuestionScreen))
        await pilot.press("2", "enter")
        await proposed(app, pilot)
        assert "use-it  Use it" in screen_text(app)
        assert titles(empty) == []
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await see(app, pilot, "What should be different in the plan?")
        await write(app, pilot, "- Docs")
        await see(app, pilot, "docs  Docs")
        await proposed(app, pilot)
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))
        await see(app, pilot, "the plan is changed")
        await wait_for(pilot, lambda: app.current is not None)

    drive(empty, session)
    assert titles(empty) == ["Use it", "Docs"]
    assert [run.context["answers"] for run in runs_of(empty, PLANNING)][1:] == [
        [{"id": "db", "value": "mysql"}]
    ] * 2


@pytest.mark.exhaustive
def test_enter_and_escape_change_nothing_and_the_proposal_and_the_text_are_kept(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for key in ("enter", "escape"):
            await pilot.press("P")
            await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
            if key == "enter":
                await write(app, pilot, "- Use it | With the database.")
            else:
                assert "- Use it" in screen_text(app)
                await pilot.press("ctrl+s")
            await proposed(app, pilot)
            await pilot.press(key)
            await wait_for(pilot, lambda: is_over(app))
            await see(app, pilot, "nothing was changed")

    drive(empty, session)
    assert titles(empty) == []


def test_what_is_to_be_planned_is_chosen_where_there_are_tasks(empty: Path) -> None:
    put_plan(empty, leaf("a"), leaf("b"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("P")
        await wait_for(pilot, lambda: isinstance(app.screen, ChoiceModal))
        await see(app, pilot, "1. Add tasks", "2. Change the tasks", "3. Work out which tasks need which")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await write(app, pilot, "set a title Other words")
        await proposed(app, pilot)
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(empty, session)
    assert titles(empty) == ["Other words", "Task b"]


def test_who_plans_is_stopped_and_nothing_is_changed(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "sleep 600\n- One")
        await wait_for(pilot, lambda: bool(runs_of(empty, PLANNING)))
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: is_over(app))

    drive(empty, session)
    assert titles(empty) == []


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_a_proposal_is_edited_as_a_page(empty: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = empty.parent / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/^## Use it/## Use both/" "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))
    tmux.open(empty)
    tmux.wait_for("the plan has no tasks; A adds one")
    tmux.press("P")
    tmux.wait_for("ctrl+s sends")
    tmux.press("-l", "--", "- Use it | With the database.")
    tmux.press("C-s")
    tmux.wait_for("3. Edit it as a page", "pgup and pgdn scroll")
    tmux.press("3", "Enter")
    wait_until(lambda: titles(empty) == ["Use both"])
    tmux.wait_for("the proposal is opened as a page", "added use-it", "q Quit")
    tmux.press("q")
    tmux.wait_for_end(0)
