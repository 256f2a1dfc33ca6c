"""Which undecided changes of other tasks a file has from before a run."""

from collections.abc import Iterable

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.worktree.changes import changed_paths
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.attention import pending_decisions


def undecided_before(workspace: Workspace, task_id: TaskId, paths: Iterable[bytes]) -> dict[bytes, TaskId]:
    """Return the paths that a change of another task has which waits for a decision since before this one's.

    Each comes with the task that has waited longest. Raises UnusableError, GitError.
    """
    state, wanted = workspace.plan_state(), frozenset(paths)
    own = state.latest(task_id)
    found: dict[bytes, TaskId] = {}
    for due in pending_decisions(state):
        runs = workspace.runs_to_decide(state.history(due.task.id))
        if own is None or due.task.id == task_id or runs[0].sort_key > own.sort_key:
            continue
        pairs = [run.tree_pair for run in runs if run.tree_pair is not None]
        changed = frozenset[bytes]().union(*(changed_paths(workspace.repo, pair) for pair in pairs))
        found = dict.fromkeys(wanted & changed, due.task.id) | found
    return found
