"""Moves of HEAD during a run, read from its reflog, and applying them to a base tree."""

import os
import re
from collections.abc import Iterable, Sequence

from git_blackbird.git.commit.plan import tree_of
from git_blackbird.git.core.git_trace import read_trace
from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.git.hooks.attribution import list_owners
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.head_moves import HeadMove, LogSpan, Mover, attribute

_MOVE = re.compile(
    rb"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) .*> (?P<time>\d{1,12}) [-+]\d{4}\t?(?P<message>.*)"
)
_SECOND = 1_000_000_000
_LONGEST_BYTES = 16 * 1024 * 1024


def log_size(repo: Repository) -> int:
    """Return the size of the reflog of HEAD; later entries are appended after it."""
    try:
        return (repo.git_dir / "logs" / "HEAD").stat().st_size
    except OSError:
        return 0


def moves_in(repo: Repository, span: LogSpan) -> list[HeadMove]:
    """Return the moves of HEAD in a part of the reflog, oldest first.

    If the log was rewritten since that part began, return the moves since HEAD was last at its start.
    """
    try:
        with (repo.git_dir / "logs" / "HEAD").open("rb") as log:
            first = max(0, span.end - _LONGEST_BYTES)
            log.seek(first)
            data = log.read(span.end - first)
    except OSError:
        return []
    begin = -1 if span.begin is None else span.begin - first
    if 0 <= begin <= len(data) and (begin == 0 or data[begin - 1 :][:1] == b"\n"):
        return _parse(repo, data[begin:])
    moves = _parse(repo, data)
    came = [place for place, move in enumerate(moves) if move.new == span.start]
    return moves[came[-1] + 1 :] if came else []


def _parse(repo: Repository, data: bytes) -> list[HeadMove]:
    found = [match for line in data.split(b"\n") if (match := _MOVE.fullmatch(line)) is not None]
    return [_bounded(repo, _read(match)) for match in found]


def _read(match: re.Match[bytes]) -> HeadMove:
    old, new = match["old"].decode(), match["new"].decode()
    second = int(match["time"]) * _SECOND
    message = match["message"].decode(errors="replace")
    return HeadMove(old if old.strip("0") else None, new, message, second, second + _SECOND - 1)


def _bounded(repo: Repository, move: HeadMove) -> HeadMove:
    """Replace the time of a move by the time its commit was written, if that is a loose object."""
    if not move.makes_commit:
        return move
    try:
        written = (repo.common_dir / "objects" / move.new[:2] / move.new[2:]).stat().st_mtime_ns
    except OSError:
        return move
    return move._replace(first=written, last=written)


def moves_of_others(repo: Repository, run_id: str, span: LogSpan) -> list[tuple[HeadMove, Mover]]:
    """Return the moves of HEAD during a run that the run did not make. Raises GitError, OSError."""
    moves = moves_in(repo, span)
    if not moves:
        return []
    movers = attribute(moves, list_owners(repo, span.start), read_trace(repo), run_id)
    return [(move, mover) for move, mover in zip(moves, movers, strict=True) if mover is not Mover.RUN]


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
