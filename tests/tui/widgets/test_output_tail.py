"""Output that is no event stream is shown as it arrives, and bounded."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.model.run.states import RunStatus
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.widgets.log_queue import OutputTail
from tests.controller.support import agree_to_agent, configure, leaf, put_plan, runs_of
from tests.tui.driver import drive, is_over, screen_text, see, started, wait_for

MANY = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"


def prepare(repo: Path, command: str) -> None:
    configure(repo, agent="command", command__run=f"cat >/dev/null; {command}")
    configure(repo, execution__acceptNoChange="true")
    agree_to_agent(repo)
    put_plan(repo, leaf("alpha"))


@pytest.mark.exhaustive
def test_the_lines_of_a_command_are_shown_and_those_of_an_agent_elsewhere(
    planned: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    waits = f"while [ ! -e {go} ]; do sleep 0.05; done"
    prepare(planned, f"echo one; echo two >&2; printf 'three\\033[2J\\r'; {waits}; echo; echo four")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await see(app, pilot, "one", "two", "three")
        go.touch()
        await see(app, pilot, "four")
        await see(app, pilot, "completed alpha")

    drive(planned, session)
    go.unlink()
    put_plan(planned, leaf("beta"))

    async def watching(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        with started(planned, "execute", "--no-input") as other:
            await pilot.press("t")
            await see(app, pilot, "one", "two", "three")
            go.touch()
            await see(app, pilot, "four")
            await wait_for(pilot, lambda: other.poll() is not None)

    drive(planned, watching)


def test_what_no_screen_can_keep_up_with_is_left_out_and_its_end_is_shown(planned: Path) -> None:
    prepare(planned, f"{MANY}; head -c 3000000 /dev/zero | tr '\\\\0' x")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: is_over(app) and "completed alpha" in screen_text(app))
        kept = [line.text for line in app.main.live.log_view.lines]
        assert any("the screen could not keep up" in text for text in kept)
        assert "starting alpha" in kept[1]
        assert max(map(len, kept)) <= 2_000

    drive(planned, session)
    assert [run.status for run in runs_of(planned, "alpha")] == [RunStatus.SUCCESS]


def test_pieces_are_put_together_to_lines() -> None:
    printed = OutputTail()
    for piece in (b"on", b"e\ntw", b"o\r", b"\nthr\xc3", b"\xa9e \x1b[3", b"1mred"):
        printed.feed(piece)
    assert printed.lines() == ["one", "two"]
    assert printed.lines() == []
    printed.feed(b"y" * 100_000, skipped=7)
    assert printed.lines() == [
        "thrée red",
        "[83623 bytes are not shown: the screen could not keep up]",
        "y" * 16_384,
    ]
    printed.feed(b"last")
    assert printed.finish() == ["last"]
