"""Keep a run's trees by references, find what of them is gone, check trees out, hide private objects."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from git_blackbird import trace
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.output import texts
from git_blackbird.git.core.process import GitTimeoutError, nul_ended, operands, revisions
from git_blackbird.git.core.repository import Repository, open_libgit2, using_objects
from git_blackbird.git.core.trees import DIRECTORY, SUBMODULE, TreeEntry, TreeStore, parents
from git_blackbird.git.worktree.base_commits import write_commit
from git_blackbird.git.worktree.index import QUIET_OPTIONS, private_folder, write_entries

if TYPE_CHECKING:
    from git_blackbird.model.run.summary import Trees

# The process that makes commits needs no models.

_OURS = "refs/blackbird/"
_LOCK_SECONDS = 10.0
# Git holds the lock of a reference for less.
_POLL_SECONDS = 0.05
_RUN_REFS = f"{_OURS}runs/"
# The trees of removed worktrees, by the id of the removal, and those of a change that is about to be written,
# by the name of the worktree.
WORKTREE_REFS = f"{_OURS}worktrees/"
JOURNAL_REFS = f"{_OURS}journal/"


def hold_trees(
    repo: Repository, run_id: str, ends: Mapping[str, str | None], others: Collection[str]
) -> frozenset[str]:
    """Let a run's reference hold the trees of its record, ``ends`` by name; return which are gone."""
    trees = TreeStore(repo)
    named = {name.encode(): oid for name, oid in ends.items() if oid is not None}
    wanted = {**{oid.encode(): oid for oid in {*others} - {*named.values()}}, **named}
    there = {name: TreeEntry(DIRECTORY, oid) for name, oid in wanted.items() if oid in trees}
    _set_ref(repo, _RUN_REFS + run_id, trees.save(there))
    return frozenset(oid for name, oid in wanted.items() if name not in there)


def save_pair(repo: Repository, ref: str, pair: "Trees") -> None:
    """Point a reference at two trees that no record names.

    Raises UnusableError for a tree that is not there, and if the repository cannot be written.
    """
    trees, name = TreeStore(repo), ref.rpartition("/")[2]
    for oid in pair:
        if oid not in trees:
            raise UnusableError(f"the tree {oid} of {name} is gone", hint="git fsck says what else is")
    ends = zip((b"base", b"head"), pair, strict=True)
    _set_ref(repo, ref, trees.save({end: TreeEntry(DIRECTORY, oid) for end, oid in ends}))


def _set_ref(repo: Repository, name: str, oid: str) -> None:
    from git_blackbird.git.core.libgit2 import pygit2  # slow to load

    try:
        open_libgit2(repo).references.create(name, oid, force=True)
    except (pygit2.GitError, OSError, ValueError):
        # Git waits for who locks it, as one that packs references does, and says what is wrong.
        _update_refs(repo, f"update {name} {oid}\n")


def keep_commit(repo: Repository, name: str, *commits: str) -> None:
    """Keep commits as parents of one, beside others under the same name. Raises GitError."""
    from git_blackbird.git.core.libgit2 import pygit2  # slow to load

    ref = f"{_OURS}commits/{name}"
    with using_objects(repo):
        there = open_libgit2(repo).references.get(ref)
        held = () if there is None else tuple(map(str, there.peel(pygit2.Commit).parent_ids))
    if not set(commits) <= set(held):
        wanted = dict.fromkeys((*held, *commits))
        kept = write_commit(repo, TreeStore(repo).save({}), tuple(wanted), "Kept by git-blackbird\n", 0)
        _update_refs(repo, f"update {ref} {kept}\n")


def load_pair(repo: Repository, ref: str) -> "Trees | None":
    from git_blackbird.git.core.libgit2 import pygit2  # slow to load
    from git_blackbird.model.run.summary import Trees  # not in that process

    with using_objects(repo):
        reference = open_libgit2(repo).references.get(ref)
        held = {} if reference is None else TreeStore(repo).load(str(reference.peel(pygit2.Tree).id))
    base, head = held.get(b"base"), held.get(b"head")
    return None if base is None or head is None else Trees(base.oid, head.oid)


def find_kept_worktrees(repo: Repository, name: str) -> list[str]:
    """Return the references of removed worktrees with this name, or with an id that begins so."""
    refs = [ref for ref in list_our_refs(repo) if ref.startswith(WORKTREE_REFS)]
    return [ref for ref in refs if name and (ref == name or ref.removeprefix(WORKTREE_REFS).startswith(name))]


def list_our_refs(repo: Repository) -> tuple[str, ...]:
    return tuple(repo.git("for-each-ref", "--format=%(refname)", *operands(_OURS)).lines(texts))


def run_refs(repo: Repository) -> dict[str, str]:
    """Return the references that hold the trees of runs, by run id, of all worktrees. Raises GitError."""
    refs = (ref for ref in list_our_refs(repo) if ref.startswith(_RUN_REFS))
    return {ref.removeprefix(_RUN_REFS): ref for ref in refs}


def broken_refs(repo: Repository) -> list[str]:
    """Return our references whose files name no object. Raises GitError."""
    above, known = repo.common_dir / _OURS, {*list_our_refs(repo)}
    files = (path for path in sorted(above.rglob("*")) if path.is_file() and path.suffix != ".lock")
    names = (str(path.relative_to(repo.common_dir)) for path in files)
    return [name for name in names if name not in known]


def delete_refs(repo: Repository, names: Iterable[str]) -> None:
    """Delete references, all or none. Raises GitError."""
    _update_refs(repo, "".join(f"delete {name}\n" for name in names))


def _update_refs(repo: Repository, commands: str) -> None:
    for command in commands.splitlines():
        # Wait until nobody writes that reference; remove a lock that a killed process left.
        lock, until = repo.common_dir / f"{command.split(' ')[1]}.lock", time.monotonic() + _LOCK_SECONDS
        with contextlib.suppress(FileNotFoundError):
            while time.time() - lock.stat().st_mtime < _LOCK_SECONDS and time.monotonic() < until:
                time.sleep(_POLL_SECONDS)
            lock.unlink()
            trace.event("stale lock", lock)
    repo.git(*QUIET_OPTIONS, "update-ref", "--no-deref", "--stdin", stdin=os.fsencode(commands))


# Every file of the tree, even outside the user's sparse checkout.
_WHOLE = ("-c", "core.sparseCheckout=false")
_NAMED = ("checkout-index", "-z", "--stdin")


class CheckoutError(UnusableError): ...


def checkout_tree(repo: Repository, tree: str, folder: Path, *, timeout_seconds: float = 60.0) -> None:
    """Write the files of a tree into an empty folder, as git would check them out.

    Filters, line ends and modes follow the tree's own attributes; a submodule is an empty folder. ``folder``
    gets no ``.git``. Index, worktree, references and configuration of the repository stay unchanged. Raises
    CheckoutError, also after ``timeout_seconds``; files written by then stay.
    """
    with _checking_out(tree, folder, timeout_seconds):
        if any(folder.iterdir()):
            raise CheckoutError(f"cannot check out into {folder}: it is not empty")
        deadline = time.monotonic() + timeout_seconds
        with private_folder(repo, "checkout") as private:
            place, variables = _place(repo, folder, private / "index")
            for command in (("read-tree", *revisions(tree)), ("checkout-index", "--all")):
                left = max(deadline - time.monotonic(), 0.0)
                place.git(*QUIET_OPTIONS, *_WHOLE, *command, timeout=left, variables=variables)


def checkout_paths(
    repo: Repository, tree: str, paths: Collection[bytes], private: Path, *, timeout_seconds: float
) -> Path:
    """Write files of a tree below an empty private folder, and return where. Raises CheckoutError."""
    folder, index = private / "files", private / "index"
    with _checking_out(tree, folder, timeout_seconds):
        folder.mkdir()
        if paths:
            write_entries(index, dict(with_attributes(TreeStore(repo), tree, paths)))
            place, variables = _place(repo, folder, index)
            options = (*QUIET_OPTIONS, *_WHOLE)
            place.git(*options, *_NAMED, stdin=nul_ended(paths), timeout=timeout_seconds, variables=variables)
    return folder


def _place(repo: Repository, folder: Path, index: Path) -> tuple[Repository, dict[str, str]]:
    """Return the repository with a folder as its worktree: attributes are read from the tree alone."""
    return replace(repo, top=folder.absolute()), {"GIT_INDEX_FILE": os.fspath(index)}


@contextlib.contextmanager
def _checking_out(tree: str, folder: Path, seconds: float) -> Iterator[None]:
    try:
        yield
    except CheckoutError:
        raise
    except GitTimeoutError as error:
        message = f"the checkout of {tree} was not done after {seconds:g} s"
        raise CheckoutError(message, hint="a filter of this repository may hang") from error
    except (UnusableError, OSError) as error:
        hint = error.hint if isinstance(error, UnusableError) else "make room or make it accessible"
        raise CheckoutError(f"cannot check out {tree} into {folder}: {error}", hint=hint) from error


def with_attributes(
    trees: TreeStore, tree: str, paths: Collection[bytes]
) -> Iterator[tuple[bytes, TreeEntry]]:
    """Yield the entries of files, and of the attribute files that say how they are converted."""
    above = {parent + b"/" for path in paths for parent in parents(path)} | {b""}
    for path in {*paths, *(folder + b".gitattributes" for folder in above)}:
        entry = trees.entry(tree, path)
        if entry is not None:
            yield path, entry


_FOR_ITS_OWNER = ("-c", "core.sharedRepository=0600")
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def is_readable_by_owner_only(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and not status.st_mode & _OTHERS_READ


@contextlib.contextmanager
def writing_privately(repo: Repository) -> Iterator[tuple[str, ...]]:
    """Return the options with which git writes objects for their owner alone.

    New folders of objects get their usual permissions after the block: other objects go there too.
    """
    before = set(_folders(repo))
    try:
        yield _FOR_ITS_OWNER
    finally:
        made = [folder for folder in _folders(repo) if folder not in before]
        if made:
            mode, _ = _usual_modes(repo)
            for folder in made:
                folder.chmod(mode)


def publish(repo: Repository, oids: Iterable[str]) -> None:
    """Give objects git's usual permissions, as parts of a commit."""
    private = [place for oid in oids if (place := find_private_object(repo, oid)) is not None]
    if private:
        _, mode = _usual_modes(repo)
        for place in private:
            place.chmod(mode)


def find_private_object(repo: Repository, oid: str) -> Path | None:
    """Return the file of an object that only its owner can read, if it is one."""
    place = repo.common_dir / "objects" / oid[:2] / oid[2:]
    with contextlib.suppress(FileNotFoundError):
        if is_readable_by_owner_only(place.lstat()):
            return place
    return None


def _folders(repo: Repository) -> list[Path]:
    objects = repo.common_dir / "objects"
    return [objects / name for name in os.listdir(objects) if len(name) == 2]


def _usual_modes(repo: Repository) -> tuple[int, int]:
    """Return the permissions of git's folders and files of objects."""
    with private_folder(repo, "modes") as folder, tempfile.TemporaryDirectory(dir=folder) as objects:
        repo.git("hash-object", "-w", "--stdin", stdin=b"", variables={"GIT_OBJECT_DIRECTORY": objects})
        (file,) = Path(objects).glob("??/*")
        return stat.S_IMODE(file.parent.stat().st_mode), stat.S_IMODE(file.stat().st_mode)


class ObjectFaults:
    """What is gone or damaged below some trees, of which each object is looked at once.

    Each tree is read, and each file that is outside of packs: these are what a crash or a full disk leaves
    empty or cut. Of files in packs only the presence is looked at: ``git fsck`` reads a whole pack faster.
    """

    def __init__(self, repo: Repository, trees: Iterable[str]) -> None:
        self._store = TreeStore(repo)
        self._folder = os.fspath(repo.common_dir / "objects")
        self._above: dict[str, list[str]] = {}
        self._faulty = self._find_faulty({tree: TreeEntry(DIRECTORY, tree) for tree in trees})
        # Those, and what has them in it.
        self._leading, pending = set(self._faulty), [*self._faulty]
        while pending:
            above = {*self._above.get(pending.pop(), ())} - self._leading
            self._leading |= above
            pending += above

    def below(self, trees: Collection[str]) -> tuple[str, ...]:
        found: set[str] = set()
        fresh = {*trees} & self._leading
        while fresh:
            found |= fresh
            loaded = (self._store.load(oid) for oid in fresh - self._faulty)
            fresh = {entry.oid for tree in loaded for entry in tree.values()} & self._leading - found
        return tuple(sorted(found & self._faulty))

    def _find_faulty(self, pending: dict[str, TreeEntry]) -> set[str]:
        """Return what is gone or damaged, and note which trees are above each object."""
        faulty = set()
        while pending:
            oid, one = pending.popitem()
            inner = self._entries_in(one)
            if inner is None:
                faulty.add(oid)
            for entry in inner or ():
                if entry.oid not in self._above:
                    pending[entry.oid] = entry
                self._above.setdefault(entry.oid, []).append(oid)
        return faulty

    def _entries_in(self, one: TreeEntry) -> list[TreeEntry] | None:
        if one.mode == DIRECTORY:
            try:
                return [entry for entry in self._store.load(one.oid).values() if entry.mode != SUBMODULE]
            except UnusableError:
                return None
        is_loose = os.path.lexists(f"{self._folder}/{one.oid[:2]}/{one.oid[2:]}")
        return [] if (self._store.is_sound(one.oid) if is_loose else one.oid in self._store) else None
