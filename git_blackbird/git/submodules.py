"""What lies uncommitted inside submodules: a tree of the worktree holds no more of one than its commit."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from git_blackbird.git.program import operands, run_git
from git_blackbird.git.repository import ALONE, Repository
from git_blackbird.git.trees import SUBMODULE, Entry, Trees
from git_blackbird.model.change import SubmoduleChange, TreePair

_QUIET = "--no-optional-locks"
_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none")
# How many fields of a line of that status stand before the path, by its first letter.
_FIELDS = {"1": 8, "u": 10, "?": 1}
_MODE = f"{SUBMODULE:o} "


def submodule_states(repo: Repository, seconds: float) -> dict[str, str]:
    """Give a digest of what lies uncommitted in each submodule that has something; clean ones are left out.

    A repository without ``.gitmodules`` costs nothing. Raises GitError, and GitTimeoutError where one of the
    two looks takes longer than ``seconds``.
    """
    if not os.path.lexists(repo.top / ".gitmodules"):
        return {}
    listed = repo.git("ls-files", "-z", "-s", timeout=seconds).out.split(b"\0")
    paths = [line.partition(b"\t")[2] for line in listed if line.startswith(_MODE.encode())]
    if not paths:
        return {}
    asked = (_QUIET, "--literal-pathspecs", *_STATUS, *operands(*map(os.fsdecode, paths)))
    told = repo.git(*asked, timeout=seconds).out.decode(errors="surrogateescape").split("\0")
    dirty = [path for path, facts in _entries(told) if facts.startswith("S") and facts[2:] != ".."]
    return {path: _digest(repo, path, seconds) for path in dirty}


def _entries(items: list[str]) -> Iterator[tuple[str, str]]:
    """Give each path of a status with the letters on its submodule."""
    for item in items:
        fields = _FIELDS.get(item[:1])
        parts = item.split(" ", fields) if fields is not None else []
        if fields is not None and len(parts) > fields:
            yield parts[fields], parts[2] if fields > 2 else ""


def _digest(repo: Repository, path: str, seconds: float) -> str:
    top = repo.top / path
    # What is no repository any more must not be taken for the one around it.
    environ = {**repo.git_environ, "GIT_CEILING_DIRECTORIES": os.fspath(top.parent)}
    told = run_git([*ALONE, _QUIET, *_STATUS, "-uall"], cwd=top, environ=environ, timeout=seconds).out
    digest = hashlib.sha256(told)
    for inner, _ in _entries(told.decode(errors="surrogateescape").split("\0")):
        digest.update(_mark(top / inner).encode())
    return digest.hexdigest()[:16]


def _mark(path: Path) -> str:
    """Tell a file's content from another without reading it."""
    try:
        status = path.lstat()
    except OSError:
        return "-"
    return f"{status.st_mtime_ns} {status.st_size} {status.st_mode} {status.st_ino}"


def submodule_changes(
    repo: Repository, pair: TreePair, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[SubmoduleChange, ...]:
    """Name the submodules that a change moved to another commit, or inside which it left something.

    ``before`` and ``after`` are the states at its ends. Raises UnusableError.
    """
    moved = {os.fsdecode(path) for path, sides in submodule_sides(Trees(repo), pair) if None not in sides}
    edited = {path for path in after if after[path] != before.get(path)}
    return tuple(
        SubmoduleChange(
            path=os.fsencode(path).decode(errors="replace"), commits=path in moved, content=path in edited
        )
        for path in sorted(moved | edited)
    )


def submodule_sides(
    trees: Trees, pair: TreePair
) -> Iterator[tuple[bytes, tuple[Entry | None, Entry | None]]]:
    """Give the paths that a submodule is at on a side, with both sides; None for what is no submodule."""
    for path in sorted(trees.touched(*pair)):
        sides = trees.entry(pair.base, path), trees.entry(pair.head, path)
        if any(side is not None and side.mode == SUBMODULE for side in sides):
            before, after = (side if side is not None and side.mode == SUBMODULE else None for side in sides)
            yield path, (before, after)
