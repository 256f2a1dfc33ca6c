"""The commit that an approval makes: of exactly the change, before the decision is recorded.

Hooks and signing are the user's and may take minutes: only the right to approve is held meanwhile, and who
decides otherwise in that time is refused.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from git_blackbird.controller.change.commit.carried import (
    Becomes,
    at_commit,
    carries_status,
    follow_commit,
    follow_in_staged_plan,
    with_status,
)
from git_blackbird.controller.change.commit.refusal import (
    MAX_NAMED,
    ApprovalRefusedError,
    HookEdits,
    find_hook_edits,
    name_undecided,
    named_edits,
    obstructed_error,
    origin_of,
    require_branch,
)
from git_blackbird.controller.change.work.watch import moved_branch, own_writes
from git_blackbird.controller.core.guards import require_undecided
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.errors import (
    BlackbirdError,
    InterruptedByUserError,
    LockedError,
    RequestError,
    UnusableError,
)
from git_blackbird.git.change.changes import path_differs
from git_blackbird.git.change.parts import without_change
from git_blackbird.git.commit.create import (
    CommitInterruptedError,
    CommitRefusedError,
    CommitWorkerKilled,
    CreatedCommit,
    HookRefusedError,
    IndexUpdateError,
    commit_in_subprocess,
)
from git_blackbird.git.commit.plan import CommitPlan, plan_commit
from git_blackbird.git.core.user_programs import FOREGROUND
from git_blackbird.git.worktree.index_lock import require_free_index
from git_blackbird.git.worktree.log import commit_of_run, tree_of
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.commits import render_commit_message
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import ApprovalCommit, CommitPreview, OtherBranch
from git_blackbird.storage.locks import approval_lock
from git_blackbird.storage.notes import (
    PendingApproval,
    drop_pending_approval,
    load_pending_approval,
    save_pending_approval,
)

COMMITTING = FOREGROUND
"""The commits of this process, with the hooks and signing that may ask at its terminal."""


@dataclass(frozen=True)
class ApprovalRequest:
    """An approval of the change of ``runs``, after which the record of ``run`` is what it ``becomes``.

    ``strayed`` is set if HEAD has left the branch of the run and nobody confirmed that. ``written`` is what
    was just written of it: edits on top of that stay out of the commit. ``left`` are lines of its files that
    are left out, and may be in the worktree.
    """

    state: PlanState
    task: Task
    run: Run
    pair: Trees | None
    becomes: Becomes
    runs: Sequence[Run] = ()
    strayed: OtherBranch | None = None
    written: str | None = None
    left: Trees | None = None


def warn_uncommitted(workspace: Workspace, ui: UserInterface) -> None:
    """Warn that a call in which nobody approves commits nothing, unless it stops for approvals."""
    execution = workspace.config.execution
    if not workspace.commits_approvals or workspace.commits_checked or execution.stop_after_each_task:
        return
    why = "execution.commit commits what is approved, and it does not stop for that"
    way = "--stop-after-each stops after each task"
    if execution.commit == "checked":
        why = "execution.commit commits what passes the check, and check.command is not set"
        way = TaskCommand("config", rest=" check.command", remark="is for the command that checks")
    approve = "decide --approve commits the change of a task that is done"
    warn(ui, f"this call commits nothing: {why}", hint=(way, approve))


def preview_commit(
    workspace: Workspace, state: PlanState, pair: Trees | None, worktree: str | None, runs: Sequence[Run]
) -> CommitPreview | None:
    """Return what approving the change of these runs would commit now; None if it makes no commit.

    ``worktree`` is a fresh snapshot, None when none could be taken.
    """
    if not workspace.commits_approvals or (pair is not None and pair.is_empty):
        return None
    if pair is None or worktree is None:
        return CommitPreview(obstacles=("the snapshots that it would be made from are missing",))
    try:
        plan = plan_commit(workspace.repo, pair, worktree, origin_of(workspace, state, runs))
        carries = bool(plan.edits and runs) and carries_status(workspace, plan, runs[-1].task_id)
    except BlackbirdError as error:
        return CommitPreview(obstacles=(error.message,))
    paths = len(plan.edits) + carries
    return CommitPreview(paths, plan.head.branch, plan.obstacles if plan.edits else (), with_status=carries)


@contextlib.contextmanager
def commit_change(
    workspace: Workspace, approval: ApprovalRequest
) -> Iterator[tuple[Workspace, ApprovalCommit]]:
    """Commit exactly the change; the decision is recorded in the block, while nobody else may decide.

    The workspace for that is at the time that the commit has for it. Raises ApprovalRefusedError when there
    can be no commit, LockedError when another approval is under way; nothing is recorded then.
    """
    with approval_lock(workspace.paths, approval.run.id) as right:
        try:
            recover_interrupted_approval(workspace)
        except UnusableError as error:
            raise ApprovalRefusedError(approval.task, error.message) from error
        then = at_commit(workspace)
        plan, moved, worktree = _plan(then, approval)
        if plan.edits:
            result = _commit(then, approval, plan, worktree, right)
        else:
            # An approval may have been cut off after its commit.
            began = approval.runs[0].start_commit if approval.runs else None
            result = ApprovalCommit(commit_of_run(workspace.repo, approval.run.id, began))
            then = at_commit(workspace, result.oid, approval.task.id)
        try:
            yield then, result._replace(moved=moved)
        except RequestError as error:
            if result.oid is None:
                raise
            *lines, last = error.lines
            there = f"{last}; its change is already in commit {result.oid[:12]}"
            raise RequestError((*lines, there), hint=error.ways_out) from error


def _plan(workspace: Workspace, approval: ApprovalRequest) -> tuple[CommitPlan, tuple[str, ...], str]:
    """Plan the commit, and name the paths that differ in the worktree, whose snapshot comes last."""
    task, pair = approval.task, approval.pair
    if pair is None:
        raise ApprovalRefusedError(task, "its change is not known, so it cannot be committed")
    try:
        worktree = snapshot(workspace, since=pair.head).tree
        origin = origin_of(workspace, approval.state, approval.runs)
        left = approval.left
        files = worktree if left is None else without_change(workspace.repo, worktree, left)
        plan = plan_commit(workspace.repo, pair, approval.written or files, origin)
        if plan.obstacles and (cut_off := commit_of_run(workspace.repo, approval.run.id, origin.began)):
            # A part of it, which is in no record: it is the run's own as well.
            origin = origin._replace(commits=origin.commits | {cut_off})
            plan = plan_commit(workspace.repo, pair, approval.written or files, origin)
        moved = path_differs(workspace.repo, files, pair)
        if plan.edits:
            # Obstacles to updating the index are found before there is a commit.
            require_free_index(workspace.repo)
            plan = with_status(workspace, plan, approval.run, approval.becomes)
    except BlackbirdError as error:
        raise ApprovalRefusedError(task, f"its change cannot be committed: {error.message}") from error
    if plan.edits and not plan.in_progress:
        require_branch(task, approval.strayed)
    if plan.edits and plan.obstacles:
        named = name_undecided(workspace, approval.state, task.id, plan, worktree)
        raise obstructed_error(workspace, task, (approval.left or pair).head, named)
    return plan, moved, worktree


def _commit(
    workspace: Workspace, approval: ApprovalRequest, plan: CommitPlan, worktree: str, right: int
) -> ApprovalCommit:
    task, run = approval.task, approval.run
    with workspace.transaction():
        require_undecided(workspace, run)
        save_pending_approval(
            workspace.paths,
            PendingApproval(
                task_id=task.id, run_id=run.id, parent=plan.head.commit, base_tree=plan.base_tree
            ),
        )
    try:
        message = render_commit_message(task, run.id)
        with own_writes(workspace, *moved_branch(plan.head)):
            created = commit_in_subprocess(workspace.repo, plan, message, run.id, right)
    except CommitWorkerKilled as error:
        killed = "the process committing its change was killed, and git may still be at work"
        why = killed, *error.lines
        raise ApprovalRefusedError(task, why, "wait for git") from error
    except CommitRefusedError as error:
        drop_pending_approval(workspace.paths)
        if isinstance(error, CommitInterruptedError):
            hint = TaskCommand("decide", task.id, " --approve")
            message = f"{task.id} is not approved: its commit was interrupted"
            raise InterruptedByUserError(message, hint=hint) from error
        why = "git did not commit its change", *error.lines
        if isinstance(error, HookRefusedError):
            raise _refused_by_hook(
                workspace, task, why, error, find_hook_edits(workspace, plan, worktree)
            ) from error
        raise ApprovalRefusedError(task, why) from error
    created = follow_in_staged_plan(workspace, plan.base_tree, created)
    return ApprovalCommit(created.oid, created.paths, warnings=tuple(_finish(workspace, created)))


def _refused_by_hook(
    workspace: Workspace, task: Task, why: tuple[str, ...], error: HookRefusedError, edits: HookEdits
) -> ApprovalRefusedError:
    look = f"look at what the hook made of {named_edits(edits)}, which is part of the change now"
    diff = TaskCommand("runs", task.id, " --diff")
    refusal = ApprovalRefusedError(task, why, Sentence(look, " (", diff, "),") if edits else "resolve that")
    # Masked before its end is cut out, so that no part of a secret is taken for ordinary text.
    redactor = workspace.store.redactor()
    refusal.hook_output = error.output if redactor is None else redactor.mask_text(error.output)
    refusal.hook_edits = edits
    return refusal


def _finish(workspace: Workspace, created: CreatedCommit) -> Iterator[str]:
    if created.cut_short is not None:
        yield (
            f"commit {created.oid[:12]} was made, but git did not finish what comes after it:"
            f" {created.cut_short}"
        )
    if created.differs:
        names = ", ".join(created.differs[:MAX_NAMED])
        yield f"a hook of this repository changed what was committed: {names}"
    if created.left_behind is not None:
        yield f"the index was not updated for the commit: {created.left_behind}"
    if created.left_behind is None or created.is_final:
        # Else the next command can do it.
        drop_pending_approval(workspace.paths)


def recover_approval(workspace: Workspace) -> str | None:
    """Finish an approval that was cut off after its commit; return a line about it.

    Raises UnusableError when it cannot be done now.
    """
    note = load_pending_approval(workspace.paths)
    if note is None:
        return None
    try:
        with approval_lock(workspace.paths, note.run_id):
            return recover_interrupted_approval(workspace)
    except LockedError:
        # It is in progress, not interrupted.
        return None


def recover_interrupted_approval(workspace: Workspace) -> str | None:
    """Finish an interrupted approval while holding its lock."""
    note = load_pending_approval(workspace.paths)
    if note is None:
        return None
    oid = commit_of_run(workspace.repo, note.run_id, note.parent)
    if oid is None:
        # Git may still be at work on it, without us, as long as nobody decided otherwise.
        history = workspace.store.records.history(note.task_id)
        run = history.find(note.run_id)
        if (run is None and not history.faults) or (run is not None and not run.is_pending):
            drop_pending_approval(workspace.paths)
        return None
    what = f"commit {oid[:12]}, which an interrupted approval of {note.task_id} made"
    try:
        follow_commit(workspace, note.base_tree, tree_of(workspace.repo, oid))
    except IndexUpdateError as error:
        drop_pending_approval(workspace.paths)
        return f"the index was not updated for {what}: {error.message}"
    drop_pending_approval(workspace.paths)
    return f"the index was updated for {what}"
