"""Diffs of changes in full, and the paths that a request may name.

Loads pygit2: to be imported only by what shows a diff.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from git_blackbird.controller.core.guards import require_usable
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.change.changes import Filter, compose, diff_colors, diff_text, show_diff
from git_blackbird.git.change.parts import only_hunks
from git_blackbird.git.core.repository import list_all_tracked, list_paths
from git_blackbird.git.worktree.comparing import generated_paths
from git_blackbird.git.worktree.linked import task_worktrees
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.change.change import Change, contributions, contributions_since
from git_blackbird.model.run.history import History
from git_blackbird.model.run.summary import WHOLE, Extent, Trees

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence
    from git_blackbird.model.run.proof import Proof


def full_diff(workspace: Workspace, pair: Trees, extent: Extent = WHOLE) -> str:
    """Return the whole diff of a change as text. Raises UnusableError when its trees are gone."""
    return diff_text(workspace.repo, pair, extent).decode(errors="replace")


def colors_of_diffs(workspace: Workspace) -> Mapping[str, str]:
    return diff_colors(workspace.repo)


LOCK_FILES = frozenset(
    (
        *("bun.lock", "Cargo.lock", "composer.lock", "deno.lock", "flake.lock", "Gemfile.lock", "go.sum"),
        *("gradle.lockfile", "mix.lock", "npm-shrinkwrap.json", "package-lock.json", "Package.resolved"),
        *("packages.lock.json", "pdm.lock", "Pipfile.lock", "pnpm-lock.yaml", "Podfile.lock"),
        *("poetry.lock", "pubspec.lock", "uv.lock", "yarn.lock"),
    )
)
"""The names of files in which package managers note versions."""


def generated_files(workspace: Workspace, tree: str, paths: Iterable[str]) -> frozenset[str]:
    """Return the paths that are generated, as the attributes in a tree say, or else their names."""
    encoded = {path.encode(): path for path in paths}
    try:
        said = generated_paths(workspace.repo, tree, encoded)
    except UnusableError:
        # A repository that cannot be written, or a tree that is damaged: the names are known.
        said = {}
    return frozenset(
        path for raw, path in encoded.items() if said.get(raw, path.rpartition("/")[2] in LOCK_FILES)
    )


def page_diff(workspace: Workspace, pair: Trees, harmless: Filter) -> int:
    """Show the whole diff, on a terminal through ``harmless`` and the pager; return git's exit status."""
    return show_diff(workspace.repo, pair, harmless)


def unproven_part(workspace: Workspace, pair: Trees, proof: "Proof") -> Trees:
    """Return what of a change no check is known to notice."""
    return only_hunks(workspace.repo, pair, (hunk for part in proof.unproven for hunk in part.hunks))


def unproven_diff(workspace: Workspace, pair: Trees, evidence: "Evidence | None") -> str:
    """Return the diff of that; "" for nothing, or where its hunks were not judged."""
    proof = None if evidence is None else evidence.proof
    if proof is None or not proof.unproven:
        return ""
    return full_diff(workspace, unproven_part(workspace, pair, proof))


def change_pair(
    workspace: Workspace, history: History, task_id: str, *, since_request: bool = False
) -> Trees:
    """Return the change that a decision on the task would be about.

    ``since_request``: only of the runs since a person last requested changes. Raises RequestError if no such
    request was carried out, or no run has snapshots.
    """
    found = contributions(workspace.runs_to_decide(history))
    if since_request:
        requested = Change.of(history).last_request
        if requested is None:
            require_usable(TaskId(task_id), history)
            raise RequestError(
                f"no change request was carried out on {task_id} since it was last done",
                hint=TaskCommand("runs", task_id, " --diff", remark="shows its whole change"),
            )
        found = contributions_since(requested.runs)
    if not found:
        require_usable(TaskId(task_id), history)
        raise RequestError(
            f"{task_id} has no run with a pair of snapshots to compare",
            hint=TaskCommand("runs", task_id, remark="lists its runs"),
        )
    return compose(workspace.repo, found)


def paths_of(workspace: Workspace, worktree: str | None = None) -> list[str]:
    """Name the files of a worktree in order, tracked or new, less what is ignored and our own state.

    It is the user's, or a task's own at the path ``worktree``. Raises UnusableError.
    """
    places = () if worktree is None else task_worktrees(workspace.repo)
    own = (place.repo for place in places if str(place.repo.top) == worktree)
    return _without_state(workspace, list_paths(next(own, workspace.repo)))


def tracked_paths_of(workspace: Workspace) -> list[str]:
    """Name those that git tracks, which are there much sooner. Raises UnusableError."""
    return _without_state(workspace, list_all_tracked(workspace.repo))


def _without_state(workspace: Workspace, paths: list[str]) -> list[str]:
    own = f"{workspace.paths.state.name}/"
    return sorted(path for path in paths if not path.startswith(own))
