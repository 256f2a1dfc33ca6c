"""What agents do right now: the steps of the runs at work, and what each has cost so far."""

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import RichLog, Static

from git_blackbird.messages.amounts import render_duration
from git_blackbird.messages.event_text import render_event, render_step, render_verdicts
from git_blackbird.messages.figures import Spent, render_spent
from git_blackbird.messages.run_text import review_word
from git_blackbird.model.conversation import Progress, ProgressKind
from git_blackbird.model.events import (
    Event,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunProgressed,
    RunStarted,
    Weight,
)
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.run import RunStatus, RunType
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
    """A run at work: whose, since when by the monotonic clock, what it has spent.

    ``review`` says which review it is; "" for one that is none.
    """

    title: str
    review: str
    since: float
    spent: Spent = _NOTHING

    @classmethod
    def of(cls, run_type: RunType, task_id: TaskId, title: str) -> Self:
        """Make it of a run that is seen to be at work now."""
        review = review_word(run_type)
        about = f"{review} of {task_id}" if review else task_id
        return cls(f"{about}  {clean_line(title)}", review, time.monotonic())

    def told(self, step: Progress) -> "Work":
        """Give it after a step."""
        return replace(self, spent=self.spent.told(step.usage, step.cost_usd))

    def line(self) -> str:
        """Say it in one line."""
        elapsed = render_duration(time.monotonic() - self.since)
        return "  ".join(filter(None, (self.title, elapsed, render_spent(self.spent))))


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
        self._works: dict[RunId, Work] = {}
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
                self._works[event.run_id] = Work.of(event.run_type, event.task_id, event.title)
            case RunProgressed():
                self.tell_step(event.run_id, event.progress)
            case RunEnded():
                self.leave(event.run.id)
            case _:
                pass
        text = _told(event)
        if text is not None:
            self._put(Text(text, _style(event)))

    def tell_step(self, run_id: RunId, step: Progress) -> None:
        """Take one step of a run at work; two reviewers are at it side by side."""
        work = self._works.get(run_id)
        if work is not None:
            self._works[run_id] = work.told(step)
        whose = f"{work.review}: " if work is not None and work.review else ""
        if step.kind is ProgressKind.SAYS:
            self._put(Text(whose + clean(step.text[:_LONGEST_STEP]).strip()))
        elif step.kind is not ProgressKind.SPENDS:
            self._put(Text(whose + render_step(step), "dim"))

    def follow(self, run_id: RunId, work: Work) -> None:
        """Say whose steps come from now on: a run that another process watches over."""
        self._works[run_id] = work

    def leave(self, run_id: RunId) -> None:
        """Say that a run is not at work any more."""
        self._works.pop(run_id, None)

    def rest(self) -> None:
        """Say that nobody is at work any more."""
        self._works.clear()

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
        # Taken whole at once: runs of another process come and go from another thread.
        return "\n".join(work.line() for work in tuple(self._works.values())) or "no agent is at work"


def _told(event: Event) -> str | None:
    """Say an event; of reviews that the checkpoint shows next, only what they came to."""
    if isinstance(event, ReviewsEnded) and event.run.is_pending:
        return render_verdicts(event)
    return render_event(event)


def _style(event: Event) -> str:
    if isinstance(event, RunEnded):
        return _ENDS.get(event.run.status, "bold yellow")
    if isinstance(event, ReviewsEnded):
        return ""
    return _WEIGHTS[event.weight] if isinstance(event, Notice) else "bold"
