"""The references that keep a run's trees alive and give them a name (DESIGN.md 3)."""

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
    with using_objects(repo):
        trees.objects.references.create(run_ref(run_id), trees.save(entries), force=True)


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


def delete_run_ref(repo: Repository, run_id: str) -> None:
    """Forget the trees of a run; there may be none."""
    objects = opened(repo)
    with using_objects(repo):
        if objects.references.get(run_ref(run_id)) is not None:
            objects.references.delete(run_ref(run_id))


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
    repo.git("update-ref", "--no-deref", "--stdin", stdin=commands.encode(errors="surrogateescape"))
    return len(names)
