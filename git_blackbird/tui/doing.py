"""What a person asks for, done through the controller; it loads all that runs agents."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from git_blackbird.controller.overview import CHANGE_REVIEW
from git_blackbird.controller.requests import (
    ResumeRequest,
    execute_loop,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.run_views import runs_of_task
from git_blackbird.controller.task_status import reset_task, set_status
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.reset_text import render_reset
from git_blackbird.model.ids import TaskId
from git_blackbird.model.keys import AGENT_NAMES
from git_blackbird.model.owed import OWED_WORDS
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.reset import Reset
from git_blackbird.model.text import clean_line
from git_blackbird.tui.following import Follower
from git_blackbird.tui.judging import decide, show_review, tell
from git_blackbird.tui.modals.chooser import Chooser, Offer
from git_blackbird.tui.modals.help import Help
from git_blackbird.tui.modals.runs import RunsScreen
from git_blackbird.tui.modals.settings import SettingsScreen

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


class Doing:
    """Does it, in the application it is for; what cannot be done is said there."""

    def __init__(self, app: "BlackbirdApp") -> None:
        self._app = app
        self.follower = Follower(app.main.live)

    def execute(self) -> None:
        """Do what is due."""
        self._app.start("execute", lambda workspace, face: execute_loop(workspace, face, (), None))

    def execute_task(self, task: Task) -> None:
        """Run one task."""
        self._app.start("execute", lambda workspace, face: execute_loop(workspace, face, (task.id,), None))

    def resume(self, task: Task) -> None:
        """Go on in a session; of a parent, in those of all that its review flagged."""
        if task.children:
            self._app.start("resume", lambda workspace, face: resume_all_loop(workspace, face, task.id))
        else:
            request = ResumeRequest(task.id)
            self._app.start("resume", lambda workspace, face: resume_loop(workspace, face, request))

    async def restart(self, task: Task) -> None:
        """Start in a new session, once it is sure that the old one is to be given up."""
        if await self._gives_up(task, "Restart in a new session"):
            self._app.start("restart", lambda workspace, face: restart_loop(workspace, face, task.id, None))

    async def decide(self, task: Task) -> None:
        """Decide on a run while nothing runs here."""
        await decide(self._app, task.id)

    async def show_review(self, task_id: TaskId) -> None:
        """Show how the reviews of a task stand, and what can be done about it."""
        await show_review(self._app, task_id)

    async def tell(self, task: Task) -> None:
        """Tell a task's agent something, and go on."""
        await tell(self._app, task.id)

    async def runs(self, task: Task) -> None:
        """Look at what happened on a task."""
        try:
            workspace = await self._open()
            runs = await asyncio.to_thread(runs_of_task, workspace, task.id, None)
        except BlackbirdError as error:
            self._app.complain(error)
        else:
            await self._app.ask(RunsScreen(workspace, task.id, runs))

    async def retry(self, task: Task) -> None:
        """Make a task todo again, once it is sure that its run is to be given up."""
        if await self._gives_up(task, "Retry"):
            await self._change(lambda workspace: reset_task(workspace, task.id))

    async def _gives_up(self, task: Task, what: str) -> bool:
        """Ask, where a run that waits for a person would be overtaken: one key is soon pressed."""
        waiting = self._in_hand(task)
        if waiting is None:
            return True
        title = f"{clean_line(task.id)}: {waiting}"
        offers: list[Offer[bool]] = [Offer(False, "Leave it"), Offer(True, f"{what}: that run is overtaken")]
        return await self._app.ask(Chooser[bool](title, offers)) is True

    def _in_hand(self, task: Task) -> str | None:
        """Say what a run of the task waits for; None where nothing would be given up."""
        view = None if self._app.picture is None else self._app.picture.view(task)
        if view is not None and view.owed is not None and view.owed.run is not None:
            return OWED_WORDS[view.owed.kind].format(run=view.owed.run.id)
        return CHANGE_REVIEW if view is not None and view.to_review is not None else None

    async def set_status(self, task: Task) -> None:
        """Set a status by hand."""
        offers = [Offer(status, status.value) for status in Status]
        title = f"Status of {clean_line(task.id)}"
        chooser = Chooser(title, offers, list(Status).index(task.status))
        status = await self._app.ask(chooser)
        if status is not None and await self._gives_up(task, f"Set to {status}"):
            await self._change(lambda workspace: set_status(workspace, task.id, status))

    async def _change(self, change: Callable[[Workspace], Reset]) -> None:
        """Change a status away from the screen: the lock of the store may be held for a moment."""
        try:
            workspace = await self._open()
            workspace.require_settings()
            reset = await asyncio.to_thread(change, workspace)
        except BlackbirdError as error:
            self._app.complain(error)
        else:
            told = (f"{reset.task_id} is now {reset.status}", *render_reset(reset))
            self._app.say("\n".join(told), is_good=True)
        self._app.look()

    async def choose_agent(self) -> None:
        """Choose the agent of new runs."""
        setting = (await self._open()).settings.values["agent"]
        offers = [Offer(name, name, setting.origin if name == setting.value else "") for name in AGENT_NAMES]
        start = AGENT_NAMES.index(str(setting.value))
        name = await self._app.ask(Chooser("Agent of new runs", offers, start))
        if name is not None:
            self._app.runner.agent = name
            self._app.say(f"new runs use {name} until you leave", is_good=True)

    async def settings(self) -> None:
        """Show and change the configuration."""
        app = self._app
        await app.push_screen(SettingsScreen(app.runner.open_workspace), lambda _: app.look())

    async def help(self, task: Task | None) -> None:
        """List all keys."""
        await self._app.push_screen(Help(None if task is None else task.id))

    async def _open(self) -> Workspace:
        return await asyncio.to_thread(self._app.runner.open_workspace)
