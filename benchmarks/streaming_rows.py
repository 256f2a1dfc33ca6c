"""Row 11: an agent that prints 100 MB, logged whole and followed on a terminal.

As a program it does the following in a process of its own, so that its memory can be told, and whose standard
output is the terminal: ``python -m benchmarks.streaming_rows SOURCE ROUNDS FOUND``.
"""

import asyncio
import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.bench import ROOT, Bench, say
from benchmarks.measuring import Row, Sample, forget_peak, in_turns, peak, run_call
from git_blackbird.agents.claude.parser import ClaudeParser
from git_blackbird.agents.command.agent import CommandParser
from git_blackbird.agents.process.gate import Watcher
from git_blackbird.agents.process.launch import spawn_gated
from git_blackbird.agents.process.logs import CHUNK_BYTES, LogFiles
from git_blackbird.agents.protocol import Assignment, Launch, Limits
from git_blackbird.agents.registry import child_environ
from git_blackbird.cli.ui.agent_printer import AgentPrinter
from git_blackbird.cli.ui.display import LiveDisplay
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.redaction import Redactor, secret_values
from git_blackbird.model.run.ended import ExitCause
from git_blackbird.model.views.events import RunOutput

_BYTES = 100_000_000
_MOST_MORE_MEGABYTES = 16
_TASK_ID, _RUN_ID = TaskId("t1"), RunId("0199f3a0c0000001")
_ASSIGNMENT = Assignment("command", _TASK_ID, _RUN_ID, "session", "", {})
_LIMITS = Limits(wall_seconds=600, idle_seconds=600, grace_seconds=1)
_READ_AT_ONCE = 65536


def streaming(bench: Bench) -> Iterator[Row]:
    """Row 11; the terminal is read as fast as it is written."""
    say("an agent prints 100 MB, several times")
    source = bench.place / "row-11" / "source"
    source.parent.mkdir(parents=True)
    _write_events(source)
    said = _measured(bench, source)
    ours, reference = ([Sample(*pair) for pair in said[name]] for name in ("ours", "reference"))
    ruler, (more,) = bench.ruler, said["more_megabytes"]
    parsing = ruler.figure([Sample(*pair) for pair in said["parsing"]])
    yield Row(
        "11",
        "an agent prints 100 MB: its log, shown / a plain file",
        ruler.figure(ours),
        ruler.figure(reference),
        ruler.ratio(ours, reference),
        1.5,
        remark=f"at most 16 MB more memory: {more:.1f}; parsed as events in {parsing:.0f} ms",
        is_right=more <= _MOST_MORE_MEGABYTES,
    )


def _write_events(path: Path) -> None:
    """Write what a program that prints events prints, and nothing beside it."""
    text = "a line of a file that an agent has looked at\n" * 40
    content = [{"type": "text", "text": text}]
    line = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": content}}) + "\n"
    with path.open("w") as file:
        file.writelines(repeat(line, _BYTES // len(line) + 1))
    path.with_name("nothing").touch()


def _measured(bench: Bench, source: Path) -> Any:
    found = source.with_name("found")
    argv = (
        sys.executable,
        "-m",
        "benchmarks.streaming_rows",
        str(source),
        str(bench.ruler.rounds),
        str(found),
    )
    environ = {**bench.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    ours, theirs = pty.openpty()
    threading.Thread(target=_drain, args=(ours,), daemon=True).start()
    try:
        subprocess.run(argv, env=environ, check=True, stdout=theirs)
    finally:
        os.close(theirs)
    return json.loads(found.read_bytes())


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, _READ_AT_ONCE):
            pass
    except OSError:
        os.close(terminal)


def measure(source: Path, rounds: int, found: Path) -> None:
    """Follow an agent that prints a file of events, and let the same program write to a plain file.

    ``more_megabytes`` is what the memory of this process grows by, at its highest.
    """
    folder = source.parent
    display = LiveDisplay(colored=True)
    _follow(folder, folder / "nothing", display)
    before = forget_peak()
    ours, reference = in_turns(
        (
            lambda: run_call(lambda: _follow(folder, source, display)),
            lambda: run_call(lambda: _write_plainly(folder, source)),
        ),
        rounds,
    )
    more = peak() - before
    display.close()
    parsing = [run_call(lambda: _parse(source))]
    measured = {"ours": ours, "reference": reference, "parsing": parsing, "more_megabytes": [more]}
    found.write_text(json.dumps(measured))


def _printing(source: Path) -> tuple[str, ...]:
    return "dd", f"if={source}", "bs=64K", "status=none"


class _Shower(Watcher):
    """Shows the output."""

    wants_output = True

    def __init__(self, printer: AgentPrinter) -> None:
        super().__init__(asyncio.Event())
        self._printer = printer

    def see_output(self, data: bytes, stream: str, skipped: int) -> None:
        self._printer.show(RunOutput(_TASK_ID, _RUN_ID, data, stream, skipped))


def _follow(folder: Path, source: Path, display: LiveDisplay) -> None:
    """Run the program as an agent is run: the log whole, its output read, cleaned and shown."""
    logs = LogFiles(folder / "stdout", folder / "stderr", 2 * _BYTES, Redactor(secret_values(os.environ)))
    environ = child_environ(os.environ, task_id=_TASK_ID, run_id=_RUN_ID, tmp_dir=folder / "tmp", extra={})
    printer = AgentPrinter(display, colored=True)

    async def follow() -> None:
        launch = Launch(
            _printing(source),
            environ=environ,
            folder=str(folder),
            scratch=str(folder),
            limits=_LIMITS,
            reader=CommandParser(_ASSIGNMENT, "dd"),
        )
        child = spawn_gated(launch, logs)
        child.open_gate()
        ended = await child.follow(_Shower(printer))
        assert (ended.cause, ended.exit_code) == (ExitCause.EXITED, 0)
        await display.drained()

    asyncio.run(follow())
    assert logs.stdout.stat().st_size == source.stat().st_size
    logs.stdout.unlink()


def _write_plainly(folder: Path, source: Path) -> None:
    target = folder / "plain"
    with target.open("ab") as file:
        subprocess.run(_printing(source), stdout=file, check=True)
    target.unlink()


def _parse(source: Path) -> None:
    reader = ClaudeParser(_ASSIGNMENT)
    with source.open("rb") as stream:
        while data := stream.read(CHUNK_BYTES):
            reader.feed(data)
    reader.finish(0, "")


if __name__ == "__main__":
    measure(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
