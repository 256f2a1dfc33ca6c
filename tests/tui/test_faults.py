"""However the application ends, runs are paused, the terminal is restored, and a bug is reported."""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.agents.process import signals
from git_blackbird.errors import RequestError
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import LocalProcess
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import HelpScreen
from tests.controller.support import agree_to_agent, configure, leaf, put_plan, runs_of, status
from tests.support import commit
from tests.tui.driver import QuickApp, drive, driven, screen_text, see, wait_for
from tests.tui.tmux import PATIENCE_SECONDS, Tmux

SOURCES = Path(__file__).parents[2] / "git_blackbird" / "tui"
SLOW = "sleep 600"
AT_WORK = "waiting 600 s"
STUBBORN = "trap '' INT TERM HUP; echo At it.; while :; do sleep 1; done"
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")

BROKEN = """
import sys
from git_blackbird.cli.main import run
from git_blackbird.tui.app import BlackbirdApp

def broken(self):
    secret = "wing" * 3
    raise ZeroDivisionError("counted the wings")

BlackbirdApp.action_search = broken
sys.argv = ["git-blackbird", "tui"]
run()
"""


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopGraceSeconds="1")
    put_plan(repo, leaf("alpha", SLOW))
    return repo


def boom() -> None:
    raise ZeroDivisionError("counted the wings")


async def slow_boom() -> None:
    await asyncio.sleep(0)
    boom()


PLACES: dict[str, Callable[[BlackbirdApp], object]] = {
    "application": lambda app: app.call_later(boom),
    "screen": lambda app: app.main.call_later(boom),
    "widget": lambda app: app.main.plan_tree.call_later(boom),
    "worker": lambda app: app.run_worker(slow_boom()),
    "worker of a widget": lambda app: app.main.details.run_worker(slow_boom()),
    "thread": lambda app: app.run_worker(boom, thread=True),
    "timer": lambda app: app.main.set_timer(0.01, boom),
}


def is_gone(run: Run) -> bool:
    process = run.process
    assert isinstance(process, LocalProcess)
    return not signals.is_alive(process.pid, process.identity)


def assert_paused(repo: Path, *, task_id: str = "alpha") -> None:
    run = runs_of(repo, task_id)[-1]
    assert (run.status, run.terminal_reason) == (RunStatus.PAUSED, TerminalReason.INTERRUPTED)
    assert is_gone(run)


async def start_execute(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    await pilot.press("e")
    await wait_for(pilot, lambda: AT_WORK in screen_text(app))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", PLACES)
def test_a_bug_anywhere_pauses_what_runs_and_ends_the_application(planned: Path, place: str) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await start_execute(app, pilot)
        PLACES[place](app)
        await _ended(app)

    app = driven(planned, session)
    assert isinstance(app.fault, ZeroDivisionError)
    assert_paused(planned)


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def _ended(app: BlackbirdApp) -> None:
    await _until(lambda: not app.is_running)


def test_a_bug_in_what_runs_ends_the_application(planned: Path) -> None:
    class Deaf(QuickApp):
        def handle_event(self, event: object) -> None:
            boom()

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await _ended(app)

    app = driven(planned, session, kind=Deaf)
    assert isinstance(app.fault, ZeroDivisionError)
    assert all(is_gone(run) for run in runs_of(planned, "alpha"))


def test_what_a_worker_is_refused_is_said_and_the_application_stays(planned: Path) -> None:
    async def refused() -> None:
        raise RequestError("there is no such thing", hint="look elsewhere")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.run_worker(refused())
        await wait_for(pilot, lambda: "there is no such thing" in screen_text(app))
        await see(app, pilot, "look elsewhere")

    drive(planned, session)


def test_no_worker_hides_its_fault() -> None:
    hiding = [path.name for path in SOURCES.rglob("*.py") if "exit_on_error" in path.read_text()]
    assert hiding == []


async def at_rest(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    assert app.screen is app.main


async def at_a_modal(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    await pilot.press("question_mark")
    await wait_for(pilot, lambda: isinstance(app.screen, HelpScreen))


async def at_a_checkpoint(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    await pilot.press("e")
    await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("where", "number"),
    [
        (at_rest, signal.SIGTERM),
        (at_a_modal, signal.SIGINT),
        (at_a_checkpoint, signal.SIGHUP),
        (start_execute, signal.SIGINT),
        (start_execute, signal.SIGTERM),
        (start_execute, signal.SIGHUP),
    ],
)
def test_a_signal_ends_it_as_interrupted(
    planned: Path, where: Callable[[BlackbirdApp, Pilot[None]], Awaitable[None]], number: signal.Signals
) -> None:
    if where is at_a_checkpoint:
        configure(planned, execution__stopAfterEachTask="true")
        put_plan(planned, leaf("alpha", "write a.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await where(app, pilot)
        # Below git a signal arrives twice: it counts once, and kills nothing.
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        await _ended(app)

    assert drive(planned, session).return_code == 130
    if where is start_execute:
        assert_paused(planned)


@pytest.mark.exhaustive
@needs_tmux
def test_a_bug_is_reported_as_that_of_any_command(planned: Path, tmux: Tmux, temporary: Path) -> None:
    tmux.open_python(planned, "-c", BROKEN)
    tmux.wait_for("] 0/1 · ")
    tmux.execute()
    tmux.wait_for(AT_WORK)
    tmux.press("/")
    shown = tmux.wait_for("hint: a report was written to")
    tmux.wait_for_end(70)
    assert "fatal: a bug in git-blackbird: ZeroDivisionError: counted the wings" in shown
    assert_paused(planned)
    reports = [path.read_text() for path in temporary.glob("git-blackbird-bug-*")]
    report = next(text for text in reports if "counted the wings" in text)
    assert "in broken\nZeroDivisionError: counted the wings" in report
    assert "arguments: tui" in report
    assert "wingwingwing" not in report


@needs_tmux
def test_a_terminal_that_is_gone_leaves_no_agent_however_stubborn(planned: Path, tmux: Tmux) -> None:
    configure(planned, agent="command", command__run=STUBBORN)
    agree_to_agent(planned)
    tmux.open_controlled(planned)
    tmux.wait_for("] 0/1 · ")
    tmux.execute()
    tmux.wait_for("At it.")
    tmux.do("kill-session")
    asyncio.run(_until(lambda: runs_of(planned, "alpha")[0].completed_at is not None))
    assert_paused(planned)


@needs_tmux
def test_what_is_left_of_one_that_was_killed_is_said_and_mended(planned: Path, tmux: Tmux) -> None:
    tmux.open_controlled(planned)
    tmux.wait_for("] 0/1 · ")
    tmux.execute()
    tmux.wait_for(AT_WORK)
    (run,) = runs_of(planned, "alpha")
    os.kill(_parent_of(run), signal.SIGKILL)
    tmux.wait_for("ended 137")
    assert not is_gone(run)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "Action required (1): [a] shows alpha: no controller is running it")
        await pilot.press("e")
        await see(app, pilot, "resuming alpha")
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: not app.runner.is_busy and bool(app.main.required))
        await wait_for(pilot, lambda: "Action required (1): [a] shows alpha: paused" in screen_text(app))

    drive(planned, session)
    assert is_gone(run)


def _parent_of(run: Run) -> int:
    stat = Path(f"/proc/{run.pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def test_an_agent_may_not_judge_itself_here(planned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLACKBIRD_RUN_ID", "a run")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("s")
        await wait_for(pilot, lambda: app.screen is not app.main)
        await pilot.press("6", "enter")
        await wait_for(pilot, lambda: "an agent may not set a status" in screen_text(app))

    drive(planned, session)
    assert status(planned, "alpha") is Status.TODO
