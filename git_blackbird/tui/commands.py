"""What the actions of the screen do, through the controller; importing it loads what runs agents."""

import asyncio
from collections.abc import Callable

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.run_commands import (
    ResumeRequest,
    execute_loop,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.plan.status_changes import reset_task, set_status
from git_blackbird.controller.queries.runs import runs_of_task
from git_blackbird.controller.queries.status import CHANGE_REVIEW
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.runs import render_reset
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.keys import AGENT_NAMES
from git_blackbird.model.entities.plan import Status, Task
from git_blackbird.model.rules.attention import OWED_WORDS
from git_blackbird.model.views.stop import StatusChange
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.decisions import decide, send_message, show_review
from git_blackbird.tui.screens.choice import ChoiceModal, MenuItem
from git_blackbird.tui.screens.help import HelpScreen
from git_blackbird.tui.screens.runs import RunsScreen
from git_blackbird.tui.screens.settings import SettingsScreen


class Commands:
    """Carries out the actions of one application, which shows what cannot be done."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    def execute(self) -> None:
        """Run the next tasks of the plan."""
        self._app.start("execute", lambda workspace, ui: execute_loop(workspace, ui, (), None))

    def execute_task(self, task: Task) -> None:
        """Run one task."""
        self._app.start("execute", lambda workspace, ui: execute_loop(workspace, ui, (task.id,), None))

    def resume(self, task: Task) -> None:
        """Resume a task's session; for a parent, those of all tasks that its review flagged."""
        if task.children:
            self._app.start("resume", lambda workspace, ui: resume_all_loop(workspace, ui, task.id))
        else:
            request = ResumeRequest(task.id)
            self._app.start("resume", lambda workspace, ui: resume_loop(workspace, ui, request))

    async def restart(self, task: Task) -> None:
        """Start a task in a new session, if a person confirms to give up a waiting run."""
        if await self._confirm(task, "Restart in a new session"):
            self._app.start("restart", lambda workspace, ui: restart_loop(workspace, ui, task.id, None))

    async def decide(self, task: Task) -> None:
        """Open a task's checkpoint."""
        await decide(self._app, task.id)

    async def show_review(self, task_id: TaskId) -> None:
        """Show the reviews of a task, and what can be done about them."""
        await show_review(self._app, task_id)

    async def send_message(self, task: Task) -> None:
        """Write a message to a task's agent, and resume its session."""
        await send_message(self._app, task.id)

    async def runs(self, task: Task) -> None:
        """Show the runs of a task."""
        try:
            workspace = await self._open()
            runs = await asyncio.to_thread(runs_of_task, workspace, task.id, None)
        except BlackbirdError as error:
            self._app.show_error(error)
        else:
            await self._app.ask(RunsScreen(workspace, task.id, runs))

    async def retry(self, task: Task) -> None:
        """Set a task back to todo, if a person confirms to give up a waiting run."""
        if await self._confirm(task, "Retry"):
            await self._change(lambda workspace: reset_task(workspace, task.id))

    async def _confirm(self, task: Task, action: str) -> bool:
        """Ask before superseding a run that waits for a person: a key is easily pressed by mistake."""
        waiting = self._waiting_run(task)
        if waiting is None:
            return True
        title = f"{clean_line(task.id)}: {waiting}"
        items: list[MenuItem[bool]] = [
            MenuItem(False, "Leave it"),
            MenuItem(True, f"{action}: that run is superseded"),
        ]
        return await self._app.ask(ChoiceModal[bool](title, items)) is True

    def _waiting_run(self, task: Task) -> str | None:
        """Return what a run of the task waits for; None if no run waits."""
        state = self._app.view_state
        view = None if state is None else state.view(task)
        if view is not None and view.pending is not None and view.pending.run is not None:
            return OWED_WORDS[view.pending.kind].format(run=view.pending.run.id)
        return CHANGE_REVIEW if view is not None and view.to_review is not None else None

    async def set_status(self, task: Task) -> None:
        """Set a status by hand."""
        items = [MenuItem(status, status.value) for status in Status]
        title = f"Status of {clean_line(task.id)}"
        modal = ChoiceModal(title, items, list(Status).index(task.status))
        status = await self._app.ask(modal)
        if status is not None and await self._confirm(task, f"Set to {status}"):
            await self._change(lambda workspace: set_status(workspace, task.id, status))

    async def _change(self, change: Callable[[Workspace], StatusChange]) -> None:
        """Change a status in a thread: another process may hold the lock of the store."""
        try:
            workspace = await self._open()
            workspace.require_settings()
            reset = await asyncio.to_thread(change, workspace)
        except BlackbirdError as error:
            self._app.show_error(error)
        else:
            lines = (f"{reset.task_id} is now {reset.status}", *render_reset(reset))
            self._app.log_and_notify("\n".join(lines), is_good=True)
        self._app.poll()

    async def choose_agent(self) -> None:
        """Choose the agent for new runs."""
        setting = (await self._open()).settings.values["agent"]
        items = [
            MenuItem(name, name, setting.origin if name == setting.value else "") for name in AGENT_NAMES
        ]
        start = AGENT_NAMES.index(str(setting.value))
        name = await self._app.ask(ChoiceModal("Agent for new runs", items, start))
        if name is not None:
            self._app.chosen_agent = name
            self._app.log_and_notify(f"new runs use {name} until you leave", is_good=True)

    async def settings(self) -> None:
        """Show and change the configuration."""
        app = self._app
        await app.push_screen(SettingsScreen(app.open_workspace), lambda _: app.poll())

    async def help(self, task: Task | None) -> None:
        """List all keys."""
        await self._app.push_screen(HelpScreen(None if task is None else task.id))

    async def _open(self) -> Workspace:
        return await asyncio.to_thread(self._app.open_workspace)
