"""The ``command`` agent: any shell command that reads the context pack and works in the worktree.

The command gets the context pack as one line of JSON on standard input and its session, ours, in
``BLACKBIRD_SESSION_ID``; ``BLACKBIRD_RESUME=1`` says that the session goes on. Exit status 0 without a
question at the end of its output is success (DESIGN.md 9). Where ``command.schema`` says that it honours it,
``BLACKBIRD_RESPONSE_SCHEMA`` holds the JSON schema of the answer wanted, as one line.
"""

import json
import re
import shutil
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace

from git_blackbird.agents.activity import exit_text, last_line, one_line
from git_blackbird.agents.protocol import (
    Abilities,
    AgentSettings,
    Assignment,
    Inspection,
    JsonObject,
    Launch,
    build_session_uuid,
)
from git_blackbird.agents.schemas import render_schema
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.messages.questions import parse_questions
from git_blackbird.model.agent_rights import Rights
from git_blackbird.model.conversation import Progress, ProgressKind, Reading, Refusal

SESSION_VARIABLE = "BLACKBIRD_SESSION_ID"
RESUME_VARIABLE = "BLACKBIRD_RESUME"
_FINAL_BYTES = 256 * 1024
_NOT_FOUND_STATUS = 127
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+/-]+")
# What the shell itself knows: no program of that name need exist.
_SHELL_WORDS = frozenset(
    {"break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export", "for", "if", "read"}
    | {"readonly", "return", "set", "shift", "times", "trap", "type", "ulimit", "umask", "unset", "until"}
    | {"alias", "local", "unalias", "wait", "while", "echo", "false", "true", "test", "printf", "."}
)
_REVIEWS = "runs with your permissions, in a throw-away checkout of what is to be reviewed"
_NO_REVIEWS = (
    f"{_REVIEWS}; cannot review parents: command.schema does not say that it honours"
    " BLACKBIRD_RESPONSE_SCHEMA"
)
_HINT = (
    "set it with git config blackbird.command.run COMMAND, or BLACKBIRD_AGENT_CMD, "
    "or choose another agent with --agent"
)


class CommandAgent:
    """Runs the configured shell command."""

    name = "command"
    abilities = Abilities(
        resume=True,
        schema=False,
        read_only=False,
        chooses_session=True,
        reports_cost=False,
        prints_events=False,
    )
    litter: tuple[str, ...] = ()

    def __init__(self, settings: AgentSettings) -> None:
        self._command = (settings.command or "").strip()
        self.abilities = replace(type(self).abilities, schema=settings.command_schema)

    @property
    def rights(self) -> Rights | None:
        """Whatever it is, nothing holds it."""
        if not self._command:
            return None
        return Rights(f"do anything you can do yourself: it runs {self._command!a}", (self._command,))

    def new_session(self, random_hex: str) -> str:
        """Name a session; the command sees the same name at every resume."""
        return build_session_uuid(random_hex)

    def probe(self, environ: Mapping[str, str]) -> str:
        """Check that there is a command, and its program where it is a plain name; it has no version.

        Raises AgentUnavailableError.
        """
        if not self._command:
            raise AgentUnavailableError("the agent 'command' has no command to run", hint=_HINT)
        word = self._program()
        is_relative = "/" in word and not word.startswith("/")  # to the worktree, which is not known here
        if word and not is_relative and shutil.which(word, path=environ.get("PATH")) is None:
            raise AgentUnavailableError(
                f"cannot find the program '{word}' of the agent's command", hint=_HINT
            )
        return ""

    def inspect(self, environ: Mapping[str, str]) -> Inspection:
        """Say whether there is a command, and what it is."""
        try:
            return Inspection(
                self._command,
                self.probe(environ),
                powers="runs with your permissions",
                reviews=_REVIEWS if self.abilities.schema else _NO_REVIEWS,
            )
        except AgentUnavailableError as error:
            return Inspection(obstacle=error.message, hint=error.hint)

    def accepts_session(self, session: str) -> bool:
        """Every name that is not empty: what it means is the command's business."""
        return bool(session)

    def launch(self, assignment: Assignment, environ: Mapping[str, str]) -> Launch:  # noqa: ARG002  # the Protocol's
        """Start it by the shell, with nothing added to it.

        Raises AgentUnavailableError where it is not known to keep to the schema that is asked for.
        """
        return Launch(
            argv=("/bin/sh", "-c", self._command),
            stdin=render_context(assignment.context),
            environ={**session_environ(assignment), **render_schema(self, assignment).environ},
        )

    def reader(self, assignment: Assignment) -> "CommandReader":
        """Read output that may be anything."""
        return CommandReader(assignment, self._program())

    def _program(self) -> str:
        """Give the command's first word where it can only be a program's name, else ""."""
        word = self._command.split(maxsplit=1)[0] if self._command else ""
        return word if _PLAIN_NAME.fullmatch(word) and word not in _SHELL_WORDS else ""


def session_environ(assignment: Assignment) -> dict[str, str]:
    """Give the variables that tell an agent without session ids of its own which session this is."""
    environ = {SESSION_VARIABLE: assignment.session or ""}
    return environ | {RESUME_VARIABLE: "1"} if assignment.resume else environ


def render_context(context: JsonObject) -> bytes:
    """Write a context pack as one line of JSON."""
    return json.dumps(context, separators=(",", ":")).encode() + b"\n"


class CommandReader:
    """Keeps the end of the output; the last line printed is what the command is doing."""

    def __init__(self, assignment: Assignment, program: str) -> None:
        self._session = assignment.session
        self._program = program
        self._pieces: deque[bytes] = deque()
        self._kept = self._seen = 0

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Take the next piece of standard output."""
        # Whole pieces, put together once: each time would be a copy of all of them.
        self._pieces.append(data)
        self._seen += len(data)
        self._kept += len(data)
        while self._kept - len(self._pieces[0]) >= _FINAL_BYTES:
            self._kept -= len(self._pieces.popleft())
        line = last_line(data[-4096:].decode(errors="replace"))
        return (Progress(ProgressKind.PRINTS, line),) if line else ()

    def finish(self, exit_code: int | None, stderr_tail: str) -> Reading:
        """Judge by the exit status, and by a question at the end of the output."""
        if self._is_missing(exit_code, stderr_tail):
            return Reading(
                succeeded=False,
                error=f"cannot find the program '{self._program}' of the agent's command",
                refusal=Refusal.MISSING,
                refusal_hint=_HINT,
            )
        text = b"".join(self._pieces)[-_FINAL_BYTES:].decode(errors="replace").strip()
        killed = exit_code is None or exit_code < 0
        questions = () if killed else parse_questions(text)
        is_cut = self._seen > _FINAL_BYTES
        return Reading(
            succeeded=exit_code == 0 and not questions,
            session=self._session,
            final_text=_told_of_cut(text, self._seen) if is_cut else text,
            questions=questions,
            error=None if exit_code == 0 else _error_text(exit_code, stderr_tail),
            is_cut=is_cut,
        )

    def _is_missing(self, exit_code: int | None, stderr_tail: str) -> bool:
        """Whether the shell did not find the command's first word, and so nothing was done."""
        return (
            exit_code == _NOT_FOUND_STATUS
            and not self._seen
            and bool(self._program)
            and f"{self._program}: " in stderr_tail
            and "not found" in stderr_tail
        )


def _told_of_cut(text: str, seen: int) -> str:
    """Give the lines that are whole at the end of what was printed, ``seen`` bytes, and say what they are."""
    _, _, lines = text.partition("\n")
    return f"[the last of {seen} bytes]\n{lines or text}"


def _error_text(exit_code: int | None, stderr_tail: str) -> str:
    said = one_line(last_line(stderr_tail))
    return f"{exit_text(exit_code)}: {said}" if said else exit_text(exit_code)
