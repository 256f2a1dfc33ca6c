"""Asking for a decision on a run; it may be taken elsewhere meanwhile."""

import asyncio
from typing import TYPE_CHECKING

from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Reply
from git_blackbird.tui.modals.checkpoint import CheckpointScreen

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


async def ask_decision(app: "BlackbirdApp", workspace: Workspace, checkpoint: Checkpoint) -> Reply | None:
    """Show a checkpoint; None leaves it open. Cancelled, it says what becomes of a request that was begun."""
    task_id = checkpoint.run.task_id
    draft = app.drafts.message(task_id)
    try:
        return await app.ask(CheckpointScreen(workspace, checkpoint, draft, app.listing))
    except asyncio.CancelledError:
        if draft.text.strip():
            app.say_unsent(task_id, draft.text)
        raise
