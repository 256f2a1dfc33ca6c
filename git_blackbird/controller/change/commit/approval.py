"""The commit that an approval makes: of exactly the change, before the decision is recorded.

Hooks and signing are the user's and may take minutes: only the right to approve is held meanwhile, and who
decides otherwise in that time is refused.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from git_blackbird.controller.change.commit.order import (
    origin_of,
    tasks_waiting_mutually,
    uncommitted_before,
    undecided_before,
)
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
from git_blackbird.git.commit.create import (
    CommitInterruptedError,
    CommitRefusedError,
    CommitWorkerKilled,
    CreatedCommit,
    HookRefusedError,
    IndexUpdateError,
    commit_in_subprocess,
    update_index,
)
from git_blackbird.git.commit.plan import (
    COMMIT_EDITS_FIRST,
    EDITED_BEFORE,
    CommitPlan,
    LaterEdit,
    plan_commit,
)
from git_blackbird.git.core.user_programs import ALONG
from git_blackbird.git.worktree.changes import path_differs
from git_blackbird.git.worktree.index import require_free_index
from git_blackbird.git.worktree.log import commit_of_run, tree_of
from git_blackbird.messages.display.format import bulleted_lines
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import approve_without_commit, task_command
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
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

COMMITTING = ALONG
"""The commits of this process, with the hooks and signing that may ask at its terminal."""

_MAX_NAMED = 20
_MAX_SET_ASIDE = 5


class ApprovalRefusedError(RequestError):
    """The change of an approval cannot be committed now; the decision stays pending.

    ``hook_output`` is what a hook said that refused the commit.
    """

    hook_output: str | None = None

    def __init__(
        self, task: Task, why: str, remedy: str | None = "resolve that", commands: Iterable[str] = ()
    ) -> None:
        is_done = task.status is Status.DONE
        by_hand = "" if is_done else f", and approve without a commit: {approve_without_commit(task.id)}"
        again = f"{remedy} and approve again; what HEAD already has is not committed again"
        hint = (
            "\n".join([again, *commands, f"or commit by hand{by_hand}"])
            if remedy is not None
            else f"commit by hand what you still want of it{by_hand}"
        )
        super().__init__(f"{task.id} is not approved: {why}", hint=hint)


@dataclass(frozen=True)
class ApprovalRequest:
    """An approval of the change of ``runs``.

    ``strayed`` is set if HEAD has left the branch of the run and nobody confirmed that. ``written`` is what
    was just written of it: edits on top of that stay out of the commit.
    """

    state: PlanState
    task: Task
    run: Run
    pair: Trees | None
    runs: Sequence[Run] = ()
    strayed: OtherBranch | None = None
    written: str | None = None


def warn_uncommitted(workspace: Workspace, ui: UserInterface) -> None:
    """Warn that a call in which nobody approves commits nothing, unless it stops for approvals."""
    execution = workspace.config.execution
    if not workspace.commits_approvals or workspace.commits_checked or execution.stop_after_each_task:
        return
    why = "execution.commit commits what is approved, and it does not stop for that"
    hint = "--stop-after-each stops after each task"
    if execution.commit == "checked":
        why = "execution.commit commits what passes the check, and check.command is not set"
        hint = "git blackbird config check.command COMMAND"
    approve = "git blackbird decide TASK --approve    # commits the change of a task that is done"
    warn(ui, f"this call commits nothing: {why}", hint=f"{hint}\n{approve}")


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
    except BlackbirdError as error:
        return CommitPreview(obstacles=(error.message,))
    return CommitPreview(len(plan.edits), plan.head.branch, plan.obstacles if plan.edits else ())


@contextlib.contextmanager
def commit_change(workspace: Workspace, approval: ApprovalRequest) -> Iterator[ApprovalCommit]:
    """Commit exactly the change; the decision is recorded in the block, while nobody else may decide.

    Raises ApprovalRefusedError when there can be no commit, LockedError when another approval is under
    way; nothing is recorded then.
    """
    with approval_lock(workspace.paths, approval.run.id) as right:
        try:
            recover_interrupted_approval(workspace)
        except UnusableError as error:
            raise ApprovalRefusedError(approval.task, error.message) from error
        plan, moved = _plan(workspace, approval)
        result = _commit(workspace, approval, plan, right) if plan.edits else None
        if result is None:
            # An approval may have been cut off after its commit.
            began = approval.runs[0].own.heads.commit if approval.runs else None
            result = ApprovalCommit(commit_of_run(workspace.repo, approval.run.id, began))
        try:
            yield replace(result, moved=moved)
        except RequestError as error:
            if result.oid is None:
                raise
            message = f"{error.message}; its change is already in commit {result.oid[:12]}"
            raise RequestError(message, hint=error.hint) from error


def _plan(workspace: Workspace, approval: ApprovalRequest) -> tuple[CommitPlan, tuple[str, ...]]:
    """Plan the commit, and name the paths that differ in the worktree."""
    task, pair = approval.task, approval.pair
    if pair is None:
        raise ApprovalRefusedError(task, "its change is not known, so it cannot be committed")
    try:
        worktree = snapshot(workspace, since=pair.head).tree
        origin = origin_of(workspace, approval.state, approval.runs)
        plan = plan_commit(workspace.repo, pair, approval.written or worktree, origin)
        moved = path_differs(workspace.repo, worktree, pair)
        if plan.edits:
            # Obstacles to updating the index are found before there is a commit.
            require_free_index(workspace.repo)
    except BlackbirdError as error:
        raise ApprovalRefusedError(task, f"its change cannot be committed: {error.message}") from error
    if plan.edits and not plan.in_progress:
        require_branch(task, approval.strayed)
    if plan.edits and plan.obstacles:
        raise _obstructed_error(workspace, approval, _name_undecided(workspace, approval, plan, worktree))
    return plan, moved


def require_branch(task: Task, strayed: OtherBranch | None) -> None:
    """Refuse to commit where HEAD has left the branch of the run. Raises ApprovalRefusedError."""
    if strayed is not None:
        raise ApprovalRefusedError(task, wrong_branch(strayed), _switch_hint(strayed))


def wrong_branch(branch: OtherBranch) -> str:
    """Describe a commit that would go to another branch."""
    return f"its commit would go to another branch: {branch.text}"


def _switch_hint(branch: OtherBranch) -> str:
    here = "add --any-branch to commit here"
    if branch.by_agent:
        # The agent's own commits are here, so that going back would leave them out.
        return f"{here},"
    return f"go back with `git switch {shell_word(branch.worked_on)}`, or {here},"


def _obstructed_error(
    workspace: Workspace, approval: ApprovalRequest, plan: CommitPlan
) -> ApprovalRefusedError:
    task, pair = approval.task, approval.pair
    why = f"its change cannot be committed yet\n{bulleted_lines(plan.obstacles, _MAX_NAMED)}"
    if plan.has_moved_on:
        return ApprovalRefusedError(task, why, None)
    if pair is None or not plan.later_edits:
        return ApprovalRefusedError(task, why, plan.hint or "resolve that")
    remedies = [plan.hint, "set the later edits aside as below"]
    return ApprovalRefusedError(
        task,
        why,
        ", ".join(filter(None, remedies)),
        _aside_commands(workspace, task, plan.later_edits, pair.head),
    )


def _name_undecided(
    workspace: Workspace, approval: ApprovalRequest, plan: CommitPlan, worktree: str
) -> CommitPlan:
    """Name the undecided tasks whose edits the run found in its files, and how to go on."""
    state, task_id = approval.state, approval.task.id
    waiting = undecided_before(workspace, state, task_id, plan.edited_before)
    if not waiting:
        return plan
    named = _blocked_by_tasks(plan, waiting, "waits for a decision on it", "decide")
    if together := tasks_waiting_mutually(workspace, state, worktree, task_id):
        paths = sorted({path for paths in together.values() for path in paths})
        later_edits = tuple(edit for edit in plan.later_edits if edit.path not in paths)
        first = (
            f"{' and '.join(together)} each changed what the other had changed, so commit that"
            f" together first (`{_commit_command(workspace, paths)}`)"
        )
        named = replace(named, hint=_hint_with_first(plan, waiting, first), later_edits=later_edits)
    return named


def name_uncommitted(workspace: Workspace, state: PlanState, plan: CommitPlan) -> CommitPlan:
    """Name the landed tasks whose uncommitted edits the run found in its files."""
    waiting = uncommitted_before(workspace, state, plan.edited_before)
    return _blocked_by_tasks(plan, waiting, "has landed and is not committed", "commit") if waiting else plan


def _blocked_by_tasks(
    plan: CommitPlan, waiting: Mapping[bytes, TaskId], remark: str, verb: str
) -> CommitPlan:
    """Add the tasks of the earlier edits to the plan's obstacles, and what to do with them first."""
    remarks = {
        f"{path.decode(errors='replace')}: {EDITED_BEFORE}": f"; {other} {remark}"
        for path, other in waiting.items()
    }
    obstacles = tuple(why + remarks.get(why, "") for why in plan.obstacles)
    others = sorted(set(waiting.values()))
    commands = [f"`{task_command('decide', other, ' --approve')}`" for other in others]
    first = f"{verb} {', '.join(others)} first ({', '.join(commands)})"
    return replace(plan, obstacles=obstacles, hint=_hint_with_first(plan, waiting, first))


def _hint_with_first(plan: CommitPlan, waiting: Mapping[bytes, TaskId], first: str) -> str:
    if len(waiting) < len(plan.edited_before):
        first = f"{first}, {COMMIT_EDITS_FIRST}"
    return (plan.hint or "").replace(COMMIT_EDITS_FIRST, first)


def _commit_command(workspace: Workspace, paths: Iterable[bytes]) -> str:
    start = os.path.relpath(workspace.environment.cwd, workspace.repo.top)
    names = [os.path.relpath(os.fsdecode(path), start) for path in paths]
    words, git = " ".join(map(shell_word, names)), _git_command_for(*names)
    return f"{git} add -- {words} && {git} commit -m TEXT -- {words}"


def _git_command_for(*names: str) -> str:
    """Return how to call git with these paths; one that is quoted or has a colon may be a pattern to it."""
    is_plain = all(name == shell_word(name) and ":" not in name for name in names)
    return "git" if is_plain else "git --literal-pathspecs"


def _aside_commands(workspace: Workspace, task: Task, edits: Sequence[LaterEdit], tree: str) -> Iterator[str]:
    """Return the commands that move later edits out of the way, approve, and move them back."""
    start = os.path.relpath(workspace.environment.cwd, workspace.repo.top)
    back: list[str] = []
    for edit in edits[:_MAX_SET_ASIDE]:
        path = os.path.relpath(os.fsdecode(edit.path), start)
        name, aside = shell_word(path), shell_word(f"{path}.later")
        move = f"mv -i -- {name} {aside}"
        restore = f"{_git_command_for(path)} restore --source={tree} --worktree -- {name}"
        steps = [(move, edit.in_worktree), (restore, edit.in_change)]
        yield f"  {' && '.join(step for step, is_needed in steps if is_needed)}"
        back.append(f"  mv -- {aside} {name}" if edit.in_worktree else f"  rm -- {name}")
    if len(edits) > _MAX_SET_ASIDE:
        yield f"  # and likewise for {len(edits) - _MAX_SET_ASIDE} more"
    yield f"  {task_command('decide', task.id, ' --approve')}"
    yield from back


def _commit(workspace: Workspace, approval: ApprovalRequest, plan: CommitPlan, right: int) -> ApprovalCommit:
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
        created = commit_in_subprocess(workspace.repo, plan, message, run.id, right)
    except CommitWorkerKilled as error:
        why = f"the process committing its change was killed, and git may still be at work\n{error.message}"
        raise ApprovalRefusedError(task, why, "wait for git") from error
    except CommitRefusedError as error:
        drop_pending_approval(workspace.paths)
        if isinstance(error, CommitInterruptedError):
            hint = task_command("decide", task.id, " --approve")
            message = f"{task.id} is not approved: its commit was interrupted"
            raise InterruptedByUserError(message, hint=hint) from error
        refusal = ApprovalRefusedError(task, f"git did not commit its change\n{error.message}")
        if isinstance(error, HookRefusedError):
            refusal.hook_output = error.output
        raise refusal from error
    return ApprovalCommit(created.oid, created.paths, warnings=tuple(_finish(workspace, created)))


def _finish(workspace: Workspace, created: CreatedCommit) -> Iterator[str]:
    """Return warnings about the commit that was made."""
    if created.cut_short is not None:
        yield (
            f"commit {created.oid[:12]} was made, but git did not finish what comes after it:"
            f" {created.cut_short}"
        )
    if created.differs:
        names = ", ".join(created.differs[:_MAX_NAMED])
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
        update_index(workspace.repo, note.base_tree, tree_of(workspace.repo, oid))
    except IndexUpdateError as error:
        drop_pending_approval(workspace.paths)
        return f"the index was not updated for {what}: {error.message}"
    drop_pending_approval(workspace.paths)
    return f"the index was updated for {what}"
