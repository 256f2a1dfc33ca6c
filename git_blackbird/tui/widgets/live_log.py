"""The live log: the steps of active runs, and what each has cost so far.

Events are never dropped. Steps and output that arrive faster than they are drawn are bounded and counted.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.widgets import Static

from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.messages.display.events import render_event, render_step, render_verdicts
from git_blackbird.messages.display.format import UsageCost, render_duration, render_spent, review_word
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.sanitize import StreamSanitizer, clean_line, strip_controls
from git_blackbird.model.entities.agent_io import Progress, ProgressKind
from git_blackbird.model.entities.run import RunStatus, RunType
from git_blackbird.model.views.events import (
    Event,
    Level,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunOutput,
    RunProgress,
    RunStarted,
)
from git_blackbird.tui.widgets.line_view import LONGEST, WrappedView, wrapped

_MAX_BYTES = 16 * 1024
_LONGEST_PARTIAL = 2_000


class OutputTail:
    """Buffers output of any speed without blocking; keeps the last bytes and counts the others."""

    def __init__(self) -> None:
        self._stream = StreamSanitizer()
        self._buffer = bytearray()
        self._partial = ""
        self._dropped = 0

    def feed(self, data: bytes, skipped: int = 0) -> None:
        """Add output, dropping the oldest if there is too much."""
        self._buffer += data[-_MAX_BYTES:]
        excess = max(0, len(self._buffer) - _MAX_BYTES)
        self._dropped += skipped + excess + max(0, len(data) - _MAX_BYTES)
        del self._buffer[:excess]

    def lines(self) -> list[str]:
        lines: list[str] = []
        if self._dropped:
            lines = self._take_partial()
            lines.append(f"[{self._dropped} bytes are not shown: the screen could not keep up]")
            self._dropped = 0
        text = self._partial + self._stream.feed(bytes(self._buffer))
        self._buffer.clear()
        *ended, self._partial = text.split("\n")
        if len(self._partial) > _LONGEST_PARTIAL:
            ended.append(self._partial)
            self._partial = ""
        return lines + ended

    def finish(self) -> list[str]:
        """Return the remaining lines, also an unfinished one."""
        return self.lines() + self._take_partial()

    def _take_partial(self) -> list[str]:
        text, self._partial = self._partial + self._stream.finish(), ""
        return text.splitlines()


_MAX_STEPS = 200

MakeLines = Callable[[], Iterable[StyledLine]]
"""Formats an entry when it is drawn; most steps of a fast run never are."""


class LogQueue:
    """Keeps all entries in order; drops the oldest steps when there are too many, and counts them."""

    def __init__(self) -> None:
        self._events: list[tuple[int, MakeLines]] = []
        self._steps: deque[tuple[int, MakeLines]] = deque(maxlen=_MAX_STEPS)
        self._count = 0
        self._dropped = 0

    def put(self, text: str, tone: Style) -> None:
        """Add a text that is never dropped."""
        self._count += 1
        self._events.append((self._count, partial(_lines, text, tone)))

    def put_step(self, make_lines: MakeLines) -> None:
        """Add a step, dropping the oldest one if the queue is full."""
        self._count += 1
        self._dropped += len(self._steps) == _MAX_STEPS
        self._steps.append((self._count, make_lines))

    def put_lines(self, lines: Sequence[str]) -> None:
        """Add lines, the last ones if there are too many."""
        self._dropped += max(0, len(lines) - _MAX_STEPS)
        for text in lines[-_MAX_STEPS:]:
            self.put_step(partial(_lines, text, Style.PLAIN))

    def take(self) -> list[StyledLine]:
        entries = [*self._events, *self._steps]
        if self._dropped:
            remark = f"[{self._dropped} lines not shown]"
            entries.append((self._steps[0][0] - 1, partial(_lines, remark, Style.FAINT)))
        self._events.clear()
        self._steps.clear()
        self._dropped = 0
        return [
            line for _, make_lines in sorted(entries, key=lambda entry: entry[0]) for line in make_lines()
        ]


def _lines(text: str, tone: Style) -> list[StyledLine]:
    return [StyledLine(line, tone) for line in text.split("\n")]


_MAX_LINES = 2_000
_MAX_RUNS = 5
_MAX_ROWS = 2 * _MAX_LINES
_FRAME_SECONDS = 0.1
_LONGEST_STEP = 2_000
_NOTHING = UsageCost()
_NOT_LOGGED = frozenset({ProgressKind.SPENDS, ProgressKind.PRINTS})
_END_STYLES = {RunStatus.SUCCESS: Style.ADDED, RunStatus.FAILED: Style.REMOVED}
_LEVEL_STYLES = {Level.INFO: Style.PLAIN, Level.WARNING: Style.WARNING, Level.ERROR: Style.REMOVED}


@dataclass(frozen=True)
class LiveEntry:
    """A run at work, with its start by the monotonic clock and its cost.

    ``review`` is the kind of review, "" for a run that is none.
    """

    task_id: TaskId
    title: str
    review: str
    since: float
    spent: UsageCost = _NOTHING

    @classmethod
    def of(cls, run_type: RunType, task_id: TaskId, title: str, seconds: float = 0.0) -> Self:
        review = review_word(run_type)
        about = f"{review} of {task_id}" if review else task_id
        return cls(task_id, f"{about}  {clean_line(title)}", review, time.monotonic() - seconds)

    def after(self, step: Progress) -> "LiveEntry":
        return replace(self, spent=self.spent.updated(step.usage, step.cost_usd))

    def line(self) -> str:
        elapsed = render_duration(time.monotonic() - self.since)
        # What changes comes first: on a narrow screen the line is cut.
        return "  ".join(filter(None, (elapsed, render_spent(self.spent), self.title)))


class LiveLog(WrappedView, can_focus=True):
    """The newest lines; scrolls with them unless someone has scrolled up.

    Textual's RichLog neither wraps again in another width nor stays at its lines when the oldest go.
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self._lines: deque[StyledLine] = deque(maxlen=_MAX_LINES)
        self._rows: deque[StyledLine] = deque(maxlen=_MAX_ROWS)
        self._follows = True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow new lines until someone scrolls up, and again at the end."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = self.is_vertical_scroll_end

    @property
    def lines(self) -> Sequence[StyledLine]:
        return tuple(self._lines)

    def add(self, lines: Sequence[StyledLine]) -> None:
        follows = self._follows
        self._lines.extend(StyledLine(line.text[:LONGEST], line.tone) for line in lines)
        rows = [row for line in lines for row in wrapped(line, self._width)] if self._width else []
        dropped = max(0, len(self._rows) + len(rows) - _MAX_ROWS)
        self._rows.extend(rows)
        self.virtual_size = Size(self._width, len(self._rows))
        if dropped and not follows:
            self.scroll_to(y=self.scroll_y - dropped, animate=False)
        self._follow(follows=follows)
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Stay at the end if it is shown."""
        follows = self._follows
        super().on_resize(event)
        self._follow(follows=follows)

    def _follow(self, *, follows: bool) -> None:
        if follows:
            self.scroll_end(animate=False, immediate=True, x_axis=False)
            self._follows = True

    def _wrap(self) -> None:
        super()._wrap()
        self._rows = deque(self._rows, maxlen=_MAX_ROWS)


class LivePane(Vertical):
    """Shows events and steps; steps that arrive faster than they are drawn are skipped.

    Any thread may call it without waiting: the lock is held for microseconds.
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self.log_view = LiveLog(id="log")
        self._lock = threading.RLock()
        self._active: dict[RunId, LiveEntry] = {}
        self._outputs: dict[RunId, OutputTail] = {}
        self._queue = LogQueue()
        self._drawn_head = ""
        # The task under the cursor, whose run comes first of those at work.
        self.followed: TaskId | None = None
        # Whether each line names its task, as of agents that start one by one and then work side by side.
        self.is_parallel = False

    def has_others(self, task_id: TaskId) -> bool:
        """Whether a run of another task is at work that it shows."""
        return any(run.task_id != task_id for run in self._active.values())

    def compose(self) -> ComposeResult:
        yield Static("no agent is at work", id="work", markup=False)
        yield self.log_view

    def on_mount(self) -> None:
        """Draw at most ten times a second."""
        self.set_interval(_FRAME_SECONDS, self._draw)

    def handle_event(self, event: Event) -> None:
        """Show an event; does not block, and stores a bounded amount."""
        with self._lock:
            self._handle(event)

    def _handle(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.add_run(event.run_id, LiveEntry.of(event.run_type, event.task_id, event.title))
            case RunProgress():
                self.add_step(event.run_id, event.progress)
            case RunOutput(is_plain=True):
                self.add_output(event.run_id, event.data, event.skipped)
            case RunEnded():
                self.remove_run(event.run.id)
            case _:
                pass
        # Only the verdicts of reviews that the checkpoint shows next.
        if isinstance(event, ReviewsEnded) and event.run.is_pending:
            text: str | None = render_verdicts(event)
        else:
            text = render_event(event)
        if text is not None:
            self._queue.put(text, _event_style(event))

    def add_step(self, run_id: RunId, step: Progress) -> None:
        """Show one step of an active run, marked where others work side by side."""
        with self._lock:
            run = self._active.get(run_id)
            if run is not None:
                self._active[run_id] = run.after(step)
            if step.kind not in _NOT_LOGGED:
                self._queue.put_step(partial(_step_lines, self._mark(run_id), step))

    def _mark(self, run_id: RunId) -> str:
        """Return what a line of a run begins with: its task where there are others, and its reviewer."""
        run = self._active.get(run_id)
        if run is None:
            return ""
        has_others = self.is_parallel or self.has_others(run.task_id)
        return "".join(f"{part}: " for part in (run.task_id if has_others else "", run.review) if part)

    def add_output(self, run_id: RunId, data: bytes, skipped: int = 0) -> None:
        """Show output that is no event stream, after so many bytes that were not read."""
        with self._lock:
            if run_id not in self._outputs:
                self._outputs[run_id] = OutputTail()
            self._outputs[run_id].feed(data, skipped)

    def add_run(self, run_id: RunId, run: LiveEntry) -> None:
        """Add an active run; called directly for runs that another process controls."""
        with self._lock:
            self._active[run_id] = run

    def remove_run(self, run_id: RunId) -> None:
        with self._lock:
            output, mark = self._outputs.pop(run_id, None), self._mark(run_id)
            self._active.pop(run_id, None)
            if output is not None:
                self._queue.put_lines([f"{mark}{line}" for line in output.finish()])

    def when_idle(self) -> None:
        with self._lock:
            self._active.clear()

    def log_line(self, text: str) -> None:
        """Write a line that comes from the application itself."""
        with self._lock:
            self._queue.put(strip_controls(text), Style.HEADING)

    def _draw(self) -> None:
        with self._lock:
            # The one under the cursor first; the others as they began.
            runs = sorted(self._active.values(), key=lambda run: run.task_id != self.followed)
            for run_id, output in self._outputs.items():
                mark = self._mark(run_id)
                self._queue.put_lines([f"{mark}{line}" for line in output.lines()])
            lines = self._queue.take()
        more = [f"and {len(runs) - _MAX_RUNS} more"] if len(runs) > _MAX_RUNS else []
        head = "\n".join([*(run.line() for run in runs[:_MAX_RUNS]), *more]) or "no agent is at work"
        if head != self._drawn_head:
            # With the same height, nothing else has to move.
            has_new_height = head.count("\n") != self._drawn_head.count("\n")
            self._drawn_head = head
            self.query_one("#work", Static).update(head, layout=has_new_height)
        if lines:
            self.log_view.add(lines)


def _step_lines(prefix: str, step: Progress) -> list[StyledLine]:
    if step.kind is not ProgressKind.SAYS:
        return [StyledLine(prefix + render_step(step), Style.FAINT)]
    text = strip_controls(step.text[:_LONGEST_STEP]).strip()
    return [StyledLine(line) for line in f"{prefix}{text}".split("\n")]


def _event_style(event: Event) -> Style:
    if isinstance(event, RunEnded):
        return _END_STYLES.get(event.run.status, Style.WARNING)
    if isinstance(event, ReviewsEnded):
        return Style.PLAIN
    return _LEVEL_STYLES[event.weight] if isinstance(event, Notice) else Style.HEADING
