"""How much of a change a diff shows."""

from typing import NamedTuple


class Extent(NamedTuple):
    """Lines of context, and only these paths if there are any."""

    context: int = 3
    paths: tuple[str, ...] = ()


WHOLE = Extent()
"""What git shows of a change."""
