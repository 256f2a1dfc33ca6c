"""A throw-away checkout: the files of a tree in a folder, with nothing of the repository touched."""

import os
import time
from dataclasses import replace
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.private_index import QUIET, private_folder
from git_blackbird.git.program import GitTimeoutError, revisions
from git_blackbird.git.repository import Repository

# Every file of the tree: what the user's worktree leaves away is no business of this folder.
_WHOLE = ("-c", "core.sparseCheckout=false")


class CheckoutError(UnusableError):
    """A tree could not be written out as files."""


def checkout_tree(repo: Repository, tree: str, folder: Path, *, timeout_seconds: float = 60.0) -> None:
    """Write the files of a tree into an empty folder, as git would check them out into a worktree.

    Filters, line ends and modes are those that the tree's own attributes name; a submodule is an empty
    folder. ``folder`` has no ``.git``. Index, worktree, references and configuration of the repository stay
    as they are. Raises CheckoutError, also after ``timeout_seconds``; what was written by then stays.
    """
    try:
        _check_empty(folder)
        with private_folder(repo, "checkout") as private:
            _write_files(replace(repo, top=folder.absolute()), tree, private / "index", timeout_seconds)
    except CheckoutError:
        raise
    except GitTimeoutError as error:
        message = f"the checkout of {tree} was not done after {timeout_seconds:g} s"
        raise CheckoutError(message, hint="a filter of this repository may hang") from error
    except (UnusableError, OSError) as error:
        hint = error.hint if isinstance(error, UnusableError) else "make room or make it accessible"
        raise CheckoutError(f"cannot check out {tree} into {folder}: {error}", hint=hint) from error


def _check_empty(folder: Path) -> None:
    with os.scandir(folder) as entries:
        if any(entries):
            raise CheckoutError(f"cannot check out into {folder}: it is not empty")


def _write_files(place: Repository, tree: str, index: Path, seconds: float) -> None:
    """Check out with the folder as the worktree: attributes are then read of the tree and of nothing else."""
    deadline = time.monotonic() + seconds
    variables = {"GIT_INDEX_FILE": os.fspath(index)}
    for command in (("read-tree", *revisions(tree)), ("checkout-index", "--all")):
        left = max(deadline - time.monotonic(), 0.0)
        place.git(*QUIET, *_WHOLE, *command, timeout=left, variables=variables)
