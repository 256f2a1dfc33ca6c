"""The reviews of a change: spec and code side by side, merged by rule (spec 4, DESIGN.md 7)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from git_blackbird.controller.blocking import run_in_thread
from git_blackbird.controller.checkpoints import change_of, reasons_to_ask, request_obstacle
from git_blackbird.controller.closing import ending_fields, pending_fields
from git_blackbird.controller.conduct import Crew, cut_logs, open_run
from git_blackbird.controller.config_guard import ConfigCheck, check_config, forget_config, remember_config
from git_blackbird.controller.plan_guard import check_plan
from git_blackbird.controller.reviewers import (
    Errand,
    judge_answer,
    look_again,
    send_reviewer,
)
from git_blackbird.controller.statuses import save_status
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.whole_diff import whole_diff
from git_blackbird.messages.context import build_context, told_of_task
from git_blackbird.messages.merged_review import render_fix_request
from git_blackbird.messages.review_package import build_package, render_package
from git_blackbird.messages.reviewer_prompts import REVIEWER_SYSTEM, render_reviewer_prompt
from git_blackbird.messages.reviewer_xml import parse_reviewer_answer
from git_blackbird.model.commands import task_command
from git_blackbird.model.events import Notice, ReviewsEnded, RunEnded, Weight
from git_blackbird.model.findings import MergedReview, ReviewResult, Source
from git_blackbird.model.history import History, since_done
from git_blackbird.model.merge import merge
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.recorded import plain
from git_blackbird.model.run import (
    DecisionState,
    ReviewState,
    Run,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.task_review import (
    BY_REVIEWERS,
    TYPES,
    Next,
    next_after,
    readable_merged,
    result_of,
    reviews_about,
    round_of,
)
from git_blackbird.storage.store import Image

TRIES = 2
_SOURCES = {run_type: Source(source) for source, run_type in TYPES.items()}
_NOT_TRIED_AGAIN = frozenset({TerminalReason.INTERRUPTED, TerminalReason.AGENT_UNAVAILABLE})


@dataclass(frozen=True)
class ChangeReview:
    """The change of a run to be reviewed: what both reviewers are told of it, made once, and the round.

    ``finished`` holds the reviews that are not made again: a retry asks only the reviewer that is missing.
    """

    task: Task
    run: Run
    package: str
    tree: str
    plan: Plan
    round_number: int
    finished: "Mapping[Source, Side]" = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """What one reviewer came to: its last record, and its result where it gave one."""

    run: Run
    result: ReviewResult | None


def order_change_review(
    workspace: Workspace, image: Image, task: Task, run: Run, *, told_where: bool
) -> ChangeReview | None:
    """Order the reviews of a run's change; None where no snapshots say what that is.

    ``told_where``: a reviewer works elsewhere, and is told where the worktree is. Raises UnusableError.
    """
    runs = since_done(image.history(task.id))
    pair, summary = change_of(workspace, image, run, runs)
    if pair is None:
        return None
    threshold = workspace.settings.number("reviews.diffThresholdLines")
    diff = whole_diff(workspace.repo, pair)
    package = build_package(task, summary.diffstat, diff, pair, threshold)
    top = str(workspace.repo.top) if told_where else None
    text = render_package(package, top)
    finished = _finished_sides(workspace, run, text)
    return ChangeReview(task, run, text, pair.head, image.plan, round_of(runs, run), finished)


def _finished_sides(workspace: Workspace, run: Run, package: str) -> Mapping[Source, Side]:
    """Return the reviews of this very change and task that need not be made again.

    Only what a missing or an interrupted review left; once both are there, both are made again.
    """
    merged = readable_merged(run)
    if merged is not None and not merged.missing:
        return {}
    about = reviews_about(workspace.store.records.reviews(run.task_id).runs, run)
    sides = (Side(review, result_of(review)) for review in about if _was_told(review, package))
    return {side.result.source: side for side in sides if side.result is not None}


def _was_told(review: Run, package: str) -> bool:
    """Whether a reviewer judged just what ``package`` says."""
    told = review.context.get("review")
    if not isinstance(told, dict) or review.run_type not in _SOURCES:
        return False
    fault = told.get("fault")
    prompt = render_reviewer_prompt(_SOURCES[review.run_type], package, None if fault is None else str(fault))
    return told.get("prompt") == prompt


async def review_change(
    crews: Mapping[Source, Crew], order: ChangeReview, hurry: asyncio.Event
) -> Mapping[Source, Side]:
    """Let both reviewers look at the change at the same time; each is tried a second time, told its fault.

    A review that is finished is not made again. Cancelling it stops both, and closes their records. Raises
    SaveError, AgentUnavailableError.
    """
    missing = [source for source in Source if source not in order.finished]
    for source, side in order.finished.items():
        text = f"keeping the {source} review of {order.task.id} (run {side.run.id})"
        crews[source].face.notify(Notice(Weight.INFO, text, task_id=order.task.id))
    try:
        async with asyncio.TaskGroup() as group:
            works = {
                source: group.create_task(_review_side(crews[source], order, source, hurry))
                for source in missing
            }
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    sides = {source: work.result() for source, work in works.items()}
    if missing:
        await run_in_thread(lambda: look_again(crews[missing[0]], sides[missing[0]].run))
    return {**order.finished, **sides}


async def _review_side(crew: Crew, order: ChangeReview, source: Source, hurry: asyncio.Event) -> Side:
    side = await _try(crew, order, source, None, hurry)
    for _ in range(TRIES - 1):
        if side.result is not None or side.run.terminal_reason in _NOT_TRIED_AGAIN:
            break
        side = await _try(crew, order, source, side.run.error, hurry)
    return side


async def _try(
    crew: Crew, order: ChangeReview, source: Source, fault: str | None, hurry: asyncio.Event
) -> Side:
    prompt = render_reviewer_prompt(source, order.package, fault)
    opening = open_run(crew, order.task.id, order.tree).with_fields(
        run_type=TYPES[source],
        context=_context(order, source, prompt, fault),
        reviewed_run=order.run.id,
        review_round=order.round_number,
    )
    seconds = float(crew.workspace.settings.number("reviews.timeoutSeconds"))
    errand = Errand(opening, order.task.title, prompt, wall_seconds=seconds)
    run, ended = await send_reviewer(crew, errand, lambda run: _keep(crew.workspace, run), hurry)
    outcome, result = judge_answer(ended, lambda text: parse_reviewer_answer(text, source))
    fields = ending_fields(ended, outcome, crew.workspace.world.timestamp())
    closed = run.with_fields(**fields, review_result=None if result is None else plain(result))
    _keep(crew.workspace, closed)
    cut_logs(crew.workspace, closed)
    crew.face.notify(RunEnded(closed, order.task.title, ended.duration_seconds))
    return Side(closed, result)


def _context(order: ChangeReview, source: Source, prompt: str, fault: str | None) -> dict[str, Any]:
    """Tell agents that read JSON what the others are told in prose."""
    told = build_context(order.plan, order.task, None)
    review = {"kind": source.value, "round": order.round_number, "ofRun": order.run.id, "prompt": prompt}
    if fault is not None:
        review["fault"] = fault
    return {**told, "systemPrompt": REVIEWER_SYSTEM, "review": review}


def _keep(workspace: Workspace, run: Run) -> None:
    if run.status is RunStatus.RUNNING and not workspace.layout.known_config.exists():
        # The other reviewer is not at work yet, or both began with what is kept.
        remember_config(workspace)
    with workspace.transaction() as transaction:
        transaction.save_run(run)
        if run.status is not RunStatus.RUNNING:
            return
        transaction.begin_watch(run)
        if transaction.known_plan() is None:
            transaction.remember_plan()


def merge_sides(sides: Mapping[Source, Side]) -> MergedReview:
    """Merge what both reviewers found, naming the runs that say so."""
    spec, code = sides[Source.SPEC], sides[Source.CODE]
    return merge(spec.result, code.result).with_runs(spec.run.id, code.run.id)


def is_told_otherwise(workspace: Workspace, order: ChangeReview) -> bool:
    """Whether the plan says something else of the task than its reviewers were told."""
    task = workspace.store.plan().tasks.get(order.task.id)
    return task is not None and told_of_task(task) != told_of_task(order.task)


def keep_reviews(
    workspace: Workspace, run: Run, order: ChangeReview | None, merged: MergedReview
) -> ReviewsEnded:
    """Write what both reviews came to, and what follows where they were due; gives it as it is told.

    Raises SaveError.
    """
    found = Found(1 if order is None else order.round_number, merged)
    keep = end_reviews if run.review_state is ReviewState.DUE else note_reviews
    ended = keep(workspace, run, found)
    most = workspace.settings.number("reviews.maxIterations")
    history = workspace.store.records.history(run.task_id)
    return ReviewsEnded(run.task_id, ended, merged, most, reasons_to_ask(workspace, history, ended))


@dataclass(frozen=True)
class Found:
    """What both reviews of one round came to."""

    round_number: int
    merged: MergedReview

    @property
    def fields(self) -> dict[str, Any]:
        """Give it as a run's record has it."""
        return {"review_round": self.round_number, "merged_review": plain(self.merged)}


def end_reviews(workspace: Workspace, run: Run, found: Found) -> Run:
    """Write what both reviews came to on the run's record, and what is due after it, in one save.

    A run that was overtaken meanwhile stays as it is. Raises SaveError.
    """
    most = workspace.settings.number("reviews.maxIterations")
    follows = next_after(found.merged, round_number=found.round_number, max_rounds=most)
    config = check_config(workspace)
    with workspace.transaction() as transaction:
        check_plan(transaction, run.id)
        transaction.forget_plan()
        history = transaction.history(run.task_id)
        stored = history.find(run.id) or run
        if stored.superseded_at is not None or stored.review_state is not ReviewState.DUE:
            # What was found is kept, and decides nothing any more.
            noted = stored.with_fields(**found.fields)
            transaction.save_run(noted)
            return noted
        stored = _with_config_changes(_without_escalation(stored), config)
        if follows is Next.FIX and not (
            workspace.reviews_changes and request_obstacle(workspace, history, stored) is None
        ):
            # Nobody would look at what the implementer makes of it, or it cannot be told.
            follows = Next.ASK
        decision = _decision(stored, follows, found.merged, workspace.world.timestamp())
        ended = stored.with_fields(review_state=ReviewState.DONE, **found.fields, **decision)
        transaction.save_run(ended)
        save_status(workspace, transaction, run.task_id)
    forget_config(workspace)
    return ended


def _without_escalation(run: Run) -> Run:
    """Forget that earlier reviews of the same change left it to a person."""
    return run.with_fields(decision_required=None, escalated=None) if run.escalated else run


def _with_config_changes(run: Run, check: ConfigCheck) -> Run:
    """Note what became another of the configuration while the change was reviewed."""
    return run.with_fields(
        config_changes=(*run.config_changes, *check.changes),
        decision_required=run.decision_required or check.is_loosened or None,
    )


def _decision(run: Run, follows: Next, merged: MergedReview, now: str) -> dict[str, Any]:
    if follows is Next.FIX:
        return {
            "decision_required": run.decision_required,
            "decision_state": DecisionState.CHANGES_REQUESTED,
            "decision_requested_at": now,
            "decision_resolved_at": now,
            "decision_feedback": render_fix_request(merged),
            "requested_by": BY_REVIEWERS,
        }
    if follows is Next.ASK and not run.decision_required:
        return {**pending_fields(now), "escalated": True}
    return pending_fields(now) if run.decision_required else {}


def review_again(workspace: Workspace, task: Task) -> Run:
    """Put the reviews of a task's change before the decision on it; gives the run whose change it is.

    A change that was decided on, or that nobody is asked about, stays as it is: it is only looked at. Raises
    RequestError where there is none, SaveError.
    """
    with workspace.transaction() as transaction:
        run = require_change(transaction.history(task.id), task)
        run = run.with_fields(**_begin(run))
        transaction.save_run(run)
        save_status(workspace, transaction, task.id)
    return run


def require_change(history: History, task: Task) -> Run:
    """Give the run whose change can be reviewed now.

    Raises RequestError where there is none.
    """
    run = history.latest
    if run is None or run.status is not RunStatus.SUCCESS or run.run_type is not RunType.EXECUTE:
        raise RequestError(
            f"{task.id} has no change of an agent to review", hint=task_command("runs", task.id)
        )
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        raise RequestError(
            f"changes to {task.id} are requested: they must be made first",
            hint=task_command("resume", task.id),
        )
    return run


def _begin(run: Run) -> dict[str, Any]:
    if run.is_pending:
        return {"review_state": ReviewState.DUE, "decision_state": None, "decision_requested_at": None}
    # Due reviews stay due: nothing else could be done before them.
    return {} if run.review_state is ReviewState.DUE else {"review_state": ReviewState.BY_HAND}


def note_reviews(workspace: Workspace, run: Run, found: Found) -> Run:
    """Write on a record what reviews by hand found where nobody is to decide. Raises SaveError."""
    with workspace.transaction() as transaction:
        stored = transaction.history(run.task_id).find(run.id) or run
        noted = stored.with_fields(**found.fields)
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
        now = workspace.world.timestamp()
        pending = pending_fields(now) if stored.decision_required else {}
        ended = stored.with_fields(review_state=ReviewState.SKIPPED, **pending)
        transaction.save_run(ended)
        save_status(workspace, transaction, run.task_id)
    return ended
