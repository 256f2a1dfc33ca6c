"""What goes wrong when an agent plans on the screen: little room, long texts, refusals, and interruptions."""

import json
import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.modal import ChoiceModal, ConfirmModal
from git_blackbird.tui.screens.plan_edit import LinesScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.mention_editor import MentionArea
from tests.controller.support import configure, leaf, open_at, put_plan, runs_of
from tests.support import wait_until
from tests.tui.driver import drive, is_over, screen_text, see, wait_for
from tests.tui.test_planning import describe, proposed, titles, write
from tests.tui.tmux import Tmux

MANY = "\n".join(f"- Task {number} of a plan that is long | Write file{number}.txt." for number in range(60))
SMALL = (60, 20)
HOSTILE = "\x1b[2J\x1b]0;title\x07[bold red]Big[/]"


@pytest.fixture
def empty(planned: Path) -> Path:
    put_plan(planned)
    return planned


async def opened(app: BlackbirdApp, pilot: Pilot[None], choice: str) -> None:
    """Open what is asked first where there are tasks, and choose."""
    await pilot.press("P")
    await wait_for(pilot, lambda: isinstance(app.screen, ChoiceModal))
    await pilot.press(choice, "enter")


def kept_text(app: BlackbirdApp) -> str:
    return app.drafts.message(PLANNING).text


@pytest.mark.exhaustive
def test_all_choices_are_in_view_below_a_long_proposal(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, MANY)
        await proposed(app, pilot)
        await see(app, pilot, "new: 60 tasks", "0. Stop here", "1. Accept it", "3. Edit it", "enter chooses")
        await pilot.press("x")
        await see(app, pilot, "no key does that here", "0. Stop here", "3. Edit it")
        await pilot.press("ctrl+end")
        await see(app, pilot, "Task 59 of a plan", "3. Edit it")
        assert app.screen.query_one(OptionList).highlighted == 0
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(empty, session, SMALL)


def test_a_long_line_is_shown_to_its_end(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, f"- One | {'word ' * 1000}and the end.")
        await proposed(app, pilot)
        await pilot.press("ctrl+end")
        await see(app, pilot, "and the end.")

    drive(empty, session)


@pytest.mark.exhaustive
def test_who_plans_is_named_as_such_and_leaving_stops_it(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "sleep 600\n- One")
        await see(app, pilot, "● planning ")
        assert ".plan" not in screen_text(app).splitlines()[0]
        await pilot.press("P")
        await see(app, pilot, "Plan is not possible now: agents are at work; ctrl+c")
        await pilot.press("q")
        await see(app, pilot, "planning is at work")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: not app.is_running)

    app = drive(empty, session)
    assert app.paused_text == "planning was stopped; nothing was changed"
    assert titles(empty) == []


@pytest.mark.exhaustive
def test_a_question_that_waits_names_the_planner(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "sleep 1\nask db Which database?\n- One")
        await pilot.press("question_mark")
        await see(app, pilot, "question of the planner: a opens it")
        await pilot.press("a")
        await see(app, pilot, "The planner asks")

    drive(empty, session)


@pytest.mark.exhaustive
def test_dependencies_are_inferred_after_the_agent_is_shown(empty: Path) -> None:
    put_plan(empty, leaf("first"), leaf("second", "It needs first"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "1")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        app.screen.query_one(MentionArea).insert("- Later")
        await pilot.press("escape")
        await opened(app, pilot, "3")
        await wait_for(pilot, lambda: isinstance(app.screen, LinesScreen))
        await see(app, pilot, "demo", "The plan changes only if you accept", "enter starts it")
        assert runs_of(empty, PLANNING) == ()
        await pilot.press("escape")
        await opened(app, pilot, "3")
        await wait_for(pilot, lambda: isinstance(app.screen, LinesScreen))
        await pilot.press("enter")
        await proposed(app, pilot)
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))
        await see(app, pilot, "updated second: ")
        # It was not used.
        assert kept_text(app) == "- Later"

    drive(empty, session)


def test_what_was_accepted_is_said_and_the_text_is_used(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "- One")
        await proposed(app, pilot)
        await pilot.press("1", "enter")
        await see(app, pilot, "added one")
        await wait_for(pilot, lambda: is_over(app))
        assert kept_text(app) == ""

    drive(empty, session)
    assert titles(empty) == ["One"]


def test_a_narrowed_list_is_no_empty_plan(empty: Path) -> None:
    put_plan(empty, leaf("first"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"zzz", "enter")
        await wait_for(pilot, lambda: app.current is None)
        await pilot.press("P")
        await see(app, pilot, "2. Change the tasks")

    drive(empty, session)


@pytest.mark.exhaustive
def test_a_path_that_is_not_there_is_asked_about_in_a_revision_too(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "- One")
        await proposed(app, pilot)
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await write(app, pilot, "See @nowhere.txt please.")
        await wait_for(pilot, lambda: isinstance(app.screen, ConfirmModal))

    drive(empty, session)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("words", ["generate", "refine", "infer"])
def test_each_kind_is_found_by_its_name_among_the_actions(empty: Path, words: str) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p", *words)
        await see(app, pilot, "Plan: let an agent")

    drive(empty, session)


def test_a_failure_names_the_key_that_plans(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "fail 3")
        await wait_for(pilot, lambda: is_over(app))
        await see(app, pilot, "no plan was made", "P: let an agent")

    drive(empty, session)


def test_another_command_that_runs_agents_keeps_the_text(empty: Path) -> None:
    put_plan(empty, leaf("first"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "1")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        with hold_controller(open_at(empty), "execute"):
            await write(app, pilot, "- Later")
            await see(app, pilot, "another git-blackbird is running here")
            await wait_for(pilot, lambda: is_over(app))
        assert kept_text(app) == "- Later"

    drive(empty, session)


@pytest.mark.exhaustive
def test_ctrl_c_says_what_is_stopped(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "sleep 600\n- One")
        await see(app, pilot, "● planning ")
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: is_over(app))
        await see(app, pilot, "stopping the planning;", "interrupted before a plan was made")
        assert kept_text(app) == "sleep 600\n- One"

    drive(empty, session)
    assert titles(empty) == []


def answers_by_command(repo: Path, answer: dict[str, object]) -> None:
    """Let a command plan, which always prints the same answer."""
    (repo.parent / "answer.json").write_text(json.dumps(answer))
    configure(repo, agent="command", command__schema="true", command__run=f"cat {repo.parent}/answer.json")


@pytest.mark.exhaustive
def test_refused_consent_starts_nothing(empty: Path) -> None:
    answers_by_command(empty, {"tasks": [], "delete": [], "questions": [], "remarks": ""})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for key in ("enter", "escape"):
            await pilot.press("P")
            await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
            await see(app, pilot, "command: cat ")
            app.screen.query_one(MentionArea).text = "Plan it."
            await pilot.press("ctrl+s")
            await wait_for(pilot, lambda: isinstance(app.screen, ConfirmModal))
            await pilot.press(key)
            await wait_for(pilot, lambda: is_over(app))
            await see(app, pilot, "the agent 'command' was not started")
        assert kept_text(app) == "Plan it."

    drive(empty, session)
    assert runs_of(empty, PLANNING) == ()


@pytest.mark.exhaustive
def test_who_asks_for_ever_is_asked_twice(empty: Path) -> None:
    question = {"id": "db", "prompt": f"{HOSTILE} Which?", "options": ["sqlite", "mysql"]}
    answers_by_command(empty, {"tasks": [], "delete": [], "questions": [question], "remarks": ""})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "Plan it.")
        await wait_for(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("2", "enter")
        for count in (1, 2):
            await wait_for(pilot, lambda count=count: asked_after(app, empty, count))  # type: ignore[misc]
            await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))
        await see(app, pilot, "asked again after 2 rounds of questions")

    drive(empty, session)
    assert titles(empty) == []


def asked_after(app: BlackbirdApp, repo: Path, count: int) -> bool:
    return isinstance(app.screen, QuestionScreen) and len(runs_of(repo, PLANNING)) == count


def test_what_lint_blocks_cannot_be_accepted_and_hostile_text_is_text(empty: Path) -> None:
    task = {"title": f"{HOSTILE} One", "prompt": "Do it.", "criteria": []}
    fields = dict.fromkeys(("id", "after", "because", "parent", "description", "agent", "model"))
    answers_by_command(
        empty, {"tasks": [fields | task], "delete": [], "questions": [], "remarks": "[red]Look[/]"}
    )

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, "Plan it.")
        await wait_for(pilot, lambda: isinstance(app.screen, ConfirmModal))
        await pilot.press("2", "enter")
        await proposed(app, pilot)
        await see(app, pilot, "[bold red]Big[/] One", "remark: [red]Look[/]", "0. Stop here")
        await pilot.press("ctrl+end")
        await see(app, pilot, "this cannot be accepted:", "nothing says when it is done")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))
        await see(app, pilot, "nothing was changed")

    drive(empty, session, SMALL)
    assert titles(empty) == []


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_a_proposal_that_deletes_is_edited_as_a_page(
    empty: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plan(empty, leaf("first"), leaf("second"), leaf("third"))
    editor = empty.parent / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/^## Mine/## Ours/" "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))
    tmux.open(empty)
    tmux.wait_for("] 0/3 · ")
    tmux.press("P")
    tmux.wait_for("2. Change the tasks")
    tmux.press("2", "Enter")
    tmux.wait_for("ctrl+s sends")
    tmux.press("-l", "--", "drop second")
    tmux.press("Enter")
    tmux.press("-l", "--", "set first title Mine")
    tmux.press("C-s")
    tmux.wait_for("deleted: second", "3. Edit it as a page", "pgup and pgdn scroll")
    tmux.press("3", "Enter")
    wait_until(lambda: titles(empty) == ["Ours", "Task third"])
    tmux.wait_for("deleted second", "q Quit")
    tmux.press("q")
    tmux.wait_for_end(0)
