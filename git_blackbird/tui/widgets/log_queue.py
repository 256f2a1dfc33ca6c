"""A bounded queue of agents' output, between the threads that read it and the screen that draws it.

Events are never dropped. Steps and output that arrive faster than they are drawn are.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import StreamSanitizer

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
_MAX_TASKS = 100
MAX_LINES = 2_000
"""How many lines are kept."""

MakeLines = Callable[[], Iterable[Line]]
"""Formats an entry when it is drawn; most steps of a fast run never are."""


class TaskLine(NamedTuple):
    """A line of the log, and the task whose agent it comes from; None for what concerns all."""

    task_id: TaskId | None
    line: Line


class _Entry(NamedTuple):
    number: int
    task_id: TaskId | None
    make_lines: MakeLines


class LogQueue:
    """Keeps all entries in order; drops the oldest steps when there are too many, and counts them."""

    def __init__(self) -> None:
        self._events: list[_Entry] = []
        self._steps: deque[_Entry] = deque(maxlen=_MAX_STEPS)
        self._count = 0
        self._dropped = 0

    def put(self, text: str, style: Style) -> None:
        """Add a text that is never dropped."""
        self._count += 1
        self._events.append(_Entry(self._count, None, partial(_lines, text, style)))

    def put_step(self, task_id: TaskId | None, make_lines: MakeLines) -> None:
        """Add a step of a task, dropping the oldest one if the queue is full."""
        self._count += 1
        self._dropped += len(self._steps) == _MAX_STEPS
        self._steps.append(_Entry(self._count, task_id, make_lines))

    def put_lines(self, task_id: TaskId | None, lines: Sequence[str]) -> None:
        """Add lines that a task's agent printed, the last ones if there are too many."""
        self._dropped += max(0, len(lines) - _MAX_STEPS)
        for text in lines[-_MAX_STEPS:]:
            self.put_step(task_id, partial(_lines, text, Style.PLAIN))

    def take(self) -> list[TaskLine]:
        """Return all lines in order, and forget them."""
        entries = [*self._events, *self._steps]
        if self._dropped:
            remark = f"[{self._dropped} lines not shown]"
            entries.append(_Entry(self._steps[0].number - 1, None, partial(_lines, remark, Style.FAINT)))
        self._events.clear()
        self._steps.clear()
        self._dropped = 0
        return [
            TaskLine(entry.task_id, line)
            for entry in sorted(entries, key=lambda entry: entry.number)
            for line in entry.make_lines()
        ]


def _lines(text: str, style: Style) -> list[Line]:
    return [styled(line, style) for line in text.split("\n")]


class TaskLogs:
    """The newest lines of all agents, and those of each of the last few tasks alone."""

    def __init__(self) -> None:
        self._all: deque[Line] = deque(maxlen=MAX_LINES)
        self._by_task: dict[TaskId, deque[Line]] = {}

    def add(self, entries: Iterable[TaskLine]) -> None:
        """Add lines; those that concern all belong to every task."""
        for task_id, line in entries:
            self._all.append(line)
            if task_id is None:
                for log in self._by_task.values():
                    log.append(line)
                continue
            if task_id not in self._by_task:
                self._by_task[task_id] = deque(maxlen=MAX_LINES)
                if len(self._by_task) > _MAX_TASKS:
                    del self._by_task[next(iter(self._by_task))]
            self._by_task[task_id].append(line)

    def lines(self, task_id: TaskId | None) -> Sequence[Line]:
        """Return the lines that concern a task, or all."""
        return tuple(self._all if task_id is None else self._by_task.get(task_id, ()))
