"""The reviews of a change: spec and code side by side, merged by rule."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.agent_run import open_run
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.decide.checkpoint import (
    after_verdicts,
    escalation_reasons,
    why_not_resumable,
)
from git_blackbird.controller.change.reading_run import (
    NOT_ASKED_AGAIN,
    Reading,
    changed_text,
    read_twice,
    read_worktree,
)
from git_blackbird.controller.change.trees import change_of, outside_of_runs
from git_blackbird.controller.change.work.close import closing_run
from git_blackbird.controller.change.work.starts import Start
from git_blackbird.controller.change.work.watch import warn_outside
from git_blackbird.controller.core.agents import SOURCES
from git_blackbird.controller.core.status_sync import save_status, save_statuses, update_run
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.errors import RequestError
from git_blackbird.git.change.changes import diff_text
from git_blackbird.messages.display.merged_review import render_fix_request
from git_blackbird.messages.incoming.reviewer_xml import parse_reviewer_turns
from git_blackbird.messages.outgoing.prompts import build_context, task_part
from git_blackbird.messages.outgoing.reviewer_prompts import (
    REVIEWER_SYSTEM,
    build_package,
    outside_for_reviewers,
    render_package,
    render_reviewer_prompt,
)
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import CheckFollowUp, after_check
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.reviews import (
    TYPES,
    ReviewFollowUp,
    merged_or_none,
    next_after,
    result_of,
    reviews_about,
)
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.findings import MergedReview, ReviewResult, Source
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import LandingBlocked, LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    DecisionState,
    Requester,
    ReviewState,
    RunStatus,
    RunType,
)
from git_blackbird.model.views.events import ReviewsEnded
from git_blackbird.storage.store import Transaction


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
    finished: Mapping[Source, Run] = field(default_factory=dict)


def change_review_request(
    workspace: Workspace, state: PlanState, task: Task, run: Run, reviewers: Sequence[Agent]
) -> ChangeReviewRequest | None:
    """Build the request for the reviews of a run's change; None without its snapshots.

    A reviewer that works elsewhere needs the path of the worktree; one that runs no git, the whole diff.
    """
    pair, summary = change_of(workspace, state, task.id)
    if pair is None:
        return None
    can_ask_git = not any(agent.abilities.reads_only_files for agent in reviewers)
    names_worktree = not all(agent.abilities.read_only for agent in reviewers)
    threshold = workspace.config.reviews.diff_threshold_lines if can_ask_git else sys.maxsize
    diff = diff_text(workspace.repo, pair)
    package = replace(
        build_package(task, summary.diffstat, diff, pair, threshold),
        evidence=run.evidence,
        outside=outside_for_reviewers(outside_of_runs(workspace.runs_to_decide(state.history(task.id)))),
    )
    text = render_package(package, str(workspace.repo.top) if names_worktree else None)
    finished = _finished_sides(workspace, run, text)
    number = Change.of(state.history(task.id)).review_round
    return ChangeReviewRequest(task, run, text, pair.head, state.plan, number, finished)


def _finished_sides(workspace: Workspace, run: Run, package: str) -> Mapping[Source, Run]:
    """Return the reviews of this very change and task that need not be made again.

    Only what a missing or an interrupted review left; once both are there, both are made again. Where the
    other has not ended yet, also one of which neither answer could be read.
    """
    merged = merged_or_none(run)
    if merged is not None and not merged.missing:
        return {}
    about = reviews_about(workspace.store.records.reviews(run.task_id).runs, run)
    ended = (review for review in about if _has_judged(review, package))
    return {
        SOURCES[review.run_type]: review
        for review in ended
        if result_of(review) is not None or (merged is None and _is_second_try(review))
    }


def _is_second_try(review: Run) -> bool:
    is_over = review.status is RunStatus.FAILED and review.terminal_reason not in NOT_ASKED_AGAIN
    return is_over and review.context["review"].get("fault") is not None


def _has_judged(review: Run, package: str) -> bool:
    sent = review.context.get("review")
    if not isinstance(sent, dict) or review.run_type not in SOURCES:
        return False
    fault = sent.get("fault")
    # It is rendered again to be compared: a value that only the call which sends it gets would make every
    # review count as not made.
    prompt = render_reviewer_prompt(SOURCES[review.run_type], package, None if fault is None else str(fault))
    return sent.get("prompt") == prompt


class _ChangeReading(Reading[ReviewResult]):
    of_several = True

    def __init__(self, start: Start, run: Run, source: Source) -> None:
        super().__init__(start, run)
        self._source = source

    def parse(self, transaction: Transaction, ended: Ended) -> ReviewResult:  # noqa: ARG002  # the same whenever
        return parse_reviewer_turns((ended.final_text, *ended.woken_texts), self._source)

    def record(self, transaction: Transaction, closed: Run, answer: ReviewResult | None) -> Run:
        if answer is not None:
            closed = closed.updated(review_result=answer.to_json())
        return super().record(transaction, closed, answer)


async def run_reviewers(
    call: Call, place: Opened, reviewers: Mapping[Source, Agent], request: ChangeReviewRequest
) -> Mapping[Source, Run]:
    """Run both reviewers at the same time, and return the last record of each.

    A second try of each names the fault of its first; a review that is finished is not made again. Cancelling
    it stops both, and closes their records. Raises SaveError, AgentUnavailableError.
    """
    task_id = request.task.id
    for source, side in request.finished.items():
        inform(call.ui, f"keeping the {source} review of {task_id} (run {side.id})", task_id)
    missing = {source: agent for source, agent in reviewers.items() if source not in request.finished}
    first = next(iter(missing.values()), None)
    # It need not be what is reviewed: others may have gone on since.
    before = None if first is None else await read_worktree(call, place, first, task_id, request.tree)
    try:
        async with asyncio.TaskGroup() as group:
            works = {
                source: group.create_task(_review_side(call, place, agent, request, source))
                for source, agent in missing.items()
            }
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    sides = {source: work.result() for source, work in works.items()}
    if first is not None and before is not None:
        after = await read_worktree(call, place, first, task_id, before)
        if after not in {None, before}:
            warn(call.ui, changed_text(task_id), task_id)
    return {**request.finished, **sides}


async def _review_side(
    call: Call, place: Opened, agent: Agent, request: ChangeReviewRequest, source: Source
) -> Run:
    seconds = float(place.workspace.config.reviews.timeout_seconds)

    async def reading_for(fault: str | None) -> _ChangeReading:
        prompt = render_reviewer_prompt(source, request.package, fault)
        context = _context(request, source, prompt, fault)
        start = Start(request.task, agent, context, prompt, wall_seconds=seconds)
        version = await call.here.version_of(agent)
        run = open_run(place.workspace, start, TYPES[source], request.tree, version)
        run = run.updated(reviewed_run=request.run.id, review_round=request.round_number)
        return _ChangeReading(start, run, source)

    return (await read_twice(call, place, reading_for)).run


def _context(request: ChangeReviewRequest, source: Source, prompt: str, fault: str | None) -> dict[str, Any]:
    context = build_context(request.plan, request.task, None)
    review = {"kind": source.value, "round": request.round_number, "ofRun": request.run.id, "prompt": prompt}
    if fault is not None:
        review["fault"] = fault
    return {**context, "systemPrompt": REVIEWER_SYSTEM, "review": review}


def close_reviews(workspace: Workspace, ui: UserInterface, run: Run) -> None:
    """Record on the run what happened beside the reviews of its change, and take the plan back."""
    with closing_run(workspace, run) as (transaction, meanwhile):
        stored = workspace.store.records.history(run.task_id).find(run.id) or run
        noted = meanwhile.noted_on(stored)
        is_due = stored.review_state is ReviewState.DUE and not stored.is_superseded
        if meanwhile.needs_decision and is_due:
            noted = noted.updated(decision_required=True, escalated=False)
        if noted != stored:
            transaction.save_run(noted)
        transaction.renew_plan_backup()
    for text in meanwhile.texts(run):
        warn(ui, text, run.task_id)
    warn_outside(ui, noted, stored.outside)


def task_changed(workspace: Workspace, review_request: ChangeReviewRequest) -> bool:
    task = workspace.store.plan().tasks.get(review_request.task.id)
    return task is not None and task_part(task) != task_part(review_request.task)


def save_reviews(
    workspace: Workspace, run: Run, request: ChangeReviewRequest | None, merged: MergedReview
) -> ReviewsEnded:
    """Save the result of both reviews, and what follows if they were due."""
    number = 1 if request is None else request.round_number
    max_rounds = workspace.config.reviews.max_iterations
    if run.review_state is ReviewState.DUE:
        follows = next_after(merged, round_number=number, max_rounds=max_rounds)
        ended = _complete(workspace, run, number, follows, merged)
    else:
        ended = update_run(workspace, run, lambda stored: _reviewed(stored, number, merged))
    history = workspace.store.records.history(run.task_id)
    return ReviewsEnded(run.task_id, ended, merged, max_rounds, escalation_reasons(workspace, history, ended))


def _reviewed(run: Run, number: int, merged: MergedReview) -> Run:
    return run.updated(review_round=number, merged_review=merged.to_json())


def _complete(
    workspace: Workspace, run: Run, number: int, follows: ReviewFollowUp, merged: MergedReview
) -> Run:
    """Write the result of both reviews on the run's record, and what is due after it, in one save."""
    with workspace.transaction() as transaction:
        history = workspace.store.records.history(run.task_id)
        stored = history.find(run.id) or run
        if stored.is_superseded or stored.review_state is not ReviewState.DUE:
            # The result is kept, and decides nothing any more.
            annotated = _reviewed(stored, number, merged)
            transaction.save_run(annotated)
            return annotated
        if stored.escalated:
            # An earlier escalation of the same change no longer counts.
            stored = stored.updated(decision_required=None, escalated=False)
        if follows is ReviewFollowUp.FIX and not (
            workspace.reviews_changes and why_not_resumable(workspace, history, stored) is None
        ):
            # No further review would follow, or the session is gone.
            follows = ReviewFollowUp.ASK
        is_held = after_check(stored.evidence, workspace.config.check.mode) is not CheckFollowUp.PROCEED
        if is_held and follows is ReviewFollowUp.PROCEED:
            # The reviewers approve the change, but the check failed.
            follows = ReviewFollowUp.ASK
        reviewed = _reviewed(stored, number, merged).updated(review_state=ReviewState.DONE)
        ended = _decided(workspace, reviewed, follows, merged)
        transaction.save_run(ended)
        save_status(transaction, run.task_id)
    return ended


def _decided(workspace: Workspace, run: Run, follows: ReviewFollowUp, merged: MergedReview) -> Run:
    now = workspace.environment.timestamp()
    if follows is ReviewFollowUp.FIX:
        return run.requesting_changes(now, render_fix_request(merged), Requester.REVIEWERS)
    if follows is ReviewFollowUp.ASK:
        return run.escalating(now)
    return after_verdicts(workspace, run, now)


def replace_request_by_decision(workspace: Workspace, run: Run) -> Run:
    """Turn a request of the reviewers or the check whose session is lost into an ordinary decision."""
    now = workspace.environment.timestamp()
    return update_run(workspace, run, lambda stored: stored.awaiting_decision(now).without_request())


def reopen_reviews(workspace: Workspace, task: Task) -> PlanState:
    """Put the reviews of a task's change before the decision on it; return the state after that.

    A change that was decided on, or that nobody is asked about, stays as it is: it is only looked at. Raises
    RequestError where there is none, SaveError.
    """
    with workspace.transaction() as transaction:
        run = require_change(workspace.store.records.history(task.id), task)
        transaction.save_run(_reopening_fields(run))
        return save_statuses(transaction).state


def require_change(history: History, task: Task) -> Run:
    """Return the run whose change can be reviewed now. Raises RequestError where there is none."""
    run = history.latest
    if run is None or run.status is not RunStatus.SUCCESS or run.run_type is not RunType.EXECUTE:
        raise RequestError(
            f"{task.id} has no change by an agent to review", hint=TaskCommand("runs", task.id)
        )
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        raise RequestError(
            f"changes to {task.id} are requested: they must be made first",
            hint=TaskCommand("resume", task.id),
        )
    return run


def _reopening_fields(run: Run) -> Run:
    # What can never land, or has landed in part, is left to the person who is asked about it.
    if run.is_pending and run.moving is None and not run.is_change_gone:
        if isinstance(run.landing, LandingBlocked):
            # The person is asked again whatever the reviews say, and only then whether it can land now.
            run = run.updated(landing=LandingDue(brought=run.brought), escalated=False)
        return run.unasked().updated(review_state=ReviewState.DUE)
    # Due reviews stay due: nothing else could be done before them.
    is_due = run.review_state is ReviewState.DUE
    return run if is_due else run.updated(review_state=ReviewState.BY_HAND)


def skip_reviews(workspace: Workspace, run: Run) -> Run:
    """Skip the reviews of a run's change after reviews were switched off; a decision may be due then."""

    def skip(stored: Run) -> Run:
        if stored.review_state is not ReviewState.DUE:
            return stored
        skipped = stored.updated(review_state=ReviewState.SKIPPED)
        now = workspace.environment.timestamp()
        if after_check(skipped.evidence, workspace.config.check.mode) is not CheckFollowUp.PROCEED:
            return skipped.escalating(now)
        return after_verdicts(workspace, skipped, now)

    return update_run(workspace, run, skip)
