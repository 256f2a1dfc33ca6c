"""What a commit of exactly one change would be, and what stands in its way (DESIGN.md 10)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from git_blackbird.git.commit_log import find_commit
from git_blackbird.git.private_index import private_index
from git_blackbird.git.program import revisions
from git_blackbird.git.repository import Head, Repository, head
from git_blackbird.git.staged import Staged, read_staged
from git_blackbird.git.trees import SUBMODULE, Entry, Trees
from git_blackbird.model.change import TreePair
from git_blackbird.model.text import shell_word


class _Operation(NamedTuple):
    """What git is in the middle of, and how it is ended."""

    said: str
    way: str


def _stepwise(*verbs: str) -> _Operation:
    named = " or ".join(verb if verb != "am" else "`git am`" for verb in verbs)
    ways = (f"`git {verb} --continue` or `git {verb} --abort`" for verb in verbs)
    return _Operation(f"a {named} is in progress", f"finish or abort it first ({', '.join(ways)})")


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
_RESOLVE = "resolve what is in conflict first (`git status` names it)"
_CLEAR_FLAGS = "clear these flags with the commands above first"
_MOVED_ON = "HEAD has moved on for this file since the change began"
_IN_THE_WAY = "{} has it, and it conflicts with a path of the change"


@dataclass(frozen=True)
class CommitPlan:
    """A commit that would bring a change into HEAD and nothing else.

    ``base_tree`` is what HEAD holds now, ``tree`` what the commit would hold, ``edits`` the paths that are
    still to be committed; what HEAD has already is none of them. With ``obstacles`` it must not be made;
    ``way`` says how they go, None where they are edits of the user's. ``has_moved_on``: HEAD gained a
    version of its own at one of the paths, and no commit can hold exactly the change any more.
    """

    head: Head
    base_tree: str
    tree: str
    edits: Mapping[bytes, Entry | None]
    obstacles: tuple[str, ...] = ()
    way: str | None = None
    has_moved_on: bool = False


def plan_commit(repo: Repository, pair: TreePair, worktree: str, began: str | None = None) -> CommitPlan:
    """See what a commit of the change ``pair`` would be; writes nothing but objects.

    ``worktree`` is a fresh snapshot, ``began`` the commit that HEAD named when work on the change began.
    Raises UnusableError when the repository cannot be read.
    """
    at = head(repo)
    trees = Trees(repo)
    base_tree = trees.save({}) if at.commit is None else tree_of(repo, at.commit)
    with private_index(repo, "plan") as index:
        staged = read_staged(repo, index)
    began_tree = None if began is None or find_commit(repo, began) is None else tree_of(repo, began)
    planning = _Planning(trees, pair, base_tree, worktree, staged, began_tree)
    operation = _under_way(repo)
    said, way = ((operation.said,), operation.way) if operation else ((), planning.way())
    return CommitPlan(
        at,
        base_tree,
        planning.tree,
        planning.edits,
        (*said, *planning.obstacles()),
        way,
        planning.has_moved_on(),
    )


def tree_of(repo: Repository, commit: str) -> str:
    """Give the tree of a commit, as git sees it. Raises GitError."""
    return repo.git("rev-parse", "--verify", *revisions(f"{commit}^{{tree}}")).out.decode().strip()


def _under_way(repo: Repository) -> _Operation | None:
    # One operation leaves several traces; the first tells it best.
    return next((one for name, one in _UNDER_WAY.items() if (repo.git_dir / name).exists()), None)


@dataclass(frozen=True)
class _Planning:
    """The three places a path can be in, and what the change says of it."""

    trees: Trees
    pair: TreePair
    base_tree: str
    worktree: str
    staged: Staged
    began_tree: str | None

    @cached_property
    def edits(self) -> Mapping[bytes, Entry | None]:
        """The change, less what HEAD has already."""
        after = {
            path: self.after(path) for path in sorted(self.trees.touched(self.pair.base, self.pair.head))
        }
        return {path: entry for path, entry in after.items() if self.now(path) != entry}

    @cached_property
    def tree(self) -> str:
        """HEAD's tree with the change in it."""
        return self.trees.edited(self.base_tree, self.edits)

    def after(self, path: bytes) -> Entry | None:
        """What the change leaves at ``path``."""
        return self.trees.entry(self.pair.head, path)

    def now(self, path: bytes) -> Entry | None:
        """What HEAD has at ``path``."""
        return self.trees.entry(self.base_tree, path)

    def obstacles(self) -> Iterator[str]:
        """Name each path at which someone else's work would be touched, and why it would."""
        yield from (_said(path, "it is in conflict") for path in self.staged.unmerged)
        found = {path: reason for path in self.edits if (reason := self.obstacle(path)) is not None}
        found |= dict.fromkeys(self.displaced(self.base_tree), _IN_THE_WAY.format("HEAD"))
        if self.staged.tree is not None:
            listed = self.trees.edited(self.staged.tree, self.staged.intended)
            displaced = self.displaced(listed)
            found = dict.fromkeys(displaced, _IN_THE_WAY.format("the index")) | found
        yield from (_said(path, found[path]) for path in sorted(found))

    def way(self) -> str | None:
        """Say how the obstacles go where committing or unstaging edits is of no use."""
        if self.staged.unmerged:
            return _RESOLVE
        marked = [path for path in self.edits if (why := self.kept_back(path)) and self.obstacle(path) == why]
        return _CLEAR_FLAGS if marked and len(marked) == len(list(self.obstacles())) else None

    def kept_back(self, path: bytes) -> str | None:
        """Say which marks keep git from looking at this path."""
        return _kept_back(path, self.staged.tags.get(path, b""))

    def has_moved_on(self) -> bool:
        """Whether HEAD gained a version of its own at a path of the change."""
        return any(self.obstacle(path) == _MOVED_ON for path in self.edits)

    def moved_on(self, path: bytes) -> bool:
        """Whether HEAD has another version than when the change began; else it differed by edits then."""
        return self.began_tree is not None and self.trees.entry(self.began_tree, path) != self.now(path)

    def obstacle(self, path: bytes) -> str | None:
        """Say why this path cannot be committed; None when it can."""
        before, now, after = self.trees.entry(self.pair.base, path), self.now(path), self.after(path)
        if any(entry is not None and entry.mode == SUBMODULE for entry in (before, now, after)):
            return "it is or was a separate repository"
        if now != before:
            return _MOVED_ON if self.moved_on(path) else "this file had uncommitted edits, or HEAD has moved"
        in_index = self.staged.entries.get(path)
        if in_index not in {now, after}:
            return "other content is staged for it"
        if in_index != after and (kept_back := self.kept_back(path)):
            return kept_back
        if self.trees.entry(self.worktree, path) != after:
            return "it was edited after the run, by hand or by another task"
        return None

    def displaced(self, tree: str) -> set[bytes]:
        """Give what a tree would lose beside the change: a file where a folder is to be, or below a file."""
        touched = set(self.trees.touched(tree, self.trees.edited(tree, self.edits)))
        return touched - self.edits.keys()


def _kept_back(path: bytes, tag: bytes) -> str | None:
    """Say which flags keep git from looking at a file, and the command that clears them."""
    # A sparse checkout sets the same mark as a person does by `git update-index --skip-worktree`.
    marks = {"skip-worktree": tag.upper() == b"S", "assume-unchanged": tag.islower()}
    found = [mark for mark, is_set in marks.items() if is_set]
    if not found:
        return None
    name = shell_word(path.decode(errors="replace"))
    way = " && ".join(f"git update-index --no-{mark} {name}" for mark in found)
    return f"it is marked as {' and '.join(found)}; to clear that: {way}"


def _said(path: bytes, reason: str) -> str:
    return f"{path.decode(errors='replace')}: {reason}"
