"""Recording a decision: under the store lock, from anywhere, once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from git_blackbird.controller.approval_commits import (
    Approval,
    ApprovalRefusedError,
    commits_approvals,
    committed,
)
from git_blackbird.controller.checkpoints import change_of, moved_paths, request_obstacle
from git_blackbird.controller.deferred_commits import record_deferred
from git_blackbird.controller.drafts import drop_arrived
from git_blackbird.controller.outside_moves import changed_by_others, without_paths
from git_blackbird.controller.pending import (
    find_approvable,
    find_pending,
    require_unclaimed,
    require_undecided,
)
from git_blackbird.controller.statuses import save_statuses
from git_blackbird.controller.unreadable import require_readable
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.changes import entry, restore_command, touched
from git_blackbird.git.commit_plan import tree_of
from git_blackbird.git.repository import head
from git_blackbird.messages.suggestion import bound_output, render_suggestion
from git_blackbird.model.change import TreePair
from git_blackbird.model.checkpoint import ApprovalCommit
from git_blackbird.model.choices import Decision
from git_blackbird.model.commands import task_command
from git_blackbird.model.events import Decided
from git_blackbird.model.history import History, since_done
from git_blackbird.model.ids import RunId
from git_blackbird.model.plan import Status
from git_blackbird.model.run import APPROVALS, DecisionState, Run, RunStatus, RunType, TerminalReason
from git_blackbird.model.status import status_of_run
from git_blackbird.model.task_review import readable_merged
from git_blackbird.model.text import clean_line
from git_blackbird.storage.store import Image

_UNDO_IS_LOST = "the snapshots of the change are gone: no command is known that takes it back"


@dataclass(frozen=True)
class Recorded:
    """What a decision led to: the record, paths that differ by now, how a rejected change is undone.

    ``commit`` is what an approval committed; None where it commits nothing. ``undo_is_lost`` says that
    nobody knows any more how to undo the change.
    """

    run: Run
    moved: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    commit: ApprovalCommit | None = None
    undo_is_lost: bool = False

    @property
    def decided(self) -> Decided | None:
        """The event that tells of it."""
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
        return (*made, _UNDO_IS_LOST) if self.undo_is_lost else made


def record_decision(
    workspace: Workspace, task_id: str, decision: Decision, run_id: RunId | None = None
) -> Recorded:
    """Record a decision on a task's pending run, and what follows from it for the plan.

    An approval may also be about a failed run, which is accepted as it is then, and, where approvals are
    committed, about one that is done.

    With ``run_id`` the decision is about that run only. Changes that are requested without a word are what
    a hook said that refused the commit, and what the reviewers of the change found. Where approvals are
    committed, that is done first.
    Raises RequestError when there is nothing to decide, when changes are requested of a session that cannot
    go on, or when the change of an approval cannot be committed; nothing is recorded then.
    """
    workspace.require_person("decide")
    record_deferred(workspace)
    image = workspace.store.image()
    task = find_task(image.plan, task_id)
    require_readable(workspace.standing(image), task)
    if decision.state in APPROVALS:
        run = find_approvable(image, task.id, run_id, commits=commits_approvals(workspace))
    else:
        run = find_pending(image, task.id, run_id)
    decision = _with_suggestion(run, decision)
    if decision.state is DecisionState.CHANGES_REQUESTED:
        _check_request(workspace, image, run, decision)
    runs = since_done(image.history(task.id))
    pair, _ = change_of(workspace, image, run, runs)
    if (
        decision.state in APPROVALS
        and commits_approvals(workspace)
        and not (pair is not None and pair.is_empty)
    ):
        try:
            with committed(workspace, Approval(task, run, pair, runs[0].head_commit)) as commit:
                if not commit.paths:
                    _require_undone(image, run)
                decided = _save(workspace, run, decision, pair, commit)
        except ApprovalRefusedError as error:
            _keep_hook_output(workspace, image.history(task.id), run, error)
            raise
        return Recorded(decided, commit.moved, commit=commit)
    _require_undone(image, run)
    moved = moved_paths(workspace, pair)
    decided = _save(workspace, run, decision, pair)
    try:
        return Recorded(decided, moved, _undo(workspace, decision, runs, pair))
    except BlackbirdError:
        # The snapshots of the change are gone; what is rejected does not need them.
        return Recorded(decided, moved, undo_is_lost=True)


def _require_undone(image: Image, run: Run) -> None:
    """Refuse an approval of a task that is done where nothing is left to commit. Raises RequestError."""
    if status_of_run(run) == Status.DONE:
        find_pending(image, run.task_id, run.id)


def _keep_hook_output(
    workspace: Workspace, history: History, run: Run, refusal: ApprovalRefusedError
) -> None:
    """Keep what a hook said for a change request, and name the command that sends it."""
    if refusal.hook_output is None:
        return
    with workspace.transaction() as transaction:
        stored = transaction.history(run.task_id).find(run.id)
        if stored is not None and stored.is_pending:
            transaction.save_run(stored.with_fields(hook_output=bound_output(refusal.hook_output)))
    if request_obstacle(workspace, history, run) is None:
        command = task_command("decide", run.task_id, " --request-changes", remark="sends what the hook said")
        refusal.hint = f"{refusal.hint}\nor have the agent fix it: {command}"


def _with_suggestion(run: Run, decision: Decision) -> Decision:
    """Request what the hook and the reviewers found wrong where changes are requested without a word."""
    if decision.state is not DecisionState.CHANGES_REQUESTED or decision.feedback is not None:
        return decision
    return replace(decision, feedback=render_suggestion(run, readable_merged(run)))


def _undo(
    workspace: Workspace, decision: Decision, runs: Sequence[Run], pair: TreePair | None
) -> tuple[str, ...]:
    """Give the commands that take a rejected change back; a person runs them, never this program.

    No command is for a file that the person has committed: what they did is in it as well.
    """
    if decision.state is not DecisionState.REJECTED or pair is None or pair.is_empty:
        return ()
    if all(run.run_type is RunType.MANUAL for run in runs):
        return tuple(f"git revert {oid}" for run in reversed(runs) for oid in reversed(run.commits[-1:]))
    kept = _committed_over(workspace, runs, pair)
    left = without_paths(workspace, pair, kept) if kept else pair
    commands = () if left.is_empty else restore_command(workspace.repo, left, workspace.world.cwd)
    return (*commands, *(_by_hand(path, oid) for path, oid in sorted(kept.items())))


def _committed_over(workspace: Workspace, runs: Sequence[Run], pair: TreePair) -> dict[bytes, str]:
    """Return the paths where taking the change back would undo a commit of someone else's, and that commit.

    Where HEAD holds just what the change began with, the change is in the worktree alone.
    """
    repo = workspace.repo
    commit = head(repo).commit
    others = changed_by_others(workspace, runs)
    if commit is None or not others:
        return {}
    now = tree_of(repo, commit)
    paths = touched(repo, pair) & others.keys()
    return {path: others[path] for path in paths if entry(repo, now, path) != entry(repo, pair.base, path)}


def _by_hand(path: bytes, oid: str) -> str:
    name = clean_line(path.decode(errors="replace"))
    return (
        f"# {name}: commit {oid[:10]}, made since the run began, changed it too; take the change back by hand"
    )


def _check_request(workspace: Workspace, image: Image, run: Run, decision: Decision) -> None:
    if not (decision.feedback or "").strip():
        raise RequestError("change request cannot be empty", hint="-m TEXT or -F FILE")
    require_requestable(workspace, image.history(run.task_id), run)


def require_requestable(workspace: Workspace, history: History, run: Run) -> None:
    """Refuse changes that could be told to nobody. Raises RequestError."""
    obstacle = request_obstacle(workspace, history, run)
    if obstacle is not None:
        raise RequestError(
            f"changes cannot be requested: {obstacle}",
            hint=task_command("restart", run.task_id, " -m TEXT", remark="a new session, told TEXT"),
        )


def _save(
    workspace: Workspace,
    run: Run,
    decision: Decision,
    pair: TreePair | None,
    commit: ApprovalCommit | None = None,
) -> Run:
    """Write the decision, and with ``commit`` what it committed, on the record as it is under the lock."""
    with workspace.transaction() as transaction:
        stored = require_undecided(transaction, run)
        if commit is None:
            require_unclaimed(transaction, run.task_id)
        rejected = decision.state is DecisionState.REJECTED
        made = () if commit is None or commit.oid is None else (commit.oid,)
        decided = stored.with_fields(
            decision_state=decision.state,
            decision_resolved_at=workspace.world.timestamp(),
            decision_feedback=decision.feedback,
            decided_trees=None if pair is None else {"base": pair.base, "head": pair.head},
            terminal_reason=TerminalReason.REJECTED if rejected else stored.terminal_reason,
            commits=tuple(dict.fromkeys((*stored.commits, *made))),
            hook_output=None if decision.state in APPROVALS else stored.hook_output,
        )
        transaction.save_run(decided)
        save_statuses(workspace, transaction)
    drop_arrived(workspace)
    return decided
