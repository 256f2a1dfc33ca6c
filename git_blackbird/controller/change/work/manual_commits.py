"""Runs that a person makes: a commit that names tasks in its trailers."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from git_blackbird.controller.core.guards import (
    StaleTaskError,
    UnreadableRecordError,
    require_unclaimed,
    require_usable,
)
from git_blackbird.controller.core.status_sync import new_run, save_statuses, supersede_runs
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import BlackbirdError, LockedError, RequestError, UnusableError
from git_blackbird.git.change.replaying import OwnPart, own_part
from git_blackbird.git.core.repository import head
from git_blackbird.git.hooks.task_commits import (
    Verdict,
    drop,
    find_move,
    judge,
    list_names,
    load_moves,
    parse_name,
)
from git_blackbird.git.worktree.base_commits import CommitDiff, commit_diff
from git_blackbird.git.worktree.log import read_commits
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.format import some_paths
from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, TaskCommand
from git_blackbird.model.change.moves import recorded_by_others
from git_blackbird.model.plan.graph import readiness
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.commits import Commit
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, RunStatus, RunType
from git_blackbird.model.run.summary import Summary, Trees
from git_blackbird.storage.locks import STORE_PATIENCE_SECONDS
from git_blackbird.storage.store import Transaction

_SHORT = 10


@dataclass(frozen=True)
class ManualCommit:
    """A commit by a person; ``replaced`` is the commit that it amends."""

    commit: Commit
    replaced: str | None
    committed: CommitDiff
    branch: str | None


class RecordedCommit(NamedTuple):
    """The run that a commit came to be of a task, with the part of it that is work on that."""

    task: Task
    run: Run
    is_new: bool
    part: OwnPart


def record_commit(
    workspace: Workspace, oid: str, replaced: str | None, patience: float = STORE_PATIENCE_SECONDS
) -> tuple[str, ...]:
    """Record a person's commit as a run of each task that its trailers name; return a line for each.

    ``replaced`` is the commit that this one amends. Whether a task is ready is judged, and record and plan
    are written, under one lock. Raises UnusableError, and LockedError, with nothing recorded, when that
    cannot be had within ``patience`` seconds or one of the tasks is just being approved.
    """
    commit = read_commits(workspace.repo, [oid]).get(oid)
    if workspace.environment.is_agent or commit is None or commit.runs:
        return ()
    workspace.require_settings()
    committed = commit_diff(workspace.repo, commit.oid)
    work = ManualCommit(commit, replaced, committed, head(workspace.repo).branch)
    noted: list[RecordedCommit] = []
    lines: list[str] = []
    with workspace.transaction(patience) as transaction:
        for name in commit.tasks:
            if task_id_fault(TaskId(name)) is None:
                require_unclaimed(workspace, TaskId(name))
        save_statuses(transaction)
        for name in dict.fromkeys(commit.tasks):
            try:
                one = _record(workspace, transaction, name, work)
            except (RequestError, UnreadableRecordError) as error:
                lines.append(f"no manual run of {name}: {error.message}")
                continue
            if one is not None:
                noted.append(one)
                lines.append(_recorded_line(one, work))
        lines += _dropped_task_texts(workspace, transaction, commit, replaced)
    # The person who decides may be another than the one who committed.
    for each in noted:
        if each.is_new and each.run.is_pending:
            from git_blackbird.controller.core.notify import calling_for_decision, send_notification

            send_notification(workspace, calling_for_decision(each.task, each.run.id))
    return tuple(lines)


def _dropped_task_texts(
    workspace: Workspace, transaction: Transaction, commit: Commit, replaced: str | None
) -> Iterator[str]:
    """Name the tasks that the replaced commit did and this one no longer names."""
    before = read_commits(workspace.repo, [replaced] if replaced else []).get(replaced or "")
    if before is None or replaced is None:
        return
    for name in dict.fromkeys(before.tasks):
        task = transaction.plan().tasks.get(TaskId(name))
        run = None if task is None else workspace.store.records.history(task.id).latest
        if task is None or run is None or name in commit.tasks or replaced not in run.commits:
            continue
        text = f"run {run.id} of {name} was commit {replaced[:_SHORT]}, which does not name {name} any more"
        option = ("decide", " --reject") if run.is_pending else ("set-status", " todo")
        yield Sentence(text, "; to take it back: ", TaskCommand(option[0], task.id, option[1]))


def _record(
    workspace: Workspace, transaction: Transaction, name: str, work: ManualCommit
) -> RecordedCommit | None:
    """Write the run of one task, then what follows for the plan; None where it is known already."""
    task = find_task(transaction.plan(), name)
    history = workspace.store.records.history(task.id)
    require_usable(task.id, history)
    latest = history.latest
    if any(work.commit.oid in run.commits for run in history.work_runs):
        return None
    is_approved = latest is not None and latest.decision_state in APPROVALS
    if latest is not None and is_approved and work.replaced is not None and work.replaced in latest.commits:
        # What was judged stays; only the commit is found by its new name as well, if it is the same.
        if commit_diff(workspace.repo, work.replaced).pair != work.committed.pair:
            raise RequestError(
                f"commit {work.replaced[:_SHORT]} was approved; {work.commit.oid[:_SHORT]} is a different "
                "change that nobody has decided on"
            )
        transaction.save_run(latest.committed_as(work.commit.oid))
        return None
    amended = _amended_run(history, work)
    if amended is None:
        if reasons := readiness(transaction.state_of(task.id, *task.deps).plan, task).reasons:
            raise RequestError("; ".join(reasons))
        is_pending = workspace.config.execution.stop_after_each_task
        run = new_run(workspace, task.id, RunStatus.SUCCESS).updated(run_type=RunType.MANUAL)
    else:
        run, is_pending = amended, amended.is_pending
    part = _own_part(workspace, task.id, work)
    run = _committed(workspace, run, work, part.trees)
    run = run.awaiting_decision(run.completed_at) if is_pending else run
    transaction.save_run(run)
    if amended is None:
        supersede_runs(transaction, history, workspace.environment.timestamp(), run.id)
    save_statuses(transaction)
    return RecordedCommit(task, run, amended is None, part)


def _own_part(workspace: Workspace, task_id: TaskId, work: ManualCommit) -> OwnPart:
    """Return the part of a commit that no record of another task explains."""
    histories = workspace.store.records.histories()
    others = recorded_by_others(histories, task_id, {work.commit.oid, *filter(None, [work.replaced])})
    return own_part(workspace.repo, work.committed.pair, others)


def _amended_run(history: History, work: ManualCommit) -> Run | None:
    """Return the run of the amended commit, unless it is decided."""
    run = history.latest
    if run is None or run.run_type is not RunType.MANUAL or run.commits != (work.replaced,):
        return None
    return run if run.is_pending or run.decision_state is None else None


def _committed(workspace: Workspace, run: Run, work: ManualCommit, pair: Trees) -> Run:
    oid = work.commit.oid
    try:
        summary = summarize(workspace.repo, pair)
    except BlackbirdError as error:
        summary = Summary(minimal=error.message)
    return run.updated(
        completed_at=workspace.environment.timestamp(),
        review_summary=summary,
        start_branch=work.branch,
        start_commit=work.committed.parent,
        base_tree=pair.base,
        head_tree=pair.head,
        commits=(oid,),
        notes=(f"commit {oid[:_SHORT]}: {work.commit.subject}",),
    )


def _recorded_line(recorded: RecordedCommit, work: ManualCommit) -> str:
    run, oid = recorded.run, work.commit.oid[:_SHORT]
    text = (
        f"commit {oid} is recorded as run {run.id} of {run.task_id}"
        if recorded.is_new
        else f"{run.task_id} was amended to {oid} (run {run.id})"
    )
    if run.base_tree == run.head_tree:
        text = f"{text} and changes nothing"
    text += _part_text(recorded.part)
    if not run.is_pending:
        return f"{text}; the task is done"
    approve = TaskCommand("decide", run.task_id, " --approve")
    return Sentence(text, "; to decide: ", approve, " or --reject")


def _part_text(part: OwnPart) -> str:
    """Say what of others a commit has that is not counted as work on the task, and what could not be told."""
    text = f", without what {some_paths(sorted(part.others))} made" if part.others else ""
    mixed = sorted(path.decode(errors="replace") for path in part.mixed)
    return f"{text}, but with what others made of {some_paths(mixed)}, in the same lines" if mixed else text


# The committing person should not notice it.
_HOOK_PATIENCE_SECONDS = 0.5
_LATER = Sentence("the next ", EXECUTE, ", or a decision, records it")


def record_or_defer(workspace: Workspace, name: str) -> tuple[str, ...]:
    """Record the commit of a hook, and those before it that were left; return a line for each.

    ``name`` is the entry of the commit, which may not have been written.
    """
    return _record_entries(workspace, _deferred(workspace, name), _HOOK_PATIENCE_SECONDS)


def record_deferred(workspace: Workspace) -> tuple[str, ...]:
    """Record the deferred commits; return a line for each, also if it stays deferred.

    Does nothing if an agent runs the command.
    """
    if workspace.environment.is_agent:
        return ()
    return _record_entries(workspace, _deferred(workspace), STORE_PATIENCE_SECONDS)


@contextlib.contextmanager
def recording_deferred(workspace: Workspace) -> Iterator[tuple[str, ...]]:
    """Record the deferred commits; an error in the block carries their lines as notes."""
    lines = record_deferred(workspace)
    try:
        yield lines
    except BlackbirdError as error:
        for line in lines:
            error.add_note(line)
        raise


def deferred_commit_of(workspace: Workspace, task_id: TaskId) -> str | None:
    """Return a commit that waits to be recorded and is work on this task; None when there is none."""
    entries = _deferred(workspace)
    if not entries:
        return None
    moves = load_moves(os.fspath(workspace.repo.git_dir))
    for oid, in_bisect in entries.values():
        verdict = _judge(workspace, moves, oid, in_bisect=in_bisect)
        if verdict.is_work and task_id in verdict.tasks:
            return oid
    return None


def require_recorded(workspace: Workspace, task_id: TaskId) -> None:
    """Refuse to start a task while a person's commit of it is unrecorded. Raises StaleTaskError, GitError."""
    oid = deferred_commit_of(workspace, task_id)
    if oid is not None:
        raise StaleTaskError(
            f"{task_id} was not started: commit {oid[:10]} is work on it that is still to be recorded",
            hint=Sentence(EXECUTE, " records it; its first lines say what prevents that"),
        )


def _deferred(workspace: Workspace, *more: str) -> dict[str, tuple[str, bool]]:
    """Return by name the commits that were written down, and ``more``: their ids, and whether in a bisect."""
    names = (*list_names(os.fspath(workspace.paths.private)), *more)
    return {name: parsed for name in names if (parsed := parse_name(name)) is not None}


def _record_entries(
    workspace: Workspace, entries: Mapping[str, tuple[str, bool]], patience: float
) -> tuple[str, ...]:
    """Record in the order in which HEAD reached the commits; one that fails does not stop the others."""
    moves = load_moves(os.fspath(workspace.repo.git_dir)) if entries else b""
    lines: list[str] = []
    for name, (oid, in_bisect) in sorted(entries.items(), key=lambda entry: find_move(moves, entry[1][0])[0]):
        try:
            verdict = _judge(workspace, moves, oid, in_bisect=in_bisect)
            if verdict.is_work:
                lines += record_commit(workspace, oid, verdict.replaced, patience)
        except (LockedError, UnusableError) as error:
            lines.append(Sentence(f"commit {oid[:_SHORT]} is not recorded yet: {error.message}; ", _LATER))
            if isinstance(error, LockedError):
                break
            continue
        if verdict.remark is not None:
            lines.append(verdict.remark)
        drop(os.fspath(workspace.paths.private), name)
    return tuple(lines)


def _judge(workspace: Workspace, moves: bytes, oid: str, *, in_bisect: bool) -> Verdict:
    def git(*args: str) -> str:
        return workspace.repo.git(*args).whole(b"\n").decode(errors="replace")

    return judge(git, moves, oid, in_bisect=in_bisect)
