"""Read events, one JSON object a line, from a stream that may contain anything else."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Generic, TypeVar

from pydantic import Field, TypeAdapter

from git_blackbird.model.base.lenient import Fallback, Lenient, Valid, replace_surrogates

MAX_LINE_BYTES = 4 * 1024 * 1024
E = TypeVar("E", bound=Lenient)
Line = Annotated[E | tuple[Valid[E], ...], Field(union_mode="left_to_right"), Fallback(())]


class JsonEvents(Generic[E]):
    """Split a stream into lines and parse the events in them: one a line, or an array of events.

    Lines longer than ``MAX_LINE_BYTES`` are skipped and counted in ``too_long``; other lines without an event
    are skipped silently.
    """

    def __init__(self, events: TypeAdapter[E | tuple[E, ...]]) -> None:
        # Bypasses the adapter's own method, which doubles the cost of a short line.
        self._validate: Callable[[bytes | str], E | tuple[E, ...]] = events.validator.validate_json
        self._begun = bytearray()
        self._skipping = False
        self.too_long = 0

    def feed(self, data: bytes) -> Iterator[E]:
        """Add the next piece of the stream, and yield the events that it completes."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._begun or self._skipping or len(line) > MAX_LINE_BYTES:
                self._extend(line)
                yield from self.flush()
            else:
                yield from self._events_in(line)
        self._extend(rest)

    def flush(self) -> Sequence[E]:
        """Yield the events of a last line without a line end."""
        line = bytes(self._begun)
        self._begun.clear()
        self._skipping = False
        return self._events_in(line)

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        if len(self._begun) + len(part) > MAX_LINE_BYTES:
            self._skipping = True
            self.too_long += 1
            self._begun.clear()
        else:
            self._begun += part

    def _events_in(self, line: bytes) -> Sequence[E]:
        if not line.lstrip().startswith((b"{", b"[")):
            return ()
        try:
            found = self._validate(line)
        except ValueError as error:
            found = self._read_again(line) if "escape" in str(error) else ()
        return (found,) if isinstance(found, Lenient) else found

    def _read_again(self, line: bytes) -> E | tuple[E, ...]:
        try:
            return self._validate(replace_surrogates(line.decode()))
        except ValueError:
            return ()
