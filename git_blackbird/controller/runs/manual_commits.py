"""Runs that a person makes: a commit that names tasks in its trailers (DESIGN.md 10)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from git_blackbird.controller.core.guards import require_unclaimed
from git_blackbird.controller.core.status_sync import new_run_id, save_statuses, supersede_runs
from git_blackbird.controller.core.unreadable import UnreadableRecordError, require_usable
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.commit.plan import CommitDiff, commit_diff
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.worktree.log import read_commits
from git_blackbird.git.worktree.saved_trees import save_run_ref
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.entities.change import Summary, TreePair
from git_blackbird.model.entities.cli_hints import approve_or_reject_command, task_command
from git_blackbird.model.entities.commits import Commit
from git_blackbird.model.entities.history import History
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import APPROVALS, RECORDER, Run, RunFields, RunStatus, RunType
from git_blackbird.model.plan.graph import readiness
from git_blackbird.storage.locks import STORE_PATIENCE_SECONDS
from git_blackbird.storage.paths import HIDDEN
from git_blackbird.storage.store import Transaction

_SHORT = 10


@dataclass(frozen=True)
class ManualCommit:
    """What a person committed; ``replaced`` is the commit whose place an amended one takes."""

    commit: Commit
    replaced: str | None
    committed: CommitDiff
    summary: Summary
    branch: str | None


class RecordedCommit(NamedTuple):
    """The run that a commit came to be of a task."""

    task: Task
    run: Run
    is_new: bool


def record_commit(
    workspace: Workspace, oid: str, replaced: str | None, patience: float = STORE_PATIENCE_SECONDS
) -> tuple[str, ...]:
    """Record a person's commit as a run of each task that its trailers name; gives a line for each.

    ``replaced`` is the commit that this one amends. Whether a task is ready is judged, and record and plan
    are written, under one lock. Raises UnusableError, and LockedError, with nothing recorded, when that
    cannot be had within ``patience`` seconds or one of the tasks is just being approved.
    """
    commit = read_commits(workspace.repo, [oid]).get(oid)
    if workspace.environment.is_agent or commit is None or commit.runs:
        return ()
    workspace.require_settings()
    work = _look_at(workspace.repo, commit, replaced)
    noted: list[RecordedCommit] = []
    said: list[str] = []
    with workspace.transaction(patience) as transaction:
        _require_unclaimed(transaction, commit)
        save_statuses(workspace, transaction)
        for name in dict.fromkeys(commit.tasks):
            try:
                one = _record(workspace, transaction, name, work)
            except (RequestError, UnreadableRecordError) as error:
                said.append(f"no manual run of {name}: {error.message}")
                continue
            if one is not None:
                noted.append(one)
                said.append(_line(one, work))
        said += _left(workspace, transaction, commit, replaced)
    _call_for_decisions(workspace, noted)
    return tuple(said)


def _require_unclaimed(transaction: Transaction, commit: Commit) -> None:
    """Wait with a commit whose task has a run that is being approved. Raises LockedError."""
    for name in commit.tasks:
        if task_id_fault(TaskId(name)) is None:
            require_unclaimed(transaction, TaskId(name))


def _call_for_decisions(workspace: Workspace, noted: Iterable[RecordedCommit]) -> None:
    """Call whoever decides, once for each run: they need not be the one who committed."""
    for task, run, is_new in noted:
        if is_new and run.is_pending:
            from git_blackbird.controller.core.notify import (  # noqa: PLC0415  # where there is a call
                calling_for_decision,
                send_notification,
            )

            send_notification(workspace, calling_for_decision(task, run.id))


def _left(
    workspace: Workspace, transaction: Transaction, commit: Commit, replaced: str | None
) -> Iterator[str]:
    """Say which tasks were done by the commit that this one replaces, and are not named by it any more."""
    before = read_commits(workspace.repo, [replaced] if replaced else []).get(replaced or "")
    if before is None or replaced is None:
        return
    for name in dict.fromkeys(before.tasks):
        task = transaction.plan().tasks.get(TaskId(name))
        run = None if task is None else transaction.history(task.id).latest
        if task is None or run is None or name in commit.tasks or replaced not in run.commits:
            continue
        text = f"run {run.id} of {name} was commit {replaced[:_SHORT]}, which does not name {name} any more"
        option = ("decide", " --reject") if run.is_pending else ("set-status", " todo")
        yield f"{text}; to take it back: {task_command(option[0], task.id, option[1])}"


def _look_at(repo: Repository, commit: Commit, replaced: str | None) -> ManualCommit:
    committed = commit_diff(repo, commit.oid, HIDDEN)
    return ManualCommit(commit, replaced, committed, _summarize(repo, committed.pair), head(repo).branch)


def _summarize(repo: Repository, pair: TreePair) -> Summary:
    try:
        return summarize(repo, pair)
    except BlackbirdError as error:
        return Summary(minimal=error.message)


def _record(
    workspace: Workspace, transaction: Transaction, name: str, work: ManualCommit
) -> RecordedCommit | None:
    """Write the run of one task, then what follows for the plan; None where it is known already."""
    task = find_task(transaction.plan(), name)
    history = transaction.history(task.id)
    require_usable(task.id, history)
    latest = history.latest
    if any(work.commit.oid in run.commits for run in history.own):
        return None
    if latest is not None and work.replaced and work.replaced in latest.commits and _is_approved(latest):
        # What was judged stays; only the commit is found by its new name as well, if it is the same.
        if commit_diff(workspace.repo, work.replaced, HIDDEN).pair != work.committed.pair:
            raise RequestError(
                f"commit {work.replaced[:_SHORT]} was approved; {work.commit.oid[:_SHORT]} is a different "
                "change that nobody has decided on"
            )
        transaction.save_run(latest.with_fields(RunFields(commits=(*latest.commits, work.commit.oid))))
        return None
    amended = _amended_run(history, work)
    if amended is None:
        run = _new_run(workspace, transaction, task, work)
    else:
        run = amended.with_fields(_fields(workspace, work, is_pending=amended.is_pending))
    pair = work.committed.pair
    save_run_ref(workspace.repo, run.id, pair.base, pair.head)
    transaction.save_run(run)
    if amended is None:
        supersede_runs(transaction, task.id, run.id, workspace.environment.timestamp())
    save_statuses(workspace, transaction)
    return RecordedCommit(task, run, is_new=amended is None)


def _is_approved(run: Run) -> bool:
    return run.decision_state in APPROVALS


def _amended_run(history: History, work: ManualCommit) -> Run | None:
    """Return the run whose commit was amended, as long as nobody has decided on it."""
    run = history.latest
    if run is None or run.run_type is not RunType.MANUAL or run.commits != (work.replaced,):
        return None
    return run if run.is_pending or run.decision_state is None else None


def _new_run(workspace: Workspace, transaction: Transaction, task: Task, work: ManualCommit) -> Run:
    """Make the run of a task that is ready. Raises RequestError with the reasons why it is not."""
    reasons = readiness(transaction.plan(), task).reasons
    if reasons:
        raise RequestError("; ".join(reasons))
    run_id, started_at = new_run_id(workspace, task.id)
    run = Run(
        id=run_id,
        task_id=task.id,
        run_type=RunType.MANUAL,
        started_at=started_at,
        status=RunStatus.SUCCESS,
        recorder=RECORDER,
        repo_root=str(workspace.repo.top),
    )
    gated = workspace.settings.flag("execution.stopAfterEachTask")
    return run.with_fields(_fields(workspace, work, is_pending=gated))


def _fields(workspace: Workspace, work: ManualCommit, *, is_pending: bool) -> RunFields:
    """Return what the commit says of its run."""
    now = workspace.environment.timestamp()
    pair = work.committed.pair
    fields = RunFields(
        completed_at=now,
        branch=work.branch,
        head_commit=work.committed.parent,
        base_tree=pair.base,
        head_tree=pair.head,
        review_summary=work.summary,
        commits=(work.commit.oid,),
        notes=(f"commit {work.commit.oid[:_SHORT]}: {work.commit.subject}",),
    )
    return fields.awaiting_decision(now) if is_pending else fields


def _line(noted: RecordedCommit, work: ManualCommit) -> str:
    run, oid = noted.run, work.commit.oid[:_SHORT]
    text = (
        f"commit {oid} is recorded as run {run.id} of {run.task_id}"
        if noted.is_new
        else f"{run.task_id} was amended to {oid} (run {run.id})"
    )
    if run.base_tree == run.head_tree:
        text = f"{text} and changes nothing"
    if not run.is_pending:
        return f"{text}; the task is done"
    return f"{text}; to decide: {approve_or_reject_command(run.task_id)}"
