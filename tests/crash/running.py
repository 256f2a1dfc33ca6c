"""Running a command line with its steps numbered, or with one of them struck."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests import preloaded
from tests.cli.terminal import program_environ
from tests.crash.injected.sitecustomize import WIDTH

INJECTED = Path(__file__).with_name("injected")
PATIENCE_SECONDS = 120


class Ended(NamedTuple):
    """How a command line ended, and what it wrote on both streams."""

    code: int
    said: str


class Struck(NamedTuple):
    """How a command line ended, and the steps that it took."""

    ended: Ended
    steps: tuple[str, ...]


def run(repo: Path, command: Sequence[str], typed: str = "", **environ: str) -> Ended:
    """Run a command line as a person would, with what they type at its questions."""
    completed = preloaded.run(
        command,
        cwd=repo,
        env={**program_environ(), **environ},
        input=typed.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Ended(completed.returncode, completed.stdout.decode(errors="replace"))


def strike(repo: Path, command: Sequence[str], typed: str, at: str = "") -> Struck:
    """Run a command line with its steps numbered; ``at`` is ``kill:N`` or ``fail:N``.

    Steps are those in the folder that has the repository and the worktrees beside it.
    """
    trace = repo.parent.with_name("trace")
    trace.unlink(missing_ok=True)
    trace.touch()
    path = os.pathsep.join((str(INJECTED), program_environ()["PYTHONPATH"]))
    completed = run(
        repo, command, typed, PYTHONPATH=path, CRASH_TOP=str(repo.parent), CRASH_TRACE=str(trace), CRASH_AT=at
    )
    lines = trace.read_bytes()
    steps = (lines[place : place + WIDTH].decode().strip() for place in range(0, len(lines), WIDTH))
    return Struck(completed, tuple(steps))


def step_like(steps: Sequence[str], pattern: str) -> int:
    """Return the number of the first step that looks so."""
    return next(number for number, step in enumerate(steps, 1) if re.search(pattern, step))
