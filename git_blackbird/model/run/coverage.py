"""The lines of files that tests ran, on one tree."""

from collections.abc import Collection, Mapping
from typing import Self

from pydantic import Field

from git_blackbird.model.base.ranges import render_ranges
from git_blackbird.model.base.record import Record, Unmasked


class FileLines(Record):
    """The lines of a file that tests can run, as in ``3-5,9``; they are those of its ``content`` alone.

    ``by_test`` has for lines that the same tests ran which these are, as numbers of ``TreeCoverage.tests``.
    """

    content: Unmasked[str]
    ran: str = ""
    missed: str = ""
    by_test: Unmasked[Mapping[str, str]] = Field(default_factory=dict)

    @classmethod
    def of(cls, content: str, lines: Mapping[int, bool], by_test: Mapping[int, Collection[int]]) -> Self:
        """Return what is known of lines, and which of them each test ran, by its number."""
        ran = {line for line, has_run in lines.items() if has_run}
        tests_of: dict[int, list[int]] = {}
        for test in sorted(by_test):
            for line in by_test[test]:
                tests_of.setdefault(line, []).append(test)
        alike: dict[tuple[int, ...], list[int]] = {}
        for line, tests in tests_of.items():
            alike.setdefault(tuple(tests), []).append(line)
        return cls(
            content=content,
            ran=render_ranges(ran),
            missed=render_ranges(lines.keys() - ran),
            by_test={render_ranges(same): render_ranges(tests) for tests, same in alike.items()},
        )


class TreeCoverage(Record):
    """The lines that a check ran on one tree, by the paths of their files; ``fault`` is why it says less.

    ``tests`` are the tests that it names, an empty name for what ran outside of any.
    """

    files: Mapping[str, FileLines] = Field(default_factory=dict)
    tests: tuple[str, ...] = ()
    fault: str | None = None
