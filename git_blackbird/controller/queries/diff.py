"""Looking at a change in full, and at what there is to name in a request."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.repository import list_known, list_paths
from git_blackbird.git.worktree.changes import Filter, diff_text, show_diff
from git_blackbird.model.entities.change import TreePair


def full_diff(workspace: Workspace, pair: TreePair) -> str:
    """Return the whole diff of a change as text. Raises UnusableError when its trees are gone."""
    return diff_text(workspace.repo, pair).decode(errors="replace")


def page_diff(workspace: Workspace, pair: TreePair, harmless: Filter) -> int:
    """Show the whole diff, on a terminal through ``harmless`` and the pager; gives git's exit status."""
    return show_diff(workspace.repo, pair, harmless)


def paths_of(workspace: Workspace) -> list[str]:
    """Name the files of the worktree in order, tracked or new, less what is ignored and our own state.

    Raises UnusableError.
    """
    return _named(workspace, list_paths(workspace.repo))


def tracked_paths_of(workspace: Workspace) -> list[str]:
    """Name those that git tracks, which are there much sooner. Raises UnusableError."""
    return _named(workspace, list_known(workspace.repo))


def _named(workspace: Workspace, paths: list[str]) -> list[str]:
    own = f"{workspace.paths.state.name}/"
    return sorted(path for path in paths if not path.startswith(own))
