"""Row 17: the screen over a large plan, from the start to the first paint, and from a key to its paint."""

import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.bench import Bench, file_name, say
from benchmarks.measuring import Row, Ruler, Sample, forget_peak, peak
from benchmarks.plans import PLAN, build_tasks, choose_agent, save_plan, save_records, task_id
from benchmarks.screen import Screen
from benchmarks.snapshot_rows import FILES, QUICK_FILES
from git_blackbird.model.base.path_search import PathIndex
from git_blackbird.model.plan.status import Status

_TASKS = 10_000
_OPEN = 20
_MOVES = 40
_PRINTING_ROUNDS = 5
_MEGABYTES = 100
# More than seventy thousand steps, which take a model days.
_MEGABYTES_OF_STEPS = 10
_PATIENCE_SECONDS = 60.0
# The screen ignores keys for half a second when a question opens by itself.
_IGNORED_SECONDS = 0.7
_FIRST_PAINT_MS = 1000.0
_KEY_MS = 50.0
_HELP_MS = 100.0
_MATCHES_MS = 100.0
_MOST_MORE_MEGABYTES = 50.0
_LINE = "a line of a file that an agent has looked at"
_STEP = '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"%s"}]}}\n'
_PRINTED = {"lines": f"{_LINE}\n", "one line": "x" * 4096, "steps": _STEP % _LINE}
_PRINT = "dd if=%s bs=64K status=none"
# One process, as an agent is: what a shell starts for each turn would take the processors from the screen.
_PRINTER = """import sys, time
piece = open(sys.argv[1], "rb").read()
for turn in range(2000):
    sys.stdout.buffer.write(piece)
    sys.stdout.flush()
    time.sleep(0.01)
"""
_PRINT_ON = f"{sys.executable} -c '{_PRINTER}' %s"
_SELECT_ALL = b"\x1b[18~"
_DELETE = b"\x7f"
_STEPS_AT_ONCE = 10
_KEYS_MEANWHILE = 300
_HELPS_MEANWHILE = 30
_STARTING_SECONDS = 2.0
# An agent of claude's kind, for what it prints alone.
_CLAUDE = """#!/bin/sh
case $* in *--version*) echo '2.1.329 (Claude Code)'; exit ;; auth*) echo '{}'; exit ;; esac
while [ "$1" != --session-id ]; do shift; done
cat >/dev/null
%s
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"'$2'"}'
"""

Rounds = Sequence[Sequence[Sample]]


def screen(bench: Bench) -> Iterator[Row]:
    """First paint of 10,000 tasks with 10,000 runs, and keys over them; each against its limit alone."""
    repo = bench.make_repository("row-17", 1)
    say("writing a plan of 10,000 tasks and 10,000 records")
    done = _TASKS - _OPEN
    save_plan(repo, (*build_tasks(range(done), Status.DONE), *build_tasks(range(done, _TASKS))))
    save_records(repo, done, 1)
    paints: list[Sample] = []
    reading: list[list[Sample]] = []
    later: list[list[Sample]] = []
    for _ in range(bench.ruler.rounds):
        with Screen(bench, repo, _TASKS) as shown:
            paints.append(shown.first_paint())
            reading.append(list(_moves_until(shown, b"execute success")))
            shown.drain()
            later.append([shown.move(1) for _ in range(_MOVES)])
    # What a terminal waits for is a time on the wall.
    figure = Ruler(bench.ruler.rounds, by_cpu=False).figure(paints)
    yield Row("17", "screen: first paint of the plan", figure, most=_FIRST_PAINT_MS)
    yield _key_row(bench, "key to paint while the records are read", reading)
    yield _key_row(bench, "key to paint over them", later)
    for kind in _PRINTED:
        yield _while_printing(bench, repo, kind)
    yield from _while_three_print(bench, repo)
    yield _mentions(bench)


def _moves_until(shown: Screen, text: bytes) -> Iterator[Sample]:
    while not shown.shows(text):
        yield shown.move(1)


def _key_row(
    bench: Bench, what: str, rounds: Rounds, limit: float = _KEY_MS, more: str = "", *, is_right: bool = True
) -> Row:
    """Make a row of the median of all keys; 99 of 100 are within the limit as well, the worst is named."""
    keys = sorted(sample.wall for one in rounds for sample in one)
    late, worst = keys[len(keys) * 99 // 100], keys[-1]
    median = Ruler(bench.ruler.rounds, by_cpu=False).figure([sample for one in rounds for sample in one])
    return Row(
        "17",
        f"screen: {what}",
        median,
        most=limit,
        remark=f"99 of 100 keys within it: {late:.0f} ms, the worst {worst:.0f} ms{more}",
        is_right=is_right and late <= limit,
    )


def _while_printing(bench: Bench, repo: Path, kind: str) -> Row:
    """Press keys while an agent prints very much."""
    printed = f"{_megabytes(kind)} MB of {kind}"
    say(f"an agent prints {printed} below the screen, several times")
    _choose_agent(bench, repo, kind)
    plan, last = (repo / PLAN).read_bytes(), task_id(_TASKS - 1)
    rounds: list[list[Sample]] = []
    grown: list[float] = []
    for _ in range(min(bench.ruler.rounds, _PRINTING_ROUNDS)):
        with Screen(bench, repo, _TASKS) as shown:
            shown.first_paint()
            shown.move_to_end()
            shown.wait_for(b"x Run")
            shown.drain()
            before = forget_peak(shown.pid)
            shown.press(b"x", b"starts it")
            if rounds:
                shown.press(b"\r", b"starting")
            else:
                shown.press(b"\r", b"Start the agent")
                time.sleep(_IGNORED_SECONDS)
                shown.press(b"2\r", b"starting")
            rounds.append(list(_up_and_down_until(shown, b"completed")))
            grown.append(peak(shown.pid) - before)
        (repo / PLAN).write_bytes(plan)
        shutil.rmtree(repo / ".git" / "blackbird" / "runs" / last)
    most = statistics.median(grown)
    what = f"key to paint, an agent prints {printed}"
    more = f"; at most {_MOST_MORE_MEGABYTES:.0f} MB more memory: {most:.0f}"
    return _key_row(bench, what, rounds, more=more, is_right=most <= _MOST_MORE_MEGABYTES)


def _while_three_print(bench: Bench, repo: Path) -> Iterator[Row]:
    """Press keys, and open the help, while three agents print steps a hundred times as fast as a model."""
    say("three agents print steps below the screen")
    source = bench.place / "row-17-piece"
    source.write_text(_PRINTED["steps"] * _STEPS_AT_ONCE)
    _choose_claude(bench, repo, "row-17-three", _PRINT_ON % source)
    bench.git(repo, "config", "blackbird.execution.jobs", "3")
    with Screen(bench, repo, _TASKS) as shown:
        shown.first_paint()
        shown.move_to_end()
        shown.drain()
        shown.press(b"e", b"starts it")
        shown.press(b"\r", b"Start the agent")
        time.sleep(_IGNORED_SECONDS)
        shown.press(b"2\r", b"3 at work")
        # All three have begun to print.
        time.sleep(_STARTING_SECONDS)
        keys = list(islice(_up_and_down(shown), _KEYS_MEANWHILE))
        helps = [_open_help(shown) for _ in range(_HELPS_MEANWHILE)]
    yield _key_row(bench, "key to paint, three agents print steps", [keys])
    yield _key_row(bench, "key to the help, three agents print steps", [helps], _HELP_MS)


def _open_help(shown: Screen) -> Sample:
    """Open the help, and close it again."""
    sample = shown.press(b"?", b"esc goes back")
    shown.press(b"q", b"at work")
    return sample


def _up_and_down(shown: Screen) -> Iterator[Sample]:
    """Move in the last rows, where nothing scrolls."""
    step = -1
    while True:
        yield shown.move(step)
        if shown.cursor in {_TASKS - 1, _TASKS - _OPEN + 5}:
            step = -step


def _up_and_down_until(shown: Screen, text: bytes) -> Iterator[Sample]:
    """Move until a text is painted; a run that is over at once has a key all the same."""
    is_over, deadline = False, time.monotonic() + _PATIENCE_SECONDS
    moves = _up_and_down(shown)
    while not is_over:
        assert time.monotonic() < deadline, f"{text!r} never came"
        is_over = shown.shows(text)
        yield next(moves)


def _megabytes(kind: str) -> int:
    return _MEGABYTES_OF_STEPS if kind == "steps" else _MEGABYTES


def _choose_agent(bench: Bench, repo: Path, kind: str) -> None:
    # Another one for each kind: each is asked for once, as another command.
    source = bench.place / f"row-17-{kind.replace(' ', '-')}"
    piece = _PRINTED[kind]
    source.write_text(piece * (_megabytes(kind) * 1_000_000 // len(piece) + 1))
    if kind == "steps":
        _choose_claude(bench, repo, "row-17-claude", _PRINT % source)
    else:
        command = f"cat >/dev/null; {_PRINT % source}; echo"
        choose_agent(bench, repo, "command", command__run=command)


def _choose_claude(bench: Bench, repo: Path, name: str, prints: str) -> None:
    """Choose an agent of claude's kind that prints so."""
    program = bench.place / name
    program.write_text(_CLAUDE % prints)
    program.chmod(0o755)
    choose_agent(bench, repo, "claude", claude__path=str(program))


def _mentions(bench: Bench) -> Row:
    """Name a file among 100,000 in a change request: from a key to the first of those it may mean."""
    files = QUICK_FILES if bench.quick else FILES
    repo = bench.make_repository("row-17-files", files)
    save_plan(repo, build_tasks([0]))
    command, stops = "cat >/dev/null; echo more >>done.txt", "true"
    choose_agent(bench, repo, "command", command__run=command, execution__stopAfterEachTask=stops)
    bench.run(bench.program, "execute", "--no-input", task_id(0), cwd=repo, code=3)
    known = PathIndex(sorted(map(file_name, range(files))))
    rounds: list[list[Sample]] = []
    for _ in range(bench.ruler.rounds):
        with Screen(bench, repo, 1) as shown:
            shown.first_paint()
            shown.wait_for(b"Action required")
            shown.press(b"d", b"3. Request changes")
            shown.press(b"3\r", b"ctrl+s")
            rounds.append(list(_naming(shown, known, f"file-{files - 1}.txt")))
    return _key_row(bench, f"key to the first of {files} files for @", rounds, _MATCHES_MS)


def _naming(shown: Screen, known: PathIndex, name: str) -> Iterator[Sample]:
    """Type a name, and wait after each letter that means another file first."""
    # What an earlier round typed is kept and offered again.
    shown.press(_SELECT_ALL + _DELETE, b"")
    shown.drain()
    yield shown.press(b"@", b"file-")
    first = next(known.matching(""))[0]
    for end, letter in enumerate(name, start=1):
        before, first = first, next(known.matching(name[:end]))[0]
        if first != before:
            yield shown.press(letter.encode(), first.encode())
        else:
            shown.press(letter.encode(), b"")
