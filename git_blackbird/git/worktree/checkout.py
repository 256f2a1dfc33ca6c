"""Check a tree out into a temporary folder without touching the repository."""

import os
import time
from dataclasses import replace
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.process import GitTimeoutError, revisions
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.index import QUIET_OPTIONS, private_folder

# Every file of the tree, even outside the user's sparse checkout.
_WHOLE = ("-c", "core.sparseCheckout=false")


class CheckoutError(UnusableError):
    """A tree could not be written out as files."""


def checkout_tree(repo: Repository, tree: str, folder: Path, *, timeout_seconds: float = 60.0) -> None:
    """Write the files of a tree into an empty folder, as git would check them out into a worktree.

    Filters, line ends and modes follow the tree's own attributes; a submodule is an empty folder. ``folder``
    gets no ``.git``. Index, worktree, references and configuration of the repository stay unchanged. Raises
    CheckoutError, also after ``timeout_seconds``; files written by then stay.
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
    """Check out with the folder as the worktree, so that attributes are read from the tree alone."""
    deadline = time.monotonic() + seconds
    variables = {"GIT_INDEX_FILE": os.fspath(index)}
    for command in (("read-tree", *revisions(tree)), ("checkout-index", "--all")):
        left = max(deadline - time.monotonic(), 0.0)
        place.git(*QUIET_OPTIONS, *_WHOLE, *command, timeout=left, variables=variables)
