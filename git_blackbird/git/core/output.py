"""The output of a process. Git's output is read only here: in whole lines or records, or not at all.

It can be cut short or garbled though the status is 0, as by another program that is called ``git``. A list
that is cut between two records looks like a shorter one; every other cut is refused.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from git_blackbird.errors import UnusableError

_T = TypeVar("_T")
_OID = "[0-9a-f]{40}(?:[0-9a-f]{24})?"
_OIDS = re.compile(rf"{_OID}(?: {_OID})* ?".encode())
_HINT = "repeat the command; if that does not help, see whether `command -v git` names the right program"


class Completed(NamedTuple):
    """The result of a process, its output, and whether Ctrl+C was pressed for it meanwhile.

    ``verb`` is the git command. ``parse`` of the methods below gets all lines or records, and may raise what
    parsing raises, which becomes an UnusableError; it must not return an iterator.
    """

    code: int
    out: bytes
    err: bytes
    interrupted: bool = False
    verb: str = ""

    def lines(self, parse: Callable[[list[bytes]], _T]) -> _T:
        return self._read(b"\n", parse)

    def records(self, parse: Callable[[list[bytes]], _T]) -> _T:
        """Return the parsed records, each of which ends with NUL; there may be none."""
        return self._read(b"\0", parse)

    def whole(self, end: bytes) -> bytes:
        """Return the output as it is: nothing, or something with this end."""
        return self._read(end, lambda parts: end.join([*parts, b""]))

    def answer(self, errors: str = "surrogateescape") -> str:
        """Return the text, which may be of several lines, without the line break that ends it."""
        return self.lines(_answer).decode(errors=errors)

    def answer_if_any(self) -> str:
        """Return the answer; empty if git failed."""
        return self.answer().strip() if self.code == 0 else ""

    def oid(self) -> str:
        return self.lines(_one_oid)

    def _read(self, end: bytes, parse: Callable[[list[bytes]], _T]) -> _T:
        try:
            *parts, rest = self.out.split(end)
            if rest:
                raise ValueError("cut short")  # noqa: TRY301
            return parse(parts)
        except (ValueError, LookupError, StopIteration) as error:
            raise UnusableError(f"git {self.verb} printed output that cannot be read", hint=_HINT) from error


def _answer(lines: list[bytes]) -> bytes:
    if not lines:
        raise ValueError("no answer")
    return b"\n".join(lines)


def _one_oid(lines: list[bytes]) -> str:
    (oid,) = object_ids(lines)
    return oid


def object_ids(lines: list[bytes]) -> list[str]:
    return [oid for (oid,) in object_id_rows(lines)]


def object_id_rows(lines: list[bytes]) -> list[list[str]]:
    if not all(map(_OIDS.fullmatch, lines)):
        raise ValueError("no object id")
    return [line.decode().split() for line in lines]


def texts(lines: list[bytes]) -> list[str]:
    return list(map(os.fsdecode, lines))


def grouped(records: Iterable[_T], size: int) -> Iterator[tuple[_T, ...]]:
    """Take so many records at a time. Raises ValueError at the end where the last ones are fewer."""
    return zip(*[iter(records)] * size, strict=True)


def paths_listed(records: list[bytes]) -> list[bytes]:
    """Return the path of each record: what follows its tab."""
    return [record.split(b"\t", 1)[1] for record in records]
