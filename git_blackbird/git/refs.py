"""The references that keep a run's trees alive and give them a name (DESIGN.md 3)."""

from git_blackbird.git.private_index import QUIET
from git_blackbird.git.program import operands
from git_blackbird.git.repository import Repository, opened, using_objects
from git_blackbird.git.trees import DIRECTORY, Entry, Trees

_OURS = "refs/blackbird/"


def run_ref(run_id: str) -> str:
    """Name the reference of a run: a tree with the entries ``base`` and ``head``."""
    return f"refs/blackbird/runs/{run_id}"


def save_run_ref(repo: Repository, run_id: str, base: str, head: str | None) -> None:
    """Point the reference of a run at its trees; ``head`` is None while the run is at work.

    Raises UnusableError when the repository cannot be written.
    """
    trees = Trees(repo)
    entries = {b"base": Entry(DIRECTORY, base)}
    if head is not None:
        entries[b"head"] = Entry(DIRECTORY, head)
    # In a process of its own, since libgit2 leaves its lock on the reference when this one is killed.
    _update_refs(repo, f"update {run_ref(run_id)} {trees.save(entries)}\n")


def keep_undo_trees(repo: Repository, run_id: str, base: str, head: str) -> None:
    """Keep the trees that the undo script of a rejected run compares.

    Raises UnusableError when the repository cannot be written.
    """
    kept = Trees(repo).save({b"base": Entry(DIRECTORY, base), b"head": Entry(DIRECTORY, head)})
    _update_refs(repo, f"update {_OURS}undo/{run_id} {kept}\n")


def run_trees(repo: Repository, run_id: str) -> tuple[str | None, str | None]:
    """Give the trees kept for a run, ``base`` and ``head``; None for what is not kept."""
    objects = opened(repo)
    with using_objects(repo):
        reference = objects.references.get(run_ref(run_id))
        if reference is None:
            return None, None
        tree = Trees(repo).load(str(reference.target))
    base, head = tree.get(b"base"), tree.get(b"head")
    return (base.oid if base else None, head.oid if head else None)


def list_our_refs(repo: Repository) -> tuple[str, ...]:
    """Name every reference below ``refs/blackbird/``, of all worktrees.

    Raises GitError.
    """
    said = repo.git("for-each-ref", "--format=%(refname)", *operands(_OURS)).out.decode(
        errors="surrogateescape"
    )
    return tuple(said.splitlines())


def delete_our_refs(repo: Repository) -> int:
    """Delete every reference below ``refs/blackbird/``; gives how many there were.

    Raises GitError; then none is deleted.
    """
    names = list_our_refs(repo)
    commands = "".join(f"delete {name}\n" for name in names)
    _update_refs(repo, commands)
    return len(names)


def _update_refs(repo: Repository, commands: str) -> None:
    """Let git do what ``commands`` say, all or nothing, without the repository's hooks."""
    repo.git(*QUIET, "update-ref", "--no-deref", "--stdin", stdin=commands.encode(errors="surrogateescape"))
