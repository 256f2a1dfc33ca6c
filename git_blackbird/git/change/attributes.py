"""Attributes of paths, as git has them from its configuration and the files of a worktree or a tree."""

import os
from collections.abc import Collection, Mapping

from git_blackbird.git.core.config import read_config
from git_blackbird.git.core.output import Completed, grouped
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.comparing import comparison
from git_blackbird.git.worktree.index import private_folder, write_entries
from git_blackbird.git.worktree.saved_trees import with_attributes

UNSPECIFIED = "unspecified"
_AS_TEXT = frozenset({"set", "text"})


def attributes_of(repo: Repository, paths: Collection[bytes], name: str) -> Mapping[bytes, str]:
    """Return the value of one attribute for each path, in git's words. Raises GitError."""
    if not paths:
        return {}
    given = b"".join(path + b"\0" for path in paths)
    return _values(repo.git("check-attr", "-z", "--stdin", name, stdin=given))


def generated_paths(repo: Repository, tree: str, paths: Collection[bytes]) -> Mapping[bytes, bool]:
    """Return for each path whether a tree says that it is generated; without those of which it says nothing.

    Raises UnusableError.
    """
    with private_folder(repo, "attributes") as folder:
        index = folder / "index"
        write_entries(index, dict(with_attributes(TreeStore(repo), tree, paths)))
        values = _values(
            comparison(repo).repo.git(
                *("check-attr", "-z", "--cached", "--stdin", "linguist-generated"),
                stdin=b"".join(path + b"\0" for path in paths),
                variables={"GIT_INDEX_FILE": os.fspath(index)},
            )
        )
    said = {"set": True, "true": True, "unset": False, "false": False}
    return {path: said[value] for path, value in values.items() if value in said}


def _values(answer: Completed) -> Mapping[bytes, str]:
    rows = answer.records(_rows)
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
