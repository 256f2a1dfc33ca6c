"""Recording a decision: under the store lock, from anywhere, once."""

from dataclasses import dataclass, field, replace

from git_blackbird import trace
from git_blackbird.controller.core.drafts import drop_arrived
from git_blackbird.controller.core.guards import (
    find_approvable,
    find_pending,
    require_unclaimed,
    require_undecided,
)
from git_blackbird.controller.core.status_sync import save_statuses, update_run
from git_blackbird.controller.core.unreadable import require_readable
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.decisions.approval_commit import (
    ApprovalRefusedError,
    ApprovalRequest,
    commit_change,
)
from git_blackbird.controller.decisions.checkpoint import (
    change_of,
    diverged_in,
    other_branch,
    why_not_resumable,
    worktree_tree,
)
from git_blackbird.controller.decisions.undo import prepare_undo
from git_blackbird.controller.runs.manual_commits import deferred_recorded
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.messages.outgoing.prompts import bound_output, render_suggestion
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.entities.change import TreePair, Undo
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.decision import Decision
from git_blackbird.model.entities.history import History
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import (
    APPROVALS,
    DecisionState,
    Run,
    RunFields,
    RunStatus,
    TerminalReason,
)
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.reviews import merged_or_none
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.status import status_of_run
from git_blackbird.model.views.checkpoint import ApprovalCommit, OtherBranch
from git_blackbird.model.views.events import Decided


@dataclass(frozen=True)
class DecisionResult:
    """The outcome of a decision: record and state, paths that differ now, how to undo a rejected change.

    ``commit`` is what an approval committed; None where it commits nothing. ``undo_fault`` says why no
    command is known that takes the change back. ``other_branch`` is there where nobody was asked about it.
    ``deferred`` has a line for each commit that its hook had left to be recorded.
    """

    run: Run
    state: PlanState
    moved: tuple[str, ...] = ()
    undo: Undo = field(default_factory=Undo)
    commit: ApprovalCommit | None = None
    undo_fault: str | None = None
    other_branch: OtherBranch | None = None
    deferred: tuple[str, ...] = ()

    @property
    def decided(self) -> Decided | None:
        """The event that reports the decision."""
        run = self.run
        if run.decision_state is None:
            return None
        return Decided(
            run.task_id,
            run.id,
            run.decision_state,
            elsewhere=False,
            commit=self.commit,
            is_of_failure=run.status is RunStatus.FAILED,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is not as it was meant."""
        made = () if self.commit is None else self.commit.warnings
        if self.other_branch is not None:
            made = (*made, f"{self.run.task_id} is approved on another branch: {self.other_branch.text}")
        if self.undo_fault is not None:
            made = (*made, f"there is no command that takes the change back: {self.undo_fault}")
        return made


def record_decision(
    workspace: Workspace, task_id: str, decision: Decision, run_id: RunId | None = None
) -> DecisionResult:
    """Record a decision on a task's pending run, and what follows from it for the plan.

    An approval may also be about a failed run, which is accepted as it is then, and, where approvals are
    committed, about one that is done.

    With ``run_id`` the decision is about that run only. Changes that are requested without a word are what
    a hook said that refused the commit, and what the reviewers of the change found. Where approvals are
    committed, that is done first.
    Raises RequestError when there is nothing to decide, when changes are requested of a session that cannot
    go on, or when the change of an approval cannot be committed; nothing is recorded then.
    """
    workspace.forbid_agents("decide")
    with deferred_recorded(workspace) as deferred:
        return replace(_decide(workspace, task_id, decision, run_id), deferred=deferred)


def _decide(workspace: Workspace, task_id: str, decision: Decision, run_id: RunId | None) -> DecisionResult:
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    require_readable(state, task)
    run = _find_run(workspace, state, task, decision, run_id)
    decision = _with_suggestion(run, decision)
    if decision.state is DecisionState.CHANGES_REQUESTED:
        if not (decision.feedback or "").strip():
            raise RequestError("change request cannot be empty", hint="-m TEXT or -F FILE")
        require_requestable(workspace, state.history(task.id), run)
    runs = workspace.runs_to_decide(state.history(task.id))
    pair = decision.shown or change_of(workspace, state, run, runs)[0]
    is_approval = decision.state in APPROVALS
    strayed = other_branch(workspace, run) if is_approval and not decision.branch_confirmed else None
    is_empty = pair is not None and pair.is_empty
    if is_approval and workspace.commits_approvals and not is_empty:
        return _approve(
            workspace, state, ApprovalRequest(task, run, pair, runs[0].head_commit, strayed), decision
        )
    _require_undone(state, run)
    worktree = None if pair is None else worktree_tree(workspace, pair)
    moved = diverged_in(workspace, pair, worktree)
    decided, after = _save(workspace, run, decision, pair)
    if decision.state is not DecisionState.REJECTED or pair is None or is_empty:
        return DecisionResult(decided, after, moved, other_branch=strayed)
    try:
        return DecisionResult(decided, after, moved, prepare_undo(workspace, runs, pair, worktree))
    except BlackbirdError as error:
        # The snapshots of the change may be gone; what is rejected does not need them.
        return DecisionResult(decided, after, moved, undo_fault=error.message)


def _find_run(
    workspace: Workspace, state: PlanState, task: Task, decision: Decision, run_id: RunId | None
) -> Run:
    """Return the run that a decision is about. Raises RequestError."""
    if decision.state in APPROVALS:
        return find_approvable(state, task.id, run_id, commits=workspace.commits_approvals)
    return find_pending(state, task.id, run_id)


def _approve(
    workspace: Workspace, state: PlanState, approval: ApprovalRequest, decision: Decision
) -> DecisionResult:
    """Commit a change, and record its approval. Raises ApprovalRefusedError; nothing is recorded then."""
    run = approval.run
    try:
        with commit_change(workspace, approval) as commit:
            if not commit.paths:
                _require_undone(state, run)
            decided, after = _save(workspace, run, decision, approval.pair, commit)
    except ApprovalRefusedError as error:
        _keep_hook_output(workspace, state.history(run.task_id), run, error)
        raise
    return DecisionResult(decided, after, commit.moved, commit=commit)


def _require_undone(state: PlanState, run: Run) -> None:
    """Refuse an approval of a task that is done where nothing is left to commit. Raises RequestError."""
    if status_of_run(run) == Status.DONE:
        find_pending(state, run.task_id, run.id)


def _keep_hook_output(
    workspace: Workspace, history: History, run: Run, refusal: ApprovalRefusedError
) -> None:
    """Save a hook's output for a change request, and name the command that sends it."""
    if refusal.hook_output is None:
        return
    output = RunFields(hook_output=bound_output(refusal.hook_output))
    update_run(workspace, run, lambda stored: stored.with_fields(output) if stored.is_pending else stored)
    if why_not_resumable(workspace, history, run) is None:
        command = task_command(
            "decide", run.task_id, " --request-changes", remark="sends what the hook printed"
        )
        refusal.hint = f"{refusal.hint}\nor have the agent fix it: {command}"


def _with_suggestion(run: Run, decision: Decision) -> Decision:
    """Request what the hook and the reviewers found wrong where changes are requested without a word."""
    if decision.state is not DecisionState.CHANGES_REQUESTED or decision.feedback is not None:
        return decision
    return replace(decision, feedback=render_suggestion(run, merged_or_none(run)))


def require_requestable(workspace: Workspace, history: History, run: Run) -> None:
    """Refuse a change request that no session could receive. Raises RequestError."""
    obstacle = why_not_resumable(workspace, history, run)
    if obstacle is not None:
        raise RequestError(
            f"changes cannot be requested: {obstacle}",
            hint=task_command("restart", run.task_id, " -m TEXT", remark="a new session, with TEXT"),
        )


def _save(
    workspace: Workspace,
    run: Run,
    decision: Decision,
    pair: TreePair | None,
    commit: ApprovalCommit | None = None,
) -> tuple[Run, PlanState]:
    """Write the decision, and with ``commit`` what it committed, on the record as it is under the lock."""
    with workspace.transaction() as transaction:
        stored = require_undecided(workspace, run)
        if commit is None:
            require_unclaimed(workspace, run.task_id)
        rejected = decision.state is DecisionState.REJECTED
        made = () if commit is None or commit.oid is None else (commit.oid,)
        decided = stored.with_fields(
            RunFields(
                decision_state=decision.state,
                decision_resolved_at=workspace.environment.timestamp(),
                decision_feedback=decision.feedback,
                decided_trees=None if pair is None else pair._asdict(),
                terminal_reason=TerminalReason.REJECTED if rejected else stored.terminal_reason,
                commits=tuple(dict.fromkeys((*stored.commits, *made))),
                hook_output=None if decision.state in APPROVALS else stored.hook_output,
            )
        )
        transaction.save_run(decided)
        after = save_statuses(workspace, transaction).state
    trace.event("decide", decision.state.value, "run", run.id, "of", run.task_id)
    drop_arrived(workspace)
    return decided, after
