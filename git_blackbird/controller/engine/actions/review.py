"""Review the change of a run by two reviewers, or a parent."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from git_blackbird.controller.change.review.review import (
    ChangeReviewRequest,
    change_review_request,
    run_reviewers,
    save_reviews,
    skip_reviews,
    task_changed,
)
from git_blackbird.controller.change.work.agent_process import RunContext
from git_blackbird.controller.core.agents import adding_way_out, model_of, require_reviewer
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import agent_refused_stop, interrupted_stop
from git_blackbird.controller.place.worktrees import open_place
from git_blackbird.controller.reviews.parent import StaleReviewError, parent_review_request, run_review
from git_blackbird.model.base.next_steps import EXECUTE, MESSAGE, task_command
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.next_action import REVIEW_TRIES, ReviewChange, ReviewParent
from git_blackbird.model.rules.reviews import ReviewFollowUp, next_after, result_of
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.findings import MergedReview, Source, merge
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import ReviewState, TerminalReason
from git_blackbird.model.views.stop import Stop, StopReason


async def review_change(engine: Engine, action: ReviewChange, state: PlanState) -> Stop | None:
    """Review the change, and save the result and what follows from it."""
    workspace, task, run = engine.workspace, action.task, action.run
    if not workspace.reviews_changes and task.id != engine.scope.review:
        skip_reviews(workspace, run)
        return None
    contexts = engine.contexts_of_reviewers()
    await engine.require_consent(*contexts.values(), as_reviewer=True)
    # They work where the change was made.
    opened = await run_in_thread(lambda: open_place(workspace, task.id, run))
    place = opened.workspace
    for text in opened.notices:
        inform(engine.ui, text, task.id)
    contexts = {source: replace(context, workspace=place) for source, context in contexts.items()}
    names_worktree = not all(context.agent.abilities.read_only for context in contexts.values())
    request = await run_in_thread(
        lambda: change_review_request(place, state, task, run, names_worktree=names_worktree)
    )
    if request is None:
        return _save(engine, action, None, MergedReview())
    work = run_reviewers(contexts, request, engine.force_stop)
    sides = await engine.run_agent("stopping both reviews of", task.id, work)
    if sides is None:
        is_by_hand = task.id == engine.scope.review
        again = task_command("review run", task.id) if is_by_hand else EXECUTE
        return interrupted_stop("", again, task_id=task.id)
    for source, side in sides.items():
        if source not in request.finished:
            engine.empty_starts.note_end(model_of(contexts[source].agent), side)
    return _take_sides(engine, action, request, sides)


def _take_sides(
    engine: Engine, action: ReviewChange, request: ChangeReviewRequest, sides: Mapping[Source, Run]
) -> Stop | None:
    """Save the result of both reviews; a change that a reviewer could not look at is left alone for now."""
    ends = {side.own.terminal_reason: side for side in sides.values()}
    if TerminalReason.AGENT_UNAVAILABLE in ends:
        return agent_refused_stop(engine.workspace, ends[TerminalReason.AGENT_UNAVAILABLE])
    spec, code = sides[Source.SPEC], sides[Source.CODE]
    merged = merge(result_of(spec), result_of(code)).with_runs(spec.id, code.id)
    if TerminalReason.WITHOUT_WORK in ends:
        engine.empty_starts.hold(action.task.id, partial(_save, engine, action, request, merged))
        return None
    if task_changed(engine.workspace, request):
        text = f"{action.task.id} was edited while it was reviewed: its change is reviewed again"
        warn(engine.ui, text, action.task.id)
        return None
    return _save(engine, action, request, merged)


def _save(
    engine: Engine, action: ReviewChange, request: ChangeReviewRequest | None, merged: MergedReview
) -> Stop | None:
    task, run = action.task, action.run
    if task.id == engine.scope.review:
        engine.scope = replace(engine.scope, is_reviewed=True)
    engine.ui.notify(save_reviews(engine.workspace, run, request, merged))
    return None if run.own.review is ReviewState.DUE else _by_hand_stop(task, merged)


def _by_hand_stop(task: Task, merged: MergedReview) -> Stop:
    if next_after(merged, round_number=1, max_rounds=1) is ReviewFollowUp.PROCEED:
        return Stop(StopReason.COMPLETED, f"the reviews of {task.id} approved it", task_id=task.id)
    steps = (task_command("review show", task.id), task_command("resume", task.id, blank=MESSAGE))
    return Stop(StopReason.FAILED, f"the reviews of {task.id} did not approve it", steps, task.id)


async def review_parent(engine: Engine, action: ReviewParent, state: PlanState) -> Stop | None:
    """Run the review; a second try in a call tells the reviewer why the first gave no verdict."""
    parent = action.task
    reviewer = require_reviewer(engine.workspace)
    with adding_way_out(engine.workspace, task_command("review run", parent.id).with_agent()):
        context = engine.context_of(reviewer)
    await engine.require_consent(context, as_reviewer=True)
    work = _review(engine, context, parent, state)
    try:
        run = await engine.run_agent("stopping the review of", parent.id, work)
    except StaleReviewError as error:
        warn(engine.ui, error.message, parent.id)
        return None
    if run is None:
        return interrupted_stop(f"before {parent.id} was reviewed")
    engine.empty_starts.note_end(model_of(context.agent), run)
    is_without_work = run.own.terminal_reason is TerminalReason.WITHOUT_WORK
    if run.parent_review_passed is None:
        # The same request would be refused again.
        tries = REVIEW_TRIES if is_without_work or run.own.way_out is not None else 1
        engine.scope = replace(engine.scope, tried=(*engine.scope.tried, *[parent.id] * tries))
    elif parent.id == engine.scope.review:
        engine.scope = replace(engine.scope, is_reviewed=True)
    if is_without_work:
        engine.empty_starts.hold(parent.id, lambda: None)
        return None
    return engine.stop_after_run(run)


async def _review(engine: Engine, context: RunContext, parent: Task, state: PlanState) -> Run:
    workspace, tries = engine.workspace, state.history(parent.id).reviews
    fault = tries[-1].error if parent.id in engine.scope.tried and tries else None
    top = None if context.agent.abilities.read_only else str(workspace.repo.top)
    request = await run_in_thread(
        lambda: parent_review_request(workspace, state, parent, fault=fault, top=top)
    )
    return await run_review(context, request, engine.force_stop)
