"""The lines of files that tests ran, on one tree."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field

from git_blackbird.model.base.ranges import render_ranges
from git_blackbird.model.base.record import Record, Unmasked


class FileLines(Record):
    """The lines of a file that tests can run, as in ``3-5,9``; they are those of its ``content`` alone."""

    content: Unmasked[str]
    ran: str = ""
    missed: str = ""

    @classmethod
    def of(cls, content: str, lines: Mapping[int, bool]) -> Self:
        ran = {line for line, has_run in lines.items() if has_run}
        return cls(content=content, ran=render_ranges(ran), missed=render_ranges(lines.keys() - ran))


class TreeCoverage(Record):
    """The lines that a check ran on one tree, by the paths of their files; ``fault`` is why it says less."""

    files: Mapping[str, FileLines] = Field(default_factory=dict)
    fault: str | None = None
