"""Read which lines tests ran: reports of lcov and Cobertura, which most tools write, and of coverage.py."""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from git_blackbird.clean import one_line
from git_blackbird.errors import UnusableError
from git_blackbird.messages.incoming.xml import parse_xml

_LONGEST_PATH = 4_096
_MOST_LINES = 2_000_000
_TEST_CHARACTERS = 300
_ROW = re.compile(rb"^(?:TN:(.*)|SF:(.+)|DA:(\d{1,7}),(-?\d+))", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,7}")
# As pytest-cov names the parts of a test. What makes a fixture may do so for the tests that follow, too.
_PHASE, _FIXTURE = "|run", ("|setup", "|teardown")


_Line = Annotated[int, Field(ge=1, lt=10_000_000)]


class Hit(NamedTuple):
    """A line of a file, whether it ran, and the tests that ran it; one without a name is what no test did."""

    file: str
    line: int
    has_run: bool
    tests: Iterable[str] = ()


class Report(NamedTuple):
    """One report: its path below the top, and where the paths that it names may begin."""

    path: str
    sources: Sequence[str]
    hits: Iterable[Hit]


class FileHits(NamedTuple):
    """The lines of a file, and whether they ran; and which of them each test ran, where that is said."""

    lines: dict[int, bool]
    by_test: dict[str, set[int]]


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


def read_coverage(files: Iterable[tuple[str, bytes]], places: Places) -> dict[str, FileHits]:
    """Read reports, given by path and content: by file of the tree, which lines tests ran, in any of them.

    Raises UnusableError for one that is none.
    """
    found: dict[str, FileHits] = {}
    for path, data in files:
        report = _report(path, data)
        known: dict[str, str | None] = {}
        for count, hit in enumerate(report.hits):
            if count == _MOST_LINES:
                raise UnusableError(f"{path} has more than {_MOST_LINES} lines")
            if hit.file not in known:
                known[hit.file] = places.find(hit.file, report)
            if (file := known[hit.file]) is not None:
                lines, by_test = found.setdefault(file, FileHits({}, {}))
                lines[hit.line] = hit.has_run or lines.get(hit.line, False)
                for test in hit.tests:
                    by_test.setdefault(test, set()).add(hit.line)
    return found


def is_coverage(data: bytes) -> bool:
    try:
        return _report("", data) is not None
    except UnusableError:
        return False


def _report(path: str, data: bytes) -> Report:
    return _FORMS.get(data.lstrip()[:1], _lcov)(path, data)


def _lcov(path: str, data: bytes) -> Report:
    if data.strip() and not re.search(rb"^SF:", data, re.MULTILINE):
        raise UnusableError(f"{path} is no coverage, as lcov or Cobertura writes it")
    return Report(path, (), _lcov_hits(data))


def _lcov_hits(data: bytes) -> Iterator[Hit]:
    file, tests = "", ("",)
    for match in _ROW.finditer(data):
        if match[1] is not None:
            tests = (_test_name(match[1].decode(errors="replace")),)
        elif match[2]:
            file = match[2].decode(errors="replace").strip()
        else:
            has_run = bool(match[4].strip(b"0"))
            yield Hit(file, int(match[3]), has_run, tests if has_run else ())


class _PythonFile(BaseModel):
    executed_lines: tuple[_Line, ...]
    missing_lines: tuple[_Line, ...]
    contexts: dict[_Line, tuple[str, ...]] = Field(default_factory=dict)


class _PythonReport(BaseModel):
    files: dict[str, _PythonFile]


def _coverage_py(path: str, data: bytes) -> Report:
    try:
        return Report(path, (), _python_hits(_PythonReport.model_validate_json(data).files))
    except ValidationError as error:
        raise UnusableError(f"{path} is no coverage, as coverage.py writes it in JSON") from error


def _python_hits(files: Mapping[str, _PythonFile]) -> Iterator[Hit]:
    name_of = cache(_test_name)
    for file, lines in files.items():
        for number in lines.executed_lines:
            yield Hit(file, number, has_run=True, tests=map(name_of, lines.contexts.get(number, ())))
        yield from (Hit(file, number, has_run=False) for number in lines.missing_lines)


def _test_name(name: str) -> str:
    """Return the name of a test as its results have it: ``tests/test_a.py::test_b[1]`` is one in a module."""
    name = one_line(name, _TEST_CHARACTERS).strip()
    if name.endswith(_FIXTURE):
        return ""
    name, parameters, rest = name.removesuffix(_PHASE).partition("[")
    file, *within = name.split("::")
    if within:
        name = ".".join((file.removesuffix(".py").replace("/", "."), *within))
    return name + parameters + rest


def _cobertura(path: str, data: bytes) -> Report:
    root = parse_xml(data, f"{path} is no coverage, as Cobertura writes it")
    if root.tag != "coverage":
        raise UnusableError(f"{path} is no coverage, as Cobertura writes it: it has <{root.tag}>")
    sources = [source.text.strip() for source in root.iter("source") if source.text]
    hits = (
        Hit(file, int(number), bool(line.get("hits", "0").strip("0")))
        for part in root.iter("class")
        if (file := part.get("filename"))
        for line in part.iter("line")
        if _NUMBER.fullmatch(number := line.get("number", ""))
    )
    return Report(path, sources, hits)


_FORMS: Mapping[bytes, Callable[[str, bytes], Report]] = {b"<": _cobertura, b"{": _coverage_py}
