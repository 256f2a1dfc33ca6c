"""Where a diff is read from: the trees of a change, with as much context for each file as is wanted."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import full_diff
from git_blackbird.messages.patch.parse import FilePatch, Patch
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.extent import Extent

_WHOLE_FILE = 10_000_000
_LEVELS = (3, 10, 40, _WHOLE_FILE)


class DiffSource:
    """Reads the diff of a pair of trees; ``read`` and ``read_file`` are called in a thread."""

    def __init__(self, workspace: Workspace, pair: Trees) -> None:
        self.pair = pair
        self._workspace = workspace
        self._levels: dict[str, int] = {}

    def read(self) -> Patch:
        """Return the whole diff. Raises UnusableError."""
        with gc_paused():
            return Patch(full_diff(self._workspace, self.pair))

    def read_file(self, patch: Patch, file: FilePatch) -> Patch:
        """Return the patch with a file as it is wanted now. Raises UnusableError."""
        paths = tuple(path for path in (file.path, file.old_path) if path is not None)
        text = full_diff(self._workspace, self.pair, Extent(self._context(file), paths))
        with gc_paused():
            # A name that is not UTF-8 is not found.
            return patch.with_file(file, text) if text else patch

    def change_context(self, file: FilePatch, steps: int) -> bool:
        """Want more or less context for a file; return whether there is such a step."""
        level = self._levels.get(file.path, 0) + steps
        if not 0 <= level < len(_LEVELS):
            return False
        self._levels[file.path] = level
        return True

    def context_words(self, file: FilePatch) -> str:
        """Say how much is shown of a file."""
        context = self._context(file)
        return "the whole file" if context == _WHOLE_FILE else f"{context} lines of context"

    def _context(self, file: FilePatch) -> int:
        return _LEVELS[self._levels.get(file.path, 0)]
