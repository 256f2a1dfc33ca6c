"""Review the change of a run by two reviewers, or a parent."""

from collections.abc import Mapping
from functools import partial

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.review.review import (
    ChangeReviewRequest,
    change_review_request,
    close_reviews,
    run_reviewers,
    save_reviews,
    skip_reviews,
    task_changed,
)
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.place.worktrees import open_place
from git_blackbird.model.base.next_steps import EXECUTE, MESSAGE, TaskCommand
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.reviews import ReviewFollowUp, next_after, result_of
from git_blackbird.model.run.findings import MergedReview, Source, merge
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import ReviewState, TerminalReason
from git_blackbird.model.views.stop import Stop, StopReason


async def review_change(call: Call, item: Item) -> Stop | None:
    workspace, task, run = call.workspace, item.task, item.of_run
    if not workspace.reviews_changes and task.id != call.scope.review:
        skip_reviews(workspace, run)
        return None
    reviewers = await call.reviewers()
    await call.require_consent(*reviewers.values(), as_reviewer=True)
    # They work where the change was made.
    place = await run_in_thread(lambda: open_place(workspace, task.id, run))
    for text in place.notices:
        inform(call.ui, text, task.id)
    agents = tuple(reviewers.values())
    request = await run_in_thread(
        lambda: change_review_request(place.workspace, item.state, task, run, agents)
    )
    if request is None:
        return _save(call, item, None, MergedReview())
    work = run_reviewers(call, place, reviewers, request)
    try:
        with call.at_work("stopping both reviews of", task.id):
            sides = await call.interruptible(work)
    finally:
        close_reviews(workspace, call.ui, run)
    if sides is None:
        is_by_hand = task.id == call.scope.review
        again = TaskCommand("review run", task.id) if is_by_hand else EXECUTE
        return interrupted_stop("", again, task_id=task.id)
    for source, side in sides.items():
        if source not in request.finished:
            call.empty_starts.note_end(side)
    return _take_sides(call, item, request, sides)


def _take_sides(
    call: Call, item: Item, request: ChangeReviewRequest, sides: Mapping[Source, Run]
) -> Stop | None:
    """Save the result of both reviews; a change that a reviewer could not look at is left alone for now."""
    ends = {side.terminal_reason: side for side in sides.values()}
    if TerminalReason.AGENT_UNAVAILABLE in ends:
        return call.stop_after_run(ends[TerminalReason.AGENT_UNAVAILABLE])
    if TerminalReason.BUDGET in ends:
        call.held.add(item.task.id)
        return None
    spec, code = sides[Source.SPEC], sides[Source.CODE]
    merged = merge(result_of(spec), result_of(code)).with_runs(spec.id, code.id)
    if TerminalReason.WITHOUT_WORK in ends:
        call.empty_starts.hold(item.task.id, partial(_save, call, item, request, merged))
        return None
    if task_changed(call.workspace, request):
        text = f"{item.task.id} was edited while it was reviewed: its change is reviewed again"
        warn(call.ui, text, item.task.id)
        return None
    return _save(call, item, request, merged)


def _save(call: Call, item: Item, request: ChangeReviewRequest | None, merged: MergedReview) -> Stop | None:
    task, run = item.task, item.of_run
    if task.id == call.scope.review:
        call.scope = call.scope._replace(is_reviewed=True)
    ended = save_reviews(call.workspace, run, request, merged)
    call.ui.notify(ended)
    return None if run.review_state is ReviewState.DUE else _by_hand_stop(task, merged)


def _by_hand_stop(task: Task, merged: MergedReview) -> Stop:
    if next_after(merged, round_number=1, max_rounds=1) is ReviewFollowUp.PROCEED:
        return Stop(StopReason.COMPLETED, f"the reviews of {task.id} approved it", task_id=task.id)
    steps = (TaskCommand("review show", task.id), TaskCommand("resume", task.id, blank=MESSAGE))
    return Stop(StopReason.FAILED, f"the reviews of {task.id} did not approve it", steps, task.id)
