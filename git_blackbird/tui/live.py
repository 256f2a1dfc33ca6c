"""What agents do right now: the steps of the runs at work, and what each has cost so far."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.widgets import Static

from git_blackbird.messages.amounts import render_duration
from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.event_text import render_event, render_step, render_verdicts
from git_blackbird.messages.figures import Spent, render_spent
from git_blackbird.messages.run_text import review_word
from git_blackbird.model.conversation import Progress, ProgressKind
from git_blackbird.model.events import (
    Event,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunPrinted,
    RunProgressed,
    RunStarted,
    Weight,
)
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.run import RunStatus, RunType
from git_blackbird.model.text import clean, clean_line
from git_blackbird.tui.backlog import Backlog
from git_blackbird.tui.line_view import FoldedView, folded
from git_blackbird.tui.lines import LONGEST
from git_blackbird.tui.printed import Printed

_KEPT_LINES = 2_000
_KEPT_ROWS = 2 * _KEPT_LINES
_FRAME_SECONDS = 0.1
_LONGEST_STEP = 2_000
_NOTHING = Spent()
_UNSEEN = frozenset({ProgressKind.SPENDS, ProgressKind.PRINTS})
_ENDS = {RunStatus.SUCCESS: Tone.ADDED, RunStatus.FAILED: Tone.REMOVED}
_WEIGHTS = {Weight.INFO: Tone.PLAIN, Weight.WARNING: Tone.WARNING, Weight.ERROR: Tone.REMOVED}


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
    def of(cls, run_type: RunType, task_id: TaskId, title: str, seconds: float = 0.0) -> Self:
        """Make it of a run that is seen to be at work now, and has been for so long."""
        review = review_word(run_type)
        about = f"{review} of {task_id}" if review else task_id
        return cls(f"{about}  {clean_line(title)}", review, time.monotonic() - seconds)

    def told(self, step: Progress) -> "Work":
        """Give it after a step."""
        return replace(self, spent=self.spent.told(step.usage, step.cost_usd))

    def line(self) -> str:
        """Say it in one line."""
        elapsed = render_duration(time.monotonic() - self.since)
        # What grows first: on a narrow screen the line is cut.
        return "  ".join(filter(None, (elapsed, render_spent(self.spent), self.title)))


class LiveLog(FoldedView, can_focus=True):
    """The lines; the oldest give way, and the newest are in view unless someone reads further above."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self._lines: deque[Line] = deque(maxlen=_KEPT_LINES)
        self._rows: deque[Line] = deque(maxlen=_KEPT_ROWS)
        self._follows = True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow what comes until someone scrolls up, and again from the end on."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = self.is_vertical_scroll_end

    @property
    def lines(self) -> Sequence[Line]:
        """The lines that are kept."""
        return tuple(self._lines)

    def add(self, lines: Sequence[Line]) -> None:
        """Add lines at the end."""
        follows = self._follows
        self._lines.extend(Line(line.text[:LONGEST], line.tone) for line in lines)
        rows = [row for line in lines for row in folded(line, self._width)] if self._width else []
        lost = max(0, len(self._rows) + len(rows) - _KEPT_ROWS)
        self._rows.extend(rows)
        self.virtual_size = Size(self._width, len(self._rows))
        if lost and not follows:
            self.scroll_to(y=self.scroll_y - lost, animate=False)
        self._go_on(follows=follows)
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Stay at the end."""
        follows = self._follows
        super().on_resize(event)
        self._go_on(follows=follows)

    def _go_on(self, *, follows: bool) -> None:
        if follows:
            self.scroll_end(animate=False, immediate=True, x_axis=False)
            self._follows = True

    def _fold(self) -> None:
        super()._fold()
        self._rows = deque(self._rows, maxlen=_KEPT_ROWS)


class Live(Vertical):
    """Shows events and steps as they come; what comes faster than it is drawn is passed over.

    It is told from any thread, and none waits: the lock is held for microseconds.
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self.log_view = LiveLog(id="log")
        self._lock = threading.RLock()
        self._works: dict[RunId, Work] = {}
        self._printed: dict[RunId, Printed] = {}
        self._backlog = Backlog()
        self._shown_head = ""

    def compose(self) -> ComposeResult:
        """Make the head and the log."""
        yield Static("no agent is at work", id="work", markup=False)
        yield self.log_view

    def on_mount(self) -> None:
        """Draw ten times a second at most, whatever comes."""
        self.set_interval(_FRAME_SECONDS, self._draw)

    def tell(self, event: Event) -> None:
        """Take an event; must not block, and keeps nothing for ever."""
        with self._lock:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.follow(event.run_id, Work.of(event.run_type, event.task_id, event.title))
            case RunProgressed():
                self.tell_step(event.run_id, event.progress)
            case RunPrinted(is_plain=True):
                self.tell_printed(event.run_id, event.data)
            case RunEnded():
                self.leave(event.run.id)
            case _:
                pass
        text = _told(event)
        if text is not None:
            self._backlog.put(text, _tone(event))

    def tell_step(self, run_id: RunId, step: Progress) -> None:
        """Take one step of a run at work; two reviewers are at it side by side."""
        with self._lock:
            work = self._works.get(run_id)
            if work is not None:
                self._works[run_id] = work.told(step)
            whose = f"{work.review}: " if work is not None and work.review else ""
            if step.kind not in _UNSEEN:
                self._backlog.put_step(partial(_step_lines, whose, step))

    def tell_printed(self, run_id: RunId, data: bytes) -> None:
        """Take output that is no event stream."""
        with self._lock:
            if run_id not in self._printed:
                self._printed[run_id] = Printed()
            self._printed[run_id].feed(data)

    def follow(self, run_id: RunId, work: Work) -> None:
        """Say whose steps come from now on: a run that another process watches over."""
        with self._lock:
            self._works[run_id] = work

    def leave(self, run_id: RunId) -> None:
        """Say that a run is not at work any more."""
        with self._lock:
            self._works.pop(run_id, None)
            printed = self._printed.pop(run_id, None)
            if printed is not None:
                self._backlog.put_lines(printed.finish())

    def rest(self) -> None:
        """Say that nobody is at work any more."""
        with self._lock:
            self._works.clear()

    def say(self, text: str) -> None:
        """Write a line of our own."""
        with self._lock:
            self._backlog.put(clean(text), Tone.HEADING)

    def _draw(self) -> None:
        self._draw_head()
        if lines := self._take():
            self.log_view.add(lines)

    def _take(self) -> list[Line]:
        with self._lock:
            for printed in self._printed.values():
                self._backlog.put_lines(printed.lines())
            return self._backlog.take()

    def _draw_head(self) -> None:
        head = self._head()
        if head == self._shown_head:
            return
        # What is as high as before moves nothing else.
        is_other_height = head.count("\n") != self._shown_head.count("\n")
        self._shown_head = head
        self.query_one("#work", Static).update(head, layout=is_other_height)

    def _head(self) -> str:
        with self._lock:
            works = tuple(self._works.values())
        return "\n".join(work.line() for work in works) or "no agent is at work"


def _step_lines(whose: str, step: Progress) -> list[Line]:
    if step.kind is not ProgressKind.SAYS:
        return [Line(whose + render_step(step), Tone.FAINT)]
    said = clean(step.text[:_LONGEST_STEP]).strip()
    return [Line(line) for line in f"{whose}{said}".split("\n")]


def _told(event: Event) -> str | None:
    """Say an event; of reviews that the checkpoint shows next, only what they came to."""
    if isinstance(event, ReviewsEnded) and event.run.is_pending:
        return render_verdicts(event)
    return render_event(event)


def _tone(event: Event) -> Tone:
    if isinstance(event, RunEnded):
        return _ENDS.get(event.run.status, Tone.WARNING)
    if isinstance(event, ReviewsEnded):
        return Tone.PLAIN
    return _WEIGHTS[event.weight] if isinstance(event, Notice) else Tone.HEADING
