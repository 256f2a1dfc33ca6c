"""Find what exists only in repositories below a worktree: its submodules, and others, ignored or not."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.change.changes import submodule_sides
from git_blackbird.git.core.output import texts
from git_blackbird.git.core.process import GitStoppedError, name_lines
from git_blackbird.git.core.repository import Repository, open_libgit2, using_objects
from git_blackbird.git.core.trees import SUBMODULE, TreeStore
from git_blackbird.git.submodules.inner import (
    REMOTES,
    fetched_ids,
    find_git_dir,
    is_git_dir,
    isolated_view,
    logged_ids,
    module_dirs,
    references,
    repository_at,
)
from git_blackbird.git.worktree.base_commits import write_commit
from git_blackbird.git.worktree.index import may_have_submodules, writing
from git_blackbird.git.worktree.remote_refs import fetch_checked
from git_blackbird.git.worktree.snapshot import SnapshotLimits, take_full_snapshot
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.system import describe
from git_blackbird.model.run.summary import MAX_SUBMODULE_FILES, SubmoduleChange, Trees

if TYPE_CHECKING:
    import pygit2

# The folder of a git directory with those of submodules.
MODULES = "modules"
_MODE = f"{SUBMODULE:o} "
_NAMED = 5
PRUNE_AFTERWARDS = Sentence("then ", TaskCommand("worktrees prune"))


class Uncommitted(NamedTuple):
    """The content of a submodule of a worktree that is in none of its commits.

    ``digest`` changes with the content. ``files`` are paths below its folder; an empty path is one that
    cannot be read.
    """

    digest: str
    files: tuple[str, ...]


_UNREADABLE = Uncommitted("unreadable", ("",))


class NewCommits(NamedTuple):
    """Commits of a submodule in a task's worktree that are to be kept in the user's own ``home`` of it."""

    git_dir: Path
    home: Path
    commits: tuple[str, ...]


def submodule_commits(repo: Repository, seconds: float | None = None) -> dict[str, str]:
    """Return the commit of each submodule that is in the index. Raises GitError, GitTimeoutError."""
    try:
        if not may_have_submodules(repo.index):
            return {}
    except FileNotFoundError:
        return {}
    listed = repo.git("ls-files", "-z", "-s", timeout=seconds).records(texts)
    entries = (line.partition("\t") for line in listed if line.startswith(_MODE))
    return {path: facts.split(" ")[1] for facts, _, path in entries}


def uncommitted(repo: Repository, limits: SnapshotLimits) -> dict[str, Uncommitted]:
    """Return the uncommitted content of each submodule that has some.

    The content of nested submodules counts. Without submodules no process is started. Raises GitError.
    """
    top = Path(os.path.realpath(repo.top))
    paths = submodule_commits(repo, limits.timeout_seconds)
    # What a link leads to is elsewhere.
    is_there = {path: os.path.realpath(top / path) == os.fspath(top / path) for path in paths}
    folders = (path for path in paths if is_there[path] and (top / path).is_dir())
    states = {path: _state(repo, top / path, limits) for path in folders}
    return {path: state for path, state in states.items() if state.files}


def _state(repo: Repository, top: Path, limits: SnapshotLimits) -> Uncommitted:
    try:
        git_dir = find_git_dir(top)
        if git_dir is None:
            files = tuple(sorted(_files_below(top)))
            return Uncommitted(_digest(_signature(top / name) for name in files), files)
        with isolated_view(repo, git_dir, top) as view:
            trees, taken = TreeStore(view), take_full_snapshot(view, limits)
            changed = set(map(os.fsdecode, trees.changed_paths(_head_tree(view, trees), taken.tree)))
            below = uncommitted(view, limits)
        changed.update(skipped.path for skipped in taken.left_out)
        changed.update(f"{path}/{name}" for path, state in below.items() for name in state.files)
        return Uncommitted(_digest([taken, below]), tuple(sorted(changed)))
    except GitStoppedError:
        raise
    except (UnusableError, OSError):
        return _UNREADABLE


def _digest(items: Iterable[object]) -> str:
    return hashlib.sha256(repr(list(items)).encode(errors="surrogateescape")).hexdigest()[:16]


def _signature(place: Path) -> tuple[int, ...]:
    status = place.lstat()
    return status.st_mtime_ns, status.st_size, status.st_mode, status.st_ino


def _files_below(folder: Path) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=fail):
        links = (name for name in folders if (Path(place) / name).is_symlink())
        yield from (os.path.relpath(Path(place) / name, folder) for name in (*names, *links))


def _head_tree(view: Repository, trees: TreeStore) -> str:
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    objects = open_libgit2(view)
    if objects.head_is_unborn:
        return trees.save({})
    with using_objects(view):
        return str(objects.head.peel(pygit2.Tree).id)


def require_committed(linked: Repository, limits: SnapshotLimits) -> None:
    """Refuse a worktree whose submodules have uncommitted content. Raises RequestError, GitError."""
    for path, state in uncommitted(linked, limits).items():
        if state == _UNREADABLE:
            what = f"its submodule {path} cannot be read"
        else:
            named = ", ".join(f"{path}/{name}" for name in state.files[:_NAMED])
            more = len(state.files) - _NAMED
            rest = f" and {more} more" if more > 0 else ""
            what = f"no commit of its submodule {path} has {named}{rest}"
        raise RequestError(
            f"{linked.top} stays: {what}",
            hint=Sentence("commit it there or move it away, ", PRUNE_AFTERWARDS),
        )


def new_commits(linked: Repository, home: Repository) -> tuple[NewCommits, ...]:
    """Return the commits in the submodules of a task's worktree that the user's own submodules lack.

    Every commit counts that a reference or a log of references names, stashes as well. Raises RequestError if
    the user has no repository of such a submodule, GitError.
    """
    found = []
    for git_dir in module_dirs(linked.git_dir / MODULES):
        place = git_dir.relative_to(linked.git_dir)
        homes = (folder / place for folder in (home.git_dir, home.common_dir))
        own = next(filter(is_git_dir, homes), None)
        name = place.relative_to(MODULES)
        try:
            commits = commits_only_in(linked, git_dir, own)
        except OSError as error:
            raise UnusableError(
                f"cannot read the submodule {name} of {linked.top}: {describe(error)}"
            ) from error
        if commits and own is None:
            raise RequestError(
                f"{linked.top} stays: you have no repository of its submodule {name} for its commits",
                hint=Sentence("`git submodule update --init` makes one, ", PRUNE_AFTERWARDS),
            )
        if commits and own is not None:
            found.append(NewCommits(git_dir, own, commits))
    return tuple(found)


def keep_commits(linked: Repository, new: NewCommits) -> None:
    """Fetch commits into the user's own repository of a submodule, under our reference. Raises GitError."""
    with isolated_view(linked, new.git_dir, None) as view:
        kept = write_commit(view, TreeStore(view).save({}), new.commits, "Kept by git-blackbird\n", 0)
        ref = f"refs/blackbird/commits/{kept}"
        with writing(view.git_dir):
            (view.git_dir / "packed-refs").write_text(f"{kept} {ref}\n")
        fetch_checked(repository_at(linked, new.home, new.home), os.fspath(view.git_dir), ref)


def commits_only_in(linked: Repository, git_dir: Path, home: Path | None) -> tuple[str, ...]:
    """Return the commits that a git directory names and that no reference of another one reaches.

    Without another one, commits that were fetched count as kept by the remote. Raises UnusableError, OSError.
    """
    own = {oid for name, oid in references(git_dir).items() if not name.startswith(REMOTES)}
    held = fetched_ids(git_dir) if home is None else frozenset(references(home).values())
    named = (own | logged_ids(git_dir)) - held
    if not named:
        return ()
    homes = () if home is None else (home,)
    with isolated_view(linked, git_dir, None, *homes) as view:
        objects = open_libgit2(view)
        with using_objects(view):
            commits = sorted({*filter(None, (_commit(objects, oid) for oid in named))})
            stdin = name_lines([*commits, *(f"^{oid}" for oid in held if oid in objects)])
        if not commits:
            return ()
        new = set(view.git("rev-list", "--stdin", stdin=stdin).lines(texts))
    return tuple(commit for commit in commits if commit in new)


def _commit(objects: "pygit2.Repository", oid: str) -> str | None:
    """Return the commit that an object or a tag refers to; None for other or missing objects."""
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    try:
        return str(objects[oid].peel(pygit2.Commit).id)
    except (KeyError, pygit2.InvalidSpecError):
        return None


def submodule_changes(
    repo: Repository, pair: Trees, before: Mapping[str, str], after: Mapping[str, Uncommitted]
) -> tuple[SubmoduleChange, ...]:
    """List the submodules that a change moved to another commit, or in which it left changes.

    ``before`` are the digests of what was not committed at its beginning, ``after`` is what is not at its
    end. Raises UnusableError.
    """
    moved = {os.fsdecode(path) for path, sides in submodule_sides(TreeStore(repo), pair) if None not in sides}
    edited = {path: state for path, state in after.items() if state.digest != before.get(path)}
    named = {path: [_text(name) for name in state.files if name] for path, state in edited.items()}
    return tuple(
        SubmoduleChange(
            path=_text(path),
            commits=path in moved,
            content=path in edited,
            files=tuple(named.get(path, ())[:MAX_SUBMODULE_FILES]),
            more_files=max(0, len(named.get(path, ())) - MAX_SUBMODULE_FILES),
        )
        for path in sorted({*moved, *edited})
    )


def _text(path: str) -> str:
    return os.fsencode(path).decode(errors="replace")


_GIT = ".git"


def require_no_repository(linked: Repository, limits: SnapshotLimits) -> None:
    """Refuse a worktree with a repository below it whose work would go too. Raises RequestError, GitError."""
    found = list(islice(nested_repositories(linked, linked.top, limits), _NAMED + 1))
    if found:
        names = ", ".join(found[:_NAMED]) + (" and others" if len(found) > _NAMED else "")
        what, they = ("repository", "it") if len(found) == 1 else ("repositories", "them")
        raise RequestError(
            f"{linked.top} stays: the git {what} in {names} would go with it",
            hint=Sentence(
                f"move {they} away (a linked worktree with `git worktree move`), ", PRUNE_AFTERWARDS
            ),
        )


def nested_repositories(linked: Repository, top: Path, limits: SnapshotLimits) -> Iterator[str]:
    """Yield the paths below a folder of a worktree at which a repository of its own has work.

    A linked worktree has work in any case; a repository if something in it was neither fetched nor is ignored
    there: sources that a build fetches are none. Raises RequestError for a folder that cannot be read,
    GitError.
    """
    owners = [Path(os.path.realpath(linked.git_dir))]
    for place in _places(top):
        git_dir = find_git_dir(place)
        if git_dir is None or any(git_dir.is_relative_to(owner / MODULES) for owner in owners):
            continue
        owners.append(git_dir)
        if not git_dir.is_relative_to(place) or _has_work(linked, place, git_dir, limits):
            yield os.path.relpath(place, top)


def _places(top: Path) -> Iterator[Path]:
    """Yield the folders below one that contain a git directory or a file for it, upper ones first.

    No link is followed, and git directories are not searched.
    """
    pending = [os.fspath(top)]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                there = {entry.name: entry for entry in entries}
        except FileNotFoundError:  # a build goes on
            continue
        except OSError as error:
            raise RequestError(f"{top} stays: cannot read {folder}: {describe(error)}") from error
        if there.pop(_GIT, None) is not None and folder != os.fspath(top):
            yield Path(folder)
        pending += (each.path for each in there.values() if each.is_dir(follow_symlinks=False))


def _has_work(linked: Repository, top: Path, git_dir: Path, limits: SnapshotLimits) -> bool:
    git_dirs = (git_dir, *module_dirs(git_dir / MODULES))
    try:
        return any(commits_only_in(linked, each, None) for each in git_dirs) or bool(
            _state(linked, top, limits).files
        )
    except GitStoppedError:
        raise
    except (UnusableError, OSError):
        return True
