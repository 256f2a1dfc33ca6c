"""Globs of paths, as in the configuration: ``*`` and ``?`` within a name, ``**`` over folders."""

import re
from collections.abc import Iterable
from posixpath import normpath

_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_PARTS = re.compile(r"(\*\*/|\*\*|\*|\?)")


def matching(globs: Iterable[str]) -> re.Pattern[str]:
    """Return what fully matches each path that a glob names; one that names a folder names all below."""
    return re.compile("|".join(f"(?:{_regular(glob)}(?:/.*)?)" for glob in globs), re.DOTALL)


def names_nothing(glob: str) -> bool:
    """Whether it can match no path, as all of them begin below the top."""
    return f"{normpath(glob)}/".startswith(("/", "./", "../"))


def _regular(glob: str) -> str:
    return "".join(_WILD.get(part) or re.escape(part) for part in _PARTS.split(normpath(glob)))
