"""The interface of the application to its parts, so that none of them imports ``app``."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from textual.driver import Driver
from textual.notifications import SeverityLevel

from git_blackbird.controller.change.commit.approval import COMMITTING
from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.queries.watcher import ViewState, WorktreeWatcher
from git_blackbird.errors import BlackbirdError, RequestError, error_notes
from git_blackbird.messages.document import Line, block, plain
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.views.events import Event
from git_blackbird.model.views.stop import Stop
from git_blackbird.tui.driver import InputGuard, ResilientDriver
from git_blackbird.tui.keys import KeyTable, When
from git_blackbird.tui.priority import UiPriority
from git_blackbird.tui.screens.main import MainScreen
from git_blackbird.tui.screens.modal import Modal
from git_blackbird.tui.themes import ThemedApp
from git_blackbird.tui.waiting import WaitingQuestions
from git_blackbird.tui.widgets.diff.rows import DiffOptions
from git_blackbird.tui.widgets.file_list import ReviewMarks

if TYPE_CHECKING:
    # They load what runs agents, which drawing the plan does not need.
    from git_blackbird.controller.core.drafts import Drafts
    from git_blackbird.controller.core.ui import UserInterface
    from git_blackbird.controller.engine.loop import Join
    from git_blackbird.tui.widgets.diff.pane import DiffPane
    from git_blackbird.tui.widgets.mention_editor import MentionEditor, PathLister

T = TypeVar("T")


class RunsInThread(Protocol):
    """A loop of the controller, or another call of it that works with agents."""

    @property
    def scope(self) -> CallScope: ...

    def interrupt(self) -> None:
        """Stop what is at work; a second interrupt kills it."""
        ...

    async def run(self, join: "Join") -> Stop:
        """Work to the end of the call. Raises BlackbirdError."""
        ...


Prepare = Callable[[Workspace, "UserInterface"], RunsInThread]


class AppContext(ThemedApp, InputGuard):
    """The state that the parts of the application share, and the actions that they request of it.

    ``chosen_agent`` is the agent for new runs until the application quits. ``is_commit_interrupted`` keeps a
    decision from starting anything: its commit can be completed although it was interrupted. ``is_reading``:
    the records are being read for the first time.
    """

    def __init__(
        self, environment: Environment, watcher: WorktreeWatcher, driver_class: type[Driver]
    ) -> None:
        super().__init__(driver_class=driver_class)
        self.environment = environment
        self.watcher = watcher
        self.ui_priority = UiPriority()
        self.keys = KeyTable()
        self.main = MainScreen(lambda: watcher.workspace, lambda: self.chosen_agent)
        self.chosen_agent: str | None = None
        self.is_commit_interrupted = False
        self.is_reading = True
        self.questions = WaitingQuestions(self)
        self._diff_options = DiffOptions()

    def review_marks(self, task_id: TaskId) -> ReviewMarks:
        """Return what was marked in a task's change, which is kept with its drafts."""
        reading = self.drafts.reading(task_id)
        saved = reading.load()
        edits = {path: frozenset(keys) for path, keys in saved.edits_left_out.items()}
        return ReviewMarks(dict(saved.files), set(saved.left_out), edits, self._diff_options, reading.keep)

    @property
    def view_state(self) -> ViewState | None:
        """Plan and records as of the last poll."""
        return self.main.view_state

    @property
    def current(self) -> Task | None:
        return self.main.current

    @cached_property
    def path_lister(self) -> "PathLister":
        """The paths that can be mentioned in a text."""
        from git_blackbird.tui.widgets.mention_editor import PathLister

        return PathLister(self.watcher.workspace)

    @cached_property
    def drafts(self) -> "Drafts":
        """Texts that were written and are not sent yet."""
        from git_blackbird.controller.core.drafts import Drafts

        return Drafts(self.watcher.workspace)

    def state_text(self, task: Task) -> str:
        """Return the state of a task in the words of the plan and of its details."""
        return str(task.status) if self.view_state is None else self.view_state.view(task).state_text

    def open_workspace(self) -> Workspace:
        """Open the worktree with the chosen agent; plan and records already read are shared."""
        agent = self.chosen_agent
        flags = [] if agent is None else [RawSetting("agent", agent, Layer.FLAG, "chosen here")]
        return replace(open_workspace(self.environment, flags), store=self.watcher.workspace.store)

    @property
    def can_execute(self) -> bool:
        """Whether no controller runs in this worktree, as far as is known."""
        is_locked = self.view_state is not None and self.view_state.overview.locked_by is not None
        return not self.is_busy and not is_locked

    def accepts_current(self, command: str) -> bool:
        """Whether a command would accept the task under the cursor."""
        return (
            self.view_state is not None
            and self.current is not None
            and self.view_state.inputs(command, self.current.id)
        )

    def is_possible(self, name: str) -> bool:  # noqa: PLR0911  # a table
        """Whether an action can be done now, by the last state that was read; others can always."""
        action, task = self.keys.by_name.get(name), self.current
        match When.ALWAYS if action is None else action.when:
            case When.ALWAYS:
                return True
            case When.AT_WORK:
                return self.is_busy or COMMITTING.is_apart
            case _ if self.view_state is None:
                return False
            case When.ASKED:
                return bool(self.main.required)
            case When.IDLE:
                return self.can_execute
            case When.ON_TASK:
                return task is not None
            case When.NOT_AT_WORK:
                return task is not None and not self._is_running(task)
            case When.HAS_RUN:
                return self.can_execute and self._has_run
            case When.ACCEPTED:
                return self.can_execute and self._is_taken(name)
            case When.ACCEPTED_AT_WORK:
                return self._is_taken(name)
            case When.LISTENS:
                return self.accepts_current("tell") or (self.can_execute and self._is_taken(name))

    def _is_taken(self, name: str) -> bool:
        return any(map(self.accepts_current, self.keys.by_name[name].takes))

    @property
    def _has_run(self) -> bool:
        """Whether the task under the cursor has runs of its own."""
        state, task = self.view_state, self.current
        return state is not None and task is not None and state.state.history(task.id).latest is not None

    def _is_running(self, task: Task) -> bool:
        running = () if self.view_state is None else self.view_state.overview.running
        return any(live.alive and live.run.task_id == task.id for live in running)

    async def ask(self, screen: Modal[T]) -> T | None:
        """Show a modal screen and return its result; if cancelled, remove it and all screens above it."""
        self.modal_opened()
        try:
            return await self.push_screen_wait(screen)
        finally:
            if screen in self.screen_stack:
                # Someone may be typing in it.
                self.ignore_pending_input()
                # At once, not with `pop_until_active`: that pops later, when the next question may be on top.
                for above in self.screen_stack[: self.screen_stack.index(screen) : -1]:
                    _ = above.dismiss()
                screen.dismiss_once(None)

    def lend_terminal(self) -> AbstractContextManager[None]:
        """Give the terminal to another program until the block ends. Raises RequestError if there is none."""
        if not isinstance(self._driver, ResilientDriver):
            raise RequestError("there is no terminal for an editor")
        return self._driver.lend_terminal()

    def on_diff_pane_edit_wanted(self, event: "DiffPane.EditWanted") -> None:
        """Give the terminal to the editor; nothing else happens on the screen meanwhile."""
        from git_blackbird.controller.core.editing import edit_at, require_file

        workspace = self.watcher.workspace
        try:
            file = require_file(Path(event.folder or workspace.repo.top), event.path)
            with self.lend_terminal():
                edit_at(workspace, file, event.line)
        except BlackbirdError as error:
            self.show_error(error)
        else:
            self.notify("this diff does not show what you edited just now")

    def on_mention_editor_editor_wanted(self, event: "MentionEditor.EditorWanted") -> None:
        """Give the terminal to the editor with a text; what it has saved is taken, also where it failed."""
        event.draft.replace(event.editor.text)
        try:
            with self.lend_terminal():
                event.draft.edit(self.watcher.workspace)
        except BlackbirdError as error:
            self.show_error(error)
        event.editor.replace_text(event.draft.text.removesuffix("\n"))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notification: whatever is named in it is text."""
        del markup
        shown = "\n".join(plain(block(message)))
        super().notify(shown, title=title, severity=severity, timeout=timeout, markup=False)

    def show_error(self, error: BlackbirdError) -> None:
        self.log_and_notify(*error_notes(error), *error.lines, *error.ways_out, is_good=False)

    def show_unsent(self, task_id: TaskId, text: str) -> None:
        """Report a text that was not sent; the log has all of it, whatever becomes of the task."""
        self.main.live.log_line(f"not sent to {task_id}'s agent:\n{text}")
        message = (
            f"Your text for {task_id} was not sent: {self.keys.by_name['switch'].key} shows it, "
            f"{self.keys.by_name['tell'].key} on the task continues it"
        )
        self.notify(message)

    def log_and_notify(self, *parts: str | Line, is_good: bool) -> None:
        """Show a notification of several lines, with keys for commands, and write it to the log."""
        keys = self.keys
        text = "\n".join(
            keys.in_keys(part).text if isinstance(part, Line) else keys.as_key_hint(part) for part in parts
        )
        self.main.live.log_line(text)
        self.notify(text, severity="information" if is_good else "warning")

    @property
    @abstractmethod
    def is_busy(self) -> bool:
        """Whether this application runs a loop of the controller, or is about to."""

    @abstractmethod
    def start(self, command: str, prepare: Prepare) -> None:
        """Start the loop of a command."""

    @abstractmethod
    def poll(self) -> None:
        """Look for changes in the worktree now."""

    @abstractmethod
    def handle_event(self, event: Event) -> None:
        """Show an event of a run; may be called from any thread."""

    @abstractmethod
    def show_stop(self, stop: Stop) -> None:
        """Show why the loop stopped and what to do next."""

    @abstractmethod
    def when_idle(self) -> None:
        """Show that the loop has ended."""

    @abstractmethod
    def exit_with_error(self, error: Exception) -> None:
        """Exit because of a bug."""
