"""The live log: the steps of active runs, and what each has cost so far."""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.widgets import Static

from git_blackbird.messages.display.events import (
    event_style,
    render_event,
    render_step,
    render_verdicts,
    step_lines,
)
from git_blackbird.messages.display.format import review_word
from git_blackbird.messages.display.quantities import render_duration, render_spent
from git_blackbird.messages.document import Line, Style, line, plain
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId
from git_blackbird.model.rules.spending import Spent, total_of
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.states import RunType
from git_blackbird.model.views.events import (
    Event,
    ReviewsEnded,
    RunEnded,
    RunOutput,
    RunPlaced,
    RunProgress,
    RunStarted,
)
from git_blackbird.tui.widgets.line_view import LONGEST, TextPane, wrapped_line
from git_blackbird.tui.widgets.log_queue import MAX_LINES, LogQueue, OutputTail, TaskLogs
from git_blackbird.tui.widgets.status_line import AtWork

_MAX_RUNS = 5
_MAX_ROWS = 2 * MAX_LINES
_FRAME_SECONDS = 0.1
_LONGEST_STEP = 2_000
_NOT_LOGGED = frozenset({ProgressKind.SPENDS, ProgressKind.PRINTS})


@dataclass(frozen=True)
class LiveEntry:
    """A run at work, with its start by the monotonic clock and its cost.

    ``review`` is the kind of review, "" for a run that is none; ``last`` is its last step, ``printed`` the
    last line of one that has none.
    """

    task_id: TaskId
    title: str
    review: str
    since: float
    spent: Spent = field(default_factory=Spent)
    last: Progress | None = None
    printed: str = ""
    worker: str = ""

    @property
    def about(self) -> str:
        """The task, which review of it this is, and the worker of a cluster that it is on."""
        is_of_task = self.review and self.task_id != PLANNING
        about = f"{self.review} of {self.task_id}" if is_of_task else self.review or self.task_id
        return f"{about} on {self.worker}" if self.worker else about

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.since

    @classmethod
    def of(cls, run_type: RunType, task_id: TaskId, title: str, seconds: float = 0.0) -> Self:
        return cls(task_id, title, review_word(run_type), time.monotonic() - seconds)

    def after(self, step: Progress) -> "LiveEntry":
        # Rendered when it is drawn: most steps of a fast run never are.
        last = self.last if step.kind in _NOT_LOGGED else step
        return replace(self, spent=self.spent.updated(step.usage, step.cost_usd), last=last)

    def line(self) -> str:
        # What changes comes first: on a narrow screen the line is cut.
        spent = render_spent(self.spent)
        return "  ".join(filter(None, (render_duration(self.seconds), spent, self.about, self.title)))

    def line_of_many(self) -> str:
        """Return the line among others, with the last step instead of the title."""
        did = render_step(self.last) if self.last is not None else self.printed
        parts = render_duration(self.seconds), render_spent(self.spent), self.about, did or self.title
        return "  ".join(filter(None, parts))


class LiveLog(TextPane, can_focus=True):
    """The newest lines; scrolls with them unless someone has scrolled up.

    Textual's RichLog neither wraps again in another width nor stays at its lines when the oldest go.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: deque[Line] = deque(maxlen=MAX_LINES)
        self._rows: deque[Line] = deque(maxlen=_MAX_ROWS)
        self._follows = True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow new lines until someone scrolls up, and again at the end."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = self.is_vertical_scroll_end

    @property
    def lines(self) -> Sequence[Line]:
        return tuple(self._lines)

    def replace(self, lines: Sequence[Line]) -> None:
        """Show other lines, from their end."""
        self._lines.clear()
        self._rows.clear()
        self._follows = True
        self.add(lines)

    def add(self, lines: Sequence[Line]) -> None:
        follows = self._follows
        lines = [line.part(0, LONGEST) for line in lines]
        self._lines.extend(lines)
        rows = [row for line in lines for row in wrapped_line(line, self._width)] if self._width else []
        dropped = max(0, len(self._rows) + len(rows) - _MAX_ROWS)
        self._rows.extend(rows)
        self._grow()
        if dropped and not follows:
            self.scroll_to(y=self.scroll_y - dropped, animate=False)
        self._follow(follows=follows)
        self.refresh()

    def _grow(self) -> None:
        """Tell how many rows there are; a new size makes Textual lay out the whole screen again."""
        size = Size(self._width, len(self._rows))
        if self.show_vertical_scrollbar and size.height >= self.container_size.height:
            # Nothing moves, but for the bar.
            self.set_reactive(LiveLog.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = size.height
        else:
            self.virtual_size = size

    def on_resize(self, event: events.Resize) -> None:
        """Stay at the end if it is shown."""
        follows = self._follows
        super().on_resize(event)
        self._follow(follows=follows)

    def _follow(self, *, follows: bool) -> None:
        if follows:
            # Nothing scrolls before there is a bar.
            self.scroll_end(animate=False, immediate=self.show_vertical_scrollbar, x_axis=False)
            self._follows = True

    def _wrap(self) -> None:
        super()._wrap()
        self._rows = deque(self._rows, maxlen=_MAX_ROWS)


class LivePane(Vertical):
    """Shows events and steps; steps that arrive faster than they are drawn are skipped.

    Any thread may call it without waiting: the lock is held for microseconds.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.log_view = LiveLog(id="log")
        self._lock = threading.RLock()
        self._active: dict[RunId, LiveEntry] = {}
        self._outputs: dict[RunId, OutputTail] = {}
        self._queue = LogQueue()
        self._logs = TaskLogs()
        self._spent: dict[RunId, Spent] = defaultdict(Spent)
        self._seconds = 0.0
        self._drawn_head = ""
        self._drawn_task: TaskId | None = None
        # The task under the cursor, whose run comes first of those at work.
        self.followed: TaskId | None = None
        # Whether each line names its task, as of agents that start one by one and then work side by side.
        self.is_parallel = False

    def has_others(self, task_id: TaskId) -> bool:
        """Whether a run of another task is at work that it shows."""
        return any(run.task_id != task_id for run in self._active.values())

    def follow(self, task_id: TaskId | None) -> None:
        """Show the log of this task alone while its agent is one of several at work."""
        self.followed = task_id

    @property
    def at_work(self) -> AtWork:
        """The agents that this screen has seen work."""
        with self._lock:
            runs = [(run.about, run.seconds) for run in self._active.values()]
            seconds = self._seconds + sum(seconds for _, seconds in runs)
            return AtWork(runs, seconds, total_of(self._spent.values()))

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
            case RunPlaced():
                self.place_run(event.run_id, event.worker)
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
            self._queue.put(text, event_style(event))

    def add_step(self, run_id: RunId, step: Progress) -> None:
        """Show one step of an active run, marked where others work side by side."""
        with self._lock:
            run = self._active.get(run_id)
            if run is not None:
                self._active[run_id] = run.after(step)
                if step.usage is not None or step.cost_usd is not None:
                    self._spent[run_id] = self._spent[run_id].updated(step.usage, step.cost_usd)
            if step.kind not in _NOT_LOGGED:
                task_id = None if run is None else run.task_id
                self._queue.put_step(task_id, partial(step_lines, step, self._mark(run_id), _LONGEST_STEP))

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

    def place_run(self, run_id: RunId, worker: str) -> None:
        """Say which worker of a cluster an active run is on."""
        with self._lock:
            if run_id in self._active:
                self._active[run_id] = replace(self._active[run_id], worker=worker)

    def remove_run(self, run_id: RunId) -> None:
        with self._lock:
            output = self._outputs.pop(run_id, None)
            if output is not None:
                self._put_output(run_id, output.finish())
            run = self._active.pop(run_id, None)
            if run is not None:
                self._seconds += run.seconds

    def when_idle(self) -> None:
        with self._lock:
            self._active.clear()

    def log_line(self, text: str) -> None:
        """Write a line that comes from the application itself."""
        with self._lock:
            self._queue.put(text, Style.HEADING)

    def _draw(self) -> None:
        with self._lock:
            # The one under the cursor first; the others as they began.
            runs = sorted(self._active.values(), key=lambda run: run.task_id != self.followed)
            for run_id, output in self._outputs.items():
                self._put_output(run_id, output.lines())
            entries = self._queue.take()
        self._draw_head(runs)
        self._logs.add(entries)
        tasks = {run.task_id for run in runs}
        shown = self.followed if len(tasks) > 1 and self.followed in tasks else None
        if shown != self._drawn_task:
            self._drawn_task = shown
            self.log_view.replace(self._logs.lines(shown))
        elif lines := [entry.line for entry in entries if shown is None or entry.task_id in (None, shown)]:
            self.log_view.add(lines)

    def _put_output(self, run_id: RunId, lines: Sequence[str]) -> None:
        """Add lines that an agent printed, each with the mark of its run."""
        run, mark = self._active.get(run_id), self._mark(run_id)
        if lines and run is not None:
            self._active[run_id] = replace(run, printed=lines[-1])
        self._queue.put_lines(None if run is None else run.task_id, [f"{mark}{line}" for line in lines])

    def _draw_head(self, runs: Sequence[LiveEntry]) -> None:
        more = [f"and {len(runs) - _MAX_RUNS} more"] if len(runs) > _MAX_RUNS else []
        texts = (run.line_of_many() if len(runs) > 1 else run.line() for run in runs[:_MAX_RUNS])
        shown = plain(map(line, texts))
        head = "\n".join([*shown, *more]) or "no agent is at work"
        if head != self._drawn_head:
            # With the same height, nothing else has to move.
            has_new_height = head.count("\n") != self._drawn_head.count("\n")
            self._drawn_head = head
            self.query_one("#work", Static).update(head, layout=has_new_height)
