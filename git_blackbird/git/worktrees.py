"""The other worktrees of a repository, found without starting git: reading commands ask for them."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.git.repository import Repository


class Worktree(NamedTuple):
    """A worktree of the same repository, and its own git directory."""

    top: Path
    git_dir: Path


def other_worktrees(repo: Repository) -> Iterator[Worktree]:
    """Give every other worktree that is there, the main one first.

    A main worktree whose git directory lies elsewhere is not found.
    """
    if repo.git_dir != repo.common_dir and repo.common_dir.name == ".git":
        yield Worktree(repo.common_dir.parent, repo.common_dir)
    try:
        linked = sorted((repo.common_dir / "worktrees").iterdir())
    except OSError:
        return
    for git_dir in linked:
        with contextlib.suppress(OSError):
            top = Path(os.fsdecode((git_dir / "gitdir").read_bytes()).removesuffix("\n")).parent
            if git_dir != repo.git_dir and top.is_absolute() and top.is_dir():
                yield Worktree(top, git_dir)
