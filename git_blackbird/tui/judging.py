"""What a person decides while nothing runs here: on a run, and on a parent whose review failed."""

import asyncio
from typing import TYPE_CHECKING

from git_blackbird.controller.checkpoints import pending_checkpoint
from git_blackbird.controller.decide import Recorded, record_decision
from git_blackbird.controller.elsewhere import or_elsewhere
from git_blackbird.controller.requests import ResumeRequest, resume_all_loop, resume_loop
from git_blackbird.controller.review_views import view_review
from git_blackbird.controller.reviews import dismiss_review, review_loop
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.event_text import render_event
from git_blackbird.model.choices import Decision, ReviewAgain
from git_blackbird.model.events import Decided
from git_blackbird.model.run import DecisionState
from git_blackbird.tui.modals.checkpoint import CheckpointScreen, known_paths
from git_blackbird.tui.modals.parent_review import DISMISS, RESUME_ALL, ParentReviewScreen
from git_blackbird.tui.modals.request import RequestScreen

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


async def decide(app: "BlackbirdApp", task_id: str) -> None:
    """Show a task's checkpoint and record what is decided; what follows from it is the next execute's."""
    try:
        workspace = await asyncio.to_thread(app.runner.open_workspace)
        workspace.require_settings()
        checkpoint = await asyncio.to_thread(pending_checkpoint, workspace, task_id)
        asking = app.ask(CheckpointScreen(workspace, checkpoint))
        reply = await or_elsewhere(workspace, asking, checkpoint.run)
        if isinstance(reply, Decision):
            run_id = checkpoint.run.id
            recorded = await asyncio.to_thread(record_decision, workspace, task_id, reply, run_id)
            _say_decided(app, recorded)
        elif isinstance(reply, ReviewAgain):
            app.start("review run", lambda workspace, face: review_loop(workspace, face, task_id))
        elif reply is not None:
            # One that is not decided on was amended, overtaken, or is reviewed again.
            what = "changed" if reply.decision_state in {None, DecisionState.PENDING} else "was decided"
            app.say(f"{task_id} {what} elsewhere meanwhile", is_good=True)
    except BlackbirdError as error:
        app.complain(error)
    app.look()


def _say_decided(app: "BlackbirdApp", recorded: Recorded) -> None:
    """Say what was decided, and what a person should know of it."""
    run = recorded.run
    if run.decision_state is None:
        return
    decided = Decided(run.task_id, run.id, run.decision_state, elsewhere=False, commit=recorded.commit)
    undo = (f"to take the change back: {line}" for line in recorded.undo)
    moved = (f"the worktree differs from the change in {path}" for path in recorded.moved)
    text = render_event(decided) or ""
    app.say("\n".join((text, *recorded.warnings, *moved, *undo)), is_good=not recorded.warnings)


async def answer_review(app: "BlackbirdApp", parent_id: str) -> None:
    """Show what a parent's review found, and do what a person chooses: resume one, all, or dismiss it."""
    try:
        workspace = await asyncio.to_thread(app.runner.open_workspace)
        view = await asyncio.to_thread(view_review, workspace, parent_id)
        choice = await app.ask(ParentReviewScreen(view))
        if choice == DISMISS:
            why = f"Why is the review of {parent_id} dismissed?"
            reason = await app.ask(RequestScreen(why, known_paths(workspace)))
            if reason is not None and reason.is_sent:
                dismissed = await asyncio.to_thread(dismiss_review, workspace, parent_id, reason.text)
                app.say(
                    f"the review of {parent_id} is dismissed; it is {dismissed.parent.status}", is_good=True
                )
        elif choice == RESUME_ALL:
            app.start("resume", lambda workspace, face: resume_all_loop(workspace, face, parent_id))
        elif choice is not None:
            request = ResumeRequest(choice)
            app.start("resume", lambda workspace, face: resume_loop(workspace, face, request))
    except BlackbirdError as error:
        app.complain(error)
    app.look()
