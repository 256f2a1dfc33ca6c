"""Build the checkpoint: the change that a decision is about, and how the worktree differs from it."""

from collections.abc import Iterator, Sequence

from git_blackbird.controller.change.commit.approval import preview_commit
from git_blackbird.controller.change.trees import change_of, combined_change, outside_of_runs
from git_blackbird.controller.core.agents import find_agent_for_run
from git_blackbird.controller.core.guards import require_usable
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.place.place import Place, TaskEdits, place_of, unresolved_text
from git_blackbird.controller.place.work_elsewhere import find_work_elsewhere
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.change.changes import changed_paths, compose, diff_text, path_differs, without_paths
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.change import switched_lines
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.outgoing.prompts import render_suggestion
from git_blackbird.messages.outgoing.rulings import render_overruled
from git_blackbird.messages.patch.comments import is_taken_up, moved_along
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand, restart_command, restart_with_text
from git_blackbird.model.change.change import (
    Change,
    RequestedChange,
    contributions_since,
    count_rounds,
    total_cost,
)
from git_blackbird.model.change.stages import CheckFollowUp, Stage, after_check, stage_of, why_asked
from git_blackbird.model.change.work import Work
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import pending_decisions
from git_blackbird.model.rules.reviews import (
    ReviewFollowUp,
    merged_or_none,
    missing_texts,
    next_after,
    reviews_about,
)
from git_blackbird.model.rules.scope import CallScope, Following, next_after_approval
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.history import History, is_session_lost
from git_blackbird.model.run.parts import LandingBlocked, LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PLAN_EDITED, Requester, RunStatus
from git_blackbird.model.run.summary import Summary, Trees
from git_blackbird.model.views.checkpoint import Checkpoint, CommentOutcome, SinceRequest

_CLEARED = "the reviews approve the change, and this call stops after each task"


def build_checkpoint(
    workspace: Workspace, state: PlanState, task: Task, run: Run, follows: Following | None
) -> Checkpoint:
    """Put together what a person needs for the decision on ``run``.

    Missing facts are left out and never stop the decision: the summary then says that it is
    minimal.
    """
    from git_blackbird.controller.change.edits import ChangeEdits  # only a checkpoint needs it

    history = state.history(task.id)
    change, runs = Change.of(history), workspace.runs_to_decide(history)
    pair, summary = change_of(workspace, state, task.id)
    place = place_of(workspace, run)
    worktree = None if pair is None else place.files_now(pair)
    merged, edits = merged_or_none(run), _edits(place)
    rulings, outside = change.standing_rulings, outside_of_runs(runs)
    reasons = escalation_reasons(workspace, history, run)
    if edits is not None:
        pair, summary = edits.pair, summarize(workspace.repo, edits.pair)
        # What was edited is decided on, though the agent changed nothing.
        reasons = tuple(reason for reason in reasons if reason != run.no_change_reason)
    tests = workspace.config.check.test_globs
    edited_tests = () if pair is None else ChangeEdits(workspace.repo, pair, summary.changes, tests).tests()
    return Checkpoint(
        task=task,
        run=run,
        summary=summary,
        pair=pair,
        moved=diverged_names(workspace, pair, worktree),
        edited=() if edits is None else edits.paths,
        edited_tests=edited_tests,
        conflict=None if pair is None else unresolved_text(place.conflicts(pair)),
        both_added=_both_added(workspace, run),
        worktree=workspace.worktree_of(run),
        is_in_worktree=Work(history).is_in_worktree,
        was_merged=change.last_merge is not None,
        runs=len(runs),
        round_number=count_rounds(runs),
        cost_usd=total_cost(runs),
        request_blocked_reason=why_not_resumable(workspace, history, run),
        commit=None if run.worktree_path else preview_commit(workspace, state, pair, worktree, runs),
        merged=merged,
        suggested_request=render_suggestion(run, merged) or "\n".join(map(render_overruled, rulings)) or None,
        reasons=reasons,
        options=workspace.call_options,
        since_request=_since_request(workspace, state, run, change.requests),
        asked=change.last_asked(state.feedback.get(task.id)),
        told=change.told,
        rulings=rulings,
        other_branch=place.other_branch(),
        behind=sum(due.run_id != run.id for due in pending_decisions(state)),
        unblocks=state.unblocked.get(task.id, 0),
        max_rounds=workspace.config.reviews.max_iterations,
        outside=outside,
        follows=None if follows is None else follows.task_id,
        work_elsewhere=find_work_elsewhere(workspace, task, run, outside) if edits is None else None,
    )


def _edits(place: Place) -> TaskEdits | None:
    try:
        return place.edits()
    except GitStoppedError:
        raise
    except BlackbirdError:
        # As with a snapshot of the user's worktree, whoever approves is told.
        return None


def _both_added(workspace: Workspace, run: Run) -> Summary | None:
    """Show what a change adds where the user's worktree has additions too; None where nobody is asked."""
    blocked = run.landing
    if stage_of(run) is not Stage.BLOCKED or not isinstance(blocked, LandingBlocked):
        return None
    merge = run.moving or blocked.offered
    if merge is None or not merge.additions:
        return None
    repo, pair = workspace.repo, merge.trees
    try:
        others = [
            path for path in changed_paths(repo, pair) if path.decode(errors="replace") not in merge.additions
        ]
        return summarize(repo, without_paths(repo, pair, others))
    except BlackbirdError as error:
        return Summary(files=merge.additions, minimal=error.message)


def pending_checkpoint(workspace: Workspace, task_id: str, run_id: RunId | None = None) -> Checkpoint:
    """Put together the checkpoint of a task on which a decision is due, as plan and records are now.

    Raises RequestError when none is due, or on another than this run.
    """
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    run = find_pending(state, task.id, run_id)
    return build_checkpoint(workspace, state, task, run, follows_in_execute(state, task.id))


def follows_in_execute(state: PlanState, task_id: TaskId) -> Following | None:
    """Return the task with which an execute continues once this one is approved."""
    return next_after_approval(state, CallScope(), task_id, lambda _: True)


def unnamed_start(task_id: TaskId, named: TaskId | None, follows: Following | None) -> str | None:
    """Return what to say where an approval would start another task than was named."""
    if follows is None or not follows.starts or follows.task_id == named:
        return None
    return f"an approval of {task_id} continues with {follows.task_id} by now: it is asked again"


def find_pending(state: PlanState, task_id: TaskId, run_id: RunId | None) -> Run:
    """Return the run on which a decision is due.

    Raises RequestError when there is none, or another than ``run_id``, UnreadableRecordError.
    """
    require_usable(task_id, state.history(task_id))
    run = state.history(task_id).latest
    if run is not None and run_id is not None and run.id != run_id:
        raise RequestError(
            f"run {run_id} is not the latest of {task_id}: that is run {run.id}",
            hint=Sentence(TaskCommand("status"), " shows what is due"),
        )
    if run is None or not run.is_pending:
        decision = run.decision_state if run is not None else None
        decided = f" (run {run.id} is {decision.words})" if run is not None and decision is not None else ""
        raise RequestError(
            f"no decision is pending on {task_id}{decided}",
            hint=Sentence(TaskCommand("status"), " shows what is due"),
        )
    return run


def find_approvable(state: PlanState, task_id: TaskId, run_id: RunId | None, *, commits: bool) -> Run:
    """Return the run that an approval is about: one on which a decision is due, or one that failed.

    Where an approval ``commits``, also one that is done without it. Raises RequestError as
    ``find_pending`` does, or where nothing has the change any more, and UnreadableRecordError.
    """
    run = state.history(task_id).latest
    if run is None or run_id not in {None, run.id}:
        return find_pending(state, task_id, run_id)
    if run.is_change_gone:
        raise RequestError(f"it {run.landing_words}: {run.landing_reason}", hint=restart_command(task_id))
    require_usable(task_id, state.history(task_id))
    is_undecided_failure = run.status is RunStatus.FAILED and run.decision_state is None
    is_done = commits and state.plan.tasks[task_id].status is Status.DONE and stage_of(run) is Stage.DONE
    return run if is_undecided_failure or is_done else find_pending(state, task_id, run_id)


def find_undoable(state: PlanState, task_id: TaskId, run_id: RunId | None) -> Run:
    """Return the run whose change is to be rejected and taken back: one with a decision due, or landed.

    Raises RequestError as ``find_pending`` does, and UnreadableRecordError.
    """
    run = state.history(task_id).latest
    is_there = run is not None and run.landing_pair is not None and run.undone is None
    if run is None or not is_there or run_id not in {None, run.id}:
        return find_pending(state, task_id, run_id)
    require_usable(task_id, state.history(task_id))
    return run


def escalation_reasons(workspace: Workspace, history: History, run: Run) -> tuple[str, ...]:
    """Return the reasons for a decision that is due even with checkpoints off."""
    if not run.is_pending:
        return ()
    plan_edited = (PLAN_EDITED,) if run.plan_edits else ()
    if run.no_change_reason is not None:
        return (run.no_change_reason, *plan_edited)
    if stage_of(run) is Stage.BLOCKED:
        return (f"it {run.landing_words}: {run.landing_reason}",)
    if stage_of(run) is Stage.NOT_COMMITTED and run.landing_reason is not None:
        return (run.landing_reason,)
    switched = None if run.review_summary is None else run.review_summary.switched
    reasons = (
        *_check_reasons(workspace, history, run),
        *_review_reasons(workspace, history, run),
        *(("; ".join(switched_lines(switched)),) if switched is not None and switched.is_unclear else ()),
        *plan_edited,
    )
    # This reason is given only if there is no other.
    return tuple(reason for reason in reasons if reason != _CLEARED) or reasons


def after_verdicts(workspace: Workspace, run: Run, now: str) -> Run:
    """Return a record whose check and reviews leave it to a person only where that was required before.

    The commit of a change in place that passed its check is due in the same save.
    """
    if run.decision_required:
        return run.awaiting_decision(now)
    has_passed = run.evidence is not None and run.evidence.has_passed
    is_due = workspace.commits_checked and run.is_in_place and has_passed
    return run.updated(landing=LandingDue()) if is_due else run


def _check_reasons(workspace: Workspace, history: History, run: Run) -> Iterator[str]:
    follow_up = after_check(run.evidence, workspace.config.check.mode)
    if follow_up is CheckFollowUp.ASK and run.evidence is not None:
        yield why_asked(run.evidence)
    if follow_up is not CheckFollowUp.FIX:
        return
    sent = Change.of(history).count_sent_back(Requester.CHECK)
    if sent >= workspace.config.check.max_rounds:
        yield f"the check still fails after {counted(sent, 'change request')} (check.maxRounds)"
    elif (obstacle := why_not_resumable(workspace, history, run)) is not None:
        yield f"cannot request fixes: {obstacle}"


def _review_reasons(workspace: Workspace, history: History, run: Run) -> tuple[str, ...]:
    merged = merged_or_none(run)
    most, number = workspace.config.reviews.max_iterations, run.review_round or 1
    if merged is None:
        return ()
    if merged.missing:
        return missing_texts(merged, reviews_about(workspace.store.records.reviews(run.task_id).runs, run))
    if next_after(merged, round_number=number, max_rounds=number) is ReviewFollowUp.PROCEED:
        return (_CLEARED,)
    if number >= most:
        return (f"issues are left after round {number} of {most} (reviews.maxIterations)",)
    obstacle = why_not_resumable(workspace, history, run)
    return () if obstacle is None else (f"cannot request fixes: {obstacle}",)


def _since_request(
    workspace: Workspace, state: PlanState, run: Run, requests: Sequence[RequestedChange]
) -> SinceRequest | None:
    if not requests:
        return None
    outcomes, last = _outcomes(workspace, requests), requests[-1]
    # Of a run without a snapshot, nothing is known.
    if not run.is_in_place and len(found := contributions_since(last.runs)) == 1:
        alone = found[0].trees
        return SinceRequest(last.text, summarize(workspace.repo, alone), alone, outcomes)
    pair, summary = combined_change(workspace, state, run, last.runs)
    return SinceRequest(last.text, summary, pair, outcomes)


def _outcomes(workspace: Workspace, requests: Sequence[RequestedChange]) -> tuple[CommentOutcome, ...]:
    """Return which comments of all requests were taken up, as far as known.

    A later comment on one of its lines replaces a comment.
    """
    outcomes: tuple[CommentOutcome, ...] = ()
    for request in requests:
        kept = (outcome for outcome in outcomes if not any(map(outcome.comment.overlaps, request.comments)))
        outcomes = (*kept, *(CommentOutcome(comment, is_taken_up=False) for comment in request.comments))
        since = _patch_since(workspace, request) if outcomes else None
        outcomes = () if since is None else tuple(_updated_outcome(since, outcome) for outcome in outcomes)
    return outcomes


def _updated_outcome(since: Patch, outcome: CommentOutcome) -> CommentOutcome:
    """Return how later work answered a comment, or where its lines are now."""
    comment = outcome.comment
    if outcome.is_taken_up or is_taken_up(since, comment):
        return CommentOutcome(comment, is_taken_up=True)
    return CommentOutcome(moved_along(since, comment), is_taken_up=False)


def _patch_since(workspace: Workspace, request: RequestedChange) -> Patch | None:
    """Return the patch made after a request, until the next one; None if unknown."""
    try:
        found = contributions_since(request.runs)
        if not found:
            return None
        pair = compose(workspace.repo, found)
        return Patch(diff_text(workspace.repo, pair).decode(errors="replace"))
    except BlackbirdError:
        return None


def diverged_names(workspace: Workspace, pair: Trees | None, worktree: str | None) -> tuple[str, ...]:
    """Name the paths of a change that differ in the worktree now; an approval is about the change."""
    if pair is None or worktree is None:
        return ()
    try:
        return path_differs(workspace.repo, worktree, pair)
    except BlackbirdError:
        # The snapshots of the change are gone: then the summary says that it is minimal.
        return ()


def why_not_resumable(workspace: Workspace, history: History, run: Run) -> str | None:
    """Return why this run's session cannot take a change request; None if nothing speaks against it."""
    if run.provider_session_ref is None:
        return f"run {run.id} ({run.provider or 'no agent'}) has no session to continue"
    provider = agent_in_text(run.provider)
    if is_session_lost(history, run):
        return f"{provider} no longer knows session {run.provider_session_ref} of run {run.id}"
    try:
        agent = find_agent_for_run(workspace, run)
    except RequestError as error:
        return error.message
    if not agent.accepts_session(run.provider_session_ref):
        return f"{run.provider_session_ref!a} of run {run.id} is not a session of {provider}"
    return None


def require_requestable(workspace: Workspace, history: History, run: Run) -> None:
    """Raise RequestError if no session could receive a change request."""
    obstacle = why_not_resumable(workspace, history, run)
    if obstacle is not None:
        raise RequestError(
            f"changes cannot be requested: {obstacle}",
            hint=restart_with_text(run.task_id),
        )
