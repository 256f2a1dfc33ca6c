"""Installs the real ``claude`` into a cache folder: ``python tests/standin/install.py``.

Ends with 0 and a message also where npm or its registry is not there: the tests that need the program
are then skipped, aloud.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.329"
PATH_VARIABLE = "BLACKBIRD_TEST_CLAUDE"


def cache_folder() -> Path:
    """Where the program is kept, outside of the checkout. Not under the sealed HOME of the tests."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base) / "git-blackbird-tests" / f"claude-{VERSION}"


def find_claude() -> str | None:
    """Give the program's path: named by the variable, from PATH, or from the cache."""
    cached = cache_folder() / "node_modules/.bin/claude"
    named = os.environ.get(PATH_VARIABLE) or shutil.which("claude")
    return named or (str(cached) if cached.exists() else None)


def install() -> str:
    """Install where it is missing; gives the sentence that says what came of it."""
    found = find_claude()
    if found:
        return f"claude is there: {found}"
    if shutil.which("npm") is None:
        return "no npm: the tests with the real claude will be skipped"
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder), f"{PACKAGE}@{VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    found = find_claude()
    if done.returncode or not found:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"status {done.returncode}"]
        return f"npm could not install {PACKAGE}@{VERSION} ({said[0]}): its tests will be skipped"
    return f"installed {found}"


if __name__ == "__main__":
    sys.stdout.write(install() + "\n")
