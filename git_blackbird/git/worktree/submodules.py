"""Find uncommitted changes inside submodules, of which a tree holds only the commit."""

import hashlib
import os
from collections.abc import Iterator, Mapping

from git_blackbird.git.core.process import operands, run_git
from git_blackbird.git.core.repository import ALONE, Repository
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore
from git_blackbird.model.entities.change import SubmoduleChange, TreePair

_QUIET = "--no-optional-locks"
_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none")
# The number of fields before the path in a line of that status, by its first letter.
_FIELDS = {"1": 8, "u": 10, "?": 1}
_MODE = f"{SUBMODULE:o} "


def submodule_states(repo: Repository, seconds: float) -> dict[str, str]:
    """Return a digest of the uncommitted changes in each submodule that has any.

    A repository without ``.gitmodules`` costs nothing. Raises GitError, and GitTimeoutError if one of the two
    git commands takes longer than ``seconds``.
    """
    if not os.path.lexists(repo.top / ".gitmodules"):
        return {}
    listed = repo.git("ls-files", "-z", "-s", timeout=seconds).out.split(b"\0")
    paths = [line.partition(b"\t")[2] for line in listed if line.startswith(_MODE.encode())]
    if not paths:
        return {}
    command = (_QUIET, "--literal-pathspecs", *_STATUS, *operands(*map(os.fsdecode, paths)))
    output = repo.git(*command, timeout=seconds).out.decode(errors="surrogateescape").split("\0")
    dirty = [path for path, facts in _entries(output) if facts.startswith("S") and facts[2:] != ".."]
    return {path: _digest(repo, path, seconds) for path in dirty}


def _entries(items: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each path of a status with the letters on its submodule."""
    for item in items:
        fields = _FIELDS.get(item[:1])
        parts = item.split(" ", fields) if fields is not None else []
        if fields is not None and len(parts) > fields:
            yield parts[fields], parts[2] if fields > 2 else ""


def _digest(repo: Repository, path: str, seconds: float) -> str:
    top = repo.top / path
    # A folder that is no repository any more must not be taken for the one around it.
    environ = {**repo.git_environ, "GIT_CEILING_DIRECTORIES": os.fspath(top.parent)}
    output = run_git([*ALONE, _QUIET, *_STATUS, "-uall"], cwd=top, environ=environ, timeout=seconds).out
    digest = hashlib.sha256(output)
    for inner, _ in _entries(output.decode(errors="surrogateescape").split("\0")):
        # Without reading a file: this changes with its content.
        try:
            status = (top / inner).lstat()
        except OSError:
            digest.update(b"-")
        else:
            digest.update(b"%d %d " % (status.st_mtime_ns, status.st_size))
            digest.update(b"%d %d" % (status.st_mode, status.st_ino))
    return digest.hexdigest()[:16]


def submodule_changes(
    repo: Repository, pair: TreePair, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[SubmoduleChange, ...]:
    """List the submodules that a change moved to another commit, or in which it left changes.

    ``before`` and ``after`` are the states at its ends. Raises UnusableError.
    """
    moved = {os.fsdecode(path) for path, sides in submodule_sides(TreeStore(repo), pair) if None not in sides}
    edited = {path for path in after if after[path] != before.get(path)}
    return tuple(
        SubmoduleChange(
            path=os.fsencode(path).decode(errors="replace"), commits=path in moved, content=path in edited
        )
        for path in sorted(moved | edited)
    )


def submodule_sides(
    trees: TreeStore, pair: TreePair
) -> Iterator[tuple[bytes, tuple[TreeEntry | None, TreeEntry | None]]]:
    """Return the paths that are a submodule on a side, with both sides; None for a side that is none."""
    for path in sorted(trees.changed_paths(*pair)):
        sides = trees.entry(pair.base, path), trees.entry(pair.head, path)
        if any(side is not None and side.mode == SUBMODULE for side in sides):
            before, after = (side if side is not None and side.mode == SUBMODULE else None for side in sides)
            yield path, (before, after)
