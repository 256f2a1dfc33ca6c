"""What a change does to the tests that judge it, and to what else decides on its checks."""

from collections.abc import Iterable
from functools import cache

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import EXECUTABLE, REGULAR, TreeStore
from git_blackbird.model.base.globs import matching
from git_blackbird.model.rules.assertions import edited_tests
from git_blackbird.model.rules.deciding_files import Read, edited_programs
from git_blackbird.model.run.summary import EditedTest, FileChange, Trees

_MOST_BYTES = 1 << 20


class ChangeEdits:
    """The files of a change, of which those that match globs are tests."""

    def __init__(
        self, repo: Repository, pair: Trees, changes: Iterable[FileChange], tests: Iterable[str]
    ) -> None:
        self._before, self._after = (_reader(repo, tree) for tree in pair)
        self._changes, self._is_test = tuple(changes), matching(tests)

    def tests(self) -> tuple[EditedTest, ...]:
        """Return the files of tests from which it takes something away."""
        return tuple(edited_tests(self._changes, self._is_test, self._before, self._after))

    def programs(self, command: str | None) -> tuple[str, ...]:
        """Return the files that decide what a command says, and do so in another way than before."""
        paths = (path for edit in self._changes for path in (edit.old_path or edit.path, edit.path))
        return edited_programs(dict.fromkeys(paths), command, self._before, self._after, self._is_test)


def _reader(repo: Repository, tree: str) -> Read:
    trees = TreeStore(repo)

    @cache
    def read(path: str) -> str | None:
        entry = trees.entry(tree, path.encode(errors="replace"))
        if entry is None or entry.mode not in {REGULAR, EXECUTABLE}:
            return None
        try:
            return trees.content(entry.oid, _MOST_BYTES).decode(errors="replace")
        except UnusableError:
            # Too large to be looked into: no more than whether it is another one is known.
            return entry.oid

    return read
