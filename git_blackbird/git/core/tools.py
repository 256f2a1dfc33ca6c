"""Run the user's pager and editor, chosen as git chooses them."""

import contextlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from git_blackbird.git.core.process import GitError, operands
from git_blackbird.git.core.repository import Repository

# What git sets for a pager if the user has not configured it.
_MANNERS = {"LESS": "FRX", "LV": "-c"}
_NO = frozenset({"false", "no", "off", "0"})
_YES = frozenset({"true", "yes", "on", "1"})


def pager_command(repo: Repository, verb: str = "log") -> str | None:
    """Return the pager's shell command: ``GIT_PAGER``, ``core.pager``, ``PAGER`` or git's default; else None.

    ``pager.VERB`` takes precedence for the git command ``verb``, as in git.
    """
    if repo.environ.get("GIT_PAGER_IN_USE"):
        return None
    own = os.fsdecode(repo.git("config", *operands(f"pager.{verb}"), check=False).out).strip()
    if own.lower() in _NO:
        return None
    if own and own.lower() not in _YES:
        return None if own == "cat" else own
    pager = os.fsdecode(repo.git("var", "GIT_PAGER", check=False).out).strip()
    return None if pager in {"", "cat"} else pager


def page(repo: Repository, pager: str, pieces: Iterable[bytes]) -> None:
    """Send ``pieces`` to the pager until all is sent or the pager has ended."""
    environ = {**_MANNERS, **repo.git_environ}
    with subprocess.Popen(
        ["/bin/sh", "-c", pager], cwd=repo.top, env=environ, stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None  # noqa: S101  # a pipe was asked for
        # Leaving the pager early, or pressing Ctrl+C in it, is no error.
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
            for piece in pieces:
                process.stdin.write(piece)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()


def editor_command(repo: Repository) -> str:
    """Return the editor's shell command: ``GIT_EDITOR``, ``core.editor``, ``VISUAL``, ``EDITOR`` or default.

    Raises GitError if there is none, as on a dumb terminal.
    """
    try:
        return os.fsdecode(repo.git("var", "GIT_EDITOR").out).removesuffix("\n")
    except GitError as error:
        error.hint = "git config --global core.editor EDITOR"
        raise


def edit_file(repo: Repository, editor: str, path: Path) -> int:
    """Open a file in the editor and wait; return the editor's exit status. Ctrl+C is left to the editor."""
    # The shell must survive Ctrl+C, or it would report an error for an editor that goes on.
    command = ["/bin/sh", "-c", f'trap : INT QUIT; {editor} "$@"', editor, os.fspath(path)]
    with subprocess.Popen(command, cwd=repo.top, env=repo.git_environ) as process:
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return process.returncode
