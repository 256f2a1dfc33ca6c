"""The references that keep a run's trees alive and name them (DESIGN.md 3)."""

from git_blackbird.git.core.process import operands
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import DIRECTORY, TreeEntry, TreeStore
from git_blackbird.git.worktree.index import QUIET_OPTIONS

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
    """List every reference below ``refs/blackbird/``, of all worktrees.

    Raises GitError.
    """
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
