"""Work of a run that changed nothing in its place, in a worktree or branch that begins where it began."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.worktrees import workspace_of
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.repository import head
from git_blackbird.git.worktree.base_commits import base_commit_of, begins_at, commit_diff
from git_blackbird.git.worktree.linked import open_linked
from git_blackbird.git.worktree.surroundings import take_surroundings
from git_blackbird.model.base.next_steps import ShellLine, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.commits import TASK_TRAILER
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Outside, Subject
from git_blackbird.model.views.checkpoint import WorkElsewhere


class _Work(NamedTuple):
    """Files elsewhere, and what git merges to have them; what is not committed yet is in a worktree."""

    where: str
    tree: str
    revision: str
    uncommitted: Path | None = None


def find_work_elsewhere(workspace: Workspace, task: Task, run: Run, outside: Outside) -> WorkElsewhere | None:
    """Return where the work of a run is that changed nothing, and the command that takes it as its change.

    In place, that is only what is new since the run began. None where there is none, or none can be seen.
    """
    if not run.no_change:
        return None
    try:
        place = workspace_of(workspace, run)
        base = run.start_commit if run.is_in_place else place and base_commit_of(place.repo)
        if place is None or not base:
            return None
        new = {change.name for change in outside.seen} if run.is_in_place else None
        nothing = {commit_diff(workspace.repo, base).pair.head, run.head_tree}
        found = next((work for work in _work_since(workspace, base, new) if work.tree not in nothing), None)
    except GitStoppedError:
        raise
    except BlackbirdError:
        return None
    return None if found is None else WorkElsewhere(found.where, _take(place, task, run, found))


def _work_since(workspace: Workspace, base: str, names: Collection[str] | None) -> Iterator[_Work]:
    """Yield what begins at a commit, among worktrees and branches of these names, or all."""
    now = take_surroundings(workspace.home)
    for path in now[Subject.WORKTREE]:
        linked = open_linked(workspace.repo, Path(path)) if names is None or path in names else None
        at = None if linked is None else head(linked)
        if linked is None or at is None or not at.commit or not begins_at(workspace.repo, at.commit, base):
            continue
        tree = snapshot(workspace.in_worktree(linked)).tree
        is_clean = tree == commit_diff(workspace.repo, at.commit).pair.head
        there = shell_word(path)
        revision = shell_word(at.branch) if at.branch else f'"$(git -C {there} rev-parse HEAD)"'
        yield _Work(path, tree, revision, None if is_clean else Path(path))
    for name, commit in now[Subject.BRANCH].items():
        if (names is None or name in names) and begins_at(workspace.repo, commit, base):
            tree = commit_diff(workspace.repo, commit).pair.head
            yield _Work(f"branch {name}", tree, shell_word(name))


def _take(place: Workspace, task: Task, run: Run, work: _Work) -> ShellLine:
    """Return the command that makes work the change of its task.

    What is in the worktree of a task when it is decided on is its change. In the user's own, a commit that
    names the task is.
    """
    commands = []
    if work.uncommitted is not None:
        there = shell_word(str(work.uncommitted))
        commands += [f"git -C {there} add -A", f"git -C {there} commit -m {shell_word(task.title)}"]
    if run.is_in_place:
        trailer = shell_word(f"{TASK_TRAILER}: {task.id}")
        commands += [
            "git blackbird hooks install",
            f"git merge --squash {work.revision}",
            # Not before git has the work: where that overlaps with edits, the decision stays due.
            TaskCommand("retry", task.id).command,
            f"git commit -m {shell_word(task.title)} -m {trailer}",
        ]
    else:
        commands += [f"git -C {shell_word(str(place.repo.top))} merge --squash {work.revision}"]
    return ShellLine(" && ".join(commands), f"takes the work in {work.where} as the change")
