"""Apply moves of HEAD to trees that were recorded before them."""

import os
from collections.abc import Iterable, Sequence

from git_blackbird.git.commit.plan import tree_of
from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.head_moves import HeadMove


class Carrier:
    """Apply the changes of commits to trees that were recorded before them."""

    def __init__(self, repo: Repository, hidden: Sequence[str]) -> None:
        self._repo = repo
        self._trees = TreeStore(repo)
        self._hidden = [os.fsencode(name) for name in hidden]
        self._empty = self._trees.save({})

    def without(self, pair: TreePair, paths: Iterable[bytes]) -> TreePair:
        """Return a change without these paths."""
        edits = {path: self._trees.entry(pair.head, path) for path in paths}
        return TreePair(self._trees.edited(pair.base, edits), pair.head)

    def changed_paths(self, base: str, head: str) -> frozenset[bytes]:
        """Return every path at which two trees differ."""
        return frozenset(self._trees.changed_paths(base, head))

    def changed_by(self, old: str | None, new: str) -> frozenset[bytes]:
        """Return every path that a move of HEAD changed. Raises UnusableError."""
        return self.changed_paths(self._tree(old), self._tree(new))

    def carry(self, base: str, head: str, move: HeadMove, only: Iterable[bytes] | None = None) -> str:
        """Return ``base`` with the changes of a move of HEAD applied.

        Other edits in ``base`` stay, merged as git does; on a conflict the move's version wins. A reset may
        leave the worktree alone, so it counts only where ``head`` followed it. With ``only``, other paths
        stay unchanged. Raises UnusableError.
        """
        old, new = self._tree(move.old), self._tree(move.new)
        edits: dict[bytes, TreeEntry | None] = {}
        both: list[bytes] = []
        wanted = None if only is None else frozenset(only)
        for path in self._trees.changed_paths(old, new):
            before, parent, now = (self._trees.entry(tree, path) for tree in (base, old, new))
            if before == now or (wanted is not None and path not in wanted):
                continue
            if move.is_reset and self._trees.entry(head, path) != now:
                continue
            edits[path] = now
            if before != parent:
                both.append(path)
        edits |= self._merged(sorted(both), base, old, new)
        return self._trees.edited(base, edits) if edits else base

    def carry_into(self, pair: TreePair, move: HeadMove) -> TreePair:
        """Return a change with the effect of a later move of HEAD at its paths.

        A path that the move left as the change did was committed from it, and stays unchanged.
        """
        new = self._tree(move.new)
        paths = [
            path
            for path in self._trees.changed_paths(pair.base, pair.head)
            if self._trees.entry(pair.head, path) != self._trees.entry(new, path)
        ]
        base, head = (self.carry(tree, pair.head, move, paths) for tree in pair)
        return TreePair(base, head)

    def _tree(self, commit: str | None) -> str:
        if commit is None:
            return self._empty
        return self._trees.without(tree_of(self._repo, commit), self._hidden)

    def _merged(self, paths: Sequence[bytes], base: str, old: str, new: str) -> dict[bytes, TreeEntry | None]:
        """Merge the paths that have both versions, keyed by number; conflicting ones are left out."""
        if not paths:
            return {}
        import pygit2  # noqa: PLC0415 - loaded by now

        objects = self._trees.objects
        ancestor, mine, theirs = (
            self._trees.edited(
                self._empty,
                {b"%d" % place: self._trees.entry(tree, path) for place, path in enumerate(paths)},
            )
            for tree in (old, base, new)
        )
        with using_objects(self._repo):
            index = objects.merge_trees(ancestor, mine, theirs, flags=pygit2.enums.MergeFlag(0))
            in_conflict = {
                side.path for conflict in index.conflicts or () for side in conflict if side is not None
            }
            merged = {entry.path: TreeEntry(int(entry.mode), str(entry.id)) for entry in index}
        return {
            path: merged.get(str(place)) for place, path in enumerate(paths) if str(place) not in in_conflict
        }
