"""Ask an agent's program for its version and options, without using a model."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from git_blackbird.agents.environment import without_outer_session
from git_blackbird.agents.failures import ProviderHelp, error_line, exit_text, last_line
from git_blackbird.agents.protocol import ProbeResult
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.base.sanitize import clean_line, shell_word
from git_blackbird.model.base.system import find_on_path

_SECONDS = 30.0


@dataclass(frozen=True)
class CommandOutput:
    exit_code: int
    stdout: str
    stderr: str

    @property
    def first_line(self) -> str:
        return next(filter(None, map(clean_line, f"{self.stdout}\n{self.stderr}".splitlines())), "")


@dataclass(frozen=True)
class Program:
    """An agent's program, and the options in its help."""

    path: str
    version: str
    help: str = ""

    def knows(self, flag: str) -> bool:
        return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", self.help) is not None

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


def with_args(powers: str, key: str, args: tuple[str, ...]) -> str:
    """Describe a program's rights if the user's own arguments may change them."""
    return f"{powers}; plus what {key} adds: {' '.join(map(shell_word, args))}" if args else powers


@dataclass(frozen=True)
class Requirements:
    """The requirements of a start on a program: options in its help, and more.

    ``review_flags`` are needed for reviews only. ``keys`` are variables that log it in, ``login`` finds out
    how else it is logged in, "" if it does not say.
    """

    help_words: tuple[str, ...]
    flags: tuple[str, ...]
    review_flags: tuple[str, ...]
    keys: tuple[str, ...] = ()
    login: Callable[[Program, Mapping[str, str]], str] = lambda *_: ""
    check: Callable[[Program], None] = lambda _: None


def inspect_program(
    name: str, environ: Mapping[str, str], provider: ProviderHelp, needs: Requirements
) -> ProbeResult:
    """Find a program and check what a start needs; return as much as was found. Never raises."""
    program = obstacle = None
    try:
        program = find_program(name, environ, provider)
        said = run_query(program.path, *needs.help_words, environ=environ)
        program = replace(program, help=f"{said.stdout}\n{said.stderr}".strip())
        if unknown := _unknown_flags(program, needs.flags, provider):
            raise AgentUnavailableError(unknown, hint=f"update it: {provider.update}")  # noqa: TRY301
        needs.check(program)
    except AgentUnavailableError as error:
        obstacle = error
    result = ProbeResult(blocked_reason=obstacle.message, hint=obstacle.hint) if obstacle else ProbeResult()
    if program is None:
        return result
    unknown = _unknown_flags(program, needs.review_flags, provider) if program.help else ""
    return replace(
        result,
        program=program.path,
        version=program.version,
        login=_login(program, environ, needs),
        holds_reviews=not unknown,
        remarks=(f"it cannot review: {unknown}; update it: {provider.update}",) if unknown else (),
    )


def _login(program: Program, environ: Mapping[str, str], needs: Requirements) -> str:
    try:
        state = needs.login(program, environ)
    except AgentUnavailableError as error:
        state = f"unknown: {error.message}"
    known = (state, *(f"{name} is set" for name in needs.keys if environ.get(name)))
    return "; ".join(filter(None, known)) or "unknown"


def _unknown_flags(program: Program, flags: tuple[str, ...], provider: ProviderHelp) -> str:
    missing = [flag for flag in flags if not program.knows(flag)]
    return f"{provider.name} {program.version} does not know {', '.join(missing)}" if missing else ""


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
