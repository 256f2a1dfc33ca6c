"""Read which lines tests ran: the reports of lcov and Cobertura, in which most tools write it."""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple
from xml.etree.ElementTree import ParseError

from git_blackbird.errors import UnusableError

_LONGEST_PATH = 4_096
_MOST_LINES = 2_000_000
_ROW = re.compile(rb"^(?:SF:(.+)|DA:(\d{1,7}),(-?\d+))", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,7}")


class Report(NamedTuple):
    """One report: its path below the top, and where the paths that it names may begin."""

    path: str
    sources: Sequence[str]
    hits: Iterable[tuple[str, int, bool]]


class Places(NamedTuple):
    """The files that reports can be about; ``tops`` are the paths of the checkout they were written in."""

    tops: Collection[str]
    has: Callable[[str], bool]

    def find(self, path: str, report: Report) -> str | None:
        """Return the file that a report names; None where that is none, or may be two.

        A path may begin at a ``source`` of the report, at its folder, at one above, or outside: in a
        container, or with the name of a module.
        """
        path = path.replace("\\", "/")
        if len(path) > _LONGEST_PATH:
            return None
        if posixpath.isabs(path):
            return self._named(path)
        sources = [source for source in report.sources if len(source) <= _LONGEST_PATH]
        above = [source for source in sources if posixpath.isabs(source)]
        if fitting := {found for source in above if (found := self._named(f"{source}/{path}"))}:
            return fitting.pop() if len(fitting) == 1 else None
        below = [source for source in sources if source not in above] or ["."]
        for folder in PurePosixPath(report.path).parents:
            for source in below:
                joined = posixpath.normpath(f"{folder}/{source}/{path}")
                if self.has(joined):
                    return joined
        return self._named(path)

    def _named(self, path: str) -> str | None:
        path = posixpath.normpath(path)
        for top in self.tops:
            if path.startswith(f"{top}/"):
                below = path[len(top) + 1 :]
                return below if self.has(below) else None
        parts = path.strip("/").split("/")
        return next(filter(self.has, ("/".join(parts[start:]) for start in range(len(parts)))), None)


def read_coverage(files: Iterable[tuple[str, bytes]], places: Places) -> dict[str, dict[int, bool]]:
    """Read reports, given by path and content: by file of the tree, which lines tests ran, in any of them.

    Raises UnusableError for one that is none.
    """
    lines: dict[str, dict[int, bool]] = {}
    for path, data in files:
        report = _cobertura(path, data) if data.lstrip().startswith(b"<") else _lcov(path, data)
        known: dict[str, str | None] = {}
        for count, (named, number, has_run) in enumerate(report.hits):
            if count == _MOST_LINES:
                raise UnusableError(f"{path} has more than {_MOST_LINES} lines")
            if named not in known:
                known[named] = places.find(named, report)
            if (file := known[named]) is not None:
                of_file = lines.setdefault(file, {})
                of_file[number] = has_run or of_file.get(number, False)
    return lines


def _lcov(path: str, data: bytes) -> Report:
    if data.strip() and not re.search(rb"^SF:", data, re.MULTILINE):
        raise UnusableError(f"{path} is no coverage, as lcov or Cobertura writes it")
    return Report(path, (), _lcov_hits(data))


def _lcov_hits(data: bytes) -> Iterator[tuple[str, int, bool]]:
    file = ""
    for match in _ROW.finditer(data):
        if match[1]:
            file = match[1].decode(errors="replace").strip()
        else:
            yield file, int(match[2]), bool(match[3].strip(b"0"))


def _cobertura(path: str, data: bytes) -> Report:
    from defusedxml import DefusedXmlException  # only where a check leaves coverage
    from defusedxml.ElementTree import fromstring

    try:
        # Most name a DTD, which is not loaded.
        root = fromstring(data)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise UnusableError(f"{path} is no coverage, as Cobertura writes it: {error}") from error
    if root.tag != "coverage":
        raise UnusableError(f"{path} is no coverage, as Cobertura writes it: it has <{root.tag}>")
    sources = [source.text.strip() for source in root.iter("source") if source.text]
    hits = (
        (file, int(number), bool(line.get("hits", "0").strip("0")))
        for part in root.iter("class")
        if (file := part.get("filename"))
        for line in part.iter("line")
        if _NUMBER.fullmatch(number := line.get("number", ""))
    )
    return Report(path, sources, hits)
