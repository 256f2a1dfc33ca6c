"""The names of files, as git lists them."""

import os

from git_blackbird.git.program import Completed, operands
from git_blackbird.git.repository import Repository

_LIST_SECONDS = 10.0
_KNOWN = ("ls-files", "-z", "--deduplicate", "-c")


def list_paths(repo: Repository) -> list[str]:
    """Name every file of the worktree, tracked or new, less what is ignored, each once.

    As file systems have names: bytes that are not UTF-8 are surrogates. Raises GitError, GitTimeoutError.
    """
    return _names(repo.git(*_KNOWN, "-o", "--exclude-standard", timeout=_LIST_SECONDS))


def list_known(repo: Repository) -> list[str]:
    """Name every tracked file, which takes a tenth of the time. Raises GitError, GitTimeoutError."""
    return _names(repo.git(*_KNOWN, timeout=_LIST_SECONDS))


def list_tracked(repo: Repository, folder: str) -> list[str]:
    """Name every file below a folder that git tracks, as file systems have them. Raises GitError."""
    return _names(repo.git(*_KNOWN, *operands(f":(top,literal){folder}")))


def _names(listed: Completed) -> list[str]:
    return [os.fsdecode(name) for name in listed.out.split(b"\0") if name]
