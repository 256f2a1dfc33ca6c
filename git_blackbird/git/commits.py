"""Making the commit of a change through git itself, and bringing the user's index along (DESIGN.md 10)."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.commit_plan import CommitPlan, tree_of
from git_blackbird.git.private_index import private_index, replace_index, writing
from git_blackbird.git.private_objects import publish
from git_blackbird.git.program import Completed, operands, revisions, run_for_user, run_git
from git_blackbird.git.repository import Repository
from git_blackbird.git.staged import Staged, read_staged
from git_blackbird.git.trees import Entry, Trees

MAX_WORDS_LINES = 20
MAX_OUTPUT_LINES = 200
# What is wrong with the identity, the signature or the repository is another status: 128.
_REFUSED_BY_HOOK = 1
_TAKEN_BACK = "blackbird: take back a commit made beside another"
_SUMMARY = re.compile(rb"\[[^\n]* ([0-9a-f]{4,40})\] ")
# Titles may begin with `#`, and the message is text of ours, whatever the user's commits are kept in.
_COMMIT = (
    # What watches the worktree knows nothing of the private index.
    "-c",
    "core.fsmonitor=false",
    "-c",
    "i18n.commitEncoding=UTF-8",
    "commit",
    "--cleanup=whitespace",
)


class CommitRefusedError(UnusableError):
    """Git, a hook or the signing program did not let the commit be made; ``words`` are what they said."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class HookRefusedError(CommitRefusedError):
    """A hook of the user's refused the commit; ``output`` has more lines of what it said than ``words``."""

    def __init__(self, words: str, output: str) -> None:
        super().__init__(words)
        self.output = output


class IndexMoveError(UnusableError):
    """The entries of a commit could not be brought into the user's index without touching others."""


@dataclass(frozen=True)
class Made:
    """A commit that was made, its tree, how many paths it changes, and those that are not what was meant.

    Hooks of the user's may change what is committed.
    """

    oid: str
    tree: str
    paths: int
    differs: tuple[str, ...] = ()


def make_commit(repo: Repository, plan: CommitPlan, message: str) -> Made:
    """Commit what ``plan`` says with ``git commit``: hooks, identity and signing are the user's.

    Hooks see a private index; the user's index and worktree are not touched. Raises CommitRefusedError; there
    is a commit then only where git was ended after it had made it.
    """
    with private_index(repo, "commit") as index:
        variables = {"GIT_INDEX_FILE": os.fspath(index)}
        _bring_to(repo, index, plan.tree)
        with writing(repo.common_dir / "objects"):
            publish(repo, (entry.oid for entry in plan.edits.values() if entry is not None))
        text = index.with_name("message")
        with writing(text):
            text.write_text(message, encoding="utf-8")
        options = () if _is_found(repo) else repo.git_options
        command = [*options, *_COMMIT, f"--file={text}"]
        done = run_for_user(command, cwd=repo.top, environ={**repo.git_environ, **variables})
    summary = _SUMMARY.match(done.out)
    if done.code == _REFUSED_BY_HOOK:
        raise HookRefusedError(said_by(done), said_by(done, MAX_OUTPUT_LINES))
    if done.code != 0 or summary is None:
        raise CommitRefusedError(said_by(done))
    oid = repo.git("rev-parse", "--verify", *revisions(summary[1].decode())).out.decode().strip()
    _require_parent(repo, plan, oid)
    return look_at_made(repo, plan, oid)


def look_at_made(repo: Repository, plan: CommitPlan, oid: str) -> Made:
    """See what became of ``plan`` in the commit ``oid``."""
    tree = tree_of(repo, oid)
    trees = Trees(repo)
    paths = sum(1 for _ in trees.touched(plan.base_tree, tree))
    differing = sorted(trees.touched(plan.tree, tree))
    return Made(oid, tree, paths, tuple(path.decode(errors="replace") for path in differing))


def _bring_to(repo: Repository, index: Path, tree: str) -> None:
    """Make a copy of the user's index one of ``tree``.

    Entries that are the same stay: what a sparse checkout leaves away is not missing for hooks then, and
    what git knows of files need not be found out again. Raises CommitRefusedError where the index cannot
    hold the tree, as with names that differ in case only.
    """
    trees = Trees(repo)
    staged = read_staged(repo, index)
    if staged.tree is None:
        raise CommitRefusedError("the index is in conflict")
    other = {*trees.touched(staged.tree, tree), *staged.intended}
    _set_entries(repo, index, {path: trees.entry(tree, path) for path in sorted(other)})
    written = repo.git("write-tree", variables={"GIT_INDEX_FILE": os.fspath(index)})
    if written.out.decode().strip() != tree:
        raise CommitRefusedError("the index cannot hold the files of HEAD and those of the change")


def _set_entries(repo: Repository, index: Path, entries: Mapping[bytes, Entry | None]) -> None:
    """Set entries of an index file; None takes one away. What lies where a file is set to be goes."""
    gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, entry in entries.items() if entry is None]
    there = [
        b"%o %s\t%s\0" % (entry.mode, entry.oid.encode(), path)
        for path, entry in entries.items()
        if entry is not None
    ]
    variables = {"GIT_INDEX_FILE": os.fspath(index)}
    repo.git("update-index", "-z", "--index-info", stdin=b"".join([*gone, *there]), variables=variables)


def _is_found(repo: Repository) -> bool:
    """Whether git finds the repository by itself: the environment of hooks is then what they are used to."""
    questions = ("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--show-toplevel")
    found = run_git(questions, cwd=repo.top, environ=repo.git_environ, check=False)
    return found.out == b"%s\n%s\n" % (os.fsencode(repo.git_dir), os.fsencode(repo.top))


def _require_parent(repo: Repository, plan: CommitPlan, oid: str) -> None:
    """Take a commit back that does not follow the one it was made for: it would undo those in between.

    Git itself refuses when HEAD moves while it works; this is for the instant before it began.
    """
    parents = repo.git("rev-list", "--parents", "--max-count=1", *revisions(oid)).out.decode().split()[1:]
    if parents == ([] if plan.head.commit is None else [plan.head.commit]):
        return
    repo.git("update-ref", "-m", _TAKEN_BACK, *operands("HEAD", parents[0], oid))
    raise CommitRefusedError("someone else committed here at the same moment")


def said_by(done: Completed, max_lines: int = MAX_WORDS_LINES) -> str:
    """Give the end of what git and the hooks said, or the program that ran them."""
    said = (done.err + done.out).decode(errors="replace").strip().splitlines()
    if done.code < 0:
        said.append(f"git was ended by signal {-done.code}")
    if not said:
        return f"a hook, or git itself, ended with status {done.code} and said nothing"
    left_out = len(said) - max_lines
    return "\n".join([f"({left_out} lines before)", *said[left_out:]] if left_out > 0 else said)


def move_index(repo: Repository, before: str, after: str) -> None:
    """Bring the user's index from what the tree ``before`` has to what ``after`` has, path by path.

    Only where it holds what ``before`` does: what someone staged stays, as do all other entries and flags.
    Raises IndexLockedError, GitError, or IndexMoveError when more than that would change; nothing is
    changed then.
    """
    replace_index(repo, lambda index: _moved(repo, index, before, after))


def _moved(repo: Repository, index: Path, before: str, after: str) -> bool:
    """Move the entries of a copy of the index; gives whether any had to be."""
    trees = Trees(repo)
    paths = sorted(trees.touched(before, after))
    staged = read_staged(repo, index)
    moves = {
        path: trees.entry(after, path)
        for path in paths
        if path not in staged.unmerged and staged.entries.get(path) == trees.entry(before, path)
    }
    if not moves:
        return False
    _set_entries(repo, index, moves)
    _require_only(moves, staged, read_staged(repo, index))
    # As git does after a commit of some paths: what did not change need not be read again.
    variables = {"GIT_INDEX_FILE": os.fspath(index)}
    repo.git("update-index", "-q", "--refresh", check=False, variables=variables)
    return True


def _require_only(moves: Mapping[bytes, Entry | None], before: Staged, after: Staged) -> None:
    """Raises IndexMoveError when an entry or a flag is another that was not to be moved."""
    for one, other in (
        (before.entries, after.entries),
        (before.intended, after.intended),
        (before.tags, after.tags),
    ):
        strangers = {path for path, _ in one.items() ^ other.items()} - moves.keys()
        if strangers:
            names = ", ".join(sorted(path.decode(errors="replace") for path in strangers))
            raise IndexMoveError(f"the index cannot hold {names} beside the change")
