"""Find what happened outside a run's place while its agent worked, and by whom as far as that is certain."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import is_in_scratch
from git_blackbird.controller.place.worktrees import workspace_of
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository, other_worktrees
from git_blackbird.git.hooks.attribution import commits_elsewhere
from git_blackbird.git.worktree.base_commits import begins_at
from git_blackbird.git.worktree.linked import owner_of
from git_blackbird.git.worktree.log import commits_between
from git_blackbird.messages.display.change import own_lines, seen_text, way_back
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType
from git_blackbird.model.run.summary import Outside, OutsideChange, OutsideCommit, Subject

_MOST_NAMED = 20


def outside_of(
    workspace: Workspace, run: Run, at_work: Collection[str], changes: Iterable[OutsideChange]
) -> Outside:
    """Return a run's own commits outside its place, and of the changes there what it is not known to be.

    ``at_work`` are the runs that worked meanwhile, this one among them.
    """
    place = workspace_of(workspace.in_worktree(workspace.home), run)
    repo = workspace.home if place is None else place.repo
    own, noted = _commits(repo, run, at_work)
    told = [change for change in changes if not _is_known(repo, run, change, noted)]
    if place is None and not run.is_remote and not os.path.lexists(run.worktree_path or ""):
        told.insert(0, OutsideChange(subject=Subject.PLACE, name=run.worktree_path or "", before=run.task_id))
    seen = tuple(change for change in told if change.is_named)
    other = tuple(change for change in told if not change.is_named)
    return Outside().adding(Outside(commits=own, seen=seen, other=other))


def _commits(
    repo: Repository, run: Run, at_work: Collection[str]
) -> tuple[tuple[OutsideCommit, ...], frozenset[str]]:
    """Return a run's own commits in other worktrees, and all commits there by the runs at work."""
    own: list[OutsideCommit] = []
    noted: set[str] = set()
    try:
        for oid, elsewhere, owners in commits_elsewhere(repo):
            if owners == {run.id}:
                own.append(OutsideCommit(commit=oid, worktree=str(elsewhere.top)))
            # The HEAD of a task's worktree is on no branch.
            if owners <= {*at_work} and owner_of(elsewhere) is None:
                noted.add(oid)
    except OSError:
        # Where the commits of a run are listed, this is said.
        return (), frozenset()
    return tuple(own), frozenset(noted)


def _is_known(repo: Repository, run: Run, change: OutsideChange, noted: frozenset[str]) -> bool:
    """Whether a branch moved in the run's own place, or by commits alone that runs are told to have made."""
    if change.subject is not Subject.BRANCH:
        return False
    if (
        run.is_in_place
        and run.run_type is RunType.EXECUTE
        and change.name in {run.start_branch, run.end_branch}
    ):
        return True
    if change.before is None or change.after is None or change.after not in noted:
        return False
    try:
        # What it has lost is nobody's commit.
        has_all = begins_at(repo, change.after, change.before)
    except UnusableError:  # the commit before is gone
        return False
    return has_all and commits_between(repo, change.before, change.after) <= noted


def edited_outside(workspace: Workspace, run: Run, edited: Collection[str]) -> Outside:
    """Return the edited files that are not in a run's place, nor in its temporary folder.

    A file is in the innermost worktree around it. Links on the way are followed, as writing it did.
    """
    if not edited:
        return Outside()
    home = workspace.home
    place = os.path.realpath(run.worktree_path or home.top)
    tops = {
        place,
        *(os.path.realpath(top) for top in (home.top, *(each.top for each in other_worktrees(home)))),
    }

    def is_inside(path: str) -> bool:
        there = Path(os.path.realpath(path))
        around = [top for top in tops if there.is_relative_to(top)]
        return max(around, key=len, default="") == place or is_in_scratch(str(there))

    return Outside().adding(Outside(paths=tuple(path for path in edited if not is_inside(path))))


def warn_outside(ui: UserInterface, run: Run, known: Outside | None = None) -> None:
    """Say what happened outside the place of a run that has ended, and was not ``known`` before."""
    new = run.outside.beyond(known or Outside())
    own = [*own_lines(new)]
    for line in own[:_MOST_NAMED]:
        warn(ui, f"outside its place, run {run.id} {line}", run.task_id)
    for change in new.seen[:_MOST_NAMED]:
        warn(ui, f"seen while agents worked: {seen_text(change)}", run.task_id, way_back(change))
    if more := len(own[_MOST_NAMED:]) + len(new.seen[_MOST_NAMED:]):
        text = f"{more} more things happened outside the place of run {run.id}"
        warn(ui, text, run.task_id, TaskCommand("runs", run.task_id, f" {run.id}"))
