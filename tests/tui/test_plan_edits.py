"""The plan is edited on the screen, while others change it too; the whole file is asserted afterwards."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, TextArea

from git_blackbird.controller.plan.edit import add_deps, edit_task
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.plan_edit import (
    DeleteScreen,
    DepsScreen,
    LinesScreen,
    MoveScreen,
    ParentScreen,
)
from git_blackbird.tui.screens.task_form import TaskForm
from tests.cli.plans import task
from tests.controller.support import configure, leaf, open_at, put_plan, runs_of
from tests.support import wait_until
from tests.tui.driver import QuickApp, drive, is_over, screen_text, see, wait_for
from tests.tui.tmux import Tmux

Rows = dict[str, dict[str, Any]]


class AskingApp(QuickApp):
    """Shows what it is about to start, as the real one does."""

    def action_execute(self) -> None:
        BlackbirdApp.action_execute(self)


def plan_file(repo: Path) -> Rows:
    """The plan file without times, and what each task has beside an empty one's fields."""
    items: Rows = json.loads((repo / "blackbird.plan.json").read_text())["items"]
    empty: dict[str, Any] = {
        "description": "",
        "prompt": "",
        "acceptanceCriteria": [],
        "childIds": [],
        "deps": [],
    }
    empty |= {"parentId": None, "status": "todo"}
    return {
        task_id: {
            name: value
            for name, value in item.items()
            if name not in {"id", "createdAt", "updatedAt"} and empty.get(name, "") != value
        }
        for task_id, item in items.items()
    }


async def opened(app: BlackbirdApp, pilot: Pilot[None], key: str, screen: type[Screen[Any]]) -> None:
    await pilot.press(key)
    await wait_for(pilot, lambda: isinstance(app.screen, screen))


async def closed(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    await wait_for(pilot, lambda: app.screen is app.main)


def at_task(app: BlackbirdApp, task_id: str) -> Callable[[], bool]:
    return lambda: app.current is not None and app.current.id == task_id


def family(repo: Path) -> None:
    put_plan(
        repo,
        task("p", children=("a", "b", "c")),
        task("a", parent="p"),
        task("b", parent="p"),
        task("c", parent="p", deps=("a",)),
        task("q"),
    )


FAMILY: Rows = {
    "p": {"title": "Task p", "childIds": ["a", "b", "c"]},
    "a": {"title": "Task a", "parentId": "p"},
    "b": {"title": "Task b", "parentId": "p"},
    "c": {"title": "Task c", "parentId": "p", "deps": ["a"]},
    "q": {"title": "Task q"},
}


def test_a_task_is_added_and_what_was_written_outlives_the_screen(planned: Path) -> None:
    put_plan(planned, task("p", children=("a",)), task("a", parent="p"))

    async def lose(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "A", ChoiceModal)
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, TaskForm))
        await pilot.press(*"New", "tab", *"Do it", "enter", *"well")

    drive(planned, lose)
    assert plan_file(planned).keys() == {"p", "a"}

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "A", ChoiceModal)
        await pilot.press("2", "enter")
        await see(app, pilot, "New task below p", "this is your earlier text", "Do it")
        await pilot.press(
            "tab", "tab", *"It runs.", "enter", *"It ends.", "shift+tab", "shift+tab", "shift+tab"
        )
        await pilot.press(*"a", "ctrl+s")
        await see(app, pilot, 'a task "a" already exists')
        await pilot.press("backspace", *"next", "ctrl+s")
        await closed(app, pilot)
        await wait_for(pilot, at_task(app, "next"))

    app = drive(planned, session)
    assert plan_file(planned) == {
        "p": {"title": "Task p", "childIds": ["a", "next"]},
        "a": {"title": "Task a", "parentId": "p"},
        "next": {
            "title": "New",
            "parentId": "p",
            "prompt": "Do it\nwell",
            "acceptanceCriteria": ["It runs.", "It ends."],
        },
    }
    assert app.drafts.form(None).text == ""


@pytest.mark.exhaustive
def test_an_edit_keeps_what_others_change_meanwhile(planned: Path) -> None:
    hostile = "line\x1b[2J one"
    put_plan(planned, replace(task("a"), description=hostile, acceptance_criteria=("It runs.",)))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "E", TaskForm)
        edit_task(open_at(planned), "a", lambda now: replace(now, prompt="Theirs", notes="Noted"))
        await pilot.press("end", *"!", "tab", *"Mine", "ctrl+s")
        await see(app, pilot, "changed by someone else meanwhile: prompt", "theirs, prompt: Theirs")
        assert plan_file(planned)["a"]["prompt"] == "Theirs"
        await pilot.press("ctrl+s")
        await closed(app, pilot)

    drive(planned, session)
    assert plan_file(planned) == {
        "a": {
            "title": "Task a!",
            "description": hostile,
            "prompt": "Mine",
            "acceptanceCriteria": ["It runs."],
            "notes": "Noted",
        }
    }


def test_the_form_has_dependencies_agent_and_model(planned: Path) -> None:
    put_plan(planned, task("a"), task("other"), task("last"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "E", TaskForm)
        for name, text in (("deps", "oth, la"), ("agent", "codecs"), ("model", "gpt-5.9")):
            app.screen.query_one(f"#{name}", Input).value = text
        await pilot.press("ctrl+s")
        await see(app, pilot, "'codecs' is none of claude, codex, command, demo, gemini, opencode")
        app.screen.query_one("#agent", Input).value = "codex"
        await pilot.press("ctrl+s")
        await closed(app, pilot)

    drive(planned, session)
    expected = {"title": "Task a", "deps": ["other", "last"], "agent": "codex", "model": "gpt-5.9"}
    assert plan_file(planned)["a"] == expected


@pytest.mark.exhaustive
def test_ctrl_home_and_ctrl_end_go_to_the_ends_of_a_text(planned: Path) -> None:
    put_plan(planned, replace(task("a"), prompt="one\ntwo"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "E", TaskForm)
        await pilot.press("ctrl+home", "1", "ctrl+end", "2")
        assert app.screen.query_one("#title", Input).value == "1Task a2"
        await pilot.press("tab", "ctrl+end", "3", "ctrl+home", "0", "ctrl+shift+end", "delete", "4")
        assert app.screen.query_one("#prompt", TextArea).text == "04"

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_form_is_dropped_only_when_asked_twice(planned: Path) -> None:
    put_plan(planned, task("a"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "E", TaskForm)
        await pilot.press("escape")
        await closed(app, pilot)
        await opened(app, pilot, "E", TaskForm)
        await pilot.press(*"Lost", "escape")
        await see(app, pilot, "not saved: esc again drops what you wrote")
        await pilot.press("escape")
        await closed(app, pilot)
        await opened(app, pilot, "E", TaskForm)
        assert app.screen.query_one("#title", Input).value == "Task a"
        assert app.screen.query_one("#prompt", TextArea).text == ""

    drive(planned, session)
    assert plan_file(planned) == {"a": {"title": "Task a"}}


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")
def test_an_editor_gets_the_terminal_and_gives_it_back(
    planned: Path, tmux: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plan(planned, task("a"))
    editor = planned.parent / "editor"
    editor.write_text(f'#!/bin/sh\n: >{planned}/open; read line </dev/tty; sed -i s/Task/$line/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))
    tmux.open_controlled(planned)
    tmux.wait_for("] 0/1 · ")
    tmux.press("E")
    tmux.wait_for("ctrl+o opens your editor")
    tmux.press("C-o")
    wait_until((planned / "open").exists)
    tmux.press("Work", "Enter")
    tmux.wait_for("Work a", "q Quit")
    tmux.press("q")
    tmux.wait_for_end(0)
    assert plan_file(planned) == {"a": {"title": "Work a"}}


def test_a_deletion_takes_along_what_was_shown_or_nothing(planned: Path) -> None:
    family(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "D", DeleteScreen)
        await see(app, pilot, "would delete p and 3 tasks below it: a, b, c", "1. Leave it")
        await pilot.press("enter")
        await closed(app, pilot)
        await opened(app, pilot, "D", DeleteScreen)
        add_deps(open_at(planned), "q", ["b"])
        await pilot.press("2", "enter")
        await see(app, pilot, "deleting p would have other consequences")
        assert plan_file(planned) == {**FAMILY, "q": {"title": "Task q", "deps": ["b"]}}
        await pilot.press("escape")
        await opened(app, pilot, "D", DeleteScreen)
        await see(app, pilot, "would remove it from the dependencies of: q")
        await pilot.press("2", "enter")
        await closed(app, pilot)

    drive(planned, session)
    assert plan_file(planned) == {"q": {"title": "Task q"}}


@pytest.mark.exhaustive
def test_a_task_is_moved_among_its_siblings_and_below_another(planned: Path) -> None:
    family(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.main.plan_tree.select(_named("c"))
        await opened(app, pilot, "M", MoveScreen)
        await see(app, pilot, "Below p  Task p:")
        await pilot.press("up", "enter")
        await closed(app, pilot)
        await wait_for(pilot, lambda: plan_file(planned)["p"]["childIds"] == ["a", "c", "b"])
        app.main.plan_tree.select(_named("b"))
        await opened(app, pilot, "M", MoveScreen)
        await opened(app, pilot, "p", ParentScreen)
        await pilot.press(*"task q", "enter")
        await see(app, pilot, "Below q  Task q:")
        await pilot.press("enter")
        await closed(app, pilot)

    drive(planned, session)
    assert plan_file(planned) == {
        **FAMILY,
        "p": {"title": "Task p", "childIds": ["a", "c"]},
        "b": {"title": "Task b", "parentId": "q"},
        "q": {"title": "Task q", "childIds": ["b"]},
    }


@pytest.mark.exhaustive
def test_dependencies_are_picked_by_typing(planned: Path) -> None:
    family(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.main.plan_tree.select(_named("c"))
        await opened(app, pilot, "B", DepsScreen)
        await see(app, pilot, "Marked: a", "[x] a  Task a (todo)", "[ ] q  Task q (todo)")
        assert "[ ] p " not in screen_text(app)
        await pilot.press(*"sk q", "enter", "backspace", "backspace", "backspace", "backspace", "enter")
        await see(app, pilot, "Marked: q")
        add_deps(open_at(planned), "c", ["b"])
        await pilot.press("ctrl+s")
        await closed(app, pilot)
        await wait_for(pilot, lambda: plan_file(planned)["c"]["deps"] == ["b", "q"])
        app.main.plan_tree.select(_named("q"))
        await opened(app, pilot, "B", DepsScreen)
        await pilot.press(*"c", "enter", "ctrl+s")
        await see(app, pilot, "dependency cycle detected")

    drive(planned, session)
    assert plan_file(planned) == {**FAMILY, "c": {**FAMILY["c"], "deps": ["b", "q"]}}


def test_the_graph_of_a_task_shows_what_comes_before_and_after(planned: Path) -> None:
    put_plan(planned, task("a"), task("b", deps=("a",)), task("c", deps=("a", "b")), task("d", deps=("c",)))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.main.plan_tree.select(_named("b"))
        await pilot.press("5", "tab", "plus")
        await see(app, pilot, "Comes after 1 task", "  a  Task a: READY", "Unblocks 2 tasks")
        await see(app, pilot, "  c  Task c: BLOCKED, waits for 2", "     d  Task d: BLOCKED, waits for 1")

    drive(planned, session)


@pytest.mark.exhaustive
def test_an_execution_shows_what_it_will_start_and_asks(planned: Path) -> None:
    configure(planned, agent="demo", check__criteria="true", check__prove="true")
    put_plan(
        planned,
        replace(leaf("alpha", "write a.txt one"), acceptance_criteria=("$ test -e a.txt",)),
        replace(leaf("beta", "write b.txt b"), deps=(_named("alpha"),)),
    )

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await opened(app, pilot, "e", LinesScreen)
        await see(
            app, pilot, "Agent    demo", "Jobs     1, in this worktree", "   1. alpha  ", "   2. beta  "
        )
        proves = "Prove    which hunks no check notices, for up to 10m"
        await see(app, pilot, "Check    criteria that are commands", proves)
        await pilot.press("escape")
        await closed(app, pilot)
        assert not runs_of(planned, "alpha")
        configure(planned, check__criteria="false")
        await opened(app, pilot, "e", LinesScreen)
        await see(app, pilot, "Check    none")
        await pilot.press("enter")
        await wait_for(pilot, lambda: bool(runs_of(planned, "beta")) and is_over(app))

    drive(planned, session, kind=AskingApp)


def _named(task_id: str) -> Any:
    return task(task_id).id
