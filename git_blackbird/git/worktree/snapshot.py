"""Record the worktree as a tree, in a private index that the next snapshot goes on with."""

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.config import is_sparse, may_convert_files, takes_modes_from_files
from git_blackbird.git.core.output import Completed, paths_listed
from git_blackbird.git.core.process import GitError, GitStoppedError, GitTimeoutError, nul_ended
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import (
    EXECUTABLE,
    REGULAR,
    SUBMODULE,
    Edits,
    TreeEntry,
    TreeStore,
    is_unsafe,
    parents,
)
from git_blackbird.git.worktree.index import (
    QUIET_OPTIONS,
    may_have_attributes,
    private_folder,
    read_entries,
    write_entries,
    writing,
)
from git_blackbird.git.worktree.kept_index import KeptIndex, KeptState, kept_folder, start_kept_index
from git_blackbird.git.worktree.saved_trees import is_readable_by_owner_only, writing_privately
from git_blackbird.model.base.system import HIDDEN, TEMPORARY, describe, hint_in
from git_blackbird.model.run.summary import SkippedPath


class SnapshotError(UnusableError): ...


@dataclass(frozen=True)
class SnapshotLimits:
    """The time for a whole snapshot; larger untracked files than that stay out."""

    timeout_seconds: float = 60.0
    max_untracked_bytes: int = 50_000_000


@dataclass(frozen=True)
class Snapshot:
    """The tree of a worktree, and what is not in it; ``has_unlisted`` if it has what git no longer lists."""

    tree: str
    left_out: tuple[SkippedPath, ...] = ()
    has_unlisted: bool = False


@dataclass
class IndexUpdate:
    """What to update in the private index; plain if that says all that the next snapshot needs."""

    update: list[bytes] = field(default_factory=list)
    private: list[bytes] = field(default_factory=list)
    remove: list[bytes] = field(default_factory=list)
    untouched: list[bytes] = field(default_factory=list)
    left_out: list[SkippedPath] = field(default_factory=list)
    missing: set[bytes] = field(default_factory=set)
    in_index: set[bytes] = field(default_factory=set)
    tracked: set[bytes] = field(default_factory=set)
    is_plain: bool = True

    def leave_out(self, path: bytes, reason: str) -> None:
        self.untouched.append(path)
        self.left_out.append(SkippedPath(path=path.decode(errors="replace"), reason=reason))
        self.is_plain = self.is_plain and path not in self.in_index

    @property
    def changed(self) -> set[bytes]:
        # What of the worktree's content is in the private index.
        return {*self.update, *self.private}.difference(self.untouched, self.missing)


_SLOW = (
    "a filter of this repository may hang; for very many files allow more time: "
    "git config blackbird.snapshot.timeoutSeconds SECONDS"
)
_INACCESSIBLE = "make room or make it accessible"


def take_snapshot(repo: Repository, limits: SnapshotLimits, since: str | None = None) -> Snapshot:
    """Record the worktree, tracked and untracked files without ignored ones, as a tree.

    What is ours at its top is never in it. Files of the earlier snapshot ``since`` that still exist stay in,
    even if they are ignored by now: they were not deleted. Index, stash,
    references and files of the user stay unchanged. Raises SnapshotError, or UnusableError for a repository
    that cannot be read.
    """
    with _builder(repo, limits, HIDDEN) as builder:
        return builder.run(since)


def take_full_snapshot(repo: Repository, limits: SnapshotLimits) -> Snapshot:
    """Record a worktree, with the entries too that no change may have. Raises as ``take_snapshot`` does."""
    with _builder(repo, limits, ()) as builder:
        state, work = builder.update_user_index()
        return Snapshot(state.tree, tuple(work.left_out))


@contextlib.contextmanager
def _builder(repo: Repository, limits: SnapshotLimits, hidden: Sequence[str]) -> Iterator["SnapshotBuilder"]:
    """Take the private index for the block, and convert errors to SnapshotError."""
    trees = TreeStore(repo)
    try:
        with private_folder(repo, "snapshot", kept_folder(repo)) as folder:
            index = KeptIndex(repo, folder, _settings(limits, hidden))
            yield SnapshotBuilder(trees, index, limits, tuple(os.fsencode(name) for name in hidden))
    except (SnapshotError, GitStoppedError):
        raise
    except GitTimeoutError as error:
        message = f"the snapshot was not done after {limits.timeout_seconds:g} s"
        raise SnapshotError(message, hint=_SLOW) from error
    except (UnusableError, OSError) as error:
        reason = describe(error)
        # For other errors of git, room or permissions do not help.
        own = error.hint if isinstance(error, UnusableError) else hint_in(reason) or _INACCESSIBLE
        hint = own or hint_in(reason)
        raise SnapshotError(f"cannot take a snapshot of {repo.top}: {reason}", hint=hint) from error


def snapshot_of_checkout(repo: Repository, tree: str, limits: SnapshotLimits) -> Snapshot | None:
    """Return the snapshot of a worktree just checked out from ``tree``; None if it has to be taken.

    Files that git converts may differ from the tree. The first snapshot goes on with the index of the
    checkout. Raises UnusableError.
    """
    if is_sparse(repo):
        return None
    start_kept_index(repo, tree, _settings(limits, HIDDEN))
    with writing(repo.index):
        is_certain = not may_have_attributes(repo.index) and not may_convert_files(repo)
    return Snapshot(tree) if is_certain else None


def _settings(limits: SnapshotLimits, hidden: Sequence[str]) -> str:
    # What a kept index depends on.
    return f"{limits.max_untracked_bytes} {hidden}"


# What differs from the index, and what is untracked; the index gets the present times of the other files.
_STATUS = ("status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty")
_UPDATE = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
# All that git knows of a file's times counts, and it looks at every file.
_EXACT = (
    *("-c", "core.checkStat=default", "-c", "core.trustCtime=true"),
    *("-c", "core.ignoreStat=false", "-c", "core.untrackedCache=false"),
)
# Up to so many files of so many bytes are not worth a process.
_FEW = 20
_SMALL_BYTES = 1 << 18
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_UNTRACKED = b"??"
# Of ``ls-files -v``, the files that git is told to ignore: skip-worktree, and assume-unchanged in lower case.
_FLAGGED = re.compile(rb"(?<![^\0])([^HM\0]) (\d+ \w+ 0\t)([^\0]+)")
_SKIPPED = frozenset({b"S", b"s"})
# A file that is being written beside its place, or was when that was killed.
_TEMPORARY = re.compile(rb"(?:^|/)%s[0-9a-f]{16}$" % re.escape(os.fsencode(TEMPORARY)))
_SHUT_DIRECTORY = re.compile(r"^warning: could not open directory '(.*)/': (.*)$", re.MULTILINE)
_NESTED = "a git repository of its own"
_RESERVED = "no change may have a file of this name"


class SnapshotBuilder:
    """One snapshot in the making: a private index, and one deadline for all its git commands."""

    def __init__(
        self, trees: TreeStore, index: KeptIndex, limits: SnapshotLimits, hidden: tuple[bytes, ...]
    ) -> None:
        self.repo = index.repo
        self.trees = trees
        self.index = index
        self.variables = {"GIT_INDEX_FILE": os.fspath(index.path), "GIT_OPTIONAL_LOCKS": "1"}
        self.limits = limits
        self.hidden = hidden
        self.deadline = time.monotonic() + limits.timeout_seconds
        self.prefix = os.fsencode(self.repo.top) + b"/"

    def run(self, since: str | None) -> Snapshot:
        """Update the private index from the worktree and write its tree."""
        state, work = self.update_kept_index() or self.update_user_index()
        tree = listed = state.tree
        if since is not None:
            tree = self.with_unlisted(listed, since, work)
        has_unlisted = tree != listed
        # No change may have these at its top; those that are not state are named.
        reserved = self.trees.reserved(tree)
        tree = self.trees.without(tree, reserved)
        named = [SkippedPath(path=_text(name), reason=_RESERVED) for name in reserved.difference(self.hidden)]
        if work.is_plain and not named:
            self.index.keep(state.model_copy(update={"tree": tree}), work.changed)
        left_out = sorted([*work.left_out, *named], key=lambda item: item.path)
        return Snapshot(tree, tuple(left_out), has_unlisted)

    def update_kept_index(self) -> tuple[KeptState, IndexUpdate] | None:
        """Update the index of an earlier snapshot; None if a new index is required."""
        state = self.index.state
        if state is None or state.tree not in self.trees:
            return None
        listed = self.git(*_STATUS)
        if listed.err:
            return None
        work = self.classify(listed, state)
        entries = self.update_plainly(work) if work.is_plain else None
        if entries is None and work.is_plain:
            self.update(work)
            entries = read_entries(self.index.path, {*work.update, *work.private})
        if entries is None or not work.is_plain:
            return None
        tree = self.trees.edited(state.tree, entries) if entries else state.tree
        return self.next_state(state, tree, work), work

    def update_user_index(self) -> tuple[KeptState, IndexUpdate]:
        self.index.copy_user_index()
        has_skipped = self.clear_flags()
        state = KeptState()
        work = self.classify(self.git(*_STATUS), state)
        self.drop(work.remove)
        self.update(work)
        if work.untouched:
            # No tree can be written with those of them that are in conflict.
            unmerged = set(self.git("ls-files", "-z", "-u").records(paths_listed))
            self.drop([path for path in work.untouched if path in unmerged])
        work.is_plain = work.is_plain and not has_skipped
        return self.next_state(state, self.git("write-tree").oid(), work), work

    def next_state(self, before: KeptState, tree: str, work: IndexUpdate) -> KeptState:
        gone, changed = work.missing, work.changed
        added = {*before.added, *_texts(changed - work.tracked)} - _texts(gone)
        removed = {*before.removed, *_texts(gone & work.tracked)} - _texts(changed)
        names = {"added": tuple(sorted(added)), "removed": tuple(sorted(removed))}
        return before.model_copy(update={"tree": tree, **names})

    def with_unlisted(self, tree: str, since: str, work: IndexUpdate) -> str:
        """Add the files of ``since`` that git no longer lists; those left out stay as they were."""
        trees = self.trees
        links: dict[bytes, bool] = {}
        lost = [
            path
            for path in sorted(trees.changed_paths(since, tree))
            if trees.entry(tree, path) is None
            and not self.is_beyond_link(path, links)
            and _is_still_file(self.prefix + path)
        ]
        if not lost:
            return tree
        work.is_plain = False
        refused = set(work.untouched).intersection(lost)
        again = IndexUpdate(untouched=sorted(refused), left_out=work.left_out)
        for path in sorted(set(lost) - refused):
            self.classify_path(again, path, is_tracked=False)
        self.update(again)
        unread = {path: trees.entry(since, path) for path in again.untouched}
        return trees.edited(self.git("write-tree").oid(), unread)

    def git(self, *args: str, stdin: bytes | None = None) -> Completed:
        left = max(self.deadline - time.monotonic(), 0.0)
        options = (*QUIET_OPTIONS, *_EXACT)
        return self.repo.git(*options, *args, stdin=stdin, timeout=left, variables=self.variables)

    def classify(self, listed: Completed, state: KeptState) -> IndexUpdate:
        """Decide what to do with each path that git listed."""
        shut = _SHUT_DIRECTORY.findall(listed.err.decode(errors="replace"))
        left_out = [SkippedPath(path=f"{name}/", reason=f"cannot be read: {why}") for name, why in shut]
        work = IndexUpdate(left_out=left_out, is_plain=not shut)
        links: dict[bytes, bool] = {}
        directories: list[bytes] = []
        items = listed.records(list)
        untracked = {item[3:] for item in items if item[:2] == _UNTRACKED}
        work.in_index = {item[3:] for item in items if item[1:2] != b" "} - untracked
        # Files that are tracked, but not in this index, may be ignored by now.
        back = {path for path in map(os.fsencode, state.removed) if os.path.lexists(self.prefix + path)}
        added = frozenset(state.added)
        work.tracked = {path for path in work.in_index if os.fsdecode(path) not in added} | back
        known = work.in_index | work.tracked
        for path in sorted(work.in_index | untracked | back):
            if path.partition(b"/")[0] in self.hidden or _TEMPORARY.search(path):
                continue
            if path in known and self.is_beyond_link(path, links):
                work.remove.append(path)
            elif self.classify_path(work, path, is_tracked=path in work.tracked):
                directories.append(path)
        self.classify_directories(work, directories)
        work.is_plain = work.is_plain and not work.remove and not directories
        return work

    def clear_flags(self) -> bool:
        """Clear, in the private index, the flags that make git ignore changes, but of absent files.

        Return whether some files are not to be in the worktree.
        """
        listed = self.git("ls-files", "-z", "-s", "-v").whole(b"\0")
        flagged = [(tag, facts + path, path) for tag, facts, path in _FLAGGED.findall(listed)]
        skipped = [path for tag, _, path in flagged if tag in _SKIPPED]
        absent, folders = set[bytes](), dict[bytes, bool]()
        if skipped and is_sparse(self.repo):
            for path in skipped:
                above = path.rpartition(b"/")[0]
                if above not in folders:
                    folders[above] = os.path.lexists(self.prefix + above)
                if not (folders[above] and os.path.lexists(self.prefix + path)):
                    absent.add(path)
        # Git does not hold a file with such a flag for racily clean: each is compared by its content.
        unknown = [entry for _, entry, path in flagged if path not in absent]
        if unknown:
            self.git("update-index", "-z", "--index-info", stdin=nul_ended(unknown))
        return bool(skipped)

    def classify_path(self, work: IndexUpdate, path: bytes, *, is_tracked: bool) -> bool:
        """Classify one path; return True for a tracked path that is a directory now."""
        full = self.prefix + path
        try:
            status = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            work.missing.add(path)
            work.update.append(path)
            return False
        except OSError as error:
            work.leave_out(path, f"cannot be read: {error.strerror}")
            return False
        if is_tracked and stat.S_ISDIR(status.st_mode):
            return True
        is_link, is_file = stat.S_ISLNK(status.st_mode), stat.S_ISREG(status.st_mode)
        if path.endswith(b"/"):
            work.leave_out(path, _NESTED)
        elif not is_link and not is_file:
            work.leave_out(path, "neither a file nor a symbolic link")
        elif is_file and not is_tracked and status.st_size > self.limits.max_untracked_bytes:
            work.leave_out(path, f"untracked, {status.st_size} bytes, over snapshot.maxUntrackedBytes")
        elif is_file and not os.access(full, os.R_OK):
            work.leave_out(path, "cannot be read: Permission denied")
        elif not is_tracked and is_readable_by_owner_only(status):
            work.private.append(path)
        else:
            work.update.append(path)
        return False

    def classify_directories(self, work: IndexUpdate, directories: Sequence[bytes]) -> None:
        """Separate submodules that moved from files that became directories."""
        if not directories:
            return
        lines = self.git("ls-files", "-z", "-s").records(list)
        submodules = {line.partition(b"\t")[2] for line in lines if line.startswith(b"%o " % SUBMODULE)}
        named = {item.path for item in work.left_out}
        for path in directories:
            if path in submodules:
                work.update.append(path)
                continue
            work.remove.append(path)
            name = _text(path) + "/"
            # Git lists a nested repository among untracked paths, but not in place of a tracked file.
            if name not in named and os.path.lexists(self.prefix + path + b"/.git"):
                work.left_out.append(SkippedPath(path=name, reason=_NESTED))

    def is_beyond_link(self, path: bytes, links: dict[bytes, bool]) -> bool:
        """Whether a directory of ``path`` is a symbolic link: then git's tree holds the link instead."""
        for parent in parents(path):
            if parent not in links:
                links[parent] = os.path.islink(self.prefix + parent)  # noqa: PTH114  # bytes
            if links[parent]:
                return True
        return False

    def drop(self, paths: Sequence[bytes]) -> None:
        if paths:
            self.git("update-index", "-z", "--force-remove", "--stdin", stdin=nul_ended(paths))

    def update(self, work: IndexUpdate) -> None:
        """Update paths in the private index; those that git refuses are left out, with its message."""
        self.update_paths(work, work.update)
        if work.private:
            with writing_privately(self.repo) as options:
                self.update_paths(work, work.private, options)

    def update_plainly(self, work: IndexUpdate) -> Edits | None:
        """Update a few small files without a git process; return their entries.

        None where git has to do it, as for what it converts, and nothing has been changed then.
        """
        repo, index = self.repo, self.index.path
        if not work.update and not work.private:
            return {}
        if work.private or len(work.update) > _FEW or may_have_attributes(index) or may_convert_files(repo):
            return None
        folders = {above for path in work.update for above in (b"", *parents(path))}
        attributes = (os.path.join(self.prefix, folder, b".gitattributes") for folder in folders)  # noqa: PTH118  # of bytes
        if any(map(os.path.lexists, attributes)) or not takes_modes_from_files(repo):
            return None
        if any(is_unsafe(name) for path in work.update for name in path.split(b"/")):
            return None
        entries: dict[bytes, TreeEntry | None] = {}
        for path in work.update:
            if path not in work.missing and (taken := self.take_file(path)) is None:
                return None
            entries[path] = None if path in work.missing else taken
        try:
            write_entries(index, entries)
        except UnusableError:
            # Git says what is wrong.
            return None
        return entries

    def take_file(self, path: bytes) -> TreeEntry | None:
        """Write the content of a small file, as it is; None for any other."""
        try:
            descriptor = os.open(self.prefix + path, _READ)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            content = os.read(descriptor, _SMALL_BYTES + 1) if stat.S_ISREG(status.st_mode) else None
        finally:
            os.close(descriptor)
        if content is None or len(content) > _SMALL_BYTES:
            return None
        mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR
        return TreeEntry(mode, self.trees.save_file(content))

    def update_paths(self, work: IndexUpdate, paths: list[bytes], options: Sequence[str] = ()) -> None:
        # Git stops at the first bad path and keeps nothing: the list is halved until each stands alone.
        pending = [paths] if paths else []
        while pending:
            part = pending.pop()
            try:
                self.git(*options, *_UPDATE, stdin=nul_ended(part))
            except (GitStoppedError, GitTimeoutError):
                raise
            except GitError as error:
                if hint_in(error.message) is not None:
                    # The error affects the other paths as well: without them this would be no snapshot.
                    raise
                if len(part) == 1:
                    lines = [line for line in error.stderr.decode(errors="replace").splitlines() if line]
                    reason = f": {lines[0].removeprefix('error: ')}" if lines else ""
                    work.leave_out(part[0], f"git cannot add it{reason}")
                    continue
                middle = len(part) // 2
                pending += [part[middle:], part[:middle]]


def _is_still_file(path: bytes) -> bool:
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _texts(paths: set[bytes]) -> set[str]:
    return set(map(os.fsdecode, paths))


def _text(path: bytes) -> str:
    return path.decode(errors="replace")
