"""Stop real agents at random instants: nothing is left (``python -m benchmarks.random_stops [STOPS]``).

Each round starts ``execute`` with a real agent, its model a script on the loopback whose tool leaves
grandchildren in sessions of their own, and stops it after a random time: a signal to the program or to the
agent. Looks for what is left, at once and after the next command, and then goes on as a user would, until
the task is done. Prints what was met and what was left, and exits 1 when anything was. To be run alone: what
other users of these agents leave in the temporary folder meanwhile is counted as well.

``--seed NUMBER`` does the rounds of an earlier call again, as far as the machine does.
"""

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.trial_support import LIMIT_SECONDS, PROGRAM, environment
from tests.standin.anthropic import Anthropic
from tests.standin.install import CLAUDE, CODEX, OLD_CLAUDE, Program, find_program
from tests.standin.openai import OpenAi
from tests.standin.server import Dialect, Reply, StandIn, serve

TASK = "greet"
LONGEST_SECONDS = 3.0
PATIENCE_SECONDS = 60.0
SETTLE_SECONDS = 2.0
BUSY = (
    "touch busy; (setsid sleep 300 &); (setsid sh -c 'trap \"\" INT TERM HUP; sleep 300; sleep 300' &);"
    " sleep 300"
)
# What these programs leave beside a run's own folders when nobody takes care.
AGENTS_LITTER = (".codex", ".agents", ".aws")
TEMPORARY_LITTER = (*AGENTS_LITTER, ".git", "codex-*", "cc-socks*", "claude-*")


@dataclass(frozen=True)
class Kind:
    """An agent as it is configured for a round."""

    name: str
    program: Program
    dialect: Dialect
    settings: dict[str, str] = field(default_factory=dict)


KINDS = (
    Kind("codex, workspace-write", CODEX, OpenAi(), {"codex.sandbox": "workspace-write"}),
    Kind("codex, danger-full-access", CODEX, OpenAi(), {"codex.sandbox": "danger-full-access"}),
    Kind("claude", CLAUDE, Anthropic()),
    Kind("older claude", OLD_CLAUDE, Anthropic()),
)


class Round:
    """One repository with one task, in a folder of its own that is also the temporary folder's place."""

    def __init__(self, place: Path, kind: Kind, model: StandIn) -> None:
        self.kind, self.model, self.place = kind, model, place
        self.repo, self.temporary = place / "repo", place / "t"
        self.repo.mkdir()
        self.temporary.mkdir()
        self.environ = {
            **environment(place / "home"),
            "TMPDIR": str(self.temporary),
            **model.environ(place / "config"),
        }
        self.model.replies.clear()
        self.prepare()

    def prepare(self) -> None:
        self.git("init", "-q", "-b", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "start")
        agent = self.kind.program.agent
        path = find_program(self.kind.program)
        assert path is not None
        settings = {
            "agent": agent,
            f"{agent}.path": path,
            "execution.stopAfterEachTask": "false",
            "execution.stopGraceSeconds": "2",
            **self.kind.settings,
        }
        for key, value in settings.items():
            self.git("config", f"blackbird.{key}", value)
        self.run("init")
        self.run("add", "--id", TASK, "--title", "Greet", "--prompt", "Write greet.py.")

    def git(self, *args: str) -> None:
        subprocess.run(["git", *args], cwd=self.repo, env=self.environ, check=True, capture_output=True)

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *args],
            cwd=self.repo,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PROGRAM, "execute", "--no-input"],
            cwd=self.repo,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def records(self) -> list[dict[str, Any]]:
        return [
            json.loads(path.read_bytes()) for path in sorted(self.repo.glob(".git/blackbird/runs/*/*.json"))
        ]

    def agent(self) -> int | None:
        """The process of the agent at work, as it is recorded."""
        running = [record["pid"] for record in self.records() if record["status"] == "running"]
        return running[-1] if running else None

    def left(self) -> list[str]:
        """What there is that should be gone by now, given the time that the kernel takes."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while found := [*self._left_processes(), *self._left_files()]:
            if time.monotonic() > deadline:
                return found
            time.sleep(0.05)
        return []

    def _left_processes(self) -> Iterator[str]:
        mark = os.fsencode(self.place)
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    ours = mark in (entry / "environ").read_bytes() or mark in os.fsencode(
                        (entry / "cwd").readlink()
                    )
                    if ours:
                        yield f"process {shown(entry / 'cmdline')}"
                except OSError:
                    continue

    def _left_files(self) -> Iterator[str]:
        yield from (f"in the worktree: {name}" for name in AGENTS_LITTER if (self.repo / name).exists())
        yield from (f"in TMPDIR: {generic(path.name)}" for path in self.temporary.iterdir())
        yield from (f"a lock: {path.name}" for path in (self.repo / ".git").glob("*.lock"))


def shown(cmdline: Path) -> str:
    words = cmdline.read_bytes().replace(b"\0", b" ").decode(errors="replace").split()
    return " ".join([Path(words[0]).name, *words[1:3]]) if words else "(of no name)"


def generic(name: str) -> str:
    return "git-blackbird-*" if name.startswith("git-blackbird-") else name


def descendant(pid: int) -> int:
    """The first child of a process, where it has one: what a wrapper has started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return int(children[0]) if children else pid


def wait(seconds: float, process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def signal_us(number: signal.Signals) -> Callable[[Round, subprocess.Popen[bytes]], None]:
    return lambda _, process: process.send_signal(number)


def press_twice(_: Round, process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    wait(random.uniform(0, 0.5), process)
    process.send_signal(signal.SIGINT)


def kill_agent(one: Round, process: subprocess.Popen[bytes]) -> None:
    _kill(one.agent() or process.pid)


def kill_what_the_agent_started(one: Round, process: subprocess.Popen[bytes]) -> None:
    _kill(descendant(one.agent() or process.pid))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


STOPS: dict[str, Callable[[Round, subprocess.Popen[bytes]], None]] = {
    "SIGINT": signal_us(signal.SIGINT),
    "SIGTERM": signal_us(signal.SIGTERM),
    "SIGHUP": signal_us(signal.SIGHUP),
    "SIGKILL": signal_us(signal.SIGKILL),
    "Ctrl+C twice": press_twice,
    "SIGKILL of the agent": kill_agent,
    "SIGKILL of the agent's first child": kill_what_the_agent_started,
}


@dataclass
class Outcome:
    """What was met in all rounds, and what was left in any."""

    met: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)

    def note_left(self, found: list[str], when: str) -> None:
        for what in found:
            self.left[f"{when}: {what}"] += 1
            print(f"LEFT {when}: {what}", flush=True)


def play(one: Round, stop: str, outcome: Outcome) -> None:
    """Start, stop at a random instant, look, give the next command, look again, and go on to the end."""
    one.model.tell(
        Reply("I begin.", (one.kind.dialect.shell("echo began"),), delay=random.choice((0, 0, 0.3))),
        Reply(tools=(one.kind.dialect.shell(BUSY),)),
    )
    process = one.start()
    wait_for_the_instant(one, process)
    busy = "while its tool ran" if (one.repo / "busy").exists() else "before its tool ran"
    outcome.met[f"{one.kind.name}: {busy if one.agent() else 'no agent at work yet'}"] += 1
    outcome.met[f"stopped by {stop}"] += 1
    STOPS[stop](one, process)
    code = ended(process)
    if code is None:
        outcome.note_left(["the program itself: it did not end"], f"{one.kind.name}, {stop}")
        process.kill()
        code = process.wait()
    one.model.replies.clear()
    if code != -signal.SIGKILL:
        outcome.note_left(one.left(), f"{one.kind.name}, {stop}, at once")
    finish(one, outcome, f"{one.kind.name}, {stop}, after the next command")


def wait_for_the_instant(one: Round, process: subprocess.Popen[bytes]) -> None:
    """Any instant after the start, or, half of the times, one at which the agent's tool is sure to run."""
    if random.random() < 0.5:
        wait(random.uniform(0.05, LONGEST_SECONDS), process)
        return
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (one.repo / "busy").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    wait(random.uniform(0, 0.5), process)


def ended(process: subprocess.Popen[bytes]) -> int | None:
    """Wait for the end; an agent whose child was killed may find another way, and is interrupted then."""
    wait(PATIENCE_SECONDS / 10, process)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        wait(PATIENCE_SECONDS, process)
    return process.poll()


def finish(one: Round, outcome: Outcome, when: str) -> None:
    said = one.run("execute", "--no-input")
    outcome.note_left(one.left(), when)
    for _ in range(5):
        state = json.loads(one.run("status", "--json").stdout)["data"]
        if state["counts"].get("done") == 1:
            break
        if state["due"]:
            said = one.run(*shlex.split(state["due"][0]["command"])[2:], "--no-input")
        else:
            said = one.run("retry", TASK)
    else:
        outcome.note_left([f"the task, which can't be done: {(said.stdout + said.stderr)[-300:]!r}"], when)
    sessions = {
        record["provider_session_ref"] for record in one.records() if "provider_session_ref" in record
    }
    outcome.met[f"done in {len(sessions)} session(s)"] += 1
    outcome.note_left(one.left(), f"{one.kind.name}, when all was done")


def in_temporary_folder() -> set[tuple[str, int]]:
    """What these programs have there, by name and last change."""
    top = Path(tempfile.gettempdir())
    found = [path for pattern in TEMPORARY_LITTER for path in top.glob(pattern)]
    return {(path.name, path.stat().st_mtime_ns) for path in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stops", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    chosen = parser.parse_args()
    random.seed(chosen.seed)
    kinds = [kind for kind in KINDS if find_program(kind.program)]
    missing = sorted({kind.program.name for kind in KINDS if kind not in kinds})
    if missing:
        print(f"not here: {', '.join(missing)}; python tests/standin/install.py")
    if not kinds:
        sys.exit(1)
    outcome, before, began = Outcome(), in_temporary_folder(), time.monotonic()
    for number in range(chosen.stops):
        kind, stop = kinds[number % len(kinds)], random.choice(list(STOPS))
        place = Path(tempfile.mkdtemp(prefix="stops-"))
        with serve(kind.dialect) as model:
            play(Round(place, kind, model), stop, outcome)
        shutil.rmtree(place, ignore_errors=True)
    fresh = sorted(name for name, _ in in_temporary_folder() - before)
    outcome.note_left(fresh, "in the temporary folder of all")
    for what, count in sorted(outcome.met.items()):
        print(f"{count:5}  {what}")
    for what, count in sorted(outcome.left.items()):
        print(f"{count:5}  LEFT {what}")
    print(
        f"{chosen.stops} stops in {time.monotonic() - began:.0f} s, seed {chosen.seed};"
        f" {sum(outcome.left.values()) or 'nothing'} left"
    )
    sys.exit(bool(outcome.left))


if __name__ == "__main__":
    main()
