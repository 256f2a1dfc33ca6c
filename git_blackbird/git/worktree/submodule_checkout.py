"""Check out submodules from the repositories that the user has of them."""

import os
import shutil
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.process import operands, run_git
from git_blackbird.git.core.repository import Repository, open_libgit2_anew, using_objects
from git_blackbird.git.worktree.index import QUIET_OPTIONS
from git_blackbird.git.worktree.inner import at_place, find_git_dir
from git_blackbird.git.worktree.submodules import MODULES, submodule_commits
from git_blackbird.model.base.system import describe

# Histories may be large.
_CLONE_SECONDS = 600.0
_URL = "remote.origin.url"


def populate(home: Repository, linked: Repository) -> dict[str, str]:
    """Check out the submodules in a new worktree that the user's has, from the user's own repositories.

    Their objects are hard links where the file system can. Return those that could not be, each with the
    reason; their folders are empty. Raises GitError.
    """
    failed = dict[str, str]()
    if not (home.top / ".gitmodules").exists():
        return failed
    for path, commit in submodule_commits(linked).items():
        source = find_git_dir(home.top / path)
        name = None if source is None else _name_of(home, source)
        if source is None or name is None or find_git_dir(linked.top / path) is not None:
            continue
        inner = at_place(linked, linked.git_dir / MODULES / name, linked.top / path)
        try:
            _clone(source, inner, commit)
        except (UnusableError, OSError) as error:
            failed[path] = describe(error)
            shutil.rmtree(inner.git_dir, ignore_errors=True)
            shutil.rmtree(inner.top, ignore_errors=True)
            inner.top.mkdir(exist_ok=True)
        else:
            below = populate(at_place(home, source, home.top / path), inner)
            failed.update((f"{path}/{nested}", reason) for nested, reason in below.items())
    return failed


def _name_of(home: Repository, git_dir: Path) -> Path | None:
    """Return by which path below ``modules`` a repository has the git directory of a submodule."""
    folders = (Path(os.path.realpath(each)) / MODULES for each in (home.git_dir, home.common_dir))
    return next((git_dir.relative_to(each) for each in folders if git_dir.is_relative_to(each)), None)


def _clone(source: Path, inner: Repository, commit: str) -> None:
    options = ("--quiet", "--no-checkout", "--template=", f"--separate-git-dir={inner.git_dir}")
    inner.git_dir.parent.mkdir(parents=True, exist_ok=True)
    command = ("clone", *options, *operands(os.fspath(source), os.fspath(inner.top)))
    run_git(command, cwd=inner.top, environ=inner.git_environ, timeout=_CLONE_SECONDS)
    with using_objects(inner):
        config = open_libgit2_anew(source).config
        if _URL in config:
            open_libgit2_anew(inner.git_dir).remotes.set_url("origin", config[_URL] or "")
    checkout = ("checkout", "--quiet", "--detach", "--force", "--no-recurse-submodules")
    inner.git(*QUIET_OPTIONS, *checkout, commit, timeout=_CLONE_SECONDS)
