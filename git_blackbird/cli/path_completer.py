"""Completing ``@`` to a path of the repository while a change request is written (spec 2)."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

_MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")
MAX_SHOWN = 200


class PathCompleter(Completer):
    """Offers paths that begin with what follows the ``@``, then those that hold it; loads them once."""

    def __init__(self, load: Callable[[], list[str]]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._paths: list[str] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Give the paths for the ``@`` word before the cursor, best first."""
        del complete_event
        mention = _MENTION.search(document.current_line_before_cursor)
        if mention is None:
            return
        wanted = mention[1]
        for path in matching(self._known(), wanted):
            yield Completion(path, start_position=-len(wanted))

    def _known(self) -> list[str]:
        with self._lock:
            if self._paths is None:
                self._paths = self._load()
            return self._paths


def matching(paths: list[str], wanted: str) -> Iterator[str]:
    """Give at most ``MAX_SHOWN`` paths: beginning with it, then with a name that does, then holding it."""
    folded = wanted.casefold()
    ranks: tuple[Callable[[str], bool], ...] = (
        lambda path: path.startswith(folded),
        lambda path: path.rpartition("/")[2].startswith(folded),
        lambda path: folded in path,
    )
    shown: set[str] = set()
    for fits in ranks:
        for path in paths:
            if len(shown) >= MAX_SHOWN:
                return
            if path not in shown and path.isprintable() and fits(path.casefold()):
                shown.add(path)
                yield path
