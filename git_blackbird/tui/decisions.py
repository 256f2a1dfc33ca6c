"""Decisions, messages and reviews that a person opens while this application runs no loop."""

import asyncio
from collections.abc import Callable, Mapping

from git_blackbird.controller.core.locks import running_command
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.decisions.checkpoint import pending_checkpoint
from git_blackbird.controller.decisions.external_change import race_external_change
from git_blackbird.controller.decisions.record import DecisionResult, record_decision
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.engine.review_commands import (
    dismiss_review,
    dismissal_obstacle,
    review_loop,
    review_obstacle,
)
from git_blackbird.controller.engine.run_commands import (
    ResumeRequest,
    execute_loop,
    require_messageable,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.queries.reviews import view_change_review, view_review
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.events import render_event
from git_blackbird.messages.display.status_change import undo_lines
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.decision import Decision, Reply, RerunReviews, Retry
from git_blackbird.model.entities.run import DecisionState, Run
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Decided
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.screens.change_review import ChangeReviewScreen
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.parent_review import ParentReviewScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.screens.review import Obstacles, ReviewAction, ReviewScreen


async def ask_decision(app: AppContext, workspace: Workspace, checkpoint: Checkpoint) -> Reply | None:
    """Show a checkpoint; None leaves it open. If cancelled, report the request that was being written."""
    task_id = checkpoint.run.task_id
    draft = app.drafts.message(task_id)
    try:
        return await app.ask(CheckpointScreen(workspace, checkpoint, draft, app.path_lister))
    except asyncio.CancelledError:
        if draft.text.strip():
            app.show_unsent(task_id, draft.text)
        raise


async def decide(app: AppContext, task_id: str) -> None:
    """Show a task's checkpoint, record the decision, and carry on as it says unless agents run."""
    try:
        workspace = await asyncio.to_thread(app.open_workspace)
        workspace.require_settings()
        checkpoint = await asyncio.to_thread(pending_checkpoint, workspace, task_id)
        asking = race_external_change(
            workspace, lambda: ask_decision(app, workspace, checkpoint), checkpoint.run
        )
        reply = checkpoint.with_shown(await asking)
        if isinstance(reply, Decision):
            run_id = checkpoint.run.id
            app.is_commit_interrupted = False
            recorded = await asyncio.to_thread(record_decision, workspace, task_id, reply, run_id)
            app.drafts.settle(Decided(checkpoint.run.task_id, run_id, reply.state, elsewhere=False))
            _show_decision(app, recorded)
            _carry_on(app, recorded.run)
        elif isinstance(reply, Retry):
            app.start("restart", lambda workspace, ui: restart_loop(workspace, ui, task_id, None))
        elif isinstance(reply, RerunReviews):
            app.start("review run", lambda workspace, ui: review_loop(workspace, ui, task_id))
        elif reply is not None:
            # Without a decision, the run was amended or superseded, or is reviewed again.
            what = "changed" if reply.decision_state in {None, DecisionState.PENDING} else "was decided"
            app.log_and_notify(f"{task_id} {what} from another terminal", is_good=True)
    except BlackbirdError as error:
        app.show_error(error)
    app.poll()


def _carry_on(app: AppContext, run: Run) -> None:
    """Start what the decision asks for; a command that runs agents does that itself."""
    if not app.can_execute or app.is_commit_interrupted:
        return
    if run.decision_state is DecisionState.APPROVED_CONTINUE:
        app.start("execute", lambda workspace, ui: execute_loop(workspace, ui, (), None))
    elif run.decision_state is DecisionState.CHANGES_REQUESTED:
        request = ResumeRequest(run.task_id)
        app.start("resume", lambda workspace, ui: resume_loop(workspace, ui, request))


def _show_decision(app: AppContext, recorded: DecisionResult) -> None:
    """Show what was decided, with warnings and how to undo it."""
    decided = recorded.decided
    if decided is None:
        return
    moved = (f"the worktree differs from the change in {path}" for path in recorded.moved)
    text = render_event(decided) or ""
    app.log_and_notify(
        "\n".join((text, *recorded.warnings, *moved, *undo_lines(recorded.undo))),
        is_good=not recorded.warnings,
    )


async def send_message(app: AppContext, task_id: TaskId) -> None:
    """Ask for a message and resume a task's session with it; it stays a draft until a run records it."""
    workspace = await asyncio.to_thread(app.open_workspace)
    workspace.require_settings()
    run = await asyncio.to_thread(require_messageable, workspace, task_id)
    draft = app.drafts.message(task_id)
    title = (
        f"What should change in {task_id}?" if run.is_pending else f"What should {task_id}'s agent be told?"
    )
    text = await app.ask(RequestScreen(title, app.path_lister, draft))
    if text is not None:
        request = ResumeRequest(task_id, text)
        app.start("resume", lambda workspace, ui: resume_loop(workspace, ui, request))


async def show_review(app: AppContext, task_id: str) -> None:
    """Show the reviews of a task, and do what a person chooses."""
    workspace = await asyncio.to_thread(app.open_workspace)
    request = await app.ask(await asyncio.to_thread(_review_screen, workspace, task_id))
    if request is None:
        return
    match request.action:
        case ReviewAction.DISMISS:
            await _dismiss(app, request.task_id)
        case ReviewAction.DECIDE:
            await decide(app, request.task_id)
        case _:
            command, prepare = _PREPARED[request.action]
            app.start(command, lambda workspace, ui: prepare(workspace, ui, request.task_id))


def _review_screen(workspace: Workspace, task_id: str) -> ReviewScreen:
    """Read the reviews of a task, and why an action on them is not possible."""
    state = workspace.plan_state()
    task = find_task(state.plan, task_id)
    running = running_command(workspace)
    busy = None if running is None else clean_line(f"running: {running}")
    review = _cleaned(review_obstacle(state, task))
    if task.is_leaf:
        return ChangeReviewScreen(view_change_review(workspace, task), Obstacles(busy, review, None))
    obstacles = Obstacles(busy, review, _cleaned(dismissal_obstacle(state, task)))
    return ParentReviewScreen(view_review(workspace, task_id), obstacles)


def _cleaned(obstacle: str | None) -> str | None:
    return None if obstacle is None else clean_line(obstacle)


_PREPARED: Mapping[ReviewAction, tuple[str, Callable[[Workspace, UserInterface, TaskId], Loop]]] = {
    ReviewAction.RESUME: (
        "resume",
        lambda workspace, ui, task: resume_loop(workspace, ui, ResumeRequest(task)),
    ),
    ReviewAction.RESTART: (
        "restart",
        lambda workspace, ui, task: restart_loop(workspace, ui, task, None),
    ),
    ReviewAction.RESUME_ALL: ("resume", resume_all_loop),
    ReviewAction.REVIEW: ("review run", review_loop),
}


async def _dismiss(app: AppContext, parent_id: TaskId) -> None:
    """Ask for a reason, and dismiss the review of a parent."""
    workspace = await asyncio.to_thread(app.open_workspace)
    workspace.require_settings()
    draft = app.drafts.reason(parent_id)
    title = f"Why is the review of {parent_id} dismissed?"
    reason = await app.ask(RequestScreen(title, app.path_lister, draft))
    if reason is not None:
        dismissed = await asyncio.to_thread(dismiss_review, workspace, parent_id, reason)
        draft.drop()
        text = f"dismissed the review of {parent_id}; it is {dismissed.parent.status}"
        dropped = ", ".join(dismissed.dropped)
        remark = f"\nits feedback is no longer pending for: {dropped}" if dropped else ""
        app.log_and_notify(text + remark, is_good=True)
    app.poll()
