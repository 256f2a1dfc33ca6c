"""Attributes of paths, as git has them from the files and the configuration of a worktree."""

from collections.abc import Collection, Mapping

from git_blackbird.git.core.config import read_config
from git_blackbird.git.core.output import grouped
from git_blackbird.git.core.repository import Repository

UNSPECIFIED = "unspecified"
_AS_TEXT = frozenset({"set", "text"})


def attributes_of(repo: Repository, paths: Collection[bytes], name: str) -> Mapping[bytes, str]:
    """Return the value of one attribute for each path, in git's words. Raises GitError."""
    if not paths:
        return {}
    given = b"".join(path + b"\0" for path in paths)
    rows = repo.git("check-attr", "-z", "--stdin", name, stdin=given).records(_rows)
    return {path: value.decode(errors="replace") for path, _, value in rows}


def _rows(records: list[bytes]) -> list[tuple[bytes, ...]]:
    return list(grouped(records, 3))


def merge_drivers(repo: Repository, paths: Collection[bytes]) -> dict[bytes, str]:
    """Return the driver, or ``unset``, of each path that git does not merge as text. Raises GitError."""
    values = attributes_of(repo, paths, "merge")
    default = _default(repo) if UNSPECIFIED in values.values() else ""
    chosen = {path: default if value == UNSPECIFIED else value for path, value in values.items()}
    return {path: value for path, value in chosen.items() if value not in _AS_TEXT}


def _default(repo: Repository) -> str:
    values = [each.value for each in read_config(repo) if each.key == "merge.default"]
    return values[-1] or "text" if values else "text"
