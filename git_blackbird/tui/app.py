"""The application: it watches the worktree, and acts on it through the controller."""

import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import ModalScreen

from git_blackbird.controller.change.commit.approval import COMMITTING
from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.dialogue import confirm_quit
from git_blackbird.messages.display.events import next_step_lines
from git_blackbird.messages.document import editable
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.views.events import Decided, Event, Level, Notice, RunStarted
from git_blackbird.model.views.stop import Stop, StopReason
from git_blackbird.tui.actions import ActionProvider, why_impossible
from git_blackbird.tui.context import Prepare
from git_blackbird.tui.driver import PAUSE_KEY
from git_blackbird.tui.keys import ACTIONS, NO_KEY, PAUSE, KeyTable, When, bindings_of, does_something
from git_blackbird.tui.poller import Poller
from git_blackbird.tui.screens.main import MainScreen
from git_blackbird.tui.screens.modal import ConfirmModal
from git_blackbird.tui.shutdown import GracefulShutdown
from git_blackbird.tui.widgets.line_view import Copies
from git_blackbird.tui.widgets.plan_tree import PlanTree

if TYPE_CHECKING:
    from git_blackbird.tui.commands import Commands
    from git_blackbird.tui.plan_commands import PlanCommands
    from git_blackbird.tui.planning import PlanningCommands

_POLL_SECONDS = 1.0
_SWITCH_SECONDS = 0.0005
_WARNING_SECONDS = 10.0
_SETTLE_SECONDS = 0.3
_GOOD_STOPS = frozenset({StopReason.COMPLETED, StopReason.INTERRUPTED})


def _keys_of(*kinds: type[DOMNode]) -> frozenset[str]:
    """Return the keys of some widgets that are no actions of the application."""
    bindings = (binding for kind in kinds for binding in Binding.make_bindings(kind.BINDINGS))
    return frozenset(binding.key for binding in bindings if binding.id is None)


class BlackbirdApp(GracefulShutdown):
    """Shows one worktree, and runs one loop of the controller at a time."""

    TITLE = "git blackbird"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    # Only our own actions: each shows its command line, which Textual's do not have.
    COMMANDS: ClassVar = {ActionProvider}
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_of(PAUSE),
        Binding(PAUSE_KEY, "close", show=False, priority=True),
    ]

    def __init__(self, environment: Environment, watcher: WorktreeWatcher) -> None:
        super().__init__(environment, watcher)
        self._poller = Poller(self)
        self._dead_key_told = -self.NOTIFICATION_TIMEOUT
        self.keys = self.main.keys = KeyTable().mapped(
            watcher.workspace.config.tui.keymap or "", _keys_of(MainScreen, PlanTree)
        )
        changed = zip(self.keys.actions, ACTIONS, strict=True)
        self.set_keymap({own.action: own.key for own, usual in changed if own.key != usual.key})
        self.apply_theme(watcher.workspace)

    @cached_property
    def commands(self) -> "Commands":
        from git_blackbird.tui.commands import Commands  # the plan is shown before it is loaded

        return Commands(self)

    @cached_property
    def plan_commands(self) -> "PlanCommands":
        from git_blackbird.tui.plan_commands import PlanCommands

        return PlanCommands(self)

    @cached_property
    def planning_commands(self) -> "PlanningCommands":
        from git_blackbird.tui.planning import PlanningCommands

        return PlanningCommands(self)

    def get_default_screen(self) -> MainScreen:
        try:
            self.main.show_plan(self.watcher.plan())
        except BlackbirdError as error:
            self.call_after_refresh(self._poller.show_error, error)
        return self.main

    def on_mount(self) -> None:
        # Polling shares the interpreter with the screen and must not delay a key.
        sys.setswitchinterval(_SWITCH_SECONDS)
        # The plan is there at once; the records are read while the screen is already in use.
        self.call_after_refresh(self.poll)
        self.call_after_refresh(self.ask_background)
        self.set_interval(_POLL_SECONDS, self.poll)

    def on_paste(self) -> None:
        """Say that a pasted text does nothing where no text is written."""
        if not self.is_writing:
            self._report_dead_key()

    def _report_dead_key(self) -> None:
        """Say that a key does nothing, once for all letters that are typed by mistake."""
        now = time.monotonic()
        if now > self._dead_key_told + self.NOTIFICATION_TIMEOUT:
            self._dead_key_told = now
            self.notify(NO_KEY)

    def on_key(self, event: events.Key) -> None:
        """Say that the action of a key is not possible now, or that a key has none."""
        action = self.keys.by_key.get(event.key)
        if (action is None and not event.is_printable) or does_something(self.screen, event.key):
            return
        if self.screen is self.main and action is not None:
            about = "" if self.current is None or not action.is_of_task else f" of {self.current.id}"
            text = f"{action.label}{about} is not possible now: {why_impossible(self, action)}"
            self.notify(text, severity="warning")
        elif event.is_printable:
            self._report_dead_key()

    def must_wait(self, event: events.Key | events.Paste) -> bool:
        """Whether a key's action depends on the records, which are not read yet."""
        if not self.is_reading or not isinstance(event, events.Key) or self.is_writing:
            return False
        action = self.keys.by_key.get(event.key)
        return action is not None and action.when is not When.ALWAYS and self.screen is self.main

    def on_resize(self) -> None:
        """Draw everything again a moment later: a drawing under way has the old size."""
        self.set_timer(_SETTLE_SECONDS, partial(self.refresh, layout=True))

    async def on_event(self, event: events.Event) -> None:
        """Clean what is pasted."""
        if isinstance(event, events.Paste):
            # The clipboard may hold anything, and the text is shown. Terminals end its lines as Enter does.
            event.text = editable(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        await super().on_event(event)

    def poll(self) -> None:
        self._poller.poll()

    def handle_event(self, event: Event) -> None:
        """Show an event of a run, after pending input; may be called from any thread."""
        self.ui_priority.yield_to_ui()
        if isinstance(event, RunStarted) and self.is_running and not self.main.live.has_others(event.task_id):
            # Later ones are none of the business of who looks at something else.
            self.call_later(self.main.action_show_tab, "live")
        if isinstance(event, Decided) and self.is_running:
            self.call_later(self.drafts.settle, event)
        if isinstance(event, Notice):
            event = event._replace(
                text=self.keys.as_key_hint(event.text),
                ways_out=tuple(map(self.keys.as_key_hint, event.ways_out)),
            )
            if event.weight is not Level.INFO:
                # A screen may come up next that the notice is about, and hide the log.
                text = "\n".join(filter(None, (event.text, event.hint)))
                self.call_later(self.notify, text, severity="warning", timeout=_WARNING_SECONDS)
        self.main.live.handle_event(event)

    def show_stop(self, stop: Stop) -> None:
        # One key stands for several commands.
        steps = tuple(dict.fromkeys(map(self.keys.as_key_hint, stop.next_steps)))
        lines = next_step_lines(replace(stop, next_steps=steps))
        self.log_and_notify(stop.text, *lines, is_good=stop.reason in _GOOD_STOPS)
        if stop.reason is StopReason.PARENT_REVIEW_REQUIRED and stop.held:
            self.run_worker(self.commands.announce_review(stop.held[0].task.id))

    def when_idle(self) -> None:
        self.main.live.when_idle()
        if self.is_running:
            self.refresh_bindings()
            self.poll()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is possible now; None for one that is not, which the help lists."""
        del parameters
        if action == "answer" and (self.questions or self.screen is not self.main):
            return bool(self.questions)
        if action == "search" and self.is_writing:
            # Textual does not know that this is a letter as well.
            return None
        return self.is_possible(action) or None

    @property
    def choosing_keys(self) -> frozenset[str]:
        """On the plan, the keys of its actions as well: a letter of a text would start something there."""
        keys = super().choosing_keys
        return keys | self.keys.by_key.keys() if self.screen is self.main else keys

    def start(self, command: str, prepare: Prepare) -> None:
        self.runner.start(command, prepare)
        self.refresh_bindings()

    def _open_for_current(self, command: Callable[[Task], Coroutine[object, object, None]]) -> None:
        if (task := self.current) is not None:
            self.open_modal(command(task))

    def action_execute(self) -> None:
        self.open_modal(self._execute())

    async def _execute(self, *only: TaskId) -> None:
        if await self.plan_commands.agree_to_execute(*only):
            self.commands.execute(*only)

    def action_plan(self) -> None:
        self.open_modal(self.planning_commands.plan())

    def action_add_task(self) -> None:
        self.open_modal(self.plan_commands.add(self.current))

    def action_edit_task(self) -> None:
        self._open_for_current(self.plan_commands.edit)

    def action_delete_task(self) -> None:
        self._open_for_current(self.plan_commands.delete)

    def action_move_task(self) -> None:
        self._open_for_current(self.plan_commands.move)

    def action_set_deps(self) -> None:
        self._open_for_current(self.plan_commands.deps)

    def action_execute_task(self) -> None:
        if (task := self.current) is not None:
            self.open_modal(self._execute(task.id))

    def action_resume(self) -> None:
        """Resume the current task's session, or open its decision if one is pending."""
        if (task := self.current) is None:
            return
        if self.accepts_current("decide"):
            self.action_decide()
        else:
            self.open_modal(self.commands.resume(task))

    def action_restart(self) -> None:
        self._open_for_current(self.commands.restart)

    def action_decide(self) -> None:
        if (task := self.current) is not None:
            self.open_modal(self.commands.decide(task.id))

    def action_tell(self) -> None:
        self._open_for_current(self.commands.send_message)

    def action_review(self) -> None:
        if (task := self.current) is not None:
            self.open_modal(self.commands.show_review(task.id))

    def action_runs(self) -> None:
        """Show the runs of the current task, to go through them."""
        self.main.action_show_tab("runs")
        self.main.focus_pane()

    def action_pause(self) -> None:
        """Pause the loop; the second time, kill its runs and quit."""
        if not self.is_busy:
            self.log_and_notify("interrupting the commit", is_good=True)
            self.is_commit_interrupted = True
            COMMITTING.interrupt()
            return
        is_first = not self.runner.is_pausing
        self.runner.interrupt()
        if is_first:
            self.log_and_notify("pausing runs; ctrl+c again kills them and exits", is_good=True)
        else:
            self.exit_gracefully()

    def action_close(self) -> None:
        """Close the screen above the plan and keep its text; on the plan, quit."""
        if self.screen is self.main or not isinstance(self.screen, ModalScreen):
            self.exit_gracefully()
        else:
            self.call_later(self.screen.run_action, "leave")

    async def action_quit(self) -> None:
        """Quit; who would pause agents is asked."""
        if self.is_busy:
            self.open_modal(self._quit())
        else:
            self.exit_gracefully()

    async def _quit(self) -> None:
        at_work = [about for about, _ in self.main.live.at_work.runs]
        if await self.ask(ConfirmModal(confirm_quit(at_work))) is True:
            self.log_and_notify("pausing runs before exit; ctrl+c kills them", is_good=True)
            self.exit_gracefully()

    def action_retry(self) -> None:
        self._open_for_current(self.commands.retry)

    def action_set_status(self) -> None:
        self._open_for_current(self.commands.set_status)

    def action_choose_agent(self) -> None:
        self.open_modal(self.commands.choose_agent())

    async def action_settings(self) -> None:
        await self.commands.settings()

    def action_undo(self) -> None:
        self._open_for_current(self.commands.undo)

    def action_redo(self) -> None:
        self._open_for_current(self.commands.redo)

    def action_answer(self) -> None:
        """Go to what is first in the queue, or comes next, and open it if it is a decision or a question."""
        if self.questions:
            self.questions.open_first()
            return
        item = self.main.next_required
        if item is None:
            return
        self.main.lead_to(item)
        if self.main.is_decision(item):
            self.action_decide()
        elif self.main.is_question(item) and self.can_execute:
            self.action_resume()

    def action_switch(self) -> None:
        self.main.toggle_live()

    def action_search(self) -> None:
        self.main.search()

    def action_copy(self) -> None:
        """Copy what has the focus, by the terminal (OSC 52)."""
        nodes = () if self.focused is None else self.focused.ancestors_with_self
        text = next(filter(None, (node.copied_text for node in nodes if isinstance(node, Copies))), "")
        if text:
            self.copy_to_clipboard(text)
            first, *more = text.splitlines()
            self.notify(f"copied: {first[:60]}" + (f" and {len(more)} lines" if more else ""))
        else:
            self.notify("nothing here can be copied; tab goes to a text that can", severity="warning")

    async def action_help(self) -> None:
        await self.commands.help(self.current)
