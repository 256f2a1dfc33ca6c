"""What an agent prints that is no event stream: its last lines, however fast it prints."""

from git_blackbird.messages.clean_stream import CleanStream

_MOST_BYTES = 16 * 1024
_LONGEST_PART = 2_000


class Printed:
    """Takes output at any speed and never blocks; now and then it gives what can be shown of it."""

    def __init__(self) -> None:
        self._stream = CleanStream()
        self._kept = bytearray()
        self._begun = ""
        self._passed_over = 0

    def feed(self, data: bytes) -> None:
        """Take the next piece; of what is too much to be read the last is kept."""
        self._kept += data[-_MOST_BYTES:]
        excess = max(0, len(self._kept) - _MOST_BYTES)
        self._passed_over += excess + max(0, len(data) - _MOST_BYTES)
        del self._kept[:excess]

    def lines(self) -> list[str]:
        """Give the lines that have ended since the last time, and say how much of them is left out."""
        lines: list[str] = []
        if self._passed_over:
            lines = self._rest()
            lines.append(f"[{self._passed_over} bytes are not shown: the screen could not keep up]")
            self._passed_over = 0
        text = self._begun + self._stream.feed(bytes(self._kept))
        self._kept.clear()
        *ended, self._begun = text.split("\n")
        if len(self._begun) > _LONGEST_PART:
            ended.append(self._begun)
            self._begun = ""
        return lines + ended

    def finish(self) -> list[str]:
        """Give what is left, also where no line end follows."""
        return self.lines() + self._rest()

    def _rest(self) -> list[str]:
        text, self._begun = self._begun + self._stream.finish(), ""
        return text.splitlines()
