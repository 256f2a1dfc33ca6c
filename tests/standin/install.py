"""Installs the real agents into cache folders: ``python tests/standin/install.py``.

The newest of each; with BLACKBIRD_EVERY_VERSION set also the earlier versions that tests know.

Ends with 0 and a message also where npm or its registry is not there: the tests that need a program are
then skipped, aloud.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SECONDS = 600


@dataclass(frozen=True)
class Program:
    """One version of one agent's program; ``variable`` names another copy of it to take."""

    agent: str
    package: str
    version: str
    variable: str

    @property
    def name(self) -> str:
        """What the tests with it are called."""
        return f"{self.agent}-{self.version}"

    @property
    def cache_folder(self) -> Path:
        """Where it is kept, outside of the checkout. Not under the sealed HOME of the tests."""
        base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
        return Path(base) / "git-blackbird-tests" / self.name

    @property
    def reason(self) -> str:
        """Why the tests with it are skipped, where they are."""
        return f"no {self.agent} {self.version}: run python tests/standin/install.py, or set {self.variable}"


CLAUDE = Program("claude", "@anthropic-ai/claude-code", "2.1.332", "BLACKBIRD_TEST_CLAUDE")
EARLIER_CLAUDE = Program("claude", "@anthropic-ai/claude-code", "2.1.329", "BLACKBIRD_TEST_EARLIER_CLAUDE")
OLD_CLAUDE = Program("claude", "@anthropic-ai/claude-code", "2.1.197", "BLACKBIRD_TEST_OLD_CLAUDE")
CODEX = Program("codex", "@openai/codex", "0.169.0", "BLACKBIRD_TEST_CODEX")
OLD_CODEX = Program("codex", "@openai/codex", "0.167.2", "BLACKBIRD_TEST_OLD_CODEX")
OPENCODE = Program("opencode", "opencode-ai", "1.18.33", "BLACKBIRD_TEST_OPENCODE")
GEMINI = Program("gemini", "@google/gemini-cli", "0.61.0", "BLACKBIRD_TEST_GEMINI")
EVERY_CLAUDE = (CLAUDE, EARLIER_CLAUDE, OLD_CLAUDE)
EVERY_CODEX = (CODEX, OLD_CODEX)
# Those that can be held to a schema, and so do everything that agents do here.
FULL_PROGRAMS = (*EVERY_CLAUDE, *EVERY_CODEX)
PROGRAMS = (*FULL_PROGRAMS, OPENCODE, GEMINI)
NEWEST = (CLAUDE, CODEX, OPENCODE, GEMINI)
# Read before the tests are sealed.
EVERY_VERSION = bool(os.environ.get("BLACKBIRD_EVERY_VERSION"))


@cache
def find_program(program: Program) -> str | None:
    """Return its path: named by the variable, from the cache, or from PATH where that is this version."""
    named = os.environ.get(program.variable)
    if named:
        return named
    cached = program.cache_folder / "node_modules/.bin" / program.agent
    if cached.exists():
        return str(cached)
    found = shutil.which(program.agent)
    return found if found and _version_words(found) & {program.version, f"v{program.version}"} else None


def find_binary(path: str) -> str:
    """Return what the launcher of an npm package becomes; the path itself where it is no launcher.

    To start node takes longer than most of what the program then does.
    """
    launcher = Path(path).resolve()
    if launcher.suffix != ".js":
        return path
    _, package, scope = launcher.parents[:3]
    found = list(scope.glob(f"{package.name}-*/vendor/*/bin/{launcher.stem}"))
    return str(found[0]) if len(found) == 1 else path


def _version_words(path: str) -> set[str]:
    try:
        completed = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return set(completed.stdout.split())


def install(program: Program) -> str:
    """Install it where it is missing; gives the sentence that says what came of it."""
    found = find_program(program)
    if found:
        return f"{program.name} is there: {found}"
    if shutil.which("npm") is None:
        return f"no npm: the tests with {program.name} will be skipped"
    folder = program.cache_folder
    folder.mkdir(parents=True, exist_ok=True)
    wanted = f"{program.package}@{program.version}"
    command = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), wanted]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return f"npm did not install {wanted} in {_SECONDS} s: its tests will be skipped"
    find_program.cache_clear()
    found = find_program(program)
    if completed.returncode or not found:
        said = (completed.stderr or completed.stdout).strip().splitlines()[-1:] or [
            f"status {completed.returncode}"
        ]
        return f"npm could not install {wanted} ({said[0]}): its tests will be skipped"
    return f"installed {found}"


if __name__ == "__main__":
    for one in PROGRAMS if EVERY_VERSION else NEWEST:
        sys.stdout.write(install(one) + "\n")
        sys.stdout.flush()
