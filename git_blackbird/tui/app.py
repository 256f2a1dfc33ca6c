"""The application: it watches the worktree, and does through the controller what a person asks for."""

import sys
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Input, TextArea

from git_blackbird.controller.committing import interrupt_commit, is_committing
from git_blackbird.controller.watching import Picture, Watch
from git_blackbird.controller.world import World
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.next_steps import render_next_steps
from git_blackbird.model.events import Decided, Event, Notice, RunStarted, Weight
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.stop import Stop, StopReason
from git_blackbird.model.text import clean
from git_blackbird.tui.deeds import BY_KEY, DEEDS
from git_blackbird.tui.ending import EndingApp
from git_blackbird.tui.hearing import PAUSE_KEY, HearingApp
from git_blackbird.tui.looking import Looker
from git_blackbird.tui.main_screen import MainScreen
from git_blackbird.tui.palette import DeedProvider
from git_blackbird.tui.running import Prepare, Runner
from git_blackbird.tui.themes import ThemedApp

if TYPE_CHECKING:
    from git_blackbird.controller.drafts import Drafts
    from git_blackbird.tui.doing import Doing
    from git_blackbird.tui.listing import Listing
    from git_blackbird.tui.modals.modal import Modal

T = TypeVar("T")
_LOOK_SECONDS = 1.0
_TURN_SECONDS = 0.0005
_WARNING_SECONDS = 10.0
_SETTLE_SECONDS = 0.3
_RECORDED = frozenset({"decide", "retry"})
"""What starts nothing is possible wherever agents run."""
_TAKEN_BY = {
    "execute_task": ("execute",),
    "decide": ("decide",),
    "tell": ("resume -m",),
    "resume": ("resume", "resume --all"),
    "retry": ("retry",),
    "restart": ("restart",),
}
_OF_PLAN = frozenset(deed.action for deed in DEEDS if deed.key != PAUSE_KEY)
_SUSPEND = "suspend_process"
_GOOD_ENDS = frozenset({StopReason.COMPLETED, StopReason.INTERRUPTED})


class BlackbirdApp(EndingApp, ThemedApp, HearingApp):
    """Shows one worktree, and runs one loop of the controller at a time."""

    TITLE = "git blackbird"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    # Every action of ours says its command; those that all applications have do not.
    COMMANDS: ClassVar = {DeedProvider}
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(
                deed.key,
                deed.action,
                deed.label,
                tooltip=deed.says,
                show=deed.is_shown,
                # Done before the next key is looked at: that one may be meant for what this one opens.
                priority=True,
            )
            for deed in DEEDS
        ),
        Binding(PAUSE_KEY, "withdraw", show=False, priority=True),
    ]

    def __init__(self, world: World, watch: Watch) -> None:
        super().__init__()
        self.world = world
        self.main = MainScreen()
        self.runner = Runner(self, watch.workspace)
        # A commit that ends all the same starts nothing after it.
        self.is_told_to_stop = False
        self._watch = watch
        self._looker = Looker(self, watch)
        self._conditions: Mapping[str, Callable[[], bool]] = {
            # Its actions are those of the plan; over something else it would act beneath it.
            "command_palette": lambda: self.screen is self.main,
            "pause": lambda: self.runner.is_busy or is_committing(),
            "answer": lambda: bool(self.main.required),
            "execute": lambda: self.is_free,
            "review": lambda: self._takes("review show"),
            "runs": lambda: self.current is not None,
            "set_status": lambda: self.current is not None and not self._is_worked_on(self.current),
        }
        self.wear(watch.workspace)

    @property
    def picture(self) -> Picture | None:
        """How everything stood at the last look."""
        return self.main.picture

    @cached_property
    def doing(self) -> "Doing":
        """What a person may ask for."""
        from git_blackbird.tui.doing import Doing  # noqa: PLC0415  # the plan is shown before it is loaded

        return Doing(self)

    @property
    def current(self) -> Task | None:
        """The task under the cursor."""
        return self.main.current

    @cached_property
    def listing(self) -> "Listing":
        """The paths that can be named in what is written here."""
        from git_blackbird.tui.listing import Listing  # noqa: PLC0415  # as above

        return Listing(self._watch.workspace)

    @cached_property
    def drafts(self) -> "Drafts":
        """What was written, and is yet to be sent."""
        from git_blackbird.controller.drafts import Drafts  # noqa: PLC0415  # as above

        return Drafts(self._watch.workspace)

    def get_default_screen(self) -> MainScreen:
        """Begin with the plan."""
        try:
            self.main.show_plan(self._watch.plan())
        except BlackbirdError as error:
            self.call_after_refresh(self._looker.say_trouble, error)
        return self.main

    async def on_unmount(self) -> None:
        """Keep what is being written; what the other classes do then is done as well."""
        self.drafts.save()

    def on_mount(self) -> None:
        """Begin to look."""
        # A look takes turns with the screen: it must not keep a key waiting.
        sys.setswitchinterval(_TURN_SECONDS)
        # The plan is there at once; reading the records takes turns with whatever a person does then.
        self.call_after_refresh(self.look)
        self.set_interval(_LOOK_SECONDS, self.look)

    def on_key(self, event: events.Key) -> None:
        """Say what a key would do that does nothing now."""
        deed = BY_KEY.get(event.key)
        if self.screen is self.main and deed is not None and not self.is_possible(deed.action):
            about = "" if self.current is None else f" of {self.current.id}"
            self.notify(f"{deed.label}{about} is not possible now", severity="warning", markup=False)

    def on_resize(self) -> None:
        """Draw all of it once more a moment later: what was under way was drawn for another size."""
        self.set_timer(_SETTLE_SECONDS, partial(self.refresh, layout=True))

    async def on_event(self, event: events.Event) -> None:
        """Answer what a person does before anything else."""
        if isinstance(event, events.Paste):
            # What is copied may hold anything, and what is typed is shown. Terminals end lines as Enter does.
            event.text = clean(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        if isinstance(event, events.InputEvent) and self.screen_stack:
            self._looker.turns.take()
            self.call_after_refresh(self._looker.turns.give_back)
        await super().on_event(event)

    def look(self) -> None:
        """Look whether anything changed; one look at a time."""
        self._looker.look()

    async def ask(self, screen: "Modal[T]") -> T | None:
        """Ask on a screen of its own; cancelled, it is gone with all that came up over it."""
        self.opened()
        try:
            return await self.push_screen_wait(screen)
        finally:
            if screen in self.screen_stack:
                # It goes while someone may be typing there.
                self.ignore_strays()
                # At once, not with `pop_until_active`: that pops later, when the next question may be on top.
                for over in self.screen_stack[: self.screen_stack.index(screen) : -1]:
                    _ = over.dismiss()
                screen.give(None)

    def tell(self, event: Event) -> None:
        """Show what happens in a run, from any thread; a key that is being answered goes first."""
        self._looker.turns.wait()
        if isinstance(event, RunStarted) and self.is_running:
            self.call_later(self.main.show_live)
        if isinstance(event, Decided) and self.is_running:
            self.call_later(self.drafts.settle, event)
        if isinstance(event, Notice) and event.weight is not Weight.INFO:
            # What comes up next may be about it, and hides the log.
            self.call_later(self._warn, "\n".join(filter(None, (event.text, event.hint))))
        self.main.live.tell(event)

    def _warn(self, text: str) -> None:
        self.notify(clean(text), severity="warning", timeout=_WARNING_SECONDS, markup=False)

    def show_stop(self, stop: Stop) -> None:
        """Say how a call ended and what to do next."""
        text = "\n".join((stop.text, *render_next_steps(stop)))
        self.say(text, is_good=stop.reason in _GOOD_ENDS)
        if stop.reason is StopReason.PARENT_REVIEW_REQUIRED and stop.held:
            self.ignore_strays()
            self.run_worker(self.doing.show_review(stop.held[0].task_id))

    def say_unsent(self, task_id: TaskId, text: str) -> None:
        """Say that a text has not gone anywhere; all of it is in the log, whatever becomes of the task."""
        self.main.live.say(f"not sent to {task_id}'s agent:\n{text}")
        told = f"Your text for {task_id} was not sent: t shows it, m on the task continues it"
        self.notify(told, markup=False)

    def complain(self, error: BlackbirdError) -> None:
        """Say why something could not be done."""
        self.say("\n".join(filter(None, (error.message, error.hint))), is_good=False)

    def say(self, text: str, *, is_good: bool) -> None:
        """Say something that is to be noticed, and stays in the log."""
        self.main.live.say(text)
        self.notify(clean(text), severity="information" if is_good else "warning", markup=False)

    def rest(self) -> None:
        """Nothing runs any more."""
        self.main.live.rest()
        if self.is_running:
            self.refresh_bindings()
            self.look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Say which keys work here and now; a key of the plan is elsewhere part of a text, or another key."""
        del parameters
        if action == _SUSPEND:
            # In a text its key takes back what was typed last.
            return not isinstance(self.focused, TextArea)
        return (self._is_at_plan or action not in _OF_PLAN) and self.is_possible(action)

    @property
    def _is_at_plan(self) -> bool:
        """Whether keys are actions on the plan; in the search they are letters."""
        return self.screen is self.main and not isinstance(self.focused, Input)

    @property
    def choosing_keys(self) -> frozenset[str]:
        """On the plan, the keys of its actions as well: a letter of a text would start something there."""
        keys = super().choosing_keys
        return keys | BY_KEY.keys() if self._is_at_plan else keys

    def is_possible(self, action: str) -> bool:
        """Say whether a deed can be done now."""
        condition = self._conditions.get(action)
        if condition is not None:
            return condition()
        verbs = _TAKEN_BY.get(action)
        is_possible = action in _RECORDED or self.is_free
        return verbs is None or (is_possible and any(map(self._takes, verbs)))

    @property
    def is_free(self) -> bool:
        """Whether nobody runs agents here, as far as is known."""
        is_held = self.picture is not None and self.picture.overview.holder is not None
        return not self.runner.is_busy and not is_held

    def _is_worked_on(self, task: Task) -> bool:
        """Whether an agent is at work on it."""
        running = () if self.picture is None else self.picture.overview.running
        return any(one.alive and one.run.task_id == task.id for one in running)

    def _takes(self, verb: str) -> bool:
        """Whether a command would take the task under the cursor."""
        return (
            self.picture is not None
            and self.current is not None
            and self.picture.takes(verb, self.current.id)
        )

    def start(self, command: str, prepare: Prepare) -> None:
        """Begin what a command does."""
        self.runner.start(command, prepare)
        self.refresh_bindings()

    def action_execute(self) -> None:
        """Do what is due."""
        self.doing.execute()

    def action_execute_task(self) -> None:
        """Run one task."""
        if (task := self.current) is not None:
            self.doing.execute_task(task)

    def action_resume(self) -> None:
        """Go on in a session, or decide where that is what is due."""
        if (task := self.current) is None:
            return
        if self._takes("decide"):
            self.action_decide()
        else:
            self.doing.resume(task)

    def action_restart(self) -> None:
        """Start in a new session."""
        if (task := self.current) is not None:
            self.open_soon(self.doing.restart(task))

    def action_decide(self) -> None:
        """Decide on a run while nothing runs here."""
        if (task := self.current) is not None:
            self.open_soon(self.doing.decide(task))

    def action_tell(self) -> None:
        """Tell a task's agent something."""
        if (task := self.current) is not None:
            self.open_soon(self.doing.tell(task))

    def action_review(self) -> None:
        """Show how the reviews of a task stand."""
        if (task := self.current) is not None:
            self.open_soon(self.doing.show_review(task.id))

    def action_runs(self) -> None:
        """Look at what happened on a task."""
        if (task := self.current) is not None:
            self.open_soon(self.doing.runs(task))

    def action_pause(self) -> None:
        """Pause what runs; again, quit: who asks twice does not want to wait."""
        if not self.runner.is_busy:
            self.say("interrupting the commit", is_good=True)
            self.is_told_to_stop = True
            interrupt_commit()
            return
        is_first = not self.runner.is_pausing
        self.runner.interrupt()
        if is_first:
            self.say("pausing runs; ctrl+c again kills them and exits", is_good=True)
        else:
            self.leave()

    def action_withdraw(self) -> None:
        """Leave what is shown over the plan, or else the application; what was written stays."""
        if self.screen is self.main or not isinstance(self.screen, ModalScreen):
            self.leave()
        else:
            self.call_later(self.screen.run_action, "leave")

    async def action_quit(self) -> None:
        """Leave, once what runs is paused and its record says so."""
        if self.runner.is_busy:
            self.say("pausing runs before exit; ctrl+c kills them", is_good=True)
        self.leave()

    def action_retry(self) -> None:
        """Make a task todo again."""
        if (task := self.current) is not None:
            self.open_soon(self.doing.retry(task))

    def action_set_status(self) -> None:
        """Set a status by hand."""
        if (task := self.current) is not None:
            self.open_soon(self.doing.set_status(task))

    def action_choose_agent(self) -> None:
        """Choose the agent of new runs."""
        self.open_soon(self.doing.choose_agent())

    async def action_settings(self) -> None:
        """Show and change the configuration."""
        await self.doing.settings()

    def action_answer(self) -> None:
        """Open the next decision; where none is due, go to the next item that waits for a person."""
        item = self.main.next_required
        if item is None:
            return
        self.main.plan_tree.select(item.task_id)
        if self.main.is_decision(item):
            self.action_decide()

    def action_switch(self) -> None:
        """Show the task, or what agents do."""
        self.main.switch()

    def action_search(self) -> None:
        """Search in the plan."""
        self.main.search()

    async def action_help(self) -> None:
        """List all keys."""
        await self.doing.help(self.current)
