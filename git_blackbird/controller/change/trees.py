"""Compose the trees and the summary of a change; nothing else computes them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.change.changes import changed_paths, compose
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.change import contributions
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import (
    MAX_HEAD_MOVES,
    InterleavedEdit,
    Outside,
    SubmoduleChange,
    Summary,
    Trees,
)


class ChangeTrees(NamedTuple):
    """A change: its trees, None where they cannot be known, and its summary, which says why then."""

    trees: Trees | None
    summary: Summary


def change_of(workspace: Workspace, state: PlanState, task_id: TaskId) -> ChangeTrees:
    """Return the change that a decision on the task would be about."""
    history = state.history(task_id)
    newest = history.latest
    if newest is None:
        return ChangeTrees(None, Summary(minimal="it has no run"))
    return combined_change(workspace, state, newest, workspace.runs_to_decide(history))


def combined_change(workspace: Workspace, state: PlanState, newest: Run, runs: Sequence[Run]) -> ChangeTrees:
    """Return the combined change of these runs of one task; ``newest`` is the one that counts."""
    pairs = [run.tree_pair for run in runs if run.tree_pair is not None]
    is_to_commit = newest.uncommitted_landing is not None and not newest.is_in_place
    is_alone = len(pairs) <= 1 and newest.change_elsewhere in {None, newest.tree_pair} and not is_to_commit
    if is_alone and newest.review_summary is not None:
        return ChangeTrees(newest.tree_pair, newest.review_summary)
    if not pairs:
        nothing = Summary(minimal="no snapshots of this run are left")
        return ChangeTrees(None, newest.review_summary or nothing)
    try:
        pair = compose(workspace.repo, contributions(runs))
        summary = summarize(workspace.repo, pair)
        between = tuple(_interleaved_edits(workspace, state, runs, pair))
    except BlackbirdError as error:
        return ChangeTrees(None, Summary(minimal=error.message))
    left_out = newest.review_summary.left_out if newest.review_summary is not None else ()
    here = Summary(between=between, left_out=left_out)
    return ChangeTrees(pair, summary.with_fields(_summary_of_moves(runs)).with_fields(here))


def outside_of_runs(runs: Iterable[Run]) -> Outside:
    return reduce(Outside.adding, (run.outside for run in runs), Outside())


def _interleaved_edits(
    workspace: Workspace, state: PlanState, runs: Sequence[Run], pair: Trees
) -> Iterator[InterleavedEdit]:
    """Find paths of the change that another task's run touched after these runs began."""
    if runs[-1].worktree is not None:
        return
    paths = changed_paths(workspace.repo, pair)
    last, own = runs[-1].sort_key, runs[0].task_id
    tasks = sorted(state.histories.keys() - {own})
    for other in (run for task_id in tasks for run in state.histories[task_id].since(runs[0])):
        if other.change_in_place is not None and other.sort_key < last:
            for path in sorted(paths & changed_paths(workspace.repo, other.change_in_place)):
                yield InterleavedEdit(path=path.decode(errors="replace"), task=other.task_id, run=other.id)


def _summary_of_moves(runs: Sequence[Run]) -> Summary:
    """Return the moves of HEAD during several runs, oldest first, and their changes of submodules."""
    summaries = [run.review_summary for run in runs if run.review_summary is not None]
    moves = [move for summary in summaries for move in summary.head_moves]
    joined: dict[str, SubmoduleChange] = {}
    for change in (change for summary in summaries for change in summary.submodules):
        known = joined.get(change.path, change)
        newest = change if change.content else known
        commits = change.commits or known.commits
        joined[change.path] = newest.updated(path=change.path, commits=commits)
    submodules = tuple(joined[path] for path in sorted(joined))
    last = summaries[-1] if summaries else Summary()
    return Summary(
        head_moves=tuple(moves[-MAX_HEAD_MOVES:]),
        submodules=submodules,
        switched=last.switched,
        takes_back=last.takes_back,
    )
