import json
import os
import signal
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.controller.core.agents import chosen_agent
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import RunStatus, TerminalReason
from git_blackbird.storage.locks import controller_holder
from git_blackbird.tui.app import BlackbirdApp
from tests.controller.support import (
    agree_to_agent,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
)
from tests.tui.driver import drive, environment_at, is_over, screen_text, see, started, wait_for, works

SLOW = "say Working on it.\nsleep 60"
STUBBORN = "trap '' INT TERM HUP; echo Working on it.; while :; do sleep 1; done"


def holder(repo: Path) -> str | None:
    found = controller_holder(open_at(repo).paths)
    return found and str(found)


def test_execute_runs_what_is_ready_and_shows_it(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "write a.txt one\nsay It is written."), leaf("beta", deps=["alpha"]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: is_over(app))
        await wait_for(pilot, lambda: "] 2/2 · " in screen_text(app))
        await wait_for(pilot, lambda: "It is written." in screen_text(app))
        await see(app, pilot, "completed alpha: 1 file, +1 -0")
        assert holder(planned) is None

    drive(planned, session)
    assert (planned / "a.txt").read_text() == "one\n"
    assert [run.status for run in runs_of(planned, "beta")] == [RunStatus.SUCCESS]


def test_one_task_alone_is_run(planned: Path) -> None:
    put_plan(planned, leaf("alpha"), leaf("beta"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "x")
        await wait_for(pilot, lambda: bool(runs_of(planned, "beta")) and is_over(app))

    drive(planned, session)
    assert status(planned, "beta") is Status.DONE
    assert status(planned, "alpha") is Status.TODO


def test_ctrl_c_pauses_and_stays_and_resume_goes_on_in_the_session(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "say Working on it.\nsleep 60\non-resume say Done."))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: works(app))
        assert holder(planned) is not None
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: is_over(app))
        assert app.is_running
        assert holder(planned) is None
        await wait_for(pilot, lambda: app.check_action("resume", ()) is True)
        await wait_for(pilot, lambda: "Action required (1): [a] shows alpha: paused" in screen_text(app))
        await pilot.press("u")
        await see(app, pilot, "alpha: WAITING_USER: paused", "1. Leave it", "2. Resume in its session")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: len(runs_of(planned, "alpha")) == 2)
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    first, second = runs_of(planned, "alpha")
    assert (first.status, first.terminal_reason) == (RunStatus.PAUSED, TerminalReason.INTERRUPTED)
    assert (second.resumes, second.provider_session_ref) == (first.id, first.provider_session_ref)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", ["q", "SIGTERM", "SIGINT"])
def test_leaving_during_a_run_pauses_it_and_leaves_no_agent_behind(planned: Path, key: str) -> None:
    put_plan(planned, leaf("alpha", SLOW))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: works(app))
        if key.startswith("SIG"):
            os.kill(os.getpid(), signal.Signals[key])
        else:
            await pilot.press(key)
            await see(app, pilot, "alpha is at work")
            await pilot.press("2", "enter")
        await wait_for(pilot, lambda: not app.is_running)

    app = drive(planned, session)
    assert app.paused_text == "paused alpha; `git blackbird execute` goes on"
    (run,) = runs_of(planned, "alpha")
    assert run.status is RunStatus.PAUSED
    assert run.pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(run.pid, 0)


def test_a_second_ctrl_c_leaves(planned: Path) -> None:
    # The agent does not end at the first: else there might be nothing left for the second.
    configure(planned, agent="command", command__run=STUBBORN, execution__stopGraceSeconds="600")
    agree_to_agent(planned)
    put_plan(planned, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: works(app))
        await pilot.press("ctrl+c", "ctrl+c")
        await wait_for(pilot, lambda: not app.is_running)

    drive(planned, session)
    assert [run.status for run in runs_of(planned, "alpha")] == [RunStatus.PAUSED]


@pytest.mark.exhaustive
def test_a_failed_task_is_retried_and_restarted(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "fail-once 3\nsay Better."))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "FAILED")
        await pilot.press("b")
        await see(app, pilot, "alpha: FAILED", "2. Set it back to todo")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: "READY" in screen_text(app))
        await wait_for(pilot, lambda: app.check_action("restart", ()) is True)
        await pilot.press("w")
        await see(app, pilot, "2. Restart in a new session")
        await pilot.press("2", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE and is_over(app))

    drive(planned, session)
    first, second = runs_of(planned, "alpha")
    assert first.superseded_by == "retry"
    assert second.resumes is None


def test_a_status_is_set_by_hand_and_escape_sets_none(planned: Path) -> None:
    put_plan(planned, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("s")
        await pilot.press("8")
        await pilot.press("escape")
        assert status(planned, "alpha") is Status.TODO
        await pilot.press("s")
        await pilot.press("8", "k", "k", "enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE)
        await wait_for(pilot, lambda: "] 1/1 · " in screen_text(app))

    drive(planned, session)


def test_the_agent_of_new_runs_is_chosen(planned: Path) -> None:
    configure(planned, agent="claude")
    put_plan(planned, leaf("alpha", "say Hello."))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("o")
        await wait_for(pilot, lambda: "1. claude  git config (local)" in screen_text(app))
        await pilot.press("4", "enter")
        await wait_for(pilot, lambda: app.chosen_agent == "demo")
        assert chosen_agent(app.open_workspace()).name == "demo"
        await pilot.press("x")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE and is_over(app))

    drive(planned, session)
    assert [run.provider for run in runs_of(planned, "alpha")] == ["demo"]


def test_what_is_in_the_way_is_said_and_nothing_is_touched(planned: Path) -> None:
    configure(planned, execution__timeoutMinutes="soon")
    put_plan(planned, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: is_over(app) and "the configuration is not usable" in screen_text(app))

    drive(planned, session)
    assert runs_of(planned, "alpha") == ()


def test_only_keys_that_work_are_offered(planned: Path) -> None:
    put_plan(planned, leaf("alpha"), leaf("beta", deps=["alpha"]))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        footer = screen_text(app).splitlines()[-1]
        assert "e Execute" in footer
        assert "x Run" in footer
        assert "Resume" not in footer
        assert "Retry" not in footer
        await pilot.press("down")
        await wait_for(pilot, lambda: "x Run" not in screen_text(app).splitlines()[-1])

    drive(planned, session, (120, 30))


def test_help_names_the_command_of_every_action(planned: Path) -> None:
    put_plan(planned, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        shown = screen_text(app)
        for command in ("execute", "execute alpha", "resume alpha", "retry alpha", "set-status alpha"):
            assert f"git blackbird {command}" in shown
        await pilot.press("escape")
        await wait_for(pilot, lambda: "Keys" not in screen_text(app))

    drive(planned, session, (110, 90))


@pytest.mark.exhaustive
def test_the_palette_performs_what_it_finds(planned: Path) -> None:
    put_plan(planned, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.press(*"run this")
        await wait_for(pilot, lambda: "git blackbird execute alpha" in screen_text(app))
        await pilot.press("enter")
        await wait_for(pilot, lambda: status(planned, "alpha") is Status.DONE and is_over(app))

    drive(planned, session, (110, 40))


def test_a_look_reads_nothing_again_while_nothing_changes(planned: Path) -> None:
    put_plan(planned, leaf("alpha"))
    for path in (planned / "blackbird.plan.json", *(planned / ".git/blackbird").iterdir()):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    watch = WorktreeWatcher(environment_at(planned))
    assert watch.poll() is not None
    assert watch.poll() is None
    plan = json.loads((planned / "blackbird.plan.json").read_text())
    plan["items"]["alpha"]["title"] = "Another"
    (planned / "blackbird.plan.json").write_text(json.dumps(plan))
    picture = watch.poll()
    assert picture is not None
    assert [task.title for task in picture.plan.tasks.values()] == ["Another"]


@pytest.mark.exhaustive
def test_what_another_process_runs_is_followed_and_leaves_with_it(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "say Working on it.\nsleep 60"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        with started(planned, "execute", "--no-input") as other:
            await pilot.press("t")
            await wait_for(pilot, lambda: "Working on it." in screen_text(app))
            await see(app, pilot, "alpha  Task alpha")
            await see(app, pilot, f"starting alpha (run {runs_of(planned, 'alpha')[0].id}")
            await wait_for(pilot, lambda: not app.is_possible("execute"))
            other.send_signal(signal.SIGINT)
            await wait_for(pilot, lambda: other.poll() is not None)
        await wait_for(pilot, lambda: "no agent is at work" in screen_text(app))
        await see(app, pilot, "alpha is paused")
        await wait_for(pilot, lambda: "Action required (1): [a] shows alpha: paused" in screen_text(app))

    drive(planned, session, (120, 40))
