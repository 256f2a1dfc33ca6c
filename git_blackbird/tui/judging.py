"""What a person decides and says while nothing runs here: on a run, on what reviews found, to an agent."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from git_blackbird.controller.checkpoints import pending_checkpoint
from git_blackbird.controller.decide import Recorded, record_decision
from git_blackbird.controller.elsewhere import or_elsewhere
from git_blackbird.controller.face import Face
from git_blackbird.controller.holding import running_command
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.requests import (
    ResumeRequest,
    require_tellable,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.review_views import view_change_review, view_review
from git_blackbird.controller.reviews import dismiss_review, dismissal_obstacle, review_loop, review_obstacle
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.event_text import render_event
from git_blackbird.messages.undo_text import undo_lines
from git_blackbird.model.choices import Decision, Retry, ReviewAgain
from git_blackbird.model.events import Decided
from git_blackbird.model.ids import TaskId
from git_blackbird.model.run import DecisionState, Run
from git_blackbird.model.text import clean_line
from git_blackbird.tui.asking import ask_decision
from git_blackbird.tui.modals.change_review import ChangeReviewScreen
from git_blackbird.tui.modals.parent_review import ParentReviewScreen
from git_blackbird.tui.modals.request import RequestScreen
from git_blackbird.tui.modals.review import Act, Obstacles, ReviewScreen

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


async def decide(app: "BlackbirdApp", task_id: str) -> None:
    """Show a task's checkpoint, record what is decided, and do what it says, if nothing runs agents."""
    try:
        workspace = await asyncio.to_thread(app.runner.open_workspace)
        workspace.require_settings()
        checkpoint = await asyncio.to_thread(pending_checkpoint, workspace, task_id)
        reply = await or_elsewhere(
            workspace, lambda: ask_decision(app, workspace, checkpoint), checkpoint.run
        )
        if isinstance(reply, Decision):
            run_id = checkpoint.run.id
            app.is_told_to_stop = False
            recorded = await asyncio.to_thread(record_decision, workspace, task_id, reply, run_id)
            app.drafts.settle(Decided(checkpoint.run.task_id, run_id, reply.state, elsewhere=False))
            _say_decided(app, recorded)
            _go_on(app, recorded.run)
        elif isinstance(reply, Retry):
            app.start("restart", lambda workspace, face: restart_loop(workspace, face, task_id, None))
        elif isinstance(reply, ReviewAgain):
            app.start("review run", lambda workspace, face: review_loop(workspace, face, task_id))
        elif reply is not None:
            # One that is not decided on was amended, overtaken, or is reviewed again.
            what = "changed" if reply.decision_state in {None, DecisionState.PENDING} else "was decided"
            app.say(f"{task_id} {what} from another terminal", is_good=True)
    except BlackbirdError as error:
        app.complain(error)
    app.look()


def _go_on(app: "BlackbirdApp", run: Run) -> None:
    """Continue, or have the changes made, as was decided; a command that runs agents goes on by itself."""
    if not app.is_free or app.is_told_to_stop:
        return
    if run.decision_state is DecisionState.APPROVED_CONTINUE:
        app.doing.execute()
    elif run.decision_state is DecisionState.CHANGES_REQUESTED:
        request = ResumeRequest(run.task_id)
        app.start("resume", lambda workspace, face: resume_loop(workspace, face, request))


def _say_decided(app: "BlackbirdApp", recorded: Recorded) -> None:
    """Say what was decided, and what a person should know of it."""
    decided = recorded.decided
    if decided is None:
        return
    moved = (f"the worktree differs from the change in {path}" for path in recorded.moved)
    text = render_event(decided) or ""
    app.say(
        "\n".join((text, *recorded.warnings, *moved, *undo_lines(recorded.undo))),
        is_good=not recorded.warnings,
    )


async def tell(app: "BlackbirdApp", task_id: TaskId) -> None:
    """Ask for a message and go on with it in a task's session; until it is on a record, it stays a draft."""
    workspace = await asyncio.to_thread(app.runner.open_workspace)
    workspace.require_settings()
    run = await asyncio.to_thread(require_tellable, workspace, task_id)
    draft = app.drafts.message(task_id)
    title = (
        f"What should change in {task_id}?" if run.is_pending else f"What should {task_id}'s agent be told?"
    )
    text = await app.ask(RequestScreen(title, app.listing, draft))
    if text is not None:
        request = ResumeRequest(task_id, text)
        app.start("resume", lambda workspace, face: resume_loop(workspace, face, request))


async def show_review(app: "BlackbirdApp", task_id: str) -> None:
    """Show how the reviews of a task stand, and do what a person chooses."""
    workspace = await asyncio.to_thread(app.runner.open_workspace)
    wanted = await app.ask(await asyncio.to_thread(_review_screen, workspace, task_id))
    if wanted is None:
        return
    match wanted.act:
        case Act.DISMISS:
            await _dismiss(app, wanted.task_id)
        case Act.DECIDE:
            await decide(app, wanted.task_id)
        case _:
            command, prepare = _PREPARED[wanted.act]
            app.start(command, lambda workspace, face: prepare(workspace, face, wanted.task_id))


def _review_screen(workspace: Workspace, task_id: str) -> ReviewScreen:
    """Read how the reviews of a task stand, and what is in the way of what."""
    standing = workspace.standing()
    task = find_task(standing.plan, task_id)
    running = running_command(workspace)
    busy = None if running is None else clean_line(f"running: {running}")
    review = _harmless(review_obstacle(standing, task))
    if task.is_leaf:
        return ChangeReviewScreen(view_change_review(workspace, task), Obstacles(busy, review, None))
    obstacles = Obstacles(busy, review, _harmless(dismissal_obstacle(standing, task)))
    return ParentReviewScreen(view_review(workspace, task_id), obstacles)


def _harmless(obstacle: str | None) -> str | None:
    return None if obstacle is None else clean_line(obstacle)


_PREPARED: Mapping[Act, tuple[str, Callable[[Workspace, Face, TaskId], tuple[Loop, Opening]]]] = {
    Act.RESUME: ("resume", lambda workspace, face, task: resume_loop(workspace, face, ResumeRequest(task))),
    Act.RESTART: ("restart", lambda workspace, face, task: restart_loop(workspace, face, task, None)),
    Act.RESUME_ALL: ("resume", resume_all_loop),
    Act.REVIEW: ("review run", review_loop),
}


async def _dismiss(app: "BlackbirdApp", parent_id: TaskId) -> None:
    """Ask why, and let the parent go without a passing review."""
    workspace = await asyncio.to_thread(app.runner.open_workspace)
    workspace.require_settings()
    draft = app.drafts.reason(parent_id)
    why = f"Why is the review of {parent_id} dismissed?"
    reason = await app.ask(RequestScreen(why, app.listing, draft))
    if reason is not None:
        dismissed = await asyncio.to_thread(dismiss_review, workspace, parent_id, reason)
        draft.drop()
        text = f"dismissed the review of {parent_id}; it is {dismissed.parent.status}"
        dropped = ", ".join(dismissed.dropped)
        more = f"\nits feedback is no longer pending for: {dropped}" if dropped else ""
        app.say(text + more, is_good=True)
    app.look()
