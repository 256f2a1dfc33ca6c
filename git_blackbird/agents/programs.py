"""Asks an agent's program what it says of itself: its version and its options. No model hears of it."""

import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from git_blackbird.agents.activity import exit_text, last_line, one_line
from git_blackbird.agents.environment import without_outer_session
from git_blackbird.agents.protocol import Inspection
from git_blackbird.agents.refusals import Manual, telling_line
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.text import shell_word

_SECONDS = 30.0
_NO_WORKTREE = "/"
# It answers for itself: it must not begin to update or to report meanwhile.
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


@dataclass(frozen=True)
class Told:
    """What a program printed and how it ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def first_line(self) -> str:
        """The first line of it that shows anything, cleaned; "" when there is none."""
        return next(filter(None, map(one_line, f"{self.stdout}\n{self.stderr}".splitlines())), "")


@dataclass(frozen=True)
class Program:
    """An agent's program as it was found, and what it says that it knows."""

    path: str
    version: str
    help: str = ""

    def knows(self, flag: str) -> bool:
        """Whether its help names an option."""
        return re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", self.help) is not None

    def has_command(self, name: str) -> bool:
        """Whether its help lists a command of its own: to one that it has not, a name is a prompt."""
        return re.search(rf"^ +{re.escape(name)}\b", self.help, re.MULTILINE) is not None


def find_program(program: str, environ: Mapping[str, str], manual: Manual) -> Program:
    """Find a program and ask for its version. Raises AgentUnavailableError."""
    found = shutil.which(program, path=environ.get("PATH"))
    if found is None and Path(program).is_file():
        raise AgentUnavailableError(f"'{program}' is not executable", hint=f"chmod +x {shell_word(program)}")
    if found is None:
        raise AgentUnavailableError(f"cannot find the program '{program}'", hint=manual.install)
    path = str(Path(found).absolute())
    told = ask(path, "--version", environ=environ)
    if told.exit_code:
        said = telling_line(told.stderr) or last_line(told.stdout) or exit_text(told.exit_code)
        raise AgentUnavailableError(f"'{program} --version' failed: {said}", hint=manual.install)
    words = told.first_line.split()
    return Program(path, next((word for word in words if word[:1].isdigit()), told.first_line))


def _require_flags(program: Program, flags: tuple[str, ...], manual: Manual) -> None:
    """Raise AgentUnavailableError where the help of a program lacks an option that a start needs."""
    unknown = _unknown_text(program, flags, manual)
    if unknown:
        raise AgentUnavailableError(unknown, hint=f"update it: {manual.update}")


def _unknown_text(program: Program, flags: tuple[str, ...], manual: Manual) -> str:
    missing = [flag for flag in flags if not program.knows(flag)]
    return f"{manual.name} {program.version} does not know {', '.join(missing)}" if missing else ""


def review_remarks(program: Program | None, flags: tuple[str, ...], manual: Manual) -> tuple[str, ...]:
    """Say what keeps a program, which may be able to do all else, from reviewing: options it lacks."""
    unknown = _unknown_text(program, flags, manual) if program and program.help else ""
    return (f"it cannot review: {unknown}; update it: {manual.update}",) if unknown else ()


def with_args(powers: str, key: str, args: tuple[str, ...]) -> str:
    """Say what a program may do where the user's own arguments may say otherwise."""
    return f"{powers}; but for what {key} adds: {' '.join(map(shell_word, args))}" if args else powers


@dataclass(frozen=True)
class Needs:
    """What a start takes of a program: options that its help, asked for so, must name, and what else."""

    help_words: tuple[str, ...]
    flags: tuple[str, ...]
    check: Callable[[Program], None] = lambda _: None


def inspect_program(
    name: str, environ: Mapping[str, str], manual: Manual, needs: Needs
) -> tuple[Program | None, Inspection]:
    """Find a program and see whether it has what a start needs; gives as much as was found. Never raises."""
    program = None
    try:
        program = find_program(name, environ, manual)
        program = replace(program, help=ask(program.path, *needs.help_words, environ=environ).stdout)
        _require_flags(program, needs.flags, manual)
        needs.check(program)
    except AgentUnavailableError as error:
        path, version = (program.path, program.version) if program else (None, "")
        return program, Inspection(path, version, obstacle=error.message, hint=error.hint)
    return program, Inspection(program.path, program.version)


def ask(path: str, *args: str, environ: Mapping[str, str], seconds: float = _SECONDS) -> Told:
    """Run a program to its end with nothing to read, in no worktree.

    Raises AgentUnavailableError when it cannot be started or does not end in time.
    """
    from subprocess import TimeoutExpired  # noqa: PLC0415  # slow to load, and only agents' commands need it

    command = " ".join((Path(path).name, *args))
    try:
        return _run((path, *args), {**without_outer_session(environ), **_QUIET}, seconds)
    except TimeoutExpired as error:
        raise AgentUnavailableError(f"'{command}' did not end in {seconds:g} seconds") from error
    except (OSError, ValueError) as error:
        raise AgentUnavailableError(f"'{command}' failed: {error}") from error


def _run(argv: tuple[str, ...], environ: Mapping[str, str], seconds: float) -> Told:
    import subprocess  # noqa: PLC0415

    # In no worktree: a repository's own settings have no say in this. Nor in a folder made for it, which
    # would be left when we are killed meanwhile; to these questions the programs write nothing there.
    started = subprocess.Popen(
        argv,
        cwd=_NO_WORKTREE,
        env=environ,
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
    return Told(started.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
