"""What a program of the user's colours, made harmless for a terminal."""

import re
from collections.abc import Iterator

from git_blackbird.model.base.sanitize import StreamSanitizer, escape_controls

_COLOR = re.compile(r"(\x1b\[[0-9;]*m)")
# Not the eighth of the 256 colours.
_CONCEALS = re.compile(r"(?<![34]8;5)[\[;]0*8[;m]")
# A Windows line end, which git colours by itself.
_LINE_END = re.compile(r"\r(?=(?:\x1b\[[0-9;]*m)*\n)")


class AnsiSanitizer(StreamSanitizer):
    """Cleans what a program of the user's colours, as git does a diff: colours stay, unless they conceal."""

    def _shown(self, text: str) -> str:
        parts = _COLOR.split(_LINE_END.sub("", text))
        shown = "".join(
            escape_controls(part) if index % 2 == 0 else "" if _CONCEALS.search(part) else part
            for index, part in enumerate(parts)
        )
        if shown:
            self._ends_line = True
        return shown


def colored_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Make coloured output harmless for a terminal."""
    stream = AnsiSanitizer()
    for data in pieces:
        yield stream.feed(data).encode()
    yield stream.finish().encode()
