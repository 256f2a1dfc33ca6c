"""Export a task's change as a commit on a branch, or a run's files as a worktree or branch."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from git_blackbird.controller.change.work.watch import own_writes
from git_blackbird.controller.core.guards import require_usable
from git_blackbird.controller.core.workspace import Workspace, find_task, full_id
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.change.merging import merge_sides, sides_of
from git_blackbird.git.commit.branch import (
    commit_tree,
    create_branch,
    list_remotes,
    open_request,
    push_branch,
    request_program,
)
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.linked import add_worktree, is_taken
from git_blackbird.git.worktree.log import commit_parts, find_commit, tree_of
from git_blackbird.git.worktree.saved_trees import find_kept_worktrees, load_pair
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.task import request_body, request_title
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import Sentence, ShellLine, TaskCommand
from git_blackbird.model.base.sanitize import quoted, shell_word
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.change.work import Work
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.run.commits import render_commit_message
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Subject, Summary, Trees

_MAX_NAMED = 20
DEFAULT_REMOTE = "origin"
"""Where a branch is pushed if nothing else is said; whether there is such a remote or not."""


@dataclass(frozen=True)
class BranchResult:
    """The branch that was made of a task's change."""

    task_id: Annotated[TaskId, Shown("The task.", "task")]
    name: Annotated[str, Shown("The name of the branch.")]
    commit: Annotated[str, Shown("The id of its commit.")]
    parent: Annotated[
        str | None, Shown("The commit that it begins at; null in a repository without commits.")
    ]
    summary: Annotated[Summary, Shown("What the commit changes.")]
    remote: Annotated[str | None, Shown("The remote that it was pushed to.")] = None
    request: Annotated[str | None, Shown("The address of the request to merge it.")] = None


@dataclass(frozen=True)
class RestoreResult:
    """Where the files of a run are now."""

    task_id: Annotated[TaskId | None, Shown("The task; null for files of a removed worktree.", "task")]
    run_id: Annotated[RunId | None, Shown("The run; null for files of a removed worktree.", "run")]
    kept: Annotated[str | None, Shown("The reference of the removed worktree, if it was one.")]
    commit: Annotated[str, Shown("The id of a commit of these files.")]
    branch: Annotated[str | None, Shown("The branch, if one was asked for.")] = None
    folder: Annotated[Path | None, Shown("The worktree, if one was asked for.")] = None


def create_task_branch(
    workspace: Workspace, task_id: str, name: str | None, onto: str | None = None
) -> BranchResult:
    """Commit the change of a task, and nothing else, on a new branch that begins at HEAD or ``onto``.

    Worktree, index and HEAD stay as they are. Raises RequestError where the task changed nothing, where that
    commit has the change already, or where it does not apply there; GitError for what git refuses.
    """
    repo = workspace.repo
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    history = state.history(task.id)
    require_usable(task.id, history)
    # A change that was taken back can still be exported.
    work = Work(history)
    since = [run for run in work.runs if run.has_changed_files]
    runs = since or [run for run in work.undone if run.has_changed_files]
    changes = [run.change_in_place for run in runs if run.change_in_place is not None]
    if runs and runs[-1].change_in_place is None and runs[-1].change_elsewhere is not None:
        changes.append(runs[-1].change_elsewhere)
    if not changes:
        raise RequestError(f"{task.id} has changed nothing that a branch could have")
    name = name or f"blackbird/{task.id}"
    there = find_commit(repo, f"refs/heads/{name}")
    # One that was made before is the branch that it would be.
    parent = _commit_at(workspace, onto) if there is None or onto is not None else _parent(repo, there)
    trees = TreeStore(repo)
    before = trees.save({}) if parent is None else tree_of(repo, parent)
    merged = merge_sides(repo, before, (sides_of(trees, change) for change in changes))
    place = "HEAD" if onto is None else onto
    if there is not None:
        if merged.left or commit_parts(repo, there) != (merged.tree, tuple(filter(None, [parent]))):
            raise _taken_error(task.id, name)
        return BranchResult(task.id, name, there, parent, summarize(repo, Trees(before, merged.tree)))
    if merged.left:
        listed = sorted(path.decode(errors="replace") for path in merged.left)[:_MAX_NAMED]
        hint = "name a commit that has what the task built on: --onto COMMIT"
        raise RequestError(
            f"the change of {task.id} does not apply to {place}: {', '.join(listed)}", hint=hint
        )
    if merged.tree == before:
        began = runs[0].start_commit
        other = "" if began is None else TaskCommand("branch", task.id, f" --onto {began[:12]}")
        own = [oid for run in runs for oid in run.commits if find_commit(repo, oid) is not None]
        named = f", in commit {', '.join(oid[:12] for oid in own[-_MAX_NAMED:])}" if own else ""
        raise RequestError(f"{place} has the change of {task.id} already{named}", hint=other or None)
    commit = commit_tree(repo, merged.tree, parent, render_commit_message(task, runs[-1].id))
    with own_writes(workspace, (Subject.BRANCH, name)):
        create_branch(repo, name, commit)
    return BranchResult(task.id, name, commit, parent, summarize(repo, Trees(before, merged.tree)))


def _parent(repo: Repository, commit: str) -> str | None:
    return next(iter(commit_parts(repo, commit)[1]), None)


def _taken_error(task_id: TaskId, name: str) -> RequestError:
    other = TaskCommand("branch", task_id, f" {shell_word(f'{name}-2')}", "makes another")
    gone = ShellLine(f"git branch -D {shell_word(name)}", "removes that one")
    return RequestError(f"the branch {name} is there already, with something else", hint=(other, gone))


def require_no_remote(
    workspace: Workspace, task_id: str, name: str, onto: str | None, pushes: str | None
) -> None:
    """Refuse a remote as the name of a branch; ``pushes`` is the option by which it would be pushed.

    Raises RequestError.
    """
    if name in {DEFAULT_REMOTE, *list_remotes(workspace.repo)}:
        begin = "" if onto is None else f" --onto {shell_word(onto)}"
        push = "" if pushes is None else f" {pushes} --remote {shell_word(name)}"
        command = TaskCommand("branch", task_id, begin + push)
        raise RequestError(f"{quoted(name)} names a remote, and no branch", hint=command)


def publish_branch(
    workspace: Workspace, result: BranchResult, remote: str, *, requests: bool, page: str = ""
) -> BranchResult:
    """Push a branch to a remote, and with ``requests`` open a request to merge it, which ends with a page.

    Raises RequestError where there is no program for requests, before anything is pushed, and with the words
    of git or of that program.
    """
    program = request_program(workspace.environment.environ) if requests else None
    if requests and program is None:
        raise RequestError(
            "neither gh nor glab is here to open a request",
            hint=f"the branch {result.name} is there; --push without --pr pushes it",
        )
    if refused := push_branch(workspace.repo, result.name, remote):
        rest = f" {shell_word(result.name)} {'--pr' if requests else '--push'} --remote "
        remotes = list_remotes(workspace.repo)
        ways = [
            TaskCommand("branch", result.task_id, rest + shell_word(name))
            for name in remotes
            if name != remote
        ]
        text = f"the branch {result.name} is there, and git did not push it to {remote}: {refused[0]}"
        none = () if remotes else ("git remote add names one; this repository has none",)
        raise RequestError((text, *refused[1:]), hint=(*ways, *none))
    pushed = replace(result, remote=remote)
    if program is None:
        return pushed
    state = workspace.plan_state()
    task = find_task(state.plan, result.task_id)
    work = Work(state.history(task.id))
    run = next(one for one in reversed(work.runs or work.undone) if one.has_changed_files)
    body = "\n".join(filter(None, (request_body(task, run, merged_or_none(run)), page)))
    address = open_request(workspace.repo, program, result.name, request_title(task), body)
    return replace(pushed, request=address)


def _commit_at(workspace: Workspace, onto: str | None) -> str | None:
    if onto is None:
        return head(workspace.repo).commit
    found = find_commit(workspace.repo, onto)
    if found is None:
        raise RequestError(f"{quoted(onto)} is no commit of this repository")
    return found


def restore_run(
    workspace: Workspace, run_id: str, *, folder: Path | None, branch: str | None, before: bool = False
) -> RestoreResult:
    """Put the files as a run left them, or as they were ``before`` it, into a new worktree or branch.

    ``run_id`` may also be the reference of a removed worktree. Raises RequestError for a run that is not
    there or has no snapshot, or a folder in a repository, GitError for what git refuses.
    """
    repo = workspace.repo
    if folder is not None:
        _require_place(repo, folder)
    kept = find_kept_worktrees(repo, run_id)
    if len(kept) == 1 and not _record_files_of(workspace, run_id):
        if before:
            raise RequestError(f"{kept[0]} has no files from before", hint="leave --before out")
        commit = _commit_kept_files(repo, kept[0])
        _create_requested(workspace, commit, folder, branch)
        return RestoreResult(None, None, kept[0], commit, branch, folder)
    run = _find_run(workspace, run_id)
    tree = run.base_tree if before else run.head_tree
    if tree is None:
        raise RequestError(
            f"run {run.id} of {run.task_id} has no snapshot of its {'begin' if before else 'end'}"
        )
    if tree not in TreeStore(repo):
        raise UnusableError(f"the tree {tree} of run {run.id} is not in this repository")
    parent = run.start_commit and find_commit(repo, run.start_commit)
    when = "before" if before else "after"
    message = f"Files {when} run {run.id} of {run.task_id}\n"
    commit = commit_tree(repo, tree, parent, message)
    _create_requested(workspace, commit, folder, branch)
    return RestoreResult(run.task_id, run.id, None, commit, branch, folder)


def _require_place(repo: Repository, folder: Path) -> None:
    """Refuse a folder that has something, or in which a worktree would be in another one."""
    above = Path(os.path.realpath(folder))
    for inside in (repo.top, repo.common_dir):
        if above.is_relative_to(os.path.realpath(inside)):
            raise RequestError(
                f"{folder} is inside {inside}",
                hint="name a folder beside the repository, or make a branch with --branch",
            )
    if is_taken(folder):
        remove = ShellLine(f"git worktree remove --force {shell_word(str(folder))}")
        raise RequestError(
            f"{folder} is there already",
            hint=Sentence("name another folder; ", remove, " removes one that was restored before"),
        )


def _commit_kept_files(repo: Repository, kept: str) -> str:
    pair = load_pair(repo, kept)
    if pair is None:
        raise UnusableError(f"{kept} has no files")
    return commit_tree(repo, pair.head, head(repo).commit, f"Files of {kept}\n")


def _create_requested(workspace: Workspace, commit: str, folder: Path | None, branch: str | None) -> None:
    if branch is not None:
        with own_writes(workspace, (Subject.BRANCH, branch)):
            create_branch(workspace.repo, branch, commit)
    if folder is not None:
        with own_writes(workspace, (Subject.WORKTREE, os.path.realpath(folder))):
            add_worktree(workspace.repo, folder, commit)


def _record_files_of(workspace: Workspace, run_id: str) -> list[Path]:
    names = workspace.paths.runs.glob("*/*.json")
    return [path for path in names if run_id and path.stem.startswith(run_id)]


def _find_run(workspace: Workspace, run_id: str) -> Run:
    """Return the run whose id begins so, of any task. Raises RequestError."""
    plan = workspace.store.plan()
    task = plan.tasks.get(full_id(plan, run_id))
    if task is not None and (latest := workspace.store.records.history(task.id).latest) is not None:
        return latest
    places = _record_files_of(workspace, run_id)
    if len(places) != 1:
        which = "more than one run" if places else "no run"
        raise RequestError(f"{which} has an id that begins with {quoted(run_id)}", hint=TaskCommand("runs"))
    task_id = TaskId(places[0].parent.name)
    history = workspace.store.records.history(task_id)
    require_usable(task_id, history)
    run = history.find(RunId(places[0].stem))
    if run is None:
        raise RequestError(f"run {shell_word(places[0].stem)} of {task_id} does not count")
    return run
