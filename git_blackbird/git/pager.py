"""Text through the user's pager, chosen as git chooses it."""

import contextlib
import os
import subprocess
from collections.abc import Iterable

from git_blackbird.git.program import operands
from git_blackbird.git.repository import Repository

# What git itself gives pagers whose user has not said how they shall behave.
_MANNERS = {"LESS": "FRX", "LV": "-c"}
_NO = frozenset({"false", "no", "off", "0"})
_YES = frozenset({"true", "yes", "on", "1"})


def pager_command(repo: Repository, verb: str = "log") -> str | None:
    """Give the pager's shell command: ``GIT_PAGER``, ``core.pager``, ``PAGER``, git's own; None for none.

    For the git command ``verb``, what ``pager.VERB`` says comes first, as with git.
    """
    if repo.environ.get("GIT_PAGER_IN_USE"):
        return None
    own = os.fsdecode(repo.git("config", *operands(f"pager.{verb}"), check=False).out).strip()
    if own.lower() in _NO:
        return None
    if own and own.lower() not in _YES:
        return None if own == "cat" else own
    said = os.fsdecode(repo.git("var", "GIT_PAGER", check=False).out).strip()
    return None if said in {"", "cat"} else said


def page(repo: Repository, pager: str, pieces: Iterable[bytes]) -> None:
    """Send ``pieces`` to the pager until all is sent or it was left."""
    environ = {**_MANNERS, **repo.git_environ}
    with subprocess.Popen(
        ["/bin/sh", "-c", pager], cwd=repo.top, env=environ, stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None  # noqa: S101  # a pipe was asked for
        # Who leaves the pager early, or presses Ctrl+C in it, has seen enough.
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
            for piece in pieces:
                process.stdin.write(piece)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
