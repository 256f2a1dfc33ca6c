"""Hostile text from any source controls no terminal and breaks no line."""

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import events
from textual.pilot import Pilot
from textual.widgets import TextArea

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.request import RequestScreen
from tests.controller.support import configure, leaf, put_plan
from tests.support import write
from tests.tui.driver import drive, is_over, screen_text, wait_for

EVIL = "\x1b]0;t\x07\x1b[2J\x9b31m[red]中文 e\u0301 👩‍👩‍👧 שלום\u202egpj.\u2066\tx\u200b\x08[/]"
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
LETTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from([*EVIL, "\r", "\n", "\x0b", "\x85", "\u2028", "\u2029", "\ufeff", "\u0300", "\x7f"]),
    st.sampled_from(
        ["\x1b[31m", "\x1b]8;;x\x07", "[bold]", "[/]", "$text", "\x1bP1\x1b\\", "中" * 30, "x" * 500]
    ),
)
TEXTS = st.lists(LETTERS, min_size=1, max_size=40).map("".join).filter(str.strip)


def assert_harmless(app: BlackbirdApp) -> None:
    """Assert that no output controls the terminal, and that every line is as wide as the screen."""
    strips = app.screen._compositor.render_strips()
    assert [sum(cell_len(segment.text) for segment in strip) for strip in strips] == [app.size.width] * len(
        strips
    )
    assert [found for strip in strips if (found := STEERING.search(strip.text))] == []


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(texts=st.lists(TEXTS, min_size=12, max_size=12))
def test_whatever_a_plan_says_is_shown_harmlessly(repo: Path, texts: list[str]) -> None:
    tasks = [
        replace(
            leaf(f"t{number}", prompt), title=title, description=text, notes=text, acceptance_criteria=(text,)
        )
        for number, (title, text, prompt) in enumerate(zip(texts[::3], texts[1::3], texts[2::3], strict=True))
    ]
    put_plan(repo, *tasks)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for key in ("down", "down", "down", "tab", "pagedown", "s"):
            assert_harmless(app)
            await pilot.press(key)
        await pilot.press("escape", "tab")
        await pilot.press("5")
        assert_harmless(app)
        for key in "EDMB":
            await pilot.press(key)
            await wait_for(pilot, lambda: app.screen is not app.main)
            assert_harmless(app)
            await pilot.press("escape")
            await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.resize_terminal(41, 13)
        await pilot.pause()
        assert_harmless(app)

    drive(repo, session)


def test_whatever_an_agent_says_and_asks_is_shown_harmlessly(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    name = EVIL.replace("/", "")
    prompt = f"say {EVIL} {'long ' * 3000}\nask tone {EVIL} | {EVIL} | other\nwrite {name} {EVIL}"
    put_plan(planned, replace(leaf("alpha", "say x"), title=EVIL, prompt=prompt))
    write(planned, {"a\nb\x1b[31m.txt": "", "中文 \u202e.txt": ""})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        await wait_for(pilot, lambda: isinstance(app.screen, QuestionScreen) or is_over(app))
        assert isinstance(app.screen, QuestionScreen), screen_text(app)
        assert_harmless(app)
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        assert_harmless(app)
        await pilot.press("v")
        await wait_for(pilot, lambda: "+1 -0  added" in screen_text(app))
        assert_harmless(app)
        await pilot.press("V", "3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        app.post_message(events.Paste(f"{EVIL} "))
        await wait_for(pilot, lambda: "[red]" in app.screen.query_one(TextArea).text)
        await pilot.press("@", "a")
        await wait_for(pilot, lambda: '"a\\nb' in screen_text(app))
        assert_harmless(app)
        await pilot.press("escape", "escape", "escape")
        await wait_for(pilot, lambda: is_over(app))
        await wait_for(pilot, lambda: "Action required" in screen_text(app))
        assert_harmless(app)
        await pilot.press("h")
        await wait_for(pilot, lambda: app.main.tabs.shown == "runs")
        await wait_for(pilot, lambda: "long long" in screen_text(app))
        assert_harmless(app)

    drive(planned, session)
