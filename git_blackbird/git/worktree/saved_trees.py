"""Keep a run's trees alive by references (DESIGN.md 3), and check trees out into temporary folders."""

import os
import time
from dataclasses import replace
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.process import GitTimeoutError, operands, revisions
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import DIRECTORY, TreeEntry, TreeStore
from git_blackbird.git.worktree.index import QUIET_OPTIONS, private_folder

_OURS = "refs/blackbird/"


def run_ref(run_id: str) -> str:
    """Return the reference of a run: a tree with the entries ``base`` and ``head``."""
    return f"refs/blackbird/runs/{run_id}"


def save_run_ref(repo: Repository, run_id: str, base: str, head: str | None) -> None:
    """Point the reference of a run at its trees; ``head`` is None while the run is at work.

    Raises UnusableError if the repository cannot be written.
    """
    trees = TreeStore(repo)
    entries = {b"base": TreeEntry(DIRECTORY, base)}
    if head is not None:
        entries[b"head"] = TreeEntry(DIRECTORY, head)
    # In a separate process, since libgit2 leaves its lock on the reference when this one is killed.
    _update_refs(repo, f"update {run_ref(run_id)} {trees.save(entries)}\n")


def keep_undo_trees(repo: Repository, run_id: str, base: str, head: str) -> None:
    """Keep the trees that the undo script of a rejected run compares.

    Raises UnusableError if the repository cannot be written.
    """
    tree = TreeStore(repo).save({b"base": TreeEntry(DIRECTORY, base), b"head": TreeEntry(DIRECTORY, head)})
    _update_refs(repo, f"update {_OURS}undo/{run_id} {tree}\n")


def list_our_refs(repo: Repository) -> tuple[str, ...]:
    """List every reference below ``refs/blackbird/``, of all worktrees. Raises GitError."""
    output = repo.git("for-each-ref", "--format=%(refname)", *operands(_OURS)).out.decode(
        errors="surrogateescape"
    )
    return tuple(output.splitlines())


def delete_our_refs(repo: Repository) -> int:
    """Delete every reference below ``refs/blackbird/``, or none; return how many there were.

    Raises GitError.
    """
    names = list_our_refs(repo)
    commands = "".join(f"delete {name}\n" for name in names)
    _update_refs(repo, commands)
    return len(names)


def _update_refs(repo: Repository, commands: str) -> None:
    """Run ``commands`` of git update-ref, all or nothing, without the repository's hooks."""
    repo.git(
        *QUIET_OPTIONS, "update-ref", "--no-deref", "--stdin", stdin=commands.encode(errors="surrogateescape")
    )


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
