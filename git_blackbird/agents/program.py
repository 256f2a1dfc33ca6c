"""The common part of agents that are programs: how one is found, asked for its version, and started."""

import os
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic.alias_generators import to_camel

from git_blackbird.agents.event_parser import EventParser
from git_blackbird.agents.failures import ProviderHelp, error_line, exit_text, last_line
from git_blackbird.agents.protocol import (
    TMP_FOLDER,
    Assignment,
    Capabilities,
    Launch,
    ProbeResult,
    is_uuid,
)
from git_blackbird.agents.registry import without_outer_session
from git_blackbird.clean import one_line
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import find_on_path
from git_blackbird.model.config.config import PermittedConfig
from git_blackbird.model.run.agent_io import Rights

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


class ProgramSettings(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def model(self) -> str | None: ...

    @property
    def args(self) -> tuple[str, ...]: ...


S = TypeVar("S", bound=ProgramSettings)


class ProgramAgent(ABC, Generic[S]):
    """An agent that is a program; a subclass says how it is started.

    ``mode_key`` is the key that says what it may do, ``powers`` has what each of its values allows. With
    those of ``confining`` it only edits the worktree; ``calmer`` is one of them. ``help_words`` print its
    help, which must list ``flags``, and ``review_flags`` for reviews. ``keys`` are variables that log it in.
    ``query_environ`` is added to its environment while it is only asked about itself.
    """

    name: str
    abilities: Capabilities
    parser_type: type[EventParser[Any]]
    mode_key: str
    powers: Mapping[str, str]
    confining: frozenset[str]
    calmer: str
    help_words: tuple[str, ...]
    flags: tuple[str, ...]
    review_flags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    query_environ: Mapping[str, str] = {}
    reviews: str
    remarks: tuple[str, ...]
    leftover_dirs: tuple[str, ...] = ()

    def __init__(self, settings: S) -> None:
        self._settings = settings
        self._model_args = ("--model", settings.model) if settings.model else ()

    @property
    def mode(self) -> str:
        return str(getattr(self._settings, self.mode_key))

    @property
    def model(self) -> str | None:
        return self._settings.model or None

    @property
    def summary(self) -> str:
        return f"{self.name}, {self.mode_key.replace('_', ' ')} {self.mode}"

    @property
    def rights(self) -> Rights | None:
        """More than editing, unless its mode denies the rest and no argument changes that."""
        settings = self._settings
        if self.mode in self.confining and not settings.args:
            return None
        key = f"{self.name}.{to_camel(self.mode_key)}"
        calmer = ShellLine(f"git blackbird config {key} {self.calmer}", "confines its edits to the worktree")
        return Rights(self._powers, (settings.path, self.mode, *settings.args), calmer)

    @property
    def _powers(self) -> str:
        powers, args = self.powers[self.mode], " ".join(map(shell_word, self._settings.args))
        return f"{powers}; plus what {self.name}.args adds: {args}" if args else powers

    def probe(self, environ: Mapping[str, str]) -> str:
        environ = {**environ, **self.query_environ}
        return find_program(self._settings.path, environ, self.parser_type.provider).version

    def inspect(self, environ: Mapping[str, str]) -> ProbeResult:
        environ, provider = {**environ, **self.query_environ}, self.parser_type.provider
        found = ProbeResult(powers=self._powers, reviews=self.reviews, remarks=self.remarks)
        program = None
        try:
            program = find_program(self._settings.path, environ, provider)
            said = run_query(program.path, *self.help_words, environ=environ)
            program = program._replace(help=f"{said.stdout}\n{said.stderr}".strip())
            self._check(program)
        except AgentUnavailableError as error:
            found = found._replace(blocked_reason=error.message, hint=error.hint)
        if program is None:
            return found
        try:
            login = self._login(program, environ)
        except AgentUnavailableError as error:
            login = f"unknown: {error.message}"
        logins = filter(None, (login, *(f"{name} is set" for name in self.keys if environ.get(name))))
        lacks = program.lacks(self.review_flags) if program.help else ""
        if lacks:
            unknown = f"{self.name} {program.version} does not know {lacks}"
            remark = f"it cannot review: {unknown}; update it: {provider.update}"
            found = found._replace(holds_reviews=False, remarks=(*self.remarks, remark))
        return found._replace(
            program=program.path, version=program.version, login="; ".join(logins) or "unknown"
        )

    def _check(self, program: Program) -> None:
        """Check that the program can be started. Raises AgentUnavailableError."""
        if lacks := program.lacks((*self.flags, *self._model_args[:1])):
            raise AgentUnavailableError(
                f"{self.name} {program.version} does not know {lacks}",
                hint=f"update it: {self.parser_type.provider.update}",
            )

    def _login(self, program: Program, environ: Mapping[str, str]) -> str:  # noqa: ARG002  # it may say nothing
        """Return what a program says of its login, "" for nothing. Raises AgentUnavailableError."""
        return ""

    def accepts_session(self, session: str) -> bool:
        """Accept only UUIDs: any other name may be taken for something else."""
        return is_uuid(session)

    @abstractmethod
    def launch(self, assignment: Assignment, folder: str = "", scratch: str = "") -> Launch:
        """Return the launch with all options: a resume remembers only the session."""

    @abstractmethod
    def launch_by_hand(self, session: str) -> Launch:
        """Return how a person opens a session at a terminal, with the rights as configured."""

    def parser(self, assignment: Assignment, folder: str = "") -> EventParser[Any]:
        return self.parser_type(assignment, () if assignment.read_only else self._settings.args, folder)


# What lies in the folder where a program starts may configure it, and so start other programs.
_BESIDE = ("/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "beside")


class PermittedAgent(ProgramAgent[PermittedConfig]):
    """An agent that may use all of its program's tools, or those for files."""

    mode_key = "permissions"
    powers: Mapping[str, str] = {
        "all": "do anything you can do yourself, without asking; nothing confines it to the worktree",
        "edit": "read and edit files in the worktree, but run no commands and no tests",
    }
    confining = frozenset({"edit"})
    calmer = "edit"

    def launch(self, assignment: Assignment, folder: str = "", scratch: str = "") -> Launch:
        if not assignment.read_only:
            launch = self._start(assignment, folder, scratch)
            return launch._replace(argv=(*launch.argv, *self._settings.args))
        from git_blackbird.messages.outgoing.reviewer_prompts import located

        assignment = replace(assignment, prompt=located(assignment.prompt, folder))
        launch = self._start(assignment, folder, scratch)
        return launch._replace(argv=(*_BESIDE, f"{scratch}/{TMP_FOLDER}", *launch.argv))

    @abstractmethod
    def _start(self, assignment: Assignment, folder: str, scratch: str) -> Launch:
        """Return the launch without the user's arguments; a reviewer does not start in the worktree."""
