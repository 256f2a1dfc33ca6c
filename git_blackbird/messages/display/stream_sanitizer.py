"""Sanitize an agent's raw output for a terminal, piece by piece."""

import codecs
import re

from git_blackbird.model.base.sanitize import strip_controls

_MAX_HELD = 4096
# Beginnings of sequences that sanitize.py removes, and of a Windows line end.
_UNFINISHED = re.compile(r"(?:\r|\x1b(?:\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*))\Z")
_LONE_RETURN = re.compile(r"\r(?!\n)")


class StreamSanitizer:
    """Sanitize text whose control sequences and characters may be cut between two pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""
        self._ends_line = True

    def feed(self, data: bytes) -> str:
        """Add the next piece; return what can be shown by now."""
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
        """Return the pending text, with a line end if the last line has none."""
        text = self._shown(self._held + self._decoder.decode(b"", final=True))
        self._held = ""
        self._decoder.reset()
        end = "" if self._ends_line else "\n"
        self._ends_line = True
        return text + end

    def _shown(self, text: str) -> str:
        # Progress bars return to the start of their line; without a terminal each state is a line.
        shown = strip_controls(_LONE_RETURN.sub("\n", text))
        if shown:
            self._ends_line = shown.endswith("\n")
        return shown
