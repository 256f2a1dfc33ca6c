"""Changes as pairs of trees: paths, diffs for people, moves of HEAD in them, and composing."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from git_blackbird.git.change.merging import merge_entries
from git_blackbird.git.core.process import operands, revisions
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import OURS, SUBMODULE, TreeEntry, TreeStore, parents
from git_blackbird.git.worktree.comparing import comparison
from git_blackbird.git.worktree.log import tree_of
from git_blackbird.model.base.system import tick_of
from git_blackbird.model.change.change import Contribution
from git_blackbird.model.run.commits import HeadMove
from git_blackbird.model.run.summary import WHOLE, Extent, Trees

_SKEW_NANOSECONDS = 2_000_000_000

Filter = Callable[[Iterator[bytes], Mapping[str, str]], Iterator[bytes]]
# What git paints of a diff, and how unless the user has chosen otherwise.
_COLORS = {"meta": "bold", "frag": "cyan", "old": "red", "new": "green"}

_CHUNK = 64 * 1024
# A plain patch with paths as they are, whatever the user configured for diffs.
_PLAIN = ("-c", "core.quotePath=false", "-c", "diff.suppressBlankEmpty=false")
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")
_PATCH = (*_PLAIN, "diff-tree", "-r", "-p", "--no-color", *_PREFIXES)


def changed_paths(repo: Repository, pair: Trees) -> frozenset[bytes]:
    return frozenset(TreeStore(repo).changed_paths(*pair))


def with_files_of(
    repo: Repository, tree: str, other: str, named: re.Pattern[str]
) -> tuple[str, tuple[str, ...]]:
    """Return a tree with the files that a pattern matches as another tree has them, and which these are."""
    trees = TreeStore(repo)
    paths = [path for path in trees.changed_paths(tree, other) if named.fullmatch(os.fsdecode(path))]
    edited = trees.edited(tree, {path: trees.entry(other, path) for path in paths})
    return edited, tuple(sorted(path.decode(errors="replace") for path in paths))


def files_before(repo: Repository, pair: Trees, began: int, now: int) -> frozenset[bytes]:
    """Return the added files of a change that were in the worktree already when it ``began``.

    They were ignored then, or in a repository of their own. Times are nanoseconds; nothing is known where
    the file system has another clock, or that clock was set back since. Call this right after the later
    snapshot.
    """
    try:
        behind = now - repo.private_dir.stat().st_ctime_ns
    except OSError:
        return frozenset()
    if began > now or not -_SKEW_NANOSECONDS < behind < _SKEW_NANOSECONDS:
        return frozenset()
    trees, found = TreeStore(repo), set[bytes]()
    for path in trees.changed_paths(*pair):
        if trees.entry(pair.base, path) is None:
            with contextlib.suppress(OSError):
                changed = (repo.top / os.fsdecode(path)).lstat().st_ctime_ns
                if changed + tick_of(changed) < began:
                    found.add(path)
    return frozenset(found)


def path_differs(repo: Repository, worktree_tree: str, pair: Trees) -> tuple[str, ...]:
    """Return the paths of a change that are not as it left them in another tree."""
    trees = TreeStore(repo)
    return tuple(
        path.decode(errors="replace")
        for path in sorted(trees.changed_paths(*pair))
        if trees.entry(worktree_tree, path) != trees.entry(pair.head, path)
    )


def without_paths(repo: Repository, pair: Trees, paths: Iterable[bytes]) -> Trees:
    trees = TreeStore(repo)
    return Trees(trees.edited(pair.base, {path: trees.entry(pair.head, path) for path in paths}), pair.head)


def _diff_command(repo: Repository, pair: Trees, *options: str) -> list[str]:
    compared = comparison(repo)
    verb = ("diff", *options, *compared.diff_options)
    return ["git", *compared.repo.git_options, *verb, *revisions(*pair), *operands()]


def show_diff(repo: Repository, pair: Trees, harmless: Filter | None = None) -> int:
    """Show the diff; to people in the user's colours, painted by ``harmless``, on a terminal in their pager.

    Where programs may read it, print the plain patch. Return git's exit status, or 128 and the signal's
    number, as for Ctrl+C in the pager.
    """
    # It is shown on a terminal, in a pager that git started, or coloured.
    is_read = sys.stdout.isatty() or repo.is_in_pager or _is_colored(repo)
    if harmless is not None and is_read:
        return _page_diff(repo, pair, harmless)
    command = _diff_command(repo, pair)
    with subprocess.Popen(command, cwd=repo.top, env=repo.git_environ) as process:
        while True:
            # Ctrl+C belongs to the pager while it runs.
            with contextlib.suppress(KeyboardInterrupt):
                status = process.wait()
                return status if status >= 0 else 128 - status


def _page_diff(repo: Repository, pair: Trees, harmless: Filter) -> int:
    from git_blackbird.git.core.user_programs import page, pager_command  # programs read without them

    command = _diff_command(repo, pair, "--color=never")
    # In its own group, so that Ctrl+C in the pager does not reach git.
    with subprocess.Popen(
        command, cwd=repo.top, env=repo.git_environ, stdout=subprocess.PIPE, process_group=0
    ) as process:
        assert process.stdout is not None  # noqa: S101  # a pipe was asked for
        pieces = iter(partial(process.stdout.read, _CHUNK), b"")
        pager = pager_command(repo, "diff") if sys.stdout.isatty() else None
        page(repo, pager or "cat", harmless(pieces, diff_colors(repo)))
        process.stdout.close()
        status = process.wait()
    # Leaving the pager early is no error.
    return 0 if status == -signal.SIGPIPE else status if status >= 0 else 128 - status


def diff_colors(repo: Repository) -> Mapping[str, str]:
    """Return what begins each of git's colours; none where standard output is not coloured."""
    if not _is_colored(repo):
        return {}
    # Unlike --get-color, this ends with a line break.
    asked = ("config", "--type=color")
    return {
        slot: repo.git(*asked, f"--default={color}", "--get", *operands(f"color.diff.{slot}")).answer()
        for slot, color in _COLORS.items()
    }


def _is_colored(repo: Repository) -> bool:
    in_pager = ("config", "--type=bool", "--get", "color.pager")
    if repo.is_in_pager and repo.git(*in_pager, check=False).answer_if_any() == "false":
        return False
    is_terminal = "true" if sys.stdout.isatty() else "false"
    asked = ("config", "--get-colorbool", "color.diff", is_terminal)
    return repo.git(*asked, check=False).answer_if_any() == "true"


def diff_text(repo: Repository, pair: Trees, extent: Extent = WHOLE) -> bytes:
    """Return the diff as a patch, unaffected by the user's configuration. Raises GitError."""
    paths = [f":(literal){path}" for path in extent.paths]
    options = ["-M", f"--unified={extent.context}", *(["--ignore-all-space"] if extent.ignores_space else [])]
    compared = comparison(repo)
    command = (*_PATCH, *compared.diff_options, *options, *revisions(*pair), *operands(*paths))
    return compared.repo.git(*command).whole(b"\n")


class Carrier:
    """Apply the changes of commits to trees that were recorded before them."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._trees = TreeStore(repo)
        self._empty = self._trees.save({})

    def changed_by(self, old: str | None, new: str) -> frozenset[bytes]:
        """Return every path that a move of HEAD changed. Raises UnusableError."""
        return frozenset(self._trees.changed_paths(self._tree(old), self._tree(new)))

    def carry(self, base: str, head: str, move: HeadMove, only: Iterable[bytes] | None = None) -> str:
        """Return ``base`` with the changes of a move of HEAD applied.

        Other edits in ``base`` stay, merged as git does; on a conflict the move's version wins. A reset may
        leave the worktree alone, so it counts only where ``head`` followed it. With ``only``, other paths
        stay unchanged. Raises UnusableError.
        """
        old, new = self._tree(move.old), self._tree(move.new)
        edits: dict[bytes, TreeEntry | None] = {}
        both: dict[bytes, tuple[TreeEntry | None, ...]] = {}
        wanted = None if only is None else frozenset(only)
        for path in self._trees.changed_paths(old, new):
            before, parent, now = (self._trees.entry(tree, path) for tree in (base, old, new))
            if before == now or (wanted is not None and path not in wanted):
                continue
            if move.is_reset and self._trees.entry(head, path) != now:
                continue
            edits[path] = now
            if before != parent:
                both[path] = parent, before, now
        edits |= merge_entries(self._repo, self._trees, both)
        return self._trees.edited(base, edits) if edits else base

    def carry_into(self, pair: Trees, move: HeadMove) -> Trees:
        """Return a change with the effect of a later move of HEAD at its paths.

        A path that the move left as the change did was committed from it, and stays unchanged.
        """
        new = self._tree(move.new)
        paths = [
            path
            for path in self._trees.changed_paths(*pair)
            if self._trees.entry(pair.head, path) != self._trees.entry(new, path)
        ]
        base, head = (self.carry(tree, pair.head, move, paths) for tree in pair)
        return Trees(base, head)

    def _tree(self, commit: str | None) -> str:
        if commit is None:
            return self._empty
        return self._trees.without(tree_of(self._repo, commit), OURS)


def submodule_sides(
    trees: TreeStore, pair: Trees
) -> Iterator[tuple[bytes, tuple[TreeEntry | None, TreeEntry | None]]]:
    """Return the paths that are a submodule on a side, with both sides; None for a side that is none."""
    for path in sorted(trees.changed_paths(*pair)):
        sides = trees.entry(pair.base, path), trees.entry(pair.head, path)
        if any(side is not None and side.mode == SUBMODULE for side in sides):
            before, after = (side if side is not None and side.mode == SUBMODULE else None for side in sides)
            yield path, (before, after)


@dataclass(frozen=True)
class _NetChange:
    """One path over several runs: the numbers of the first and last that touched it, and both ends."""

    first: int
    last: int
    before: TreeEntry | None
    after: TreeEntry | None


def compose(repo: Repository, contributions: Sequence[Contribution]) -> Trees:
    """Return the trees of a change, without what others committed during or between its runs.

    Only paths that a run touched are included. Raises ValueError without a contribution, UnusableError.
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
