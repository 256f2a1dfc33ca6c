"""How much of a change a diff shows."""

from typing import NamedTuple


class Extent(NamedTuple):
    """Lines of context, whether white space counts, and only these paths if there are any."""

    context: int = 3
    ignores_space: bool = False
    paths: tuple[str, ...] = ()


WHOLE = Extent()
"""What git shows of a change."""
