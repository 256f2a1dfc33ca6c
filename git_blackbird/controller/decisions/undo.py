"""How to undo a rejected change without losing later work (DESIGN.md 6)."""

from collections.abc import Iterator, Sequence

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.changes import changed_by_others
from git_blackbird.git.commit.undo import UndoPlan, plan_undo, render_undo
from git_blackbird.git.core.repository import head
from git_blackbird.git.worktree.changes import Carrier, changed_paths, diverged_paths, entry
from git_blackbird.git.worktree.log import commits_between, tree_of
from git_blackbird.git.worktree.saved_trees import save_run_ref
from git_blackbird.model.entities.change import KeptPath, TreePair, Undo, revert_command, script_command
from git_blackbird.model.entities.run import Run
from git_blackbird.storage.notes import save_undo
from git_blackbird.storage.paths import HIDDEN

_EDITED = "edited since the run ended"
_REPOSITORY = "is or was a git repository of its own"


def prepare_undo(workspace: Workspace, runs: Sequence[Run], pair: TreePair, worktree: str | None) -> Undo:
    """Write the script that undoes the change of these runs; a person runs it, never this program.

    ``worktree`` is a fresh snapshot: paths that were edited since are left alone, and so are paths that
    other commits changed.
    """
    commits = [oid for run in runs for oid in _commits_of(workspace, run)]
    plan = plan_undo(workspace.repo, pair, commits, runs[0].head_commit)
    skipped = dict(_kept(workspace, runs, plan, worktree))
    edits = Carrier(workspace.repo, HIDDEN).without(plan.edits, skipped) if skipped else plan.edits
    script = render_undo(workspace.repo, edits)
    run_id = runs[-1].id
    if script is not None:
        save_run_ref(workspace.repo, run_id, *edits, purpose="undo")
    undo = Undo(
        commands=(
            *((script_command(run_id),) if script is not None else ()),
            *(revert_command(oid, parents) for oid, parents in plan.commits),
        ),
        kept=tuple(
            KeptPath(path=path.decode(errors="replace"), reason=why) for path, why in sorted(skipped.items())
        ),
    )
    save_undo(workspace.paths, run_id, undo, script)
    return undo


def _commits_of(workspace: Workspace, run: Run) -> frozenset[str]:
    """Return the commits of a run; without the hook its record names none, but HEAD's moves tell."""
    noted = frozenset(run.commits)
    if run.end_commit in {None, run.head_commit}:
        return noted
    made = commits_between(workspace.repo, run.head_commit, run.end_commit)
    others = () if run.review_summary is None else run.review_summary.outside
    return noted | made.difference(*(commits_between(workspace.repo, move.old, move.new) for move in others))


def _kept(
    workspace: Workspace, runs: Sequence[Run], plan: UndoPlan, worktree: str | None
) -> Iterator[tuple[bytes, str]]:
    """Return the paths that are to stay as they are; of several reasons the last counts."""
    repo, edits = workspace.repo, plan.edits
    if worktree is not None:
        yield from ((path, _EDITED) for path in diverged_paths(repo, worktree, edits))
    yield from ((path, _REPOSITORY) for path in plan.repositories)
    for path, oid in _committed_over(workspace, runs, plan).items():
        yield path, f"commit {oid[:10]}, made since the run began, changed it too"


def _committed_over(workspace: Workspace, runs: Sequence[Run], plan: UndoPlan) -> dict[bytes, str]:
    """Return the paths where the undo would revert someone else's commit, with that commit.

    Where HEAD holds just what the change began with, the change is in the worktree alone.
    """
    repo, edits = workspace.repo, plan.edits
    commit = head(repo).commit
    others = changed_by_others(workspace, runs)
    if commit is None or not others:
        return {}
    now = tree_of(repo, commit)
    paths = changed_paths(repo, edits) & others.keys()
    return {path: others[path] for path in paths if entry(repo, now, path) != entry(repo, edits.base, path)}
