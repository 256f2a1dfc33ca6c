"""What agents do right now: the steps of the run at work, and what it has cost so far."""

import time
from collections import deque
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import RichLog, Static

from git_blackbird.messages.amounts import render_duration
from git_blackbird.messages.event_text import render_event, render_step
from git_blackbird.messages.figures import Spent, render_spent
from git_blackbird.model.conversation import Progress, ProgressKind
from git_blackbird.model.events import Event, Notice, RunEnded, RunProgressed, RunStarted, Weight
from git_blackbird.model.run import RunStatus
from git_blackbird.model.text import clean, clean_line

_KEPT_LINES = 2_000
_WAITING_LINES = 500
_FRAME_SECONDS = 0.1
_LONGEST_STEP = 2_000
_NOTHING = Spent()
_ENDS = {RunStatus.SUCCESS: "green", RunStatus.FAILED: "bold red"}
_WEIGHTS = {Weight.INFO: "", Weight.WARNING: "yellow", Weight.ERROR: "bold red"}


@dataclass(frozen=True)
class Work:
    """A run at work: whose, since when by the monotonic clock, what it has spent."""

    title: str
    since: float
    spent: Spent = _NOTHING


class LiveLog(RichLog):
    """The lines; the oldest give way."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]


class Live(Vertical):
    """Shows events and steps as they come; what comes faster than it is drawn is passed over."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self._work: Work | None = None
        self._waiting: deque[Text] = deque(maxlen=_WAITING_LINES)
        self._passed_over = 0
        self._shown_head = ""

    def compose(self) -> ComposeResult:
        """Make the head and the log."""
        yield Static("no agent is at work", id="work", markup=False)
        yield LiveLog(id="log", max_lines=_KEPT_LINES, wrap=True, markup=False, highlight=False, min_width=20)

    def on_mount(self) -> None:
        """Draw ten times a second at most, whatever comes."""
        self.set_interval(_FRAME_SECONDS, self._draw)

    def tell(self, event: Event) -> None:
        """Take an event; must not block, and keeps nothing for ever."""
        match event:
            case RunStarted():
                self._work = Work(f"{event.task_id}  {clean_line(event.title)}", time.monotonic())
            case RunProgressed():
                self.tell_step(event.progress)
            case RunEnded():
                self._work = None
            case _:
                pass
        text = render_event(event)
        if text is not None:
            self._put(Text(text, _style(event)))

    def tell_step(self, step: Progress) -> None:
        """Take one step of the run at work."""
        if self._work is not None:
            spent = self._work.spent.told(step.usage, step.cost_usd)
            self._work = Work(self._work.title, self._work.since, spent)
        if step.kind is ProgressKind.SAYS:
            self._put(Text(clean(step.text[:_LONGEST_STEP]).strip()))
        elif step.kind is not ProgressKind.SPENDS:
            self._put(Text(render_step(step), "dim"))

    def follow(self, title: str) -> None:
        """Say whose steps come from now on: a run that another process watches over."""
        self._work = Work(title, time.monotonic())

    def rest(self) -> None:
        """Say that nobody is at work any more."""
        self._work = None

    def say(self, text: str) -> None:
        """Write a line of our own."""
        self._put(Text(clean(text), "bold"))

    def _put(self, line: Text) -> None:
        if len(self._waiting) == _WAITING_LINES:
            self._passed_over += 1
        self._waiting.append(line)

    def _draw(self) -> None:
        head = self._head()
        if head != self._shown_head:
            self._shown_head = head
            self.query_one("#work", Static).update(head)
        if not self._waiting:
            return
        log = self.query_one(LiveLog)
        if self._passed_over:
            log.write(Text(f"[{self._passed_over} lines passed over]", "dim"))
            self._passed_over = 0
        while self._waiting:
            log.write(self._waiting.popleft())

    def _head(self) -> str:
        if self._work is None:
            return "no agent is at work"
        elapsed = render_duration(time.monotonic() - self._work.since)
        return "  ".join(filter(None, (self._work.title, elapsed, render_spent(self._work.spent))))


def _style(event: Event) -> str:
    if isinstance(event, RunEnded):
        return _ENDS.get(event.run.status, "bold yellow")
    return _WEIGHTS[event.weight] if isinstance(event, Notice) else "bold"
