"""What lies between snapshots: paths, the change of several runs, and how to see it."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from git_blackbird.git.pager import page, pager_command
from git_blackbird.git.program import operands, revisions
from git_blackbird.git.repository import Repository
from git_blackbird.git.summary import summarize
from git_blackbird.git.trees import Entry, Trees, parents
from git_blackbird.model.change import TreePair

__all__ = [
    "compose",
    "diff_args",
    "diff_text",
    "differs",
    "diverged_paths",
    "entry",
    "show_diff",
    "summarize",
    "touched",
]

Filter = Callable[[Iterator[bytes]], Iterator[bytes]]

_CHUNK = 64 * 1024
# The plain patch, whatever the user configured for looking at diffs.
PATCH = ("diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True)
class _NetChange:
    """One path over several legs: the numbers of the first and last that touched it, and both ends."""

    first: int
    last: int
    before: Entry | None
    after: Entry | None


def touched(repo: Repository, pair: TreePair) -> frozenset[bytes]:
    """Give every path at which the two trees differ, both sides of a rename included."""
    return frozenset(Trees(repo).touched(pair.base, pair.head))


def entry(repo: Repository, tree: str, path: bytes) -> Entry | None:
    """Give mode and object id of what ``tree`` holds at ``path``; None for nothing or a directory."""
    return Trees(repo).entry(tree, path)


def diverged_paths(repo: Repository, worktree_tree: str, pair: TreePair) -> Iterator[bytes]:
    """Give, in order, the paths at which the worktree no longer holds what the change left there.

    ``worktree_tree`` is a fresh snapshot.
    """
    trees = Trees(repo)
    for path in sorted(trees.touched(pair.base, pair.head)):
        if trees.entry(worktree_tree, path) != trees.entry(pair.head, path):
            yield path


def differs(repo: Repository, worktree_tree: str, pair: TreePair) -> tuple[str, ...]:
    """Name the same paths as text."""
    return tuple(path.decode(errors="replace") for path in diverged_paths(repo, worktree_tree, pair))


def compose(repo: Repository, legs: Sequence[TreePair]) -> TreePair:
    """Make one pair of trees of the legs of a task, oldest first: the *change* of DESIGN.md 2.

    Per path, the base of the first leg that touched it against the head of the last that did. A path that a
    later leg met as it was before the first, and that no leg touched after that, was undone by someone and is
    no part of it. Everything else is in both trees as the last head has it, less what could not lie beside a
    file of the change. Raises ValueError without legs.
    """
    if not legs:
        raise ValueError("a change has at least one leg")
    if len(legs) == 1:
        return legs[0]
    trees = Trees(repo)
    net = _net_changes(trees, legs)
    oldest_first = sorted(net.items(), key=lambda item: item[1].first)
    newest_first = sorted(net.items(), key=lambda item: -item[1].last)
    before = _placed((path, change.before) for path, change in oldest_first)
    after = _placed((path, change.after) for path, change in newest_first)
    return _pair_over(trees, legs[-1].head, before, after)


def _net_changes(trees: Trees, legs: Sequence[TreePair]) -> dict[bytes, _NetChange]:
    """Give what the legs together did to each path, less what came to nothing and what someone undid."""
    first: dict[bytes, int] = {}
    last: dict[bytes, int] = {}
    for index, leg in enumerate(legs):
        for path in trees.touched(leg.base, leg.head):
            first.setdefault(path, index)
            last[path] = index
    net: dict[bytes, _NetChange] = {}
    for path in sorted(first):
        before = trees.entry(legs[first[path]].base, path)
        after = trees.entry(legs[last[path]].head, path)
        is_undone = any(trees.entry(leg.base, path) == before for leg in legs[last[path] + 1 :])
        if before != after and not is_undone:
            net[path] = _NetChange(first[path], last[path], before, after)
    return net


def _placed(entries: Iterable[tuple[bytes, Entry | None]]) -> dict[bytes, Entry | None]:
    """Keep what can lie in one tree: of a file and something below a directory of its name, the earlier."""
    placed: dict[bytes, Entry | None] = {}
    files: set[bytes] = set()
    directories: set[bytes] = set()
    for path, found in entries:
        above = list(parents(path))
        if found is None or path in directories or not files.isdisjoint(above):
            placed[path] = None
            continue
        placed[path] = found
        files.add(path)
        directories.update(above)
    return placed


def _pair_over(
    trees: Trees,
    context: str,
    before: Mapping[bytes, Entry | None],
    after: Mapping[bytes, Entry | None],
) -> TreePair:
    """Write both trees over one context, from which goes what only one of the two could hold."""
    pair = TreePair(trees.edited(context, before), trees.edited(context, after))
    strangers = set(trees.touched(pair.base, pair.head)) - before.keys()
    if not strangers:
        return pair
    cleared = trees.edited(context, dict.fromkeys(strangers))
    return TreePair(trees.edited(cleared, before), trees.edited(cleared, after))


def diff_args(pair: TreePair) -> list[str]:
    """Give the arguments of the git command that shows the whole diff as the user likes diffs shown."""
    return ["diff", *revisions(*pair), *operands()]


def show_diff(repo: Repository, pair: TreePair, harmless: Filter | None = None) -> int:
    """Show the whole diff in the user's colours; on a terminal through ``harmless`` and the user's pager.

    Elsewhere it is the patch as it is. Gives git's exit status; 128 and the signal's number when one ended
    it, as Ctrl+C in the pager does.
    """
    if harmless is not None and sys.stdout.isatty():
        return _page_diff(repo, pair, harmless)
    command = ["git", *repo.git_options, *diff_args(pair)]
    with subprocess.Popen(command, cwd=repo.top, env=repo.git_environ) as process:
        while True:
            # Ctrl+C belongs to the pager as long as it is up.
            with contextlib.suppress(KeyboardInterrupt):
                status = process.wait()
                return status if status >= 0 else 128 - status


def _page_diff(repo: Repository, pair: TreePair, harmless: Filter) -> int:
    verb, *rest = diff_args(pair)
    color = repo.git("config", "--get-colorbool", "color.diff", "true", check=False).out.strip() == b"true"
    command = ["git", *repo.git_options, verb, f"--color={'always' if color else 'never'}", *rest]
    # In a group of its own: Ctrl+C in the pager is none of git's.
    with subprocess.Popen(
        command, cwd=repo.top, env=repo.git_environ, stdout=subprocess.PIPE, process_group=0
    ) as process:
        assert process.stdout is not None  # noqa: S101  # a pipe was asked for
        page(repo, pager_command(repo, "diff") or "cat", harmless(_pieces(process.stdout)))
        process.stdout.close()
        status = process.wait()
    # Who leaves the pager before the end has seen what they wanted.
    return 0 if status == -signal.SIGPIPE else status if status >= 0 else 128 - status


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while data := stream.read(_CHUNK):
        yield data


def diff_text(repo: Repository, pair: TreePair) -> bytes:
    """Give the whole diff as a patch, untouched by the user's configuration. Raises GitError."""
    return repo.git(*PATCH, "-M", *revisions(*pair), *operands()).out
