"""Completing ``@`` to a path of the repository while a change request is written (spec 2)."""

import threading
from collections.abc import Callable, Iterable
from itertools import chain

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from git_blackbird.model.base.path_search import MENTION, PathIndex


class PathCompleter(Completer):
    """Offers paths for what follows the ``@``, likeliest first; loads them once."""

    def __init__(self, load: Callable[[], list[str]]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._paths: PathIndex | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return the paths for the ``@`` word before the cursor, best first."""
        del complete_event
        mention = MENTION.search(document.current_line_before_cursor)
        if mention is None:
            return
        wanted = mention[1]
        for path in chain.from_iterable(self._known().matching(wanted)):
            yield Completion(path, start_position=-len(wanted))

    def _known(self) -> PathIndex:
        with self._lock:
            if self._paths is None:
                self._paths = PathIndex(self._load())
            return self._paths
