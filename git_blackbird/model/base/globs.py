"""Globs of paths, as in the configuration: ``*`` and ``?`` within a name, ``**`` over folders."""

import re
from collections.abc import Iterable

_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_PARTS = re.compile(r"(\*\*/|\*\*|\*|\?)")


def matching(globs: Iterable[str]) -> re.Pattern[str]:
    """Return what fully matches each path that a glob names; one that ends with ``/`` names all below."""
    return re.compile("|".join(f"(?:{_regular(glob)})" for glob in globs), re.DOTALL)


def _regular(glob: str) -> str:
    parts = _PARTS.split(f"{glob}**" if glob.endswith("/") else glob)
    return "".join(_WILD.get(part) or re.escape(part) for part in parts)
