"""The names of files, as git lists them."""

import os

from git_blackbird.git.repository import Repository

_LIST_SECONDS = 10.0


def list_paths(repo: Repository) -> list[str]:
    """Name every file of the worktree, tracked or new, less what is ignored; in git's order, each once.

    Names that are not UTF-8 are left out: nobody can type them. Raises GitError, GitTimeoutError.
    """
    listing = (
        "-c",
        "core.fsmonitor=false",
        "ls-files",
        "-z",
        "-c",
        "-o",
        "--exclude-standard",
        "--deduplicate",
    )
    names = repo.git(*listing, timeout=_LIST_SECONDS).out.split(b"\0")
    return [text for name in names if name and (text := _text(name)) is not None]


def list_tracked(repo: Repository, folder: str) -> list[str]:
    """Name every file below a folder that git tracks, as file systems have them. Raises GitError."""
    names = repo.git("ls-files", "-z", "--deduplicate", "--", f":(top,literal){folder}").out.split(b"\0")
    return [os.fsdecode(name) for name in names if name]


def _text(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None
