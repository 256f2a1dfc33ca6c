"""The annotation of a field that ``--json`` prints; only that and ``schema`` read it."""

from typing import NamedTuple


class Shown(NamedTuple):
    """What a field is, for programs, and its name in JSON, if that is not its own in camelCase.

    With ``is_spread`` its fields stand beside the others. ``or_absent``: None is left out, not null.
    """

    text: str
    name: str | None = None
    is_spread: bool = False
    or_absent: bool = False
