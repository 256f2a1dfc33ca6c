"""Write a shell script that takes a change out of the worktree and leaves later edits alone."""

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.changes import submodule_sides
from git_blackbird.git.worktree.log import commits_in_head, tree_of
from git_blackbird.model.entities.change import TreePair

_DIFF = "-r -p --binary --full-index --no-renames --no-ext-diff --no-textconv --ignore-submodules=all"
_APPLY = "--whitespace=nowarn --no-ignore-whitespace"
_SCRIPT = """\
#!/bin/sh
# Takes back what a rejected run left in the worktree. Where the same lines were edited since, git refuses
# and changes no file.
cd {top} || exit
"""
_SUBMODULE = """\
if [ "$(git -C {path} rev-parse HEAD)" = {head} ]; then
    git -C {path} checkout --quiet --detach {base}
else
    echo {path}': its commit is another by now; it is left as it is' >&2
fi
"""


@dataclass(frozen=True)
class UndoPlan:
    """How to undo a change: ``edits`` in the worktree, and ``commits`` to revert, newest first.

    Each commit comes with its number of parents, which identifies merges. ``repositories`` are paths at which
    a nested repository or submodule was added or removed: no command undoes those.
    """

    edits: TreePair
    commits: tuple[tuple[str, int], ...] = ()
    repositories: tuple[bytes, ...] = ()


def plan_undo(repo: Repository, pair: TreePair, commits: Iterable[str], since: str | None) -> UndoPlan:
    """Separate the edits that are only in the worktree from those that ``commits`` brought into HEAD.

    ``since`` is the commit at HEAD when the first run of the change began. Raises UnusableError.
    """
    trees = TreeStore(repo)
    commits_made = commits_in_head(repo, commits, since)
    paths = set(trees.changed_paths(pair.base, pair.head))
    reverted: set[bytes] = set()
    for oid, above in commits_made:
        before = tree_of(repo, above[0]) if above else trees.save({})
        reverted |= paths.intersection(trees.changed_paths(before, tree_of(repo, oid)))
    commit = head(repo).commit
    now = None if commit is None else tree_of(repo, commit)
    edits = {} if now is None else {path: trees.entry(now, path) for path in reverted}
    base = trees.edited(pair.base, edits) if edits else pair.base
    nested = tuple(path for path, sides in submodule_sides(trees, TreePair(base, pair.head)) if None in sides)
    return UndoPlan(
        TreePair(base, pair.head), tuple((oid, len(above)) for oid, above in commits_made), nested
    )


def render_undo(repo: Repository, pair: TreePair) -> bytes | None:
    """Return the script that undoes ``pair``, or None if it would do nothing.

    Files are restored by a patch, which git applies completely or not at all. The trees must be kept.
    """
    trees = TreeStore(repo)
    submodules = dict(submodule_sides(trees, pair))
    lines = [_SCRIPT.format(top=shlex.quote(os.fspath(repo.top)))]
    if set(trees.changed_paths(*pair)) - submodules.keys():
        lines.append(f"git diff-tree {_DIFF} {pair.head} {pair.base} |\n    git apply {_APPLY} || exit\n")
    for path, (before, after) in submodules.items():
        if before is not None and after is not None:
            name = shlex.quote(f"./{os.fsdecode(path)}")
            lines.append(_SUBMODULE.format(path=name, head=after.oid, base=before.oid))
    return os.fsencode("".join(lines)) if len(lines) > 1 else None
