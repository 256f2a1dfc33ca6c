"""Review the change of a run by two reviewers side by side (DESIGN.md 7)."""

from dataclasses import replace

from git_blackbird.controller.core.blocking import run_in_thread
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import agent_refused_stop, interrupted_stop
from git_blackbird.controller.reviews.change import (
    ChangeReviewRequest,
    change_review_request,
    merge_sides,
    run_reviewers,
    save_reviews,
    skip_reviews,
    task_changed,
)
from git_blackbird.controller.runs.agent_process import RunContext
from git_blackbird.model.entities.cli_hints import EXECUTE, task_command
from git_blackbird.model.entities.findings import MergedReview, Source
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import ReviewState, TerminalReason
from git_blackbird.model.rules.next_action import ReviewChange
from git_blackbird.model.rules.reviews import ReviewFollowUp, next_after
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop, StopReason

Contexts = dict[Source, RunContext]


async def review_change(engine: Engine, action: ReviewChange, state: PlanState) -> Stop | None:
    """Review the change, and save the result and what follows from it."""
    workspace, task, run = engine.workspace, action.task, action.run
    if not workspace.reviews_changes and task.id != engine.scope.review:
        skip_reviews(workspace, run)
        return None
    contexts = engine.contexts.of_reviewers()
    await engine.require_consent(*contexts.values(), as_reviewer=True)
    names_worktree = not all(context.agent.abilities.read_only for context in contexts.values())
    request = await run_in_thread(
        lambda: change_review_request(workspace, state, task, run, names_worktree=names_worktree)
    )
    if request is None:
        return _save(engine, action, None, MergedReview())
    result = await _run(engine, contexts, request)
    if isinstance(result, Stop):
        return result
    if task_changed(workspace, request):
        text = f"{task.id} was edited while it was reviewed: its change is reviewed again"
        warn(engine.ui, text, task.id)
        return None
    return _save(engine, action, request, result)


async def _run(engine: Engine, contexts: Contexts, request: ChangeReviewRequest) -> MergedReview | Stop:
    task_id = request.task.id
    work = run_reviewers(contexts, request, engine.force_stop)
    sides = await engine.run_agent("stopping both reviews of", task_id, work)
    if sides is None:
        is_by_hand = task_id == engine.scope.review
        again = task_command("review run", task_id) if is_by_hand else EXECUTE
        return interrupted_stop("", again, task_id=task_id)
    for side in sides.values():
        if side.run.terminal_reason is TerminalReason.AGENT_UNAVAILABLE:
            return agent_refused_stop(side.run)
    return merge_sides(sides)


def _save(
    engine: Engine, action: ReviewChange, request: ChangeReviewRequest | None, merged: MergedReview
) -> Stop | None:
    task, run = action.task, action.run
    if task.id == engine.scope.review:
        engine.scope = replace(engine.scope, is_reviewed=True)
    engine.ui.notify(save_reviews(engine.workspace, run, request, merged))
    return None if run.review_state is ReviewState.DUE else _by_hand_stop(task, merged)


def _by_hand_stop(task: Task, merged: MergedReview) -> Stop:
    """Return the stop after a review by hand, which decides nothing."""
    if next_after(merged, round_number=1, max_rounds=1) is ReviewFollowUp.PROCEED:
        return Stop(StopReason.COMPLETED, f"the reviews of {task.id} approved it", task_id=task.id)
    steps = (task_command("review show", task.id), task_command("resume", task.id, " -m TEXT"))
    return Stop(StopReason.FAILED, f"the reviews of {task.id} did not approve it", steps, task.id)
