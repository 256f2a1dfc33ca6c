"""Find the repositories below a worktree that are no submodules of it, ignored or not: they are work too."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.submodules.edits import MODULES, PRUNE_AFTERWARDS, commits_only_in, is_edited
from git_blackbird.git.submodules.inner import find_git_dir, module_dirs
from git_blackbird.git.worktree.snapshot_values import SnapshotLimits
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.base.system import describe

_NAMED = 5
_GIT = ".git"


def require_no_repository(linked: Repository, limits: SnapshotLimits) -> None:
    """Refuse a worktree with a repository below it whose work would go with it.

    Raises RequestError, GitError.
    """
    found = list(islice(nested_repositories(linked, linked.top, limits), _NAMED + 1))
    if found:
        names = ", ".join(map(clean_line, found[:_NAMED])) + (" and others" if len(found) > _NAMED else "")
        what, they = ("repository", "it") if len(found) == 1 else ("repositories", "them")
        raise RequestError(
            f"{linked.top} stays: the git {what} in {names} would go with it",
            hint=f"move {they} away (a linked worktree with `git worktree move`), {PRUNE_AFTERWARDS}",
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
    """Yield the folders below one in which there is a git directory, or a file for it, the upper ones first.

    No link is followed, and nothing in a git directory is looked at.
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
        return any(commits_only_in(linked, each, None) for each in git_dirs) or is_edited(linked, top, limits)
    except GitStoppedError:
        raise
    except (UnusableError, OSError):
        return True
