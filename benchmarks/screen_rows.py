"""Row 16: the screen over a large plan, from the start to the first paint, and from a key to its paint."""

import os
import pty
import re
import select
import signal
import struct
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Self

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Sample
from benchmarks.plan_rows import build_run, task_id
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.timestamps import format_timestamp
from git_blackbird.storage.plan_format import render_plan
from git_blackbird.storage.records import render_record

_TASKS = 10_000
_KEYS = 30
_BEGAN = 1_767_323_045 * 10**9
_STAMP = format_timestamp(_BEGAN)
_FIRST_PAINT_MS = 1000.0
_KEY_MS = 50.0
_PATIENCE_SECONDS = 60.0
_CONTROL = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")


def screen(bench: Bench) -> Iterator[Row]:
    """First paint of 10,000 tasks with 10,000 runs, and key to paint; each against its limit alone."""
    repo = bench.make_repository("row-16", 1)
    say("writing a plan of 10,000 tasks and 10,000 records")
    save_plan_and_records(repo)
    paints, keys = [], []
    for _ in range(bench.ruler.rounds):
        with Screen(bench, repo) as shown:
            paints.append(shown.first_paint())
            keys.extend(shown.keys())
    ruler = bench.ruler
    for what, samples, limit in (
        ("screen: first paint of 10,000 tasks and runs", paints, _FIRST_PAINT_MS),
        ("screen: key to paint over them", keys, _KEY_MS),
    ):
        figure = ruler.figure(samples)
        yield Row("16", what, figure, figure, 1.0, limit=0.0, or_below=limit)


def save_plan_and_records(repo: Path) -> None:
    """Write the tasks, and a run of each."""
    names = [task_id(number) for number in range(_TASKS)]
    tasks = {name: Task(id=name, title="Do it", created_at=_STAMP, updated_at=_STAMP) for name in names}
    (repo / "blackbird.plan.json").write_bytes(render_plan(Plan(tasks)))
    for number, name in enumerate(names):
        run = build_run(name, _BEGAN + number * 10**9)
        folder = repo / ".blackbird" / "runs" / name
        folder.mkdir(parents=True)
        (folder / f"{run.id}.json").write_bytes(render_record(run))


class Screen:
    """The application in a terminal of 80 columns and 24 lines."""

    def __init__(self, bench: Bench, repo: Path) -> None:
        self._program = bench.program
        self._environ = {**bench.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._repo = repo

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(self._repo)
            os.execve(self._program, [self._program, "tui"], self._environ)
        ioctl(self._terminal, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)

    def first_paint(self) -> Sample:
        """Wait for the first task on the screen."""
        self._wait_for(task_id(0).encode())
        return Sample((time.perf_counter() - self._began) * 1000, 0.0)

    def keys(self) -> Iterator[Sample]:
        """Wait until the records are there as well, then move down key by key."""
        self._wait_for(b"Runs")
        for number in range(1, _KEYS):
            self._drain()
            began = time.perf_counter()
            os.write(self._terminal, b"j")
            self._wait_for(task_id(number).encode())
            yield Sample((time.perf_counter() - began) * 1000, 0.0)

    def _wait_for(self, text: bytes) -> None:
        seen, deadline = b"", time.monotonic() + _PATIENCE_SECONDS
        while text not in _CONTROL.sub(b"", seen):
            assert time.monotonic() < deadline, f"{text!r} never came"
            if select.select([self._terminal], [], [], 0.5)[0]:
                seen += os.read(self._terminal, 65536)

    def _drain(self) -> None:
        """Read what still comes, until nothing does for a moment."""
        while select.select([self._terminal], [], [], 0.1)[0]:
            os.read(self._terminal, 65536)
