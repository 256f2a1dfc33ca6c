"""The change of a run in its task's worktree, even if the agent went to another branch there."""

from collections.abc import Iterator

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import OwnChange, first_paths
from git_blackbird.git.change.merging import merge_trees
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import (
    base_commit_of,
    commit_diff,
    find_fork_point,
)
from git_blackbird.model.base.timestamps import SECOND, parse_timestamp
from git_blackbird.model.change.change import Change
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Summary, SwitchedBranch, Trees


def own_change_in_worktree(workspace: Workspace, run: Run, pair: Trees) -> OwnChange:
    """Return the change of a run in its task's worktree: everything done there is the task's own.

    Where its agent went to another branch, that is what was done on it. Raises UnusableError.
    """
    repo, base = workspace.repo, base_commit_of(workspace.repo)
    if base is None:
        return OwnChange(pair, began=run.worktree_base)
    history = workspace.store.records.history(run.task_id)
    since, began_with = _fork_point(repo, history, run, base), commit_diff(repo, base).pair
    if since == base:
        took_back = first_paths(_reverted_edits(repo, began_with, pair.head))
        begins, beside = began_with.head, Summary(takes_back=took_back)
    else:
        begins = began_with.head if since is None else commit_diff(repo, since).pair.head
        (merge,) = merge_trees(repo, begins, [(began_with.head, pair.head)])
        unmerged = first_paths(merge.conflicts)
        beside = Summary(switched=SwitchedBranch(branch=head(repo).branch, since=since, unmerged=unmerged))
    if _fork_commit(beside) == _fork_commit(_summary_before(history, run)):
        return OwnChange(pair, beside, run.worktree_base)
    return OwnChange(Trees(begins, pair.head), beside, begins)


def _fork_point(repo: Repository, history: History, run: Run, base: str) -> str | None:
    there = [one for one in (*Change.of(history).runs, run) if one.worktree_path == run.worktree_path]
    began = min(parse_timestamp(one.started_at) for one in there)
    return find_fork_point(repo, base, began // SECOND)


def _reverted_edits(repo: Repository, began: Trees, head_tree: str) -> Iterator[bytes]:
    """Return the paths whose uncommitted edits were taken back to the user's commit."""
    trees = TreeStore(repo)
    in_no_commit, changed = trees.changed_paths(*began), {*trees.changed_paths(began.base, head_tree)}
    yield from sorted({*in_no_commit} - changed)


def _summary_before(history: History, run: Run) -> Summary | None:
    resumed = None if run.resumes is None else history.find(run.resumes)
    return None if resumed is None else resumed.review_summary


def _fork_commit(summary: Summary | None) -> str | None:
    return None if summary is None or summary.switched is None else summary.switched.since
