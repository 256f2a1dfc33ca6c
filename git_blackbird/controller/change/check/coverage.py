"""Which lines the tests of a check ran, as it says in its checkout, and which of a change they did not."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from git_blackbird.clean import one_line
from git_blackbird.controller.change.check.results import left_files, tops_of
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.change.changes import diff_text
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import EXECUTABLE, REGULAR, TreeStore
from git_blackbird.messages.incoming.coverage import Places, read_coverage
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.rules.coverage import AddedLines, change_coverage
from git_blackbird.model.run.coverage import FileLines, TreeCoverage
from git_blackbird.model.run.evidence import ChangeCoverage
from git_blackbird.model.run.summary import Extent, Trees

_FAULT_CHARACTERS = 300
_NOTHING_LEFT = "the check left none, of a file of the repository, where check.coverage says"


def tree_coverage(checkout: Path, globs: Sequence[str], repo: Repository, tree: str) -> TreeCoverage:
    """Return the lines that tests ran on a tree, as a run of the check left it."""
    trees = TreeStore(repo)

    @cache
    def content(path: str) -> str:
        entry = trees.entry(tree, path.encode(errors="replace"))
        return entry.oid if entry is not None and entry.mode in {REGULAR, EXECUTABLE} else ""

    places = Places(tops_of(checkout), lambda path: bool(content(path)))
    try:
        found = read_coverage(left_files(checkout, globs), places)
    except UnusableError as error:
        return TreeCoverage(fault=one_line(error.message, _FAULT_CHARACTERS))
    names = sorted({test for hits in found.values() for test in hits.by_test})
    number_of = {name: number for number, name in enumerate(names)}
    files = {
        path: FileLines.of(content(path), lines, {number_of[test]: of for test, of in by_test.items()})
        for path, (lines, by_test) in found.items()
    }
    return TreeCoverage(files=files, tests=tuple(names), fault=None if files else _NOTHING_LEFT)


def coverage_of(workspace: Workspace, pair: Trees, reports: Sequence[TreeCoverage]) -> ChangeCoverage:
    """Return what is known of the lines that a change added."""
    try:
        return change_coverage(dict(_added(workspace.repo, pair)), reports)
    except UnusableError as error:
        return ChangeCoverage(fault=error.message)


def _added(repo: Repository, pair: Trees) -> Iterator[tuple[str, AddedLines]]:
    patch, trees = Patch(diff_text(repo, pair, Extent(context=0)).decode(errors="replace")), TreeStore(repo)
    for file in patch.files:
        edits = (edit.lines for hunk in file.hunks for edit in patch.edits(hunk))
        numbers = {number + 1 for edit in edits for number in range(edit.new, edit.new + edit.new_count)}
        entry = trees.entry(pair.head, file.path.encode(errors="replace"))
        if numbers and entry is not None and entry.mode in {REGULAR, EXECUTABLE}:
            yield file.path, AddedLines(entry.oid, numbers)
