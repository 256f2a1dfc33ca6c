"""Bring the change of a task that worked in a worktree of its own into the user's worktree."""

from collections.abc import Iterable
from functools import partial

from git_blackbird.controller.change.commit.approval import ApprovalRequest, commit_change
from git_blackbird.controller.change.commit.refusal import (
    ApprovalRefusedError,
    hook_edits_text,
    name_uncommitted,
    with_hook_edits,
    wrong_branch,
)
from git_blackbird.controller.change.land.sent_back import block_landing
from git_blackbird.controller.change.move import AGAIN, Move, Prepared, prepare, write
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.close import change_of_run
from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.place import place_of
from git_blackbird.controller.place.worktrees import bring_submodules, release, workspace_of
from git_blackbird.errors import BlackbirdError, RequestError, UnusableError
from git_blackbird.git.commit.plan import plan_commit
from git_blackbird.git.core.repository import head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.linked import altered_worktrees, other_owner
from git_blackbird.git.writing.write_back import describe_unwritten, find_edited
from git_blackbird.messages.outgoing.prompts import bound_output
from git_blackbird.model.base.next_steps import Sentence, ShellLine, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import Landed, LandingBlocked, Merge, Moving
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, DETACHED, Verb
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import ApprovalCommit, OtherBranch
from git_blackbird.model.views.events import LandingEnded

_NO_CHANGE = "the snapshots of its change are not in this repository any more"


class ChangeGoneError(UnusableError):
    """The snapshots of a change are gone, so that it can never land."""


def prepare_landing(workspace: Workspace, run: Run) -> Prepared:
    """Merge the change of a run with the user's worktree as it is now; writes only objects.

    One that has begun goes on as it was. Raises ChangeGoneError, UnusableError where the worktree keeps
    changing, SnapshotError, GitError.
    """
    change = run.change_elsewhere
    if change is None or change.head not in TreeStore(workspace.repo):
        raise ChangeGoneError(_NO_CHANGE)
    bring_submodules(workspace, run)
    return prepare(_move(workspace, run, change if run.moving is None else run.moving.trees))


def _move(workspace: Workspace, run: Run, change: Trees) -> Move:
    return Move(Verb.LAND, workspace, run, (change,), goes_on=run.moving is not None)


def additions_in(run: Run, landing: Prepared) -> tuple[str, ...]:
    """Return the paths of a landing at which both sides added lines."""
    merge = landing.merge.both_added
    if run.moving is not None:
        return run.moving.additions
    return () if merge is None else tuple(path.decode(errors="replace") for path in merge.conflicts)


def both_added_text(paths: Iterable[str]) -> str:
    return f"both added here, your lines first: {', '.join(paths)}"


def are_additions_shown(workspace: Workspace, run: Run, landing: Prepared) -> bool:
    """Whether a person approved the change when these very additions were shown."""
    merge, blocked = landing.merge.both_added, run.landing
    if run.moving is not None or merge is None:
        return True
    if not isinstance(blocked, LandingBlocked) or run.decision_state not in APPROVALS:
        return False
    if blocked.offered is None:
        return False
    trees, shown = TreeStore(workspace.repo), blocked.offered.trees.head
    return all(trees.entry(shown, path) == trees.entry(landing.merge.tree, path) for path in merge.conflicts)


def take_missing_snapshot(workspace: Workspace, ui: UserInterface, run: Run) -> Run:
    """Take the snapshot that failed at the end of a run, and return the record with the change.

    Whoever approved has not seen it: it has to be decided on again. Raises ChangeGoneError where its
    worktree is gone, UnusableError where there can be no snapshot now either.
    """
    place = workspace_of(workspace, run)
    if place is None:
        raise ChangeGoneError(_NO_CHANGE)
    change = change_of_run(place, ui, run)
    if change.head is None:
        raise UnusableError(f"what {run.task_id} changed is not known: {change.summary.minimal}", hint=AGAIN)
    now = workspace.environment.timestamp()

    def complete(stored: Run) -> Run:
        known = stored.changed(change).updated(head_taken_late=True)
        return known.awaiting_decision(now) if stored.decision_state in APPROVALS else known

    return update_run(workspace, run, complete)


def land(
    workspace: Workspace, state: PlanState, task: Task, run: Run, landing: Prepared
) -> LandingEnded | None:
    """Write a merged change into the user's worktree, commit it where approvals do, and record it.

    None where a file was edited since it was merged: then it is to be merged again. Repeated after a crash
    it completes what was begun. Raises UnusableError where the system refuses a file, WriteBackError,
    SaveError.
    """
    if (blocked := block_on_other_branch(workspace, run)) is not None:
        return blocked
    commits = _is_committed(workspace, run) and not landing.pair.is_empty
    plan = plan_commit(workspace.repo, landing.pair, landing.pair.head) if commits else None
    if plan is not None and plan.obstacles:
        plan = name_uncommitted(workspace, state, plan)
        why = "; ".join(("its change cannot be committed", *plan.obstacles))
        return block_landing(workspace, run, Sentence(why, ": ", plan.hint) if plan.hint else why)
    move = _move(workspace, run, landing.pair)
    refused = write(move, landing, partial(_record_begun, workspace, run))
    if refused is None or find_edited(workspace.repo, {path: landing.found[path] for path in refused}):
        return None
    if refused:
        raise UnusableError(
            f"the change of {task.id} has not landed in full: {describe_unwritten(refused)}", hint=AGAIN
        )
    merge = Merge(trees=landing.pair, additions=additions_in(run, landing))
    if not commits:
        return _record_landed(workspace, run, merge, ApprovalCommit(None))
    approval = ApprovalRequest(
        state,
        task,
        run,
        landing.pair,
        partial(_landed, merge=merge),
        strayed=_other_branch_now(workspace, run),
        written=landing.pair.head,
    )
    return _commit(workspace, approval, merge)


def commit_in_place(workspace: Workspace, state: PlanState, task: Task, run: Run) -> LandingEnded:
    """Commit a change that was made in the user's worktree and needs no decision.

    Repeated after a crash, it records the commit that was made. Raises StaleLandingError.
    """
    whole = change_of(workspace, state, task.id).trees
    known = whole or run.tree_pair
    if known is None:
        raise UnusableError(_NO_CHANGE, hint=TaskCommand("retry", task.id))
    runs, merge = workspace.runs_to_decide(state.history(task.id)), Merge(trees=known)
    strayed = place_of(workspace, run).other_branch()
    approval = ApprovalRequest(state, task, run, whole, partial(_landed, merge=merge), runs, strayed)
    try:
        return _commit(workspace, approval, merge)
    except RequestError as error:
        raise StaleLandingError(error.message) from error


def _commit(workspace: Workspace, approval: ApprovalRequest, merge: Merge) -> LandingEnded:
    """Commit what is in the user's worktree, and record that; a person decides where git refuses."""
    try:
        with commit_change(workspace, approval) as (then, commit):
            return _record_landed(then, approval.run, merge, commit)
    except ApprovalRefusedError as error:
        return _record_landed(workspace, approval.run, merge, ApprovalCommit(None), error)


def _is_committed(workspace: Workspace, run: Run) -> bool:
    """Whether the landing makes a commit: of an approval, or where nobody decides once the check passed."""
    if run.decision_state not in APPROVALS:
        return workspace.commits_checked
    return run.approved_on is not None and workspace.commits_approvals


def _other_branch_now(workspace: Workspace, run: Run) -> OtherBranch | None:
    """Return both branches if HEAD is not on the one to which a commit is to go; else None."""
    if not _is_committed(workspace, run):
        return None
    if run.decision_state not in APPROVALS:
        return place_of(workspace, run).other_branch()
    now = head(workspace.repo).branch
    approved_on = run.approved_on or DETACHED
    return None if (now or DETACHED) == approved_on else OtherBranch(approved_on, now, was_approved=True)


def block_on_other_branch(workspace: Workspace, run: Run) -> LandingEnded | None:
    """Block the landing if HEAD is not on the approved branch; None if it is."""
    branch = _other_branch_now(workspace, run)
    if branch is None:
        return None
    switch = ShellLine(f"git switch {shell_word(branch.worked_on)}"), " and "
    back = () if branch.worked_on == DETACHED else switch
    way_out = TaskCommand("decide", run.task_id, " --approve --any-branch")
    ways = *back, "approve again, or commit here: ", way_out
    return block_landing(workspace, run, Sentence(wrong_branch(branch), "; ", *ways))


class StaleLandingError(UnusableError):
    """A person has decided otherwise meanwhile: the change must not land. Nothing was written."""


def _record_begun(workspace: Workspace, run: Run, landing: Prepared) -> None:
    """Record that files are about to be written, if the change is still to land.

    Raises StaleLandingError.
    """
    with workspace.transaction() as transaction:
        stored = workspace.store.records.history(run.task_id).find(run.id)
        is_due = stored is not None and stage_of(stored) is Stage.LANDING and not stored.is_superseded
        if stored is None or not is_due or run.task_id not in transaction.plan().tasks:
            raise StaleLandingError(f"the change of {run.task_id} does not land: it was given up meanwhile")
        if stored.moving is None and not landing.written.is_empty:
            moving = Moving(verb=Verb.LAND, trees=landing.pair, additions=additions_in(stored, landing))
            transaction.save_run(stored.beginning(moving, workspace.environment.timestamp()))


def _record_landed(
    workspace: Workspace,
    run: Run,
    merge: Merge,
    commit: ApprovalCommit,
    refusal: ApprovalRefusedError | None = None,
) -> LandingEnded:
    """Record that a change is in the user's worktree; a person decides on one that git did not commit."""
    now = workspace.environment.timestamp()

    def landed(stored: Run) -> Run:
        if refusal is None:
            done = _landed(stored, now, merge).committed_as(*filter(None, [commit.oid]))
            return done.updated(hook_output=None)
        said = refusal.hook_output
        there = _landed(stored, now, merge, _uncommitted_text(run, refusal))
        there = there.updated(hook_output=None if said is None else bound_output(said))
        return with_hook_edits(workspace, there, refusal.hook_edits).awaiting_decision(now)

    saved = update_run(workspace, run, landed)
    _move(workspace, saved, merge.trees).journal.clear()
    warnings = [both_added_text(saved.landing_additions)] if saved.landing_additions else []
    warnings += commit.warnings
    if refusal is not None:
        warnings.append(saved.landing_reason or "")
        if refusal.hook_edits:
            warnings.append(f"{run.task_id}: {hook_edits_text(saved, refusal.hook_edits)}")
    return LandingEnded(run.task_id, saved, commit, tuple(warnings))


def _landed(stored: Run, at: str, merge: Merge, uncommitted: str | None = None) -> Run:
    landed = Landed(at=at, merge=merge, uncommitted=uncommitted, evidence=stored.landing_evidence)
    return stored.updated(landing=landed, moving=None)


def _uncommitted_text(run: Run, refusal: ApprovalRefusedError) -> str:
    first, *more = refusal.lines
    said = first.removeprefix(f"{run.task_id} is not approved: ")
    why = ": ".join(filter(None, (said, "; ".join(more))))
    again = TaskCommand("decide", run.task_id, " --approve")
    return Sentence(f"it is not committed: {why}; ", again, " tries again")


def remove_place(workspace: Workspace, run: Run) -> list[str]:
    notices = []
    for each in altered_worktrees(workspace.repo):
        if each.task_id == run.task_id:
            what = f"{each.repo.top} is not the worktree of {run.task_id} that git made, and was not removed"
            way = "move what you need, and remove it; `git worktree prune` forgets it then"
            owner = other_owner(each.repo)
            notices.append(f"{what}: {way if owner is None else f'it belongs to {owner}'}")
    place = workspace_of(workspace, run)
    if place is not None:
        try:
            kept = release(workspace, place.repo)
        except BlackbirdError as error:
            ways = (part for way in error.ways_out for part in ("; ", way))
            why = f"the worktree of {run.task_id} was not removed: {error.message}"
            return [*notices, Sentence(why, *ways)]
        if kept is not None:
            what = "what was edited in its worktree after its run has not landed"
            notices.append(f"{what}; it is in {kept}:head")
    return notices
