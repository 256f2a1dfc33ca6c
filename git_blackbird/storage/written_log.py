"""The log of record files that our commands wrote while runs were at work."""

import contextlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from git_blackbird.model.base.ids import CheckedRunId, RunId
from git_blackbird.model.base.record import Record
from git_blackbird.storage.digests import append_durably, mark_of
from git_blackbird.storage.files import write_private


class _Header(Record):
    """The first line; ``begun`` tells a log from another that began with the same run."""

    run: CheckedRunId
    since: int
    begun: int = 0


class Written(NamedTuple):
    """What the log says: the runs with their beginnings, and the digests of each place, in order."""

    runs: tuple[tuple[int, RunId], ...]
    places: Mapping[str, tuple[str, ...]] = MappingProxyType({})

    @property
    def since(self) -> int:
        """When the first run began."""
        return self.runs[0][0]

    def extended(self, lines: Iterable[bytes]) -> "Written":
        """Return it with further lines; one that a crash cut off is passed over."""
        runs, places = [*self.runs], {**self.places}
        for line in lines:
            with contextlib.suppress(ValueError):
                first, second = json.loads(line)
                if isinstance(first, int):
                    runs.append((first, RunId(second)))
                else:
                    places[str(second)] = (*places.get(str(second), ()), str(first))
        return Written(tuple(runs), places)


class _Known(NamedTuple):
    """The first line of a log, how many bytes of it were read, and what they say."""

    header: bytes
    size: int
    written: Written


_UNKNOWN = _Known(b"", 0, Written(()))


class WrittenLog:
    """One such file. Methods that write require the store lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _UNKNOWN

    @property
    def mark(self) -> tuple[int, ...]:
        """What differs once the log was begun or grew; empty if there is none."""
        return mark_of(self._path)

    def begin(self, run_id: RunId, since: int) -> None:
        """Begin the log, with a run that begins."""
        # No agent outlives a power cut, so this need not.
        header = {"run": run_id, "since": since, "begun": time.time_ns()}
        write_private(self._path, f"{json.dumps(header)}\n".encode())

    def add_run(self, run_id: RunId, since: int) -> None:
        """Note that another run begins. Raises SaveError."""
        self._append([since, run_id])

    def add(self, digest: str, place: str) -> None:
        """Note the new content of a place before it is written, if there is a log. Raises SaveError."""
        if os.path.lexists(self._path):
            self._append([digest, place])

    def _append(self, line: list[object]) -> None:
        # The line before may be one that a crash cut off: it was noted and never written.
        append_durably(self._path, f"\n{json.dumps(line)}\n".encode())

    def load(self) -> Written | None:
        """Return what the log says, of which only what is new is read; None if it is missing or broken."""
        try:
            with self._path.open("rb") as file:
                known = self._known if file.readline() == self._known.header else _UNKNOWN
                file.seek(known.size)
                new = file.read()
        except OSError:
            return None
        # The last line may not be complete yet.
        new = new[: new.rfind(b"\n") + 1]
        lines = new.split(b"\n")
        written, header = known.written, known.header
        if known is _UNKNOWN:
            header = lines.pop(0) + b"\n"
            try:
                first = _Header.model_validate(json.loads(header))
            except ValueError:
                return None
            written = Written(((first.since, first.run),))
        self._known = _Known(header, known.size + len(new), written.extended(filter(None, lines)))
        return self._known.written

    def remove(self) -> None:
        """End the log."""
        self._path.unlink(missing_ok=True)
