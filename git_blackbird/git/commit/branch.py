"""Commits of trees that are not in HEAD, and branches of them."""

from git_blackbird.git.core.process import operands, revisions
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.index import writing
from git_blackbird.git.worktree.log import tree_of
from git_blackbird.git.worktree.saved_trees import publish

_IS_SIGNED = ("config", "--type=bool", "--default=false", "--get", "commit.gpgSign")


def commit_tree(repo: Repository, tree: str, parent: str | None, message: str) -> str:
    """Make a commit of a tree, with the user's identity and signing, and return its id.

    ``parent`` is the id of a commit. Raises GitError.
    """
    trees = TreeStore(repo)
    base = trees.save({}) if parent is None else tree_of(repo, parent)
    entries = (trees.entry(tree, path) for path in trees.changed_paths(base, tree))
    with writing(repo.common_dir / "objects"):
        publish(repo, (entry.oid for entry in entries if entry is not None))
    signed = repo.git(*_IS_SIGNED).answer() == "true"
    options = [*(["-S"] if signed else []), *(["-p", parent] if parent else []), "-F", "-"]
    command = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", *options, *revisions(tree))
    return repo.git(*command, stdin=message.encode()).oid()


def create_branch(repo: Repository, name: str, commit: str) -> None:
    """Create a branch. Raises GitError if there is one of that name, or if it is no name for one."""
    repo.git("branch", "--no-track", *operands(name, commit))
