"""An agent's raw output, piece by piece, made harmless for a terminal."""

import codecs
import re

from git_blackbird.model.text import clean

_MAX_HELD = 4096
# The beginnings of what model.text takes out, and of a Windows line end.
_UNFINISHED = re.compile(r"(?:\r|\x1b(?:\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*))\Z")
_LONE_RETURN = re.compile(r"\r(?!\n)")


class CleanStream:
    """Cleans text whose control sequences and characters may be cut anywhere between two pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._ends_line = True

    def feed(self, data: bytes) -> str:
        """Take the next piece; gives what can be shown by now."""
        text = self._held + self._decoder.decode(data)
        unfinished = _UNFINISHED.search(text)
        cut = (
            len(text)
            if unfinished is None or len(text) - unfinished.start() > _MAX_HELD
            else unfinished.start()
        )
        self._held = text[cut:]
        return self._shown(text[:cut])

    def finish(self) -> str:
        """Give what was held back, and a line end where the last line has none."""
        text = self._shown(self._held + self._decoder.decode(b"", final=True))
        self._held = ""
        self._decoder.reset()
        end = "" if self._ends_line else "\n"
        self._ends_line = True
        return text + end

    def _shown(self, text: str) -> str:
        # Progress bars return to the start of their line; on paper each of their states is a line.
        shown = clean(_LONE_RETURN.sub("\n", text))
        if shown:
            self._ends_line = shown.endswith("\n")
        return shown
