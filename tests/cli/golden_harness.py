"""Whole outputs kept as files: commands run in this process, in a world with a fixed clock and fixed ids.

``BLACKBIRD_GOLDEN_UPDATE=1`` writes the files anew; what changed is then read in the diff.
"""

import itertools
import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from git_blackbird.cli.main import main
from git_blackbird.controller.core.environment import Environment
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.run.run import Run
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.store import Store
from tests.cli.hints import HintTrial
from tests.json_lines import assert_valid
from tests.kept import assert_kept
from tests.support import hold_none, redact_none

GOLDEN = Path(__file__).with_name("golden")
TRIES_HINTS = bool(os.environ.get("BLACKBIRD_EVERY_STEP"))
# Repositories with records of what never happened: their trees are not there.
DRAWN: set[Path] = set()
FIRST_MOMENT = 1_767_323_045_000_000_000  # 2026-01-02T03:04:05Z
MILLISECOND = 1_000_000
RUN_ID_BITS = 16
# What the clock makes: how often it is read is nobody's promise.
_RUN_ID = re.compile(r"\b019b7ca9[0-9a-f]{8}\b")
_UNSTEADY = (
    (re.compile(r"2026-01-02T03:04:05\.\d+Z"), "2026-01-02T03:04:05Z"),
    (re.compile(r"process \d+"), "process PID"),
    (re.compile(r'"pid": \d+'), '"pid": 0'),
    # What a reviewer is told names the place of the repository.
    (re.compile(r'"input_tokens": \d+'), '"input_tokens": 0'),
    (re.compile(r"(spent +)\d+ tokens"), r"\g<1>0 tokens"),
    (re.compile(r"\d+ tokens in"), "0 tokens in"),
    (re.compile(r"parent-review:v1:[0-9a-f]{64}"), "parent-review:v1:SIGNATURE"),
    (re.compile(r'"seconds": \d+\.\d+'), '"seconds": 0.0'),
    (re.compile(r"(completed .*), \d+s$", re.MULTILINE), r"\1, 0s"),
    (re.compile(r"(review of .* finished|^planned|^planning failed) \(\d+s\)", re.MULTILINE), r"\1 (0s)"),
)


@dataclass
class Program:
    """The program at one place, and everything it printed there."""

    cwd: Path
    capture: pytest.CaptureFixture[str]
    hidden: Mapping[str, str]
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    transcript: list[str] = field(default_factory=list)
    trial: HintTrial = field(default_factory=HintTrial)
    clock: "itertools.count[int]" = field(default_factory=lambda: itertools.count(FIRST_MOMENT, MILLISECOND))
    bits: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def environment(self) -> Environment:
        return Environment(self.environ, self.cwd, lambda: next(self.clock), self._random_bits)

    def _random_bits(self, bits: int) -> int:
        number = next(self.bits)
        if bits != RUN_ID_BITS:
            return number
        # Agents are found by their run's id: tests that run side by side must not stop each other's.
        return (number + os.getpid() * 31) % (1 << RUN_ID_BITS)

    def run(self, *args: str, **variables: str) -> int:
        """Run one command line and keep what it printed and its exit code."""
        before = self.environ
        self.environ = {**before, **variables}
        self.capture.readouterr()
        code = main(args, self.environment)
        self.environ = before
        out, err = self.capture.readouterr()
        assert_valid(out)
        told = "".join(f"{name}={shlex.quote(value)} " for name, value in variables.items())
        self.transcript.append(
            f"$ {told}git blackbird {shlex.join(args)}".rstrip().replace("\x1b", "^[") + "\n"
        )
        self.transcript.append(out if not out or out.endswith("\n") else out + "\n[no line end]\n")
        self.transcript.append("".join(f"2> {line}\n" for line in err.splitlines()))
        self.transcript.append(f"[exit {code}]\n\n")
        if TRIES_HINTS and self.cwd not in DRAWN:
            line = f"git blackbird {shlex.join(args)}"
            self.trial.type_all(self.cwd, {**self.environ, **variables}, line, f"{out}\n{err}")
        return code

    def remark(self, text: str) -> None:
        """Say what happens between two commands."""
        self.transcript.append(f"# {text}\n\n")

    def text(self) -> str:
        text = "".join(self.transcript)
        ids = dict.fromkeys(_RUN_ID.findall(text))
        named = {run_id: f"{number:016x}" for number, run_id in enumerate(ids, 1)}
        text = _RUN_ID.sub(lambda found: named[found[0]], text)
        for real, shown in self.hidden.items():
            text = text.replace(real, shown)
        for pattern, shown in _UNSTEADY:
            text = pattern.sub(shown, text)
        return text

    def check(self, name: str) -> None:
        """Compare everything so far with the file of that name."""
        assert_kept(GOLDEN / f"{name}.txt", self.text())
        assert not self.trial.dead_ends, "\n\n".join(self.trial.dead_ends)


@pytest.fixture
def program(
    repo: Path, sealed: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Program:
    """The program in an empty repository, in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return Program(repo, capfd, {str(repo): "$REPO", str(sealed): "$HOME", str(repo.parent): "$OUTSIDE"})


def store_at(repo: Path) -> Store:
    return Store(Paths(repo, repo / ".git" / "blackbird"), hold_none, redact_none)


def save(repo: Path, tasks: Sequence[Task], runs: Sequence[Run] = ()) -> None:
    """Put a plan and records there."""
    if runs:
        DRAWN.add(repo)
    with store_at(repo).transaction() as transaction:
        transaction.save_plan(Plan({task.id: task for task in tasks}))
        for run in runs:
            transaction.save_run(run)
