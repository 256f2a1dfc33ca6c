"""What the coverage of a check says of the lines that a change added."""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePosixPath
from typing import NamedTuple

from git_blackbird.model.base.ranges import parse_ranges, render_ranges
from git_blackbird.model.run.coverage import TreeCoverage
from git_blackbird.model.run.evidence import ChangeCoverage, MissedLines

_MOST_RANGES = 2_000
_MOST_NAMED = 50
# A test is not tested; most reports leave it out.
_TEST = re.compile(r"(?:^|[/._-])(?:tests?|specs?|conftest)(?:[/._-]|$)|Tests?\.\w+$")


class AddedLines(NamedTuple):
    """The numbers of the lines that a change added to a file, and the id of its content with them."""

    content: str
    numbers: AbstractSet[int]


def change_coverage(added: Mapping[str, AddedLines], reports: Sequence[TreeCoverage]) -> ChangeCoverage:
    """Return what reports say of added lines, by the paths of their files; a line ran if one says so."""
    lines, missed = 0, dict[str, AbstractSet[int]]()
    kinds = {PurePosixPath(path).suffix for report in reports for path in report.files}
    absent = list[str]()
    for path, (content, numbers) in added.items():
        known = [file for report in reports if (file := report.files.get(path)) and file.content == content]
        if not known and PurePosixPath(path).suffix in kinds and not _TEST.search(path):
            absent.append(path)
        ran = numbers & frozenset[int]().union(*(parse_ranges(file.ran) for file in known))
        not_run = numbers & frozenset[int]().union(*(parse_ranges(file.missed) for file in known)) - ran
        lines += len(ran) + len(not_run)
        if not_run:
            missed[path] = not_run
    files = tuple(_bounded(missed, added))
    named = sum(len(parse_ranges(file.lines)) for file in files)
    count = sum(map(len, missed.values()))
    return ChangeCoverage(
        lines=lines,
        missed=count,
        files=files,
        more=count - named,
        absent=tuple(absent[:_MOST_NAMED]),
        fault=next((report.fault for report in reports if report.fault), None),
    )


def _bounded(
    missed: Mapping[str, AbstractSet[int]], added: Mapping[str, AddedLines]
) -> Iterator[MissedLines]:
    room = _MOST_RANGES
    for path, numbers in missed.items():
        ranges = render_ranges(numbers).split(",")[:room]
        room -= len(ranges)
        if ranges:
            yield MissedLines(path=path, content=added[path].content, lines=",".join(ranges))
