"""Which tests run which hunks of a change, and which hunks one run of a check can therefore tell apart."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from git_blackbird.model.base.ranges import parse_ranges
from git_blackbird.model.rules.evidence import TreeVerdict
from git_blackbird.model.run.coverage import FileLines
from git_blackbird.model.run.proof import Hunk

# What stands in the name of a test begins here: parameters, or what it has within.
_WITHIN = re.compile(r"[\[(/]")
_MOST_WITHIN = 20
_NO_WORD = re.compile(r"\W")


def _by_alias(names: Collection[str]) -> Mapping[str, Collection[str]]:
    """Return the tests of a check by the names that coverage may have for them.

    A name may stand for several: for all parameters, for what is within a test, without its module or the
    packages of that, or with ``_`` for what lcov allows in none.
    """
    found: dict[str, set[str]] = {}
    for name in names:
        for alias in _aliases(name):
            found.setdefault(alias, set()).add(name)
    return found


def _aliases(name: str) -> Iterator[str]:
    ends = [match.start() for match in _WITHIN.finditer(name)][:_MOST_WITHIN]
    for whole in (name, *(name[:end] for end in ends)):
        parts = whole.split(".")[-_MOST_WITHIN:]
        for alias in {whole, *(".".join(parts[begin:]) for begin in range(len(parts)))}:
            yield alias
            yield _NO_WORD.sub("_", alias)


class Reach:
    """The tests of a check on the head of a change, and the lines that each of them ran."""

    def __init__(self, verdict: TreeVerdict) -> None:
        coverage, tests = verdict.coverage, _by_alias(verdict.tests.states if verdict.tests else ())
        self._tests = [frozenset(tests.get(name, ())) for name in (coverage.tests if coverage else ())]
        self._files = coverage.files if coverage else {}
        self._by_line: dict[str, Mapping[int, Collection[int]]] = {}

    def tests_of(self, hunks: Sequence[Hunk]) -> frozenset[str] | None:
        """Return the tests that run lines of hunks: none if no test does, None if that is not known.

        It is not known of what also runs outside of tests, as at import, and of lines that nothing can run.
        """
        found = frozenset[str]()
        for hunk in hunks:
            tests = self._tests_of(hunk)
            if tests is None:
                return None
            found |= tests
        return found

    def _tests_of(self, hunk: Hunk) -> frozenset[str] | None:
        file = self._files.get(hunk.path)
        if file is None or file.content != hunk.content:
            return None
        numbers = range(hunk.new + 1, hunk.new + hunk.new_count + 1)
        ran, missed = parse_ranges(file.ran), parse_ranges(file.missed)
        # The lines of a statement may count as its first one.
        if not numbers or (numbers[0] not in ran and numbers[0] not in missed):
            return None
        by_line = self._tests_by_line(hunk.path, file)
        found = frozenset[str]()
        for number in ran.intersection(numbers):
            names = [self._tests[test] for test in by_line.get(number, ())]
            if not names or not all(names):
                return None
            found = found.union(*names)
        return found

    def _tests_by_line(self, path: str, file: FileLines) -> Mapping[int, Collection[int]]:
        if path not in self._by_line:
            self._by_line[path] = {
                line: tests
                for lines, numbers in file.by_test.items()
                for tests in [parse_ranges(numbers)]
                for line in parse_ranges(lines)
            }
        return self._by_line[path]


def sharing(reached: Sequence[frozenset[str] | None]) -> list[int]:
    """Return the first part of a change, and others that one run of the check can tell apart from it.

    They are the numbers of those whose tests are known, no two of which have a test in common.
    """
    taken, parts = set[str](), list[int]()
    for number, tests in enumerate(reached):
        if not parts or (tests and taken.isdisjoint(tests)):
            parts.append(number)
            taken.update(tests or ())
        if reached[0] is None:
            break
    return parts
