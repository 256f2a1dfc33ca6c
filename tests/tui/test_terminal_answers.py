"""The terminal's answer on its background: it chooses the theme, and none of its letters is a key."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.terminal_answers import AnswersParser, TerminalBackground
from tests.controller.support import configure, leaf, put_plan
from tests.tui.driver import drive, wait_for

WHITE, BLACK = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;rgb:00/00/00\x07"


def read(*parts: str) -> tuple[str, list[str]]:
    """Return the characters that were typed, and the grounds that were answered."""
    parser = AnswersParser()
    messages = [message for part in parts for message in parser.feed(part)]
    typed = "".join(message.character or "" for message in messages if isinstance(message, Key))
    return typed, [message.ground for message in messages if isinstance(message, TerminalBackground)]


@given(st.text("abcxyz019;:/rgb", max_size=40), st.integers(0, 40), st.integers(3, 24))
def test_an_answer_among_keys_is_none_of_them(typed: str, place: int, cut: int) -> None:
    text = typed[:place] + WHITE + typed[place:]
    at = len(typed[:place]) + cut
    for parts in ([text], [text[:at], text[at:]]):
        assert read(*parts) == (typed, ["light"])


def test_several_answers_and_what_only_begins_like_one() -> None:
    assert read(f"a{WHITE}b{BLACK}c") == ("abc", ["light", "dark"])
    assert read("\x1b]11;", "what is typed", " for a long time and is no answer")[1] == []


@pytest.mark.parametrize(
    ("chosen", "told", "theme"),
    [
        ("auto", "", "blackbird-light"),
        ("dark", "", "blackbird-dark"),
        ("auto", "15;0", "blackbird-dark"),
    ],
)
def test_a_light_terminal_gets_the_light_theme(
    planned: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, told: str, theme: str
) -> None:
    monkeypatch.delenv("NO_COLOR")
    for name, value in {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLORFGBG": told}.items():
        monkeypatch.setenv(name, value)
    put_plan(planned, leaf("alpha"))
    configure(planned, tui__theme=chosen)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        assert app.theme == "blackbird-dark"
        app.post_message(TerminalBackground("light"))
        await pilot.pause()
        await wait_for(pilot, lambda: app.theme == theme)

    drive(planned, session)
