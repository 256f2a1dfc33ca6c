"""Pushing a branch, and opening a request to merge it with the program of its host."""

import os
import shutil
from collections.abc import Mapping

from git_blackbird.errors import RequestError
from git_blackbird.git.commit.create import error_output
from git_blackbird.git.core.process import operands
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.user_programs import run_user_program
from git_blackbird.model.base.sanitize import clean_line, strip_controls

# The arguments before the title, of the body, and after it.
_PROGRAMS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "gh": (("pr", "create", "--head"), "--body"),
    "glab": (("mr", "create", "--yes", "--source-branch"), "--description"),
}
_MAX_LETTERS = 2000


def push_branch(repo: Repository, name: str, remote: str) -> None:
    """Push a branch and have it follow that one, with the user's hooks and credentials.

    Raises RequestError with git's own words.
    """
    ref = f"refs/heads/{name}"
    # The user's configuration and prompts are wanted: it is as if they had typed it.
    command = ("git", "push", "--set-upstream", *operands(remote, f"{ref}:{ref}"))
    done = run_user_program(command, cwd=repo.top, environ=repo.git_environ)
    if done.code != 0:
        said = strip_controls(error_output(done))[-_MAX_LETTERS:]
        raise RequestError(
            f"git did not push {name} to {remote}: {said}", hint="the branch is there; push it by hand"
        )


def request_program(environ: Mapping[str, str]) -> str | None:
    """Return the program that opens requests here; None where there is none."""
    path = environ.get("PATH", os.defpath)
    return next((name for name in _PROGRAMS if shutil.which(name, path=path) is not None), None)


def open_request(repo: Repository, program: str, branch: str, title: str, body: str) -> str:
    """Open a request to merge a branch, and return what the program printed: its address.

    Raises RequestError with the program's own words.
    """
    begin, option = _PROGRAMS[program]
    command = (program, *begin, branch, f"--title={title}", f"{option}={body}")
    done = run_user_program(command, cwd=repo.top, environ=repo.git_environ)
    if done.code != 0:
        why = strip_controls(error_output(done))[-_MAX_LETTERS:]
        raise RequestError(f"{program} opened no request for {branch}: {why}", hint="the branch is pushed")
    *_, address = done.lines(lambda lines: [line for line in lines if line.strip()] or [b""])
    return clean_line(address.decode(errors="replace"), _MAX_LETTERS)
