"""Ask an agent's program for its version and options, without using a model."""

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from git_blackbird.agents.failures import ProviderHelp, error_line, exit_text, last_line
from git_blackbird.agents.registry import without_outer_session
from git_blackbird.clean import one_line
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import find_on_path

_SECONDS = 30.0


class CommandOutput(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def first_line(self) -> str:
        return next(filter(None, map(one_line, f"{self.stdout}\n{self.stderr}".splitlines())), "")


class Program(NamedTuple):
    """An agent's program, and the options in its help."""

    path: str
    version: str
    help: str = ""

    def knows(self, flag: str) -> bool:
        return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", self.help) is not None

    def lacks(self, flags: Iterable[str]) -> str:
        """Name the options that its help does not list; "" without any."""
        return ", ".join(flag for flag in flags if not self.knows(flag))

    def has_command(self, name: str) -> bool:
        """Whether its help lists a command; an unknown command would be a prompt."""
        return re.search(rf"^ +{re.escape(name)}\b", self.help, re.MULTILINE) is not None


def find_program(program: str, environ: Mapping[str, str], provider: ProviderHelp) -> Program:
    """Find a program and ask for its version. Raises AgentUnavailableError."""
    executable = find_on_path(program, environ)
    if executable is None and (file := find_on_path(program, environ, os.F_OK)) is not None:
        raise AgentUnavailableError(f"'{program}' is not executable", hint=f"chmod +x {shell_word(file)}")
    if executable is None:
        raise AgentUnavailableError(f"cannot find the program '{program}'", hint=provider.install)
    path = str(Path(executable).absolute())
    output = run_query(path, "--version", environ=environ)
    if output.exit_code:
        message = error_line(output.stderr) or last_line(output.stdout) or exit_text(output.exit_code)
        raise AgentUnavailableError(f"'{program} --version' failed: {message}", hint=provider.install)
    words = output.first_line.split()
    return Program(path, next((word for word in words if word[:1].isdigit()), output.first_line))


def is_missing(program: str, environ: Mapping[str, str]) -> bool:
    """Whether a program of a command is not there; a path that is not absolute is one of some worktree."""
    is_in_worktree = "/" in program and not program.startswith("/")
    return not is_in_worktree and find_on_path(program, environ) is None


def run_query(path: str, *args: str, environ: Mapping[str, str], seconds: float = _SECONDS) -> CommandOutput:
    """Run a program to its end without input, outside of any worktree. Raises AgentUnavailableError."""
    command = " ".join((Path(path).name, *args))
    try:
        # Outside of any worktree, so that a repository's settings do not matter. Not in a new folder, which
        # would be left behind if this process is killed; / is not writable, and these queries write nothing.
        started = subprocess.Popen(
            (path, *args),
            cwd="/",
            env=without_outer_session(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with started:
            try:
                out, err = started.communicate(timeout=seconds)
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(started.pid, signal.SIGKILL)
                raise
    except subprocess.TimeoutExpired as error:
        raise AgentUnavailableError(f"'{command}' did not end in {seconds:g} seconds") from error
    except (OSError, ValueError) as error:
        raise AgentUnavailableError(f"'{command}' failed: {error}") from error
    return CommandOutput(started.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
