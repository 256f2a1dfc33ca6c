"""A snapshot: the tree of the worktree at one moment, made in a private index (DESIGN.md 5)."""

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.private_index import QUIET, private_index
from git_blackbird.git.private_objects import is_owners_alone, writing_privately
from git_blackbird.git.program import Completed, GitError, GitStoppedError, GitTimeoutError
from git_blackbird.git.repository import Repository
from git_blackbird.git.trees import SUBMODULE, Trees, parents
from git_blackbird.model.change import LeftOut
from git_blackbird.model.system_faults import describe, hint_in

# All that git knows, and once more what differs: only so are entries seen that it is told not to look at.
_LIST = ("ls-files", "-z", "-v", "-c", "-m", "-d", "-o", "--exclude-standard")
_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
# How that list begins for what is known and not marked: an entry, and a side of a conflict.
_UNMARKED = frozenset((b"H ", b"M "))
_SKIPPED = frozenset(b"Ss")
_SHUT_DIRECTORY = re.compile(r"^warning: could not open directory '(.*)/': (.*)$", re.MULTILINE)
_SLOW = (
    "a filter of this repository may hang; for very many files allow more time: "
    "git config blackbird.snapshot.timeoutSeconds SECONDS"
)
_NESTED = "a git repository of its own"
_INACCESSIBLE = "make room or make it accessible"


class SnapshotError(UnusableError):
    """The worktree could not be recorded as a tree."""


@dataclass(frozen=True)
class SnapshotLimits:
    """``timeout_seconds`` for the whole snapshot; untracked files over ``max_untracked_bytes`` stay out."""

    timeout_seconds: float = 60.0
    max_untracked_bytes: int = 50_000_000


@dataclass(frozen=True)
class Snapshot:
    """The tree of the worktree, and what it does not hold of it."""

    tree: str
    left_out: tuple[LeftOut, ...] = ()


@dataclass
class _Worklist:
    """What git must bring into the private index, and what cannot be brought."""

    update: list[bytes] = field(default_factory=list)
    private: list[bytes] = field(default_factory=list)
    remove: list[bytes] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    assumed: list[bytes] = field(default_factory=list)
    skipped: list[bytes] = field(default_factory=list)

    def leave_out(self, path: bytes, reason: str) -> None:
        """Note that what is at ``path`` now will not be in the tree."""
        self.kept.append(path)
        self.left_out.append(LeftOut(path=_text(path), reason=reason))


def take_snapshot(
    repo: Repository, *, limits: SnapshotLimits, hidden: Sequence[str], since: str | None = None
) -> Snapshot:
    """Record the worktree, tracked and untracked files less ignored ones, as a tree.

    ``hidden`` names entries of the top of the worktree that are never in it. What the earlier snapshot
    ``since`` held and the worktree still has stays in, also when it is ignored by now: it was not deleted.
    Nothing of the user is touched: index, stash, references and files stay as they are. Raises SnapshotError.
    """
    try:
        with private_index(repo, "snapshot") as index:
            return _Session(repo, index, limits, tuple(os.fsencode(name) for name in hidden)).run(since)
    except (SnapshotError, GitStoppedError):
        raise
    except GitTimeoutError as error:
        message = f"the snapshot was not done after {limits.timeout_seconds:g} s"
        raise SnapshotError(message, hint=_SLOW) from error
    except (UnusableError, OSError) as error:
        reason = describe(error)
        # What git refuses for reasons of its own is not mended by room or permission.
        own = error.hint if isinstance(error, UnusableError) else hint_in(reason) or _INACCESSIBLE
        hint = own or hint_in(reason)
        raise SnapshotError(f"cannot take a snapshot of {repo.top}: {reason}", hint=hint) from error


class _Session:
    """One snapshot in the making: a private index and one deadline for all that is done with it."""

    def __init__(
        self, repo: Repository, index: Path, limits: SnapshotLimits, hidden: tuple[bytes, ...]
    ) -> None:
        self.repo = repo
        self.variables = {"GIT_INDEX_FILE": os.fspath(index)}
        self.limits = limits
        self.hidden = hidden
        self.deadline = time.monotonic() + limits.timeout_seconds
        self.prefix = os.fsencode(repo.top) + b"/"

    def run(self, since: str | None) -> Snapshot:
        """Bring the private index up to date with the worktree and write its tree."""
        work = self.sorted_out(self.git(*_LIST))
        self.unmark(work)
        self.drop(work.remove)
        self.update(work)
        self.drop_unmerged(work.kept)
        tree = self.write_tree()
        if since is not None:
            tree = self.with_lost(tree, since, work)
        left_out = sorted(work.left_out, key=lambda item: item.path)
        return Snapshot(self.without_hidden(tree), tuple(left_out))

    def write_tree(self) -> str:
        """Write the tree of the private index."""
        return self.git("write-tree").out.decode().strip()

    def with_lost(self, tree: str, since: str, work: _Worklist) -> str:
        """Take in again what ``since`` held and git no longer looks at; what is left out stays as it was."""
        trees = Trees(self.repo)
        links: dict[bytes, bool] = {}
        lost = [
            path
            for path in sorted(trees.touched(since, tree))
            if trees.entry(tree, path) is None
            and not self.is_beyond_link(path, links)
            and _is_still_file(self.prefix + path)
        ]
        if not lost:
            return tree
        refused = set(work.kept).intersection(lost)
        again = _Worklist(kept=sorted(refused), left_out=work.left_out)
        for path in sorted(set(lost) - refused):
            self.sort_one(again, path, is_tracked=False)
        self.update(again)
        return trees.edited(self.write_tree(), {path: trees.entry(since, path) for path in again.kept})

    def git(self, *args: str, stdin: bytes | None = None) -> Completed:
        """Run git on the private index within what is left of the time."""
        left = max(self.deadline - time.monotonic(), 0.0)
        return self.repo.git(*QUIET, *args, stdin=stdin, timeout=left, variables=self.variables)

    def sorted_out(self, listed: Completed) -> _Worklist:
        """Decide for each path git named what becomes of it."""
        work = _Worklist(left_out=list(_shut_directories(listed.err)))
        links: dict[bytes, bool] = {}
        directories: list[bytes] = []
        seen: set[bytes] = set()
        for tag, path in self.told_apart(work, listed.out.split(b"\0")[:-1]):
            if path in seen or path.partition(b"/")[0] in self.hidden:
                continue
            seen.add(path)
            if tag != b"?" and self.is_beyond_link(path, links):
                work.remove.append(path)
            elif self.sort_one(work, path, is_tracked=tag != b"?"):
                directories.append(path)
        self.sort_directories(work, directories)
        return work

    def told_apart(self, work: _Worklist, items: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        """Give what is to be looked at: what git found to differ, and what it is told not to look at.

        The latter is noted in ``work``. What a sparse checkout leaves away stays as git has it.
        """
        found = [(item[:1], item[2:]) for item in items if item[:2] not in _UNMARKED]
        skipped = [path for tag, path in found if tag[0] in _SKIPPED]
        work.assumed += [path for tag, path in found if tag in {b"h", b"s"}]
        if not skipped:
            return found
        absent = set(skipped).difference(self.present(skipped)) if self.is_sparse() else set[bytes]()
        work.skipped += [path for path in skipped if path not in absent]
        return [(tag, path) for tag, path in found if path not in absent]

    def present(self, paths: Sequence[bytes]) -> Iterator[bytes]:
        """Give those of ``paths`` at which something is; a directory that is not there is asked for once."""
        places: dict[bytes, bool] = {}
        for path in paths:
            above = path.rpartition(b"/")[0]
            if above not in places:
                places[above] = _is_there(self.prefix + above)
            if places[above] and _is_there(self.prefix + path):
                yield path

    def is_sparse(self) -> bool:
        """Whether the worktree leaves files away on purpose."""
        asked = self.git("config", "--type=bool", "--default=false", "--get", "core.sparseCheckout")
        return asked.out.strip() == b"true"

    def unmark(self, work: _Worklist) -> None:
        """Let git look, in the private index, at what it was told not to look at."""
        for option, paths in (("--no-assume-unchanged", work.assumed), ("--no-skip-worktree", work.skipped)):
            if paths:
                self.git("update-index", "-z", option, "--stdin", stdin=_joined(paths))

    def sort_one(self, work: _Worklist, path: bytes, *, is_tracked: bool) -> bool:
        """Put one path where it belongs; True for a tracked path that is a directory now."""
        full = self.prefix + path
        try:
            status = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            work.update.append(path)
            return False
        except OSError as error:
            work.leave_out(path, f"cannot be read: {error.strerror}")
            return False
        if is_tracked and stat.S_ISDIR(status.st_mode):
            return True
        reason = self.obstacle(full, path, status, is_tracked=is_tracked)
        if reason is not None:
            work.leave_out(path, reason)
        elif not is_tracked and is_owners_alone(status):
            work.private.append(path)
        else:
            work.update.append(path)
        return False

    def obstacle(self, full: bytes, path: bytes, status: os.stat_result, *, is_tracked: bool) -> str | None:
        """Say why a path cannot or shall not be in the tree."""
        if path.endswith(b"/"):
            return _NESTED
        if stat.S_ISLNK(status.st_mode):
            return None
        if not stat.S_ISREG(status.st_mode):
            return "neither a file nor a symbolic link"
        if not is_tracked and status.st_size > self.limits.max_untracked_bytes:
            return f"untracked, {status.st_size} bytes, over snapshot.maxUntrackedBytes"
        if not os.access(full, os.R_OK):
            return "cannot be read: Permission denied"
        return None

    def sort_directories(self, work: _Worklist, directories: Sequence[bytes]) -> None:
        """Tell submodules that moved from files that became directories."""
        if not directories:
            return
        modes = dict(self.index_entries())
        named = {item.path for item in work.left_out}
        for path in directories:
            if SUBMODULE in modes.get(path, ()):
                work.update.append(path)
                continue
            work.remove.append(path)
            name = _text(path) + "/"
            # Git names a nested repository among untracked paths, but not where it knows a file.
            if name not in named and _is_there(self.prefix + path + b"/.git"):
                work.left_out.append(LeftOut(path=name, reason=_NESTED))

    def index_entries(self) -> Iterator[tuple[bytes, tuple[int, ...]]]:
        """Give each path of the private index with its mode, or with several when it is unmerged."""
        found: dict[bytes, tuple[int, ...]] = {}
        for item in self.git("ls-files", "-z", "-s").out.split(b"\0")[:-1]:
            facts, _, path = item.partition(b"\t")
            mode, _, stage = facts.split(b" ")
            found[path] = (*found.get(path, ()), int(mode, 8), *((0,) if stage != b"0" else ()))
        yield from found.items()

    def is_beyond_link(self, path: bytes, links: dict[bytes, bool]) -> bool:
        """Whether a directory of ``path`` is a symbolic link: then git's tree holds the link instead."""
        for parent in parents(path):
            if parent not in links:
                links[parent] = _is_link(self.prefix + parent)
            if links[parent]:
                return True
        return False

    def drop(self, paths: Sequence[bytes]) -> None:
        """Take paths out of the private index whatever is in the worktree."""
        if paths:
            self.git("update-index", "-z", "--force-remove", "--stdin", stdin=_joined(paths))

    def drop_unmerged(self, paths: Sequence[bytes]) -> None:
        """Take those of ``paths`` out that are in conflict: no tree can be written with them."""
        if paths:
            entries = dict(self.index_entries())
            self.drop([path for path in paths if 0 in entries.get(path, ())])

    def update(self, work: _Worklist) -> None:
        """Bring paths into the private index; those that git refuses are left out, with its words."""
        self.update_paths(work, work.update)
        if work.private:
            with writing_privately(self.repo) as options:
                self.update_paths(work, work.private, options)

    def update_paths(self, work: _Worklist, paths: list[bytes], options: Sequence[str] = ()) -> None:
        """Bring some of them in.

        Git stops at the first bad path and then keeps nothing, so the list is halved until each bad
        path stands alone.
        """
        pending = [paths] if paths else []
        while pending:
            part = pending.pop()
            try:
                self.git(*options, *_UPDATE, stdin=_joined(part))
            except (GitStoppedError, GitTimeoutError):
                raise
            except GitError as error:
                if hint_in(error.message) is not None:
                    # It met the others as well: without them this would be no snapshot.
                    raise
                if len(part) == 1:
                    work.leave_out(part[0], _refusal(error))
                    continue
                middle = len(part) // 2
                pending += [part[middle:], part[:middle]]

    def without_hidden(self, tree: str) -> str:
        """Take tracked ``hidden`` entries out of the finished tree; the untracked ones never came in."""
        return Trees(self.repo).without(tree, self.hidden)


def _is_link(path: bytes) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(os.lstat(path).st_mode)
    return False


def _is_still_file(path: bytes) -> bool:
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _is_there(path: bytes) -> bool:
    with contextlib.suppress(OSError):
        os.lstat(path)
        return True
    return False


def _shut_directories(stderr: bytes) -> Iterator[LeftOut]:
    for name, reason in _SHUT_DIRECTORY.findall(stderr.decode(errors="replace")):
        yield LeftOut(path=f"{name}/", reason=f"cannot be read: {reason}")


def _refusal(error: GitError) -> str:
    lines = [line for line in error.stderr.decode(errors="replace").splitlines() if line]
    return f"git cannot add it: {lines[0].removeprefix('error: ')}" if lines else "git cannot add it"


def _joined(paths: Sequence[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)


def _text(path: bytes) -> str:
    return path.decode(errors="replace")
