"""The reviews of a change: spec and code side by side, merged by rule (spec 4, DESIGN.md 7)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from git_blackbird.controller.core.blocking import run_in_thread
from git_blackbird.controller.core.status_sync import save_status
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.decisions.checkpoint import change_of, escalation_reasons, why_not_resumable
from git_blackbird.controller.reviews.reviewer import (
    ReviewerRequest,
    classify_answer,
    run_reviewer,
    verify_unchanged,
)
from git_blackbird.controller.runs.agent_process import RunContext, cut_logs, open_run
from git_blackbird.controller.runs.config_guard import (
    ConfigCheck,
    check_config,
    forget_config,
    remember_config,
)
from git_blackbird.controller.runs.finish import completion_fields
from git_blackbird.controller.runs.plan_guard import check_plan
from git_blackbird.errors import RequestError
from git_blackbird.git.worktree.unfiltered_diff import unfiltered_diff
from git_blackbird.messages.display.merged_review import render_fix_request
from git_blackbird.messages.incoming.reviewer_xml import parse_reviewer_answer
from git_blackbird.messages.outgoing.context import build_context, task_part
from git_blackbird.messages.outgoing.reviewer_prompts import (
    REVIEWER_SYSTEM,
    build_package,
    render_package,
    render_reviewer_prompt,
)
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.findings import MergedReview, ReviewResult, Source
from git_blackbird.model.entities.history import History, runs_in_change
from git_blackbird.model.entities.plan import Plan, Task
from git_blackbird.model.entities.run import (
    DecisionState,
    ReviewState,
    Run,
    RunFields,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.rules.merge import merge
from git_blackbird.model.rules.review_rounds import (
    BY_REVIEWERS,
    TYPES,
    ReviewFollowUp,
    merged_or_none,
    next_after,
    result_of,
    reviews_about,
    round_of,
)
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.events import Level, Notice, ReviewsEnded, RunEnded

TRIES = 2
_SOURCES = {run_type: Source(source) for source, run_type in TYPES.items()}
_NOT_TRIED_AGAIN = frozenset({TerminalReason.INTERRUPTED, TerminalReason.AGENT_UNAVAILABLE})


@dataclass(frozen=True)
class ChangeReviewRequest:
    """The change of a run to review: the package that both reviewers get, and the round.

    ``finished`` holds the reviews that are not made again: a retry asks only the reviewer that is missing.
    """

    task: Task
    run: Run
    package: str
    tree: str
    plan: Plan
    round_number: int
    finished: "Mapping[Source, ReviewerOutcome]" = field(default_factory=dict)


@dataclass(frozen=True)
class ReviewerOutcome:
    """The outcome of one reviewer: its last record, and its result where it gave one."""

    run: Run
    result: ReviewResult | None


def change_review_request(
    workspace: Workspace, state: PlanState, task: Task, run: Run, *, names_worktree: bool
) -> ChangeReviewRequest | None:
    """Order the reviews of a run's change; None where no snapshots say what that is.

    ``names_worktree``: a reviewer works elsewhere, and is told where the worktree is. Raises UnusableError.
    """
    runs = runs_in_change(state.history(task.id))
    pair, summary = change_of(workspace, state, run, runs)
    if pair is None:
        return None
    threshold = workspace.settings.number("reviews.diffThresholdLines")
    diff = unfiltered_diff(workspace.repo, pair)
    package = build_package(task, summary.diffstat, diff, pair, threshold)
    top = str(workspace.repo.top) if names_worktree else None
    text = render_package(package, top)
    finished = _finished_sides(workspace, run, text)
    return ChangeReviewRequest(task, run, text, pair.head, state.plan, round_of(runs, run), finished)


def _finished_sides(workspace: Workspace, run: Run, package: str) -> Mapping[Source, ReviewerOutcome]:
    """Return the reviews of this very change and task that need not be made again.

    Only what a missing or an interrupted review left; once both are there, both are made again.
    """
    merged = merged_or_none(run)
    if merged is not None and not merged.missing:
        return {}
    about = reviews_about(workspace.store.records.reviews(run.task_id).runs, run)
    sides = (ReviewerOutcome(review, result_of(review)) for review in about if _got_package(review, package))
    return {side.result.source: side for side in sides if side.result is not None}


def _got_package(review: Run, package: str) -> bool:
    """Whether a reviewer judged just what ``package`` says."""
    sent = review.context.get("review")
    if not isinstance(sent, dict) or review.run_type not in _SOURCES:
        return False
    fault = sent.get("fault")
    prompt = render_reviewer_prompt(_SOURCES[review.run_type], package, None if fault is None else str(fault))
    return sent.get("prompt") == prompt


async def run_reviewers(
    contexts: Mapping[Source, RunContext], request: ChangeReviewRequest, force_stop: asyncio.Event
) -> Mapping[Source, ReviewerOutcome]:
    """Run both reviewers at the same time; a second try of each names the fault of its first.

    A review that is finished is not made again. Cancelling it stops both, and closes their records. Raises
    SaveError, AgentUnavailableError.
    """
    missing = [source for source in Source if source not in request.finished]
    for source, side in request.finished.items():
        text = f"keeping the {source} review of {request.task.id} (run {side.run.id})"
        contexts[source].ui.notify(Notice(Level.INFO, text, task_id=request.task.id))
    try:
        async with asyncio.TaskGroup() as group:
            works = {
                source: group.create_task(_review_side(contexts[source], request, source, force_stop))
                for source in missing
            }
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    sides = {source: work.result() for source, work in works.items()}
    if missing:
        await run_in_thread(lambda: verify_unchanged(contexts[missing[0]], sides[missing[0]].run))
    return {**request.finished, **sides}


async def _review_side(
    context: RunContext, request: ChangeReviewRequest, source: Source, force_stop: asyncio.Event
) -> ReviewerOutcome:
    side = await _try(context, request, source, None, force_stop)
    for _ in range(TRIES - 1):
        if side.result is not None or side.run.terminal_reason in _NOT_TRIED_AGAIN:
            break
        side = await _try(context, request, source, side.run.error, force_stop)
    return side


async def _try(
    context: RunContext,
    order: ChangeReviewRequest,
    source: Source,
    fault: str | None,
    force_stop: asyncio.Event,
) -> ReviewerOutcome:
    prompt = render_reviewer_prompt(source, order.package, fault)
    initial_run = open_run(context, order.task.id, order.tree).with_fields(
        RunFields(
            run_type=TYPES[source],
            context=_context(order, source, prompt, fault),
            reviewed_run=order.run.id,
            review_round=order.round_number,
        )
    )
    seconds = float(context.workspace.settings.number("reviews.timeoutSeconds"))
    request = ReviewerRequest(initial_run, order.task.title, prompt, wall_seconds=seconds)
    run, ended = await run_reviewer(context, request, lambda run: _save(context.workspace, run), force_stop)
    outcome, result = classify_answer(ended, lambda text: parse_reviewer_answer(text, source))
    fields = completion_fields(ended, outcome, context.workspace.environment.timestamp())
    answer = RunFields(review_result=None if result is None else result.to_json())
    closed = run.with_fields(fields).with_fields(answer)
    _save(context.workspace, closed)
    cut_logs(context.workspace, closed)
    context.ui.notify(RunEnded(closed, order.task.title, ended.duration_seconds))
    return ReviewerOutcome(closed, result)


def _context(request: ChangeReviewRequest, source: Source, prompt: str, fault: str | None) -> dict[str, Any]:
    """Return the prompt's content for agents that read JSON."""
    context = build_context(request.plan, request.task, None)
    review = {"kind": source.value, "round": request.round_number, "ofRun": request.run.id, "prompt": prompt}
    if fault is not None:
        review["fault"] = fault
    return {**context, "systemPrompt": REVIEWER_SYSTEM, "review": review}


def _save(workspace: Workspace, run: Run) -> None:
    if run.status is RunStatus.RUNNING and not workspace.paths.known_config.exists():
        # The other reviewer is not at work yet, or both began with what is kept.
        remember_config(workspace)
    with workspace.transaction() as transaction:
        transaction.save_run(run)
        if run.status is not RunStatus.RUNNING:
            return
        transaction.begin_watch(run)
        if transaction.plan_backup() is None:
            transaction.backup_plan()


def merge_sides(sides: Mapping[Source, ReviewerOutcome]) -> MergedReview:
    """Merge what both reviewers found, naming the runs that say so."""
    spec, code = sides[Source.SPEC], sides[Source.CODE]
    return merge(spec.result, code.result).with_runs(spec.run.id, code.run.id)


def task_changed(workspace: Workspace, order: ChangeReviewRequest) -> bool:
    """Whether the task was edited since its reviewers got it."""
    task = workspace.store.plan().tasks.get(order.task.id)
    return task is not None and task_part(task) != task_part(order.task)


def save_reviews(
    workspace: Workspace, run: Run, request: ChangeReviewRequest | None, merged: MergedReview
) -> ReviewsEnded:
    """Save the result of both reviews, and what follows where they were due; return it as an event.

    Raises SaveError.
    """
    result = RoundResult(1 if request is None else request.round_number, merged)
    save = complete_reviews if run.review_state is ReviewState.DUE else note_reviews
    ended = save(workspace, run, result)
    max_rounds = workspace.settings.number("reviews.maxIterations")
    history = workspace.store.records.history(run.task_id)
    return ReviewsEnded(run.task_id, ended, merged, max_rounds, escalation_reasons(workspace, history, ended))


@dataclass(frozen=True)
class RoundResult:
    """What both reviews of one round came to."""

    round_number: int
    merged: MergedReview

    @property
    def fields(self) -> RunFields:
        """Return it as a run's record has it."""
        return RunFields(review_round=self.round_number, merged_review=self.merged.to_json())


def complete_reviews(workspace: Workspace, run: Run, result: RoundResult) -> Run:
    """Write what both reviews came to on the run's record, and what is due after it, in one save.

    A run that was overtaken meanwhile stays as it is. Raises SaveError.
    """
    most = workspace.settings.number("reviews.maxIterations")
    follows = next_after(result.merged, round_number=result.round_number, max_rounds=most)
    config = check_config(workspace)
    with workspace.transaction() as transaction:
        check_plan(transaction, run.id)
        transaction.drop_plan_backup()
        history = transaction.history(run.task_id)
        stored = history.find(run.id) or run
        if stored.superseded_at is not None or stored.review_state is not ReviewState.DUE:
            # What was found is kept, and decides nothing any more.
            noted = stored.with_fields(result.fields)
            transaction.save_run(noted)
            return noted
        stored = _with_config_changes(_without_escalation(stored), config)
        if follows is ReviewFollowUp.FIX and not (
            workspace.reviews_changes and why_not_resumable(workspace, history, stored) is None
        ):
            # No further review would follow, or the session is gone.
            follows = ReviewFollowUp.ASK
        reviewed = stored.with_fields(RunFields(review_state=ReviewState.DONE)).with_fields(result.fields)
        ended = _decided(reviewed, follows, result.merged, workspace.environment.timestamp())
        transaction.save_run(ended)
        save_status(workspace, transaction, run.task_id)
    forget_config(workspace)
    return ended


def _without_escalation(run: Run) -> Run:
    """Forget that earlier reviews of the same change left it to a person."""
    return run.with_fields(RunFields(decision_required=None, escalated=None)) if run.escalated else run


def _with_config_changes(run: Run, check: ConfigCheck) -> Run:
    """Note what became another of the configuration while the change was reviewed."""
    return run.with_fields(
        RunFields(
            config_changes=(*run.config_changes, *check.changes),
            decision_required=run.decision_required or check.is_loosened or None,
        )
    )


def _decided(run: Run, follows: ReviewFollowUp, merged: MergedReview, now: str) -> Run:
    if follows is ReviewFollowUp.FIX:
        return run.with_fields(
            RunFields(
                decision_state=DecisionState.CHANGES_REQUESTED,
                decision_requested_at=now,
                decision_resolved_at=now,
                decision_feedback=render_fix_request(merged),
                requested_by=BY_REVIEWERS,
            )
        )
    if follows is ReviewFollowUp.ASK and not run.decision_required:
        return run.awaiting_decision(now).with_fields(RunFields(escalated=True))
    return run.awaiting_decision(now) if run.decision_required else run


def ask_instead(workspace: Workspace, run: Run) -> Run:
    """Turn a reviewers' request that cannot be sent into an ordinary decision. Raises SaveError."""
    with workspace.transaction() as transaction:
        stored = transaction.history(run.task_id).find(run.id) or run
        now = workspace.environment.timestamp()
        unrequested = RunFields(decision_resolved_at=None, decision_feedback=None, requested_by=None)
        asked = stored.awaiting_decision(now).with_fields(unrequested)
        transaction.save_run(asked)
        save_status(workspace, transaction, run.task_id)
    return asked


def reopen_reviews(workspace: Workspace, task: Task) -> Run:
    """Put the reviews of a task's change before the decision on it; gives the run whose change it is.

    A change that was decided on, or that nobody is asked about, stays as it is: it is only looked at. Raises
    RequestError where there is none, SaveError.
    """
    with workspace.transaction() as transaction:
        run = require_change(transaction.history(task.id), task)
        run = run.with_fields(_begin(run))
        transaction.save_run(run)
        save_status(workspace, transaction, task.id)
    return run


def require_change(history: History, task: Task) -> Run:
    """Return the run whose change can be reviewed now.

    Raises RequestError where there is none.
    """
    run = history.latest
    if run is None or run.status is not RunStatus.SUCCESS or run.run_type is not RunType.EXECUTE:
        raise RequestError(
            f"{task.id} has no change by an agent to review", hint=task_command("runs", task.id)
        )
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        raise RequestError(
            f"changes to {task.id} are requested: they must be made first",
            hint=task_command("resume", task.id),
        )
    return run


def _begin(run: Run) -> RunFields:
    if run.is_pending:
        return RunFields(review_state=ReviewState.DUE, decision_state=None, decision_requested_at=None)
    # Due reviews stay due: nothing else could be done before them.
    is_due = run.review_state is ReviewState.DUE
    return RunFields(review_state=ReviewState.DUE if is_due else ReviewState.BY_HAND)


def note_reviews(workspace: Workspace, run: Run, result: RoundResult) -> Run:
    """Write on a record what reviews by hand found where nobody is to decide. Raises SaveError."""
    with workspace.transaction() as transaction:
        stored = transaction.history(run.task_id).find(run.id) or run
        noted = stored.with_fields(result.fields)
        transaction.save_run(noted)
    return noted


def skip_reviews(workspace: Workspace, run: Run) -> Run:
    """Let a run's change go unreviewed, where reviews were switched off; a decision may be due then.

    Raises SaveError.
    """
    with workspace.transaction() as transaction:
        stored = transaction.history(run.task_id).find(run.id) or run
        if stored.review_state is not ReviewState.DUE:
            return stored
        ended = stored.with_fields(RunFields(review_state=ReviewState.SKIPPED))
        if ended.decision_required:
            ended = ended.awaiting_decision(workspace.environment.timestamp())
        transaction.save_run(ended)
        save_status(workspace, transaction, run.task_id)
    return ended
