"""Row 11: an agent that prints 100 MB, logged whole and followed.

As a program it does the following in a process of its own, so that its memory can be told, and prints what
it found: ``python -m benchmarks.streaming_rows FOLDER ROUNDS``.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.bench import ROOT, Bench, say
from benchmarks.measuring import Row, Sample, in_turns, run_call
from git_blackbird.agents.claude.parser import ClaudeParser
from git_blackbird.agents.command import CommandParser
from git_blackbird.agents.process.launch import ExitCause, Limits, spawn_gated
from git_blackbird.agents.process.logs import CHUNK_BYTES, LogFiles
from git_blackbird.agents.protocol import LaunchSpec, RunRequest, child_environ

_BYTES = 100_000_000
_KILOBYTE = 1024
_MOST_MORE_KILOBYTES = 16 * _KILOBYTE
_RUN_ID = "0199f3a0c0000001"
_ASSIGNMENT = RunRequest("t1", _RUN_ID, "session", "", {})
_LIMITS = Limits(wall_seconds=600, idle_seconds=600, grace_seconds=1)


@dataclass(frozen=True)
class Streamed:
    """What the process found; ``more_kilobytes`` is what its memory grew by, at its highest."""

    ours: list[Sample]
    reference: list[Sample]
    parsing: Sample
    more_kilobytes: int


def streaming(bench: Bench) -> Iterator[Row]:
    """Row 11."""
    say("an agent prints 100 MB, several times")
    folder = bench.place / "row-11"
    folder.mkdir(parents=True)
    command = (sys.executable, "-m", "benchmarks.streaming_rows", str(folder), str(bench.ruler.rounds))
    environ = {**bench.environ, "PYTHONPATH": str(ROOT)}
    said = json.loads(subprocess.run(command, env=environ, check=True, stdout=subprocess.PIPE).stdout)
    ours, reference = ([Sample(*pair) for pair in said[name]] for name in ("ours", "reference"))
    ruler, more = bench.ruler, int(said["more_kilobytes"])
    parsing = ruler.figure([Sample(*said["parsing"])])
    yield Row(
        "11",
        "an agent prints 100 MB: its log, followed / a plain file",
        ruler.figure(ours),
        ruler.figure(reference),
        ruler.ratio(ours, reference),
        1.5,
        remark=f"at most 16 MB more memory: {more / _KILOBYTE:.1f}; parsed as events in {parsing:.0f} ms",
        is_right=more <= _MOST_MORE_KILOBYTES,
    )


def measure(folder: Path, rounds: int) -> Streamed:
    """Follow an agent that prints a file of events, and let the same program write to a plain file."""
    source = folder / "source"
    _write_events(source)
    _follow(folder, folder / "nothing")
    before = _peak_kilobytes()
    ours, reference = in_turns(
        (
            lambda: run_call(lambda: _follow(folder, source)),
            lambda: run_call(lambda: _write_plainly(folder, source)),
        ),
        rounds,
    )
    after = _peak_kilobytes()
    return Streamed(ours, reference, run_call(lambda: _parse(source)), after - before)


def _peak_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _write_events(path: Path) -> None:
    """Write what a program that prints events prints, and nothing beside it."""
    text = "a line of a file that an agent has looked at\n" * 40
    content = [{"type": "text", "text": text}]
    line = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": content}}) + "\n"
    path.write_text(line * (_BYTES // len(line) + 1))
    path.with_name("nothing").touch()


def _printing(source: Path) -> tuple[str, ...]:
    return "dd", f"if={source}", "bs=64K", "status=none"


def _follow(folder: Path, source: Path) -> None:
    """Run the program as an agent is run: the log whole, its output read and shown to a listener."""
    logs = LogFiles(folder / "stdout", folder / "stderr", 2 * _BYTES)
    environ = child_environ(os.environ, task_id="t1", run_id=_RUN_ID, tmp_dir=folder / "tmp", extra={})
    shown = [0]

    def show(data: bytes, _: str) -> None:
        shown[0] += len(data)

    async def follow() -> None:
        child = spawn_gated(
            LaunchSpec(_printing(source), b"", {}), cwd=folder, environ=environ, logs=logs, work_dir=folder
        )
        child.open_gate()
        ended = await child.follow(
            CommandParser(_ASSIGNMENT, "dd"),
            _LIMITS,
            on_progress=lambda _: None,
            on_output=show,
            hurry=asyncio.Event(),
        )
        assert (ended.cause, ended.exit_code) == (ExitCause.EXITED, 0)

    asyncio.run(follow())
    assert shown[0] == source.stat().st_size == logs.stdout.stat().st_size
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
    print(json.dumps(asdict(measure(Path(sys.argv[1]), int(sys.argv[2])))))
