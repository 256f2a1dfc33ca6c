"""Paths that are named by ``@`` in a text that is being written (spec 2)."""

import re
from collections.abc import Callable, Iterator

MENTION = re.compile(r"(?:^|(?<=\s))@(\S*)\Z")
MAX_SHOWN = 200


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
