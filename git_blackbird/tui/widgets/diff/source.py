"""Where a diff is read from: the trees of a change, with as much context for each file as is wanted."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import full_diff, generated_files
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.patch.marks import unnoticed_first
from git_blackbird.messages.patch.parse import FilePatch, Patch
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.run.summary import Extent, Trees

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence

_WHOLE_FILE = 10_000_000
_LEVELS = (3, 10, 40, _WHOLE_FILE)


class DiffSource:
    """Reads the diff of a pair of trees; ``read`` and ``read_file`` are called in a thread.

    It begins with the files in which nothing notices some lines, by ``evidence``.
    """

    def __init__(self, workspace: Workspace, pair: Trees, evidence: "Evidence | None" = None) -> None:
        self.pair = pair
        self._evidence = evidence
        self.whole = Patch("")
        """The whole diff as it is read first, also while white space is ignored."""
        self._generated: frozenset[str] = frozenset()
        self._ignores_space = False
        self._workspace = workspace
        self._levels: dict[str, int] = {}

    def read(self) -> Patch:
        """Return the whole diff. Raises UnusableError."""
        # It may be toggled while this is read.
        extent = Extent(ignores_space=self._ignores_space)
        text = full_diff(self._workspace, self.pair, extent)
        with gc_paused():
            patch = unnoticed_first(Patch(text), self._evidence)
        if not extent.ignores_space:
            self.whole = patch
            paths = (file.path for file in patch.files)
            # A change does not fold itself.
            self._generated = generated_files(self._workspace, self.pair.base, paths)
        return patch

    def generated(self, files: Sequence[FilePatch]) -> frozenset[int]:
        """Return the indexes of generated files."""
        return frozenset(index for index, file in enumerate(files) if file.path in self._generated)

    def read_file(self, patch: Patch, file: FilePatch) -> Patch:
        """Return the patch with a file as it is wanted now. Raises UnusableError."""
        paths = tuple(path for path in (file.path, file.old_path) if path is not None)
        extent = Extent(_LEVELS[self._levels.get(file.path, 0)], self._ignores_space, paths)
        text = full_diff(self._workspace, self.pair, extent)
        with gc_paused():
            # A name that is not UTF-8 is not found.
            return patch.with_file(file, Patch(text))

    def toggle_space(self) -> None:
        """Ignore white space, or no longer; every file has its usual context then."""
        self._ignores_space = not self._ignores_space
        self._levels.clear()

    def hidden_words(self, shown: Sequence[FilePatch]) -> str:
        """Say what is hidden while white space is ignored; "" if it counts."""
        if not self._ignores_space:
            return ""
        whole = self.whole.files
        lines, files = _changed_lines(whole) - _changed_lines(shown), len(whole) - len(shown)
        counts = [counted(files, "file")] * bool(files) + [counted(lines, "line")]
        return f"white space is ignored (W), which hides {' and '.join(counts)}"

    def change_context(self, file: FilePatch, steps: int) -> str:
        """Want more or less context for a file; say how much that is, "" where there is no such step."""
        level = self._levels.get(file.path, 0) + steps
        if not 0 <= level < len(_LEVELS):
            return ""
        self._levels[file.path] = level
        context = _LEVELS[level]
        return "the whole file" if context == _WHOLE_FILE else f"{context} lines of context"


def _changed_lines(files: Iterable[FilePatch]) -> int:
    return sum(file.additions + file.deletions for file in files)
