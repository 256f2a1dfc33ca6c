"""Plan the commit of exactly one change and find what prevents it; read a commit's change."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.process import operands
from git_blackbird.git.core.repository import Head, Repository, head
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore
from git_blackbird.git.worktree.index import IndexState, private_index, read_index_state
from git_blackbird.git.worktree.log import commits_in_head, find_tree, tree_of
from git_blackbird.model.base.sanitize import shell_word

# The process that makes commits needs no models, which take longer to load than all else in it.
if TYPE_CHECKING:
    from git_blackbird.model.run.summary import Trees


class _Operation(NamedTuple):
    """An unfinished git operation, such as a merge, and the command that ends it."""

    description: str
    hint: str


def _stepwise(*verbs: str) -> _Operation:
    named = " or ".join(verb if verb != "am" else "`git am`" for verb in verbs)
    commands = (f"`git {verb} --continue` or `git {verb} --abort`" for verb in verbs)
    return _Operation(f"a {named} is in progress", f"finish or abort it first ({', '.join(commands)})")


_UNDER_WAY = {
    "MERGE_HEAD": _stepwise("merge"),
    "rebase-merge": _stepwise("rebase"),
    "rebase-apply": _stepwise("rebase", "am"),
    "CHERRY_PICK_HEAD": _stepwise("cherry-pick"),
    "REVERT_HEAD": _stepwise("revert"),
    "sequencer": _stepwise("cherry-pick", "revert"),
    "BISECT_LOG": _Operation("a bisect is in progress", "end it first (`git bisect reset`)"),
    "SQUASH_MSG": _Operation("a squash merge waits for its commit", "commit it first (`git commit`)"),
    "MERGE_MSG": _Operation("a prepared message waits for its commit", "commit it first (`git commit`)"),
}
# What this program writes at any time; git aborts nothing that staged it while the file is another.
_PLAN = b"blackbird.plan.json"
_RESOLVE = "resolve what is in conflict first (`git status` names it)"
_CLEAR_FLAGS = "clear these flags with the commands above first"
_MOVED_ON = "HEAD has changed this file since the change began"
EDITED_BEFORE = "this file had uncommitted edits, or HEAD has moved"
_STAGED = "other content is staged for it"
_EDITED_LATER = "it was edited after the run, by hand or by another task"
COMMIT_EDITS_FIRST = "commit your own edits from before the run by themselves first (`git commit -p`)"
_HINTS = {
    EDITED_BEFORE: COMMIT_EDITS_FIRST,
    _STAGED: "unstage what is staged there",
}
_IN_THE_WAY = "{} has it, and it conflicts with a path of the change"


class ChangeOrigin(NamedTuple):
    """The commit at HEAD when work on a change began, and the commits that its runs made themselves.

    ``run_trees`` are the trees of every run since then, of any task, oldest first.
    """

    began: str | None = None
    commits: frozenset[str] = frozenset()
    run_trees: tuple["Trees", ...] = ()


_UNKNOWN_ORIGIN = ChangeOrigin()


class LaterEdit(NamedTuple):
    """A path of a change that was edited after it: whether the change has a file there, and the worktree."""

    path: bytes
    in_change: bool
    in_worktree: bool


@dataclass(frozen=True)
class CommitPlan:
    """A commit that would bring a change into HEAD and nothing else.

    ``base_tree`` is the tree of HEAD, ``tree`` that of the commit, ``edits`` the paths still to be committed,
    without those that HEAD has already. With ``obstacles`` the commit must not be made; ``hint`` says how
    to remove those that are no ``later_edits``; ``edited_before`` are the paths that ``COMMIT_EDITS_FIRST``
    is about. ``has_moved_on``: HEAD has a version of its own at one of the paths, so that no commit can hold
    exactly the change any more. ``in_progress``: git is in the middle of a merge or the like.
    """

    head: Head
    base_tree: str
    tree: str
    edits: Mapping[bytes, TreeEntry | None]
    obstacles: tuple[str, ...] = ()
    hint: str | None = None
    has_moved_on: bool = False
    later_edits: tuple[LaterEdit, ...] = ()
    edited_before: tuple[bytes, ...] = ()
    in_progress: bool = False


def plan_commit(
    repo: Repository, pair: "Trees", worktree: str, origin: ChangeOrigin = _UNKNOWN_ORIGIN
) -> CommitPlan:
    """Plan the commit of a change, given a fresh snapshot; write only objects. Raises UnusableError."""
    at, trees = head(repo), TreeStore(repo)
    base_tree = trees.save({}) if at.commit is None else tree_of(repo, at.commit)
    with private_index(repo, "plan") as index:
        staged = read_index_state(repo, index)
    began = origin.began
    began_tree = None if began is None else find_tree(repo, began)
    own = commits_in_head(repo, origin.commits, began)
    own_tree = tree_of(repo, own[0][0]) if own else None
    compared = _Comparison(trees, pair, base_tree, worktree, staged, began_tree, own_tree, origin.run_trees)
    changed = sorted(trees.changed_paths(*pair))
    edits = {path: trees.entry(pair.head, path) for path in changed if not compared.is_in_head(path)}
    whys = {path: why for path in edits if (why := compared.obstacle(path)) is not None}
    named = whys | dict.fromkeys(_displaced(trees, base_tree, edits), _IN_THE_WAY.format("HEAD"))
    if staged.tree is not None:
        displaced = _displaced(trees, trees.edited(staged.tree, staged.intended), edits)
        named = dict.fromkeys(displaced, _IN_THE_WAY.format("the index")) | named
    reasons = [*((path, "it is in conflict") for path in staged.unmerged), *sorted(named.items())]
    obstacles = [f"{path.decode(errors='replace')}: {why}" for path, why in reasons]
    hint = compared.hint(whys)
    # One operation can leave several traces; the first match is the most specific.
    under_way = (operation for name, operation in _UNDER_WAY.items() if (repo.git_dir / name).exists())
    if (operation := next(under_way, None)) is not None:
        obstacles.insert(0, operation.description)
        is_staged = staged.entries.get(_PLAN) != trees.entry(base_tree, _PLAN)
        hint = _abortable(repo, operation.hint, is_staged=is_staged)
    return CommitPlan(
        at,
        base_tree,
        trees.edited(base_tree, edits),
        edits,
        tuple(obstacles),
        hint,
        has_moved_on=_MOVED_ON in whys.values(),
        later_edits=tuple(
            LaterEdit(path, edits[path] is not None, trees.entry(worktree, path) is not None)
            for path, why in whys.items()
            if why == _EDITED_LATER
        ),
        edited_before=tuple(path for path, why in whys.items() if why == EDITED_BEFORE),
        in_progress=operation is not None,
    )


def _displaced(trees: TreeStore, tree: str, edits: Mapping[bytes, TreeEntry | None]) -> set[bytes]:
    """Return the paths lost to a file that replaces a folder or lies below a replaced file."""
    return {*trees.changed_paths(tree, trees.edited(tree, edits))} - edits.keys()


def _abortable(repo: Repository, hint: str, *, is_staged: bool) -> str:
    """Let a hint work where the operation staged the plan, which has been written since."""
    name = os.fsdecode(_PLAN)
    if not is_staged or not repo.git("diff-files", "--quiet", *operands(name), check=False).code:
        return hint
    return re.sub(r"`(git [a-z-]+ --abort)`", rf"`git add :/{name} && \1`", hint)


@dataclass(frozen=True)
class _Comparison:
    """HEAD, the index and the worktree against a change, path by path.

    ``own_tree`` is the tree of the newest commit in HEAD that a run of the change made itself.
    """

    trees: TreeStore
    pair: "Trees"
    base_tree: str
    worktree: str
    staged: IndexState
    began_tree: str | None
    own_tree: str | None
    run_trees: Sequence["Trees"]

    def is_in_head(self, path: bytes) -> bool:
        """Whether HEAD has the change at this path, or a later run's version of it."""
        after = self.trees.entry(self.pair.head, path)
        versions = self.versions_since_head(path)
        return self.trees.entry(self.base_tree, path) == after or (bool(versions) and after not in versions)

    def versions_since_head(self, path: bytes) -> list[TreeEntry | None]:
        """Return the versions of ``path`` that runs left, in order, starting with HEAD's.

        The first candidate is the version before the change. Returns nothing if HEAD has none of them.
        """
        versions, now = [self.trees.entry(self.pair.base, path)], self.trees.entry(self.base_tree, path)
        for run_pair in self.run_trees:
            # The trees of a run may be gone.
            with suppress(UnusableError):
                if self.trees.entry(run_pair.base, path) == versions[-1]:
                    versions.append(self.trees.entry(run_pair.head, path))
        is_known = now in versions and self.trees.entry(self.pair.head, path) in versions
        return versions[versions.index(now) :] if is_known else []

    def obstacle(self, path: bytes) -> str | None:
        """Return why this path cannot be committed, or None."""
        sides = (self.pair.base, self.base_tree, self.pair.head)
        before, now, after = (self.trees.entry(tree, path) for tree in sides)
        modes = {None if entry is None else entry.mode for entry in (before, now, after)}
        if SUBMODULE in modes and modes != {SUBMODULE}:
            return "it is or was a separate repository"
        began = None if self.began_tree is None else self.trees.entry(self.began_tree, path)
        # Where nobody's edits were in the file, what a run committed itself is a part of its change.
        is_own = (
            before == began and self.own_tree is not None and self.trees.entry(self.own_tree, path) == now
        )
        if now != before and not is_own and not self.versions_since_head(path):
            return _MOVED_ON if self.began_tree is not None and began != now else EDITED_BEFORE
        in_index = self.staged.entries.get(path)
        if in_index not in {now, after}:
            return _STAGED
        if in_index != after and (flags := self.flags(path)):
            return flags
        return _EDITED_LATER if self.trees.entry(self.worktree, path) != after else None

    def flags(self, path: bytes) -> str | None:
        """Describe the flags that make git ignore changes at this path, and the command that clears them."""
        tag = self.staged.tags.get(path, b"")
        # A sparse checkout sets the same flag as `git update-index --skip-worktree`.
        flags = {"skip-worktree": tag.upper() == b"S", "assume-unchanged": tag.islower()}
        names = [flag for flag, is_set in flags.items() if is_set]
        if not names:
            return None
        word = shell_word(path.decode(errors="replace"))
        command = " && ".join(f"git update-index --no-{name} {word}" for name in names)
        return f"it is marked as {' and '.join(names)}; to clear that: {command}"

    def hint(self, whys: Mapping[bytes, str]) -> str | None:
        """Return the way out of obstacles that are no later edits."""
        if self.staged.unmerged:
            return _RESOLVE
        hints = [hint for reason, hint in _HINTS.items() if reason in whys.values()]
        if any(why == self.flags(path) for path, why in whys.items()):
            hints.append(_CLEAR_FLAGS)
        return ", ".join(hints) or None
