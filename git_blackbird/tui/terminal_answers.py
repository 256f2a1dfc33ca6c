"""What the terminal answers when it is asked for its background, kept out of the keys."""

import re
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.message import Message

ASK_BACKGROUND = "\x1b]11;?\x1b\\"
"""Asks for the colour of the background; a terminal that does not know this is silent."""

_ANSWER = re.compile(
    r"\x1b\]11;rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})[0-9a-f/]{0,5}(?:\x07|\x1b\\)",
    re.IGNORECASE,
)
_BEGUN = re.compile(r"\x1b\]11?(?:;[^\x07\x1b]{0,28}\x1b?)?\Z")
_HALF = 0.5


class TerminalBackground(Message):
    """The terminal has answered: its background is ``light`` or ``dark``."""

    def __init__(self, ground: str) -> None:
        super().__init__()
        self.ground = ground


class AnswersParser(XTermParser):
    """Reads keys as Textual does, less the answers; Textual would take the letters of one for keys."""

    _begun = ""

    def feed(self, data: str) -> Iterable[Message]:
        """Yield what was typed and answered; an answer may come in several parts, and at any time."""
        text, self._begun = self._begun + data, ""
        while answer := _ANSWER.search(text):
            yield from self._keys(text[: answer.start()])
            yield TerminalBackground("light" if _brightness(answer) > _HALF else "dark")
            text = text[answer.end() :]
        if data and (begun := _BEGUN.search(text)):
            text, self._begun = text[: begun.start()], begun[0]
        yield from self._keys(text) if data else super().feed("")

    def _keys(self, text: str) -> Iterable[Message]:
        # Without a text, it would be at its end.
        return super().feed(text) if text else ()


def _brightness(answer: re.Match[str]) -> float:
    red, green, blue = (int(part, 16) / int("f" * len(part), 16) for part in answer.groups())
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# Textual has no other way to read from the terminal what it does not know itself.
linux_driver.XTermParser = AnswersParser  # type: ignore[attr-defined]
