"""The names of files, as git lists them."""

import os

from git_blackbird.git.repository import Repository

_LIST_SECONDS = 10.0


def list_paths(repo: Repository) -> list[str]:
    """Name every file of the worktree, tracked or new, less what is ignored, each once.

    As file systems have names: bytes that are not UTF-8 are surrogates. Raises GitError, GitTimeoutError.
    """
    return _list(repo, "-c", "-o", "--exclude-standard")


def list_known(repo: Repository) -> list[str]:
    """Name every tracked file, which takes a tenth of the time. Raises GitError, GitTimeoutError."""
    return _list(repo, "-c")


def _list(repo: Repository, *which: str) -> list[str]:
    listing = ("-c", "core.fsmonitor=false", "ls-files", "-z", "--deduplicate", *which)
    names = repo.git(*listing, timeout=_LIST_SECONDS).out.split(b"\0")
    return [os.fsdecode(name) for name in names if name]


def list_tracked(repo: Repository, folder: str) -> list[str]:
    """Name every file below a folder that git tracks, as file systems have them. Raises GitError."""
    names = repo.git("ls-files", "-z", "--deduplicate", "--", f":(top,literal){folder}").out.split(b"\0")
    return [os.fsdecode(name) for name in names if name]
