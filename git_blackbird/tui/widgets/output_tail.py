"""The last lines of output that is no event stream."""

from git_blackbird.messages.display.stream_sanitizer import StreamSanitizer

_MAX_BYTES = 16 * 1024
_LONGEST_PARTIAL = 2_000


class OutputTail:
    """Buffers output of any speed without blocking; keeps the last bytes and counts the others."""

    def __init__(self) -> None:
        self._stream = StreamSanitizer()
        self._buffer = bytearray()
        self._partial = ""
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        """Add output, dropping the oldest if there is too much."""
        self._buffer += data[-_MAX_BYTES:]
        excess = max(0, len(self._buffer) - _MAX_BYTES)
        self._dropped += excess + max(0, len(data) - _MAX_BYTES)
        del self._buffer[:excess]

    def lines(self) -> list[str]:
        """Return the lines completed since the last call, and how many bytes were dropped."""
        lines: list[str] = []
        if self._dropped:
            lines = self._take_partial()
            lines.append(f"[{self._dropped} bytes are not shown: the screen could not keep up]")
            self._dropped = 0
        text = self._partial + self._stream.feed(bytes(self._buffer))
        self._buffer.clear()
        *ended, self._partial = text.split("\n")
        if len(self._partial) > _LONGEST_PARTIAL:
            ended.append(self._partial)
            self._partial = ""
        return lines + ended

    def finish(self) -> list[str]:
        """Return the remaining lines, also an unfinished one."""
        return self.lines() + self._take_partial()

    def _take_partial(self) -> list[str]:
        text, self._partial = self._partial + self._stream.finish(), ""
        return text.splitlines()
