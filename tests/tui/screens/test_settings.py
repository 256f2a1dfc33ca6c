import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from git_blackbird.controller.config.settings import Row
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.layers import ConfigProblem
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.settings import EditValueScreen, SettingsScreen, SettingsTable
from tests.controller.support import configure, leaf, open_at, parent_of, put_plan, status
from tests.support import git, write
from tests.tui.driver import drive, environment_at, screen_text, see, wait_for

PROJECT = ".blackbird/config.json"
STOP, MINUTES = "execution.stopAfterEachTask", "execution.timeoutMinutes"


@pytest.fixture
def planned(repo: Path) -> Path:
    put_plan(repo, leaf("alpha"))
    return repo


def shows(app: BlackbirdApp, *texts: str) -> Callable[[], bool]:
    return lambda: all(text in screen_text(app) for text in texts)


async def open_settings(app: BlackbirdApp, pilot: Pilot[None], name: str = "") -> None:
    await pilot.press("c")
    await wait_for(pilot, lambda: isinstance(app.screen, SettingsScreen) and bool(table(app).option_count))
    if name:
        await go_to(app, pilot, name)


async def go_to(app: BlackbirdApp, pilot: Pilot[None], name: str) -> None:
    """Move down to a key; all but the last step at once."""
    names = [row_name(row) for row in table(app).rows]
    table(app).highlighted = names.index(name) - 1 if names.index(name) else None
    await pilot.press("j")
    assert row_name(table(app).current) == name


def table(app: BlackbirdApp) -> SettingsTable:
    return app.screen.query_one(SettingsTable)


def row_name(row: Row | None) -> str:
    assert row is not None
    return row.key if isinstance(row, ConfigProblem) else row.key.name


async def at(app: BlackbirdApp, pilot: Pilot[None], screen: type[object]) -> None:
    await wait_for(pilot, lambda: isinstance(app.screen, screen))
    await pilot.pause()


def counting(repo: Path, name: str) -> tuple[object, str]:
    setting = open_at(repo).settings.applied[name]
    return setting.value, setting.origin


def test_every_key_is_listed_with_its_layers_and_what_becomes_of_them(
    planned: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLACKBIRD_AGENT_PROVIDER", "codex")
    git(planned, "config", "--global", "blackbird.agent", "claude")
    configure(planned, agent="demo", execution__timeoutMinutes="soon")
    wrong = {"agent": "command", "claude": {"path": "./evil; rm"}, "agnet": "\x1b[2Jx"}
    write(planned, {PROJECT: json.dumps(wrong)})
    write(sealed, {PROJECT: '{"agent": "codex"}'})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await open_settings(app, pilot, "agnet")
        assert "\x1b" not in screen_text(app)
        await wait_for(pilot, shows(app, "agnet: unknown key", "did you mean agent?"))
        await go_to(app, pilot, "agent")
        await see(app, pilot, f" {'agent':<34} {'codex':<18} BLACKBIRD_AGENT_PR")
        shown = screen_text(app)
        for line in (
            "applied    codex    BLACKBIRD_AGENT_PROVIDER",
            "overruled  demo     git config (local)",
            "overruled  command  .blackbird/config.json",
            "overruled  claude   git config (global)",
            "overruled  codex    ~/.blackbird/config.json",
        ):
            assert line in shown
        await pilot.press("pagedown")
        await see(app, pilot, "default    claude")
        await go_to(app, pilot, "claude.path")
        await see(
            app,
            pilot,
            f"!{'claude.path':<34} {'claude':<18} default",
            "ignored  ./evil; rm",
            "must not choose what runs on this",
        )
        await go_to(app, pilot, MINUTES)
        await see(app, pilot, '"soon" is not an integer')
        await pilot.press("end")
        assert row_name(table(app).current) == list(KEYS)[-1]
        assert [row_name(row) for row in table(app).rows] == ["agnet", *KEYS]

    drive(planned, session)


@pytest.mark.exhaustive
def test_a_boolean_is_set_here_and_in_the_users_file_where_it_is_overruled(
    planned: Path, sealed: Path
) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await open_settings(app, pilot, STOP)
        await pilot.press("enter")
        await at(app, pilot, ChoiceModal)
        await see(app, pilot, "1. This clone's git config  (unset)")
        await pilot.press("enter")
        await wait_for(pilot, shows(app, "2. false  counts now, the default"))
        await pilot.press("1", "enter")
        await wait_for(pilot, shows(app, f"{STOP} = true in git config (local)"))
        await see(app, pilot, f"{STOP:<34} {'true':<18} git config (local)")
        await pilot.press("enter")
        await at(app, pilot, ChoiceModal)
        await pilot.press("3", "enter")
        await wait_for(pilot, shows(app, "1. true  counts now"))
        await pilot.press("2", "enter")
        await wait_for(pilot, shows(app, f"{STOP} = false in ~/.blackbird/config.json"))
        await see(app, pilot, "true from git config (local) still applies")

    drive(planned, session)
    assert counting(planned, STOP) == (True, "git config (local)")
    assert json.loads((sealed / PROJECT).read_text())["execution"] == {"stopAfterEachTask": False}


def test_a_wrong_value_is_refused_in_place_in_the_words_of_the_command(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await open_settings(app, pilot, MINUTES)
        await pilot.press("enter")
        await at(app, pilot, ChoiceModal)
        await pilot.press("enter")
        await at(app, pilot, EditValueScreen)
        box = app.screen.query_one(Input)
        assert box.value == "60"
        await pilot.press("ctrl+u", "0", "enter")
        await wait_for(pilot, shows(app, f"{MINUTES}: 0 is out of range", "use 1 to 1440"))
        await pilot.press("x", "enter")
        await wait_for(pilot, shows(app, f'{MINUTES}: "0x" is not an integer'))
        assert box.value == "0x"
        await pilot.press("5", "enter")
        await wait_for(pilot, shows(app, f"{MINUTES} = 5 in git config (local)"))

    drive(planned, session)
    assert git(planned, "config", f"blackbird.{MINUTES}") == "0x5"


@pytest.mark.exhaustive
def test_texts_and_lists_are_offered_as_they_would_be_typed(planned: Path, sealed: Path) -> None:
    write(sealed, {PROJECT: json.dumps({"notify": {"command": "say  'you are\nneeded'"}, "x": [1]})})
    configure(planned, claude__args="-v 'a  b'")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await open_settings(app, pilot, "claude.path")
        await pilot.press("enter")
        await at(app, pilot, ChoiceModal)
        assert "The project's" not in screen_text(app)
        await pilot.press("2", "enter")
        await at(app, pilot, EditValueScreen)
        await see(app, pilot, "claude.path in your own ~/.blackbird/config.json")
        await pilot.press("ctrl+u", "enter")
        await wait_for(pilot, shows(app, "nothing is typed"))
        await pilot.press(*"/opt/the claude", "enter")
        await wait_for(pilot, shows(app, "claude.path = /opt/the claude in ~/.blackbird/config.json"))
        await go_to(app, pilot, "claude.args")
        await pilot.press("enter")
        await at(app, pilot, ChoiceModal)
        await pilot.press("enter")
        await at(app, pilot, EditValueScreen)
        assert app.screen.query_one(Input).value == '["-v", "a  b"]'
        await pilot.press("left", *', "é"', "enter")
        await wait_for(pilot, shows(app, 'claude.args = ["-v", "a b", "é"] in git config (local)'))
        await go_to(app, pilot, "notify.command")
        await pilot.press("enter")
        await at(app, pilot, ChoiceModal)
        await pilot.press("enter")
        await at(app, pilot, EditValueScreen)
        assert app.screen.query_one(Input).value == ""
        await see(app, pilot, "has several lines")
        await pilot.press("escape")

    drive(planned, session)
    assert counting(planned, "claude.args") == (("-v", "a  b", "é"), "git config (local)")
    assert counting(planned, "claude.path") == ("/opt/the claude", str(sealed / PROJECT))


@pytest.mark.exhaustive
def test_a_key_is_removed_from_one_place_and_what_counts_then_is_said(planned: Path) -> None:
    git(planned, "config", "--global", f"blackbird.{MINUTES}", "7")
    configure(planned, execution__timeoutMinutes="5")
    write(planned, {PROJECT: '{"execution": {"timeoutMinutes": 6, "stopafter": 1}}'})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await open_settings(app, pilot, "execution.stopafter")
        await pilot.press("enter")
        await wait_for(pilot, shows(app, "did you mean execution.stopAfterEachTask?"))
        await pilot.press("delete")
        await at(app, pilot, ChoiceModal)
        await pilot.press("enter")
        await wait_for(pilot, shows(app, "removed execution.stopafter from .blackbird/config.json"))
        await go_to(app, pilot, MINUTES)
        await pilot.press("backspace")
        await at(app, pilot, ChoiceModal)
        await see(app, pilot, "1. This clone's git config  5", "2. The project's .blackbird/config.json  6")
        await pilot.press("2", "enter")
        await wait_for(
            pilot, shows(app, "applied    5   git config (local)", "overruled  7   git config (global)")
        )
        await go_to(app, pilot, "reviews.mode")
        await pilot.press("delete")
        await wait_for(pilot, shows(app, "reviews.mode is not set anywhere"))

    drive(planned, session)
    assert json.loads((planned / PROJECT).read_text()) == {"schemaVersion": 1}
    assert counting(planned, MINUTES) == (5, "git config (local)")


def test_a_file_that_cannot_be_read_is_named(planned: Path) -> None:
    write(planned, {PROJECT: '{"agent": "demo",}'})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await open_settings(app, pilot)
        await see(app, pilot, "!.blackbird/config.json: the file: Expecting")
        await pilot.press("enter")
        await wait_for(pilot, shows(app, ".blackbird/config.json: fix or remove it"))
        write(planned, {PROJECT: '{"agent": "demo", "schemaVersion": 1}'})
        await wait_for(pilot, shows(app, "! wrong: none"))
        await go_to(app, pilot, "agent")
        await see(app, pilot, "applied  demo    .blackbird/config.json")

    drive(planned, session)


@pytest.mark.exhaustive
def test_what_is_changed_elsewhere_is_seen_here_and_by_the_plan(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(repo, agent="demo")
    put_plan(repo, parent_of("guide", ["use"]), leaf("use", parent="guide"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await open_settings(app, pilot, "execution.parentReviewEnabled")
        git(repo, "config", "blackbird.execution.parentReviewEnabled", "false")
        await wait_for(pilot, shows(app, "applied  false  git config (local)"))
        write(repo, {PROJECT: "{"})
        await wait_for(pilot, shows(app, "! wrong: 1"))
        await pilot.press("home")
        await see(app, pilot, "!.blackbird/config.json: ")
        await pilot.press("escape")
        await wait_for(pilot, shows(app, "the configuration is not usable: [c] shows why"))
        assert app.view_state is not None
        assert not app.view_state.state.is_gated
        assert app.theme != "blackbird-light"
        write(repo, {PROJECT: '{"tui": {"theme": "light"}}'})
        await wait_for(pilot, lambda: app.theme == "blackbird-light")

    monkeypatch.delenv("NO_COLOR")
    drive(repo, session)


def test_the_agent_chosen_here_is_a_layer_and_settings_count_at_the_next_start(planned: Path) -> None:
    configure(planned, agent="claude")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("o")
        await at(app, pilot, ChoiceModal)
        await pilot.press("4", "enter")
        await wait_for(pilot, lambda: app.chosen_agent == "demo")
        await open_settings(app, pilot, "agent")
        await see(app, pilot, "applied    demo    chosen here")
        await go_to(app, pilot, STOP)
        await pilot.press("enter")
        await at(app, pilot, ChoiceModal)
        await pilot.press("enter")
        await wait_for(pilot, shows(app, "2. false  counts now"))
        await pilot.press("1", "enter")
        await wait_for(pilot, shows(app, f"{STOP} = true"))
        await pilot.press("escape", "e")
        await wait_for(pilot, shows(app, "ACTION REQUIRED"))
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: not app.runner.is_busy)

    drive(planned, session)
    assert status(planned, "alpha") == "done"


def test_a_look_does_not_read_a_configuration_that_stays_as_it_is(planned: Path, sealed: Path) -> None:
    configure(planned, agent="demo")
    old = (1_000_000_000, 1_000_000_000)
    for path in (planned / ".git/config", sealed / ".gitconfig"):
        os.utime(path, old)
    watch = WorktreeWatcher(environment_at(planned))
    watch.poll()
    first = watch.workspace
    os.utime(planned / ".git/config", old)
    watch.poll()
    assert watch.workspace is first
    (planned / ".git/config").write_text("[core]\n[broken")
    with pytest.raises(Exception, match="bad config"):
        watch.poll()
    (planned / ".git/config").write_text("[blackbird]\n\tagent = demo\n")
    assert watch.poll() is not None
    git(planned, "config", "--file", str(sealed / "more"), "blackbird.agent", "codex")
    git(planned, "config", "include.path", str(sealed / "more"))
    watch.poll()
    assert str(watch.workspace.config.agent) == "codex"
    git(planned, "config", "--file", str(sealed / "more"), "blackbird.agent", "claude")
    watch.poll()
    assert watch.workspace.config.agent == "claude"
