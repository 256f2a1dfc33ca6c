"""The files that an agent's edits wrote, as far as its output names them."""

from collections.abc import Iterable

_MAX_OPEN_CALLS = 1000
_MAX_PATHS = 1000
_LONGEST_PATH = 4096


class Edits:
    """Collect absolute paths of edits that went through; one that failed or was denied does not count."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._paths: dict[str, None] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The files, each once, in the order of the edits."""
        return tuple(self._paths)

    def begin(self, call: str, path: str) -> None:
        """Note the call of a tool that edits a file."""
        if call and len(self._open) < _MAX_OPEN_CALLS:
            self._open[call] = path

    def end(self, call: str, *, is_done: bool) -> None:
        """Note the answer to a call, which may be of any tool."""
        path = self._open.pop(call, None)
        if path is not None and is_done:
            self.add([path])

    def add(self, paths: Iterable[str]) -> None:
        """Note files that were written."""
        for path in paths:
            is_path = path.startswith("/") and len(path) <= _LONGEST_PATH and "\0" not in path
            if is_path and len(self._paths) < _MAX_PATHS:
                self._paths[path] = None
