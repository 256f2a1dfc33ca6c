"""Compose the change of a task from what its runs did, and take parts of it."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from git_blackbird.errors import RequestError
from git_blackbird.git.change.changes import Carrier
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeEntry, TreeStore, parents
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.change.change import Contribution
from git_blackbird.model.run.summary import Trees


@dataclass(frozen=True)
class _NetChange:
    """One path over several runs: the numbers of the first and last that touched it, and both ends."""

    first: int
    last: int
    before: TreeEntry | None
    after: TreeEntry | None


def compose(repo: Repository, contributions: Sequence[Contribution]) -> Trees:
    """Return the trees of a change, without what others committed during or between its runs.

    Only at paths that a run touched, so that composing them leaves out what came from elsewhere. Raises
    ValueError without a contribution, UnusableError.
    """
    carrier = Carrier(repo)
    pairs: list[Trees] = []
    for pair, moves in contributions:
        for move in moves:
            pair = carrier.carry_into(pair, move)  # noqa: PLW2901  # step by step
        pairs.append(pair)
    return compose_trees(repo, pairs)


def compose_trees(repo: Repository, pairs: Sequence[Trees]) -> Trees:
    """Combine the runs of a task, oldest first, to one pair of trees: its change.

    Per path, take the base of the first run that touched it and the head of the last. A path that a later run
    found as it was before the first, and that no run touched after that, was undone by someone and is left
    out. Both trees share everything else with the last head, except what conflicts with a file of the change.
    Raises ValueError without runs.
    """
    if not pairs:
        raise ValueError("a change has at least one run")
    if len(pairs) == 1:
        return pairs[0]
    trees = TreeStore(repo)
    net = _net_changes(trees, pairs)
    oldest_first = sorted(net.items(), key=lambda item: item[1].first)
    newest_first = sorted(net.items(), key=lambda item: -item[1].last)
    before = _without_clashes((path, change.before) for path, change in oldest_first)
    after = _without_clashes((path, change.after) for path, change in newest_first)
    return _pair_over(trees, pairs[-1].head, before, after)


def _net_changes(trees: TreeStore, pairs: Sequence[Trees]) -> dict[bytes, _NetChange]:
    """Return the net effect of the runs on each path, without what was undone."""
    first: dict[bytes, int] = {}
    last: dict[bytes, int] = {}
    for index, pair in enumerate(pairs):
        for path in trees.changed_paths(*pair):
            first.setdefault(path, index)
            last[path] = index
    net: dict[bytes, _NetChange] = {}
    for path in sorted(first):
        before = trees.entry(pairs[first[path]].base, path)
        after = trees.entry(pairs[last[path]].head, path)
        is_undone = any(trees.entry(pair.base, path) == before for pair in pairs[last[path] + 1 :])
        if before != after and not is_undone:
            net[path] = _NetChange(first[path], last[path], before, after)
    return net


def _without_clashes(entries: Iterable[tuple[bytes, TreeEntry | None]]) -> dict[bytes, TreeEntry | None]:
    """Drop conflicts between a file and something below a directory of its name; the earlier stays."""
    placed: dict[bytes, TreeEntry | None] = {}
    files: set[bytes] = set()
    directories: set[bytes] = set()
    for path, side in entries:
        above = list(parents(path))
        if side is None or path in directories or not files.isdisjoint(above):
            placed[path] = None
            continue
        placed[path] = side
        files.add(path)
        directories.update(above)
    return placed


def _pair_over(
    trees: TreeStore,
    context: str,
    before: Mapping[bytes, TreeEntry | None],
    after: Mapping[bytes, TreeEntry | None],
) -> Trees:
    """Write both trees over a common context, without entries that only one of them could hold."""
    pair = Trees(trees.edited(context, before), trees.edited(context, after))
    strangers = set(trees.changed_paths(*pair)) - before.keys()
    if not strangers:
        return pair
    cleared = trees.edited(context, dict.fromkeys(strangers))
    return Trees(trees.edited(cleared, before), trees.edited(cleared, after))


def limited_to(repo: Repository, pair: Trees, only: Iterable[str]) -> Trees:
    """Return a change at some files and folders alone. Raises RequestError for a path it does not change."""
    carrier = Carrier(repo)
    changed = carrier.changed_paths(*pair)
    left = set(changed)
    for name in only:
        path = b"" if name == "." else os.fsencode(name) + b"/"
        named = {each for each in changed if (each + b"/").startswith(path)}
        if not named:
            raise RequestError(
                f"the change has no file {quoted(name)}", hint="`git blackbird runs TASK` names its files"
            )
        left -= named
    return carrier.without(pair, left)


def paths_outside(repo: Repository, whole: Trees, part: Trees) -> tuple[str, ...]:
    """Return the paths of a change that are not in a part of it."""
    if whole == part:
        return ()
    carrier = Carrier(repo)
    left = carrier.changed_paths(*whole) - carrier.changed_paths(*part)
    return tuple(path.decode(errors="replace") for path in sorted(left))


def rename_halves(repo: Repository, whole: Trees, left_out: Collection[str]) -> dict[str, str]:
    """Return each path left out of a change that is half of a rename, with the other half, which is in it."""
    changes = summarize(repo, whole).changes
    pairs = [(change.old_path, change.path) for change in changes if change.old_path is not None]
    both = [*pairs, *((new, old) for old, new in pairs)]
    return {path: other for path, other in both if path in left_out and other not in left_out}
