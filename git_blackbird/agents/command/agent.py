"""The ``command`` agent: any shell command that reads the context pack and works in the worktree.

The command gets the context pack as one line of JSON on standard input and its session, chosen by this
program, in ``BLACKBIRD_SESSION_ID``; ``BLACKBIRD_RESUME=1`` means that the session continues. Exit status 0
without a question at the end of its output is success. If ``command.schema`` says that it
supports schemas, ``BLACKBIRD_RESPONSE_SCHEMA`` has the JSON schema of the answer, as one line.
"""

import json
import re
from collections import deque
from collections.abc import Mapping, Sequence

from git_blackbird.agents.failures import exit_text, last_line
from git_blackbird.agents.protocol import (
    Agent,
    Assignment,
    Capabilities,
    JsonObject,
    Launch,
    ProbeResult,
    render_schema,
)
from git_blackbird.clean import one_line
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.messages.incoming.questions import StandingForms
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.system import is_program_missing
from git_blackbird.model.config.config import CommandConfig
from git_blackbird.model.run.agent_io import AgentFailure, Progress, ProgressKind, Rights
from git_blackbird.model.run.ended import Ended

SESSION_VARIABLE = "BLACKBIRD_SESSION_ID"
RESUME_VARIABLE = "BLACKBIRD_RESUME"
SCHEMA_VARIABLE = "BLACKBIRD_RESPONSE_SCHEMA"
_FINAL_BYTES = 256 * 1024
_NOT_FOUND_STATUS = 127
# With these the shell says that it could not run a program.
_NOT_RUN_STATUSES = frozenset({126, _NOT_FOUND_STATUS})
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+/-]+")
# Builtins and keywords of the shell: no program of that name need exist.
_SHELL_WORDS = frozenset(
    {"break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export", "for", "if", "read"}
    | {"readonly", "return", "set", "shift", "times", "trap", "type", "ulimit", "umask", "unset", "until"}
    | {"alias", "local", "unalias", "wait", "while", "echo", "false", "true", "test", "printf", "."}
)
_REVIEWS = "runs with your permissions, in a throwaway checkout of what is to be reviewed"
_NO_REVIEWS = (
    f"{_REVIEWS}; cannot review parents: command.schema does not say that it honours"
    " BLACKBIRD_RESPONSE_SCHEMA"
)
_KEEPS_TO_SCHEMA = ShellLine(
    "git config blackbird.command.schema true", "if the command honours BLACKBIRD_RESPONSE_SCHEMA"
)
_HINT = "set the key command.run, or BLACKBIRD_AGENT_CMD, to the command that runs it"


class CommandAgent:
    name = "command"
    abilities = Capabilities(resume=True, chooses_session=True, schema_command=_KEEPS_TO_SCHEMA)
    leftover_dirs: tuple[str, ...] = ()
    model = None

    def __init__(self, settings: CommandConfig) -> None:
        self._command = (settings.run or "").strip()
        self.abilities = type(self).abilities._replace(schema=settings.schema)

    @property
    def summary(self) -> str:
        return f"{self.name}: {one_line(self._command or 'no command is set')}"

    @property
    def rights(self) -> Rights | None:
        """Unrestricted, whatever the command is."""
        if not self._command:
            return None
        return Rights(f"do anything you can do yourself: it runs {self._command!a}", (self._command,))

    def probe(self, environ: Mapping[str, str]) -> str:
        """Check that a command is set, and that its program is there if it is a plain name."""
        if not self._command:
            raise AgentUnavailableError("the agent 'command' has no command to run", hint=_HINT)
        word = self._program()
        if word and is_program_missing(word, environ):
            raise AgentUnavailableError(
                f"cannot find the program '{word}' of the agent's command", hint=_HINT
            )
        return ""

    def inspect(self, environ: Mapping[str, str]) -> ProbeResult:
        try:
            return ProbeResult(
                self._command,
                self.probe(environ),
                powers="runs with your permissions",
                reviews=_REVIEWS if self.abilities.schema else _NO_REVIEWS,
            )
        except AgentUnavailableError as error:
            return ProbeResult(blocked_reason=error.message, hint=error.hint)

    def accepts_session(self, session: str) -> bool:
        """Accept every name that is not empty; only the command interprets it."""
        return bool(session)

    def launch(self, assignment: Assignment, folder: str = "", scratch: str = "") -> Launch:  # noqa: ARG002  # the Protocol's
        """Raises AgentUnavailableError for a schema if the command is not known to support it."""
        return Launch(
            argv=("/bin/sh", "-c", self._command),
            stdin=render_context(assignment.context),
            environ=session_environ(self, assignment),
        )

    def parser(self, assignment: Assignment, folder: str = "") -> "CommandParser":  # noqa: ARG002  # as above
        return CommandParser(assignment, self._program())

    def _program(self) -> str:
        word = self._command.split(maxsplit=1)[0] if self._command else ""
        return word if _PLAIN_NAME.fullmatch(word) and word not in _SHELL_WORDS else ""


def session_environ(agent: Agent, assignment: Assignment) -> dict[str, str]:
    """Return the variables with session and schema for agents that have no options for them."""
    environ = {SESSION_VARIABLE: assignment.session or ""}
    if assignment.resume:
        environ[RESUME_VARIABLE] = "1"
    schema = render_schema(agent, assignment)
    return environ | {SCHEMA_VARIABLE: schema} if schema else environ


def render_context(context: JsonObject) -> bytes:
    return json.dumps(context, separators=(",", ":")).encode() + b"\n"


class CommandParser:
    """Keep the end of the output; the last line printed is the progress."""

    needs_all = False
    remaining_work = step = None

    def __init__(self, assignment: Assignment, program: str) -> None:
        self._session = assignment.session
        self._program = program
        self._pieces: deque[bytes] = deque()
        self._size = self._seen = 0

    def feed(self, data: bytes) -> Sequence[Progress]:
        # Collect whole pieces and join them once, since each join copies all of them.
        self._pieces.append(data)
        self._seen += len(data)
        self._size += len(data)
        while self._size - len(self._pieces[0]) >= _FINAL_BYTES:
            self._size -= len(self._pieces.popleft())
        line = last_line(data[-4096:].decode(errors="replace"))
        return (Progress(ProgressKind.PRINTS, line),) if line else ()

    def finish(self, exit_code: int | None, stderr_tail: str) -> Ended:
        """Derive the outcome from the exit status and a question at the end of the output."""
        # The shell did not find the command's first word: nothing was done.
        is_refused = exit_code == _NOT_FOUND_STATUS and not self._seen and "not found" in stderr_tail
        if is_refused and self._program and f"{self._program}: " in stderr_tail:
            return Ended(
                succeeded=False,
                error=f"cannot find the program '{self._program}' of the agent's command",
                refusal=AgentFailure.MISSING,
                way_out=_HINT,
            )
        text = b"".join(self._pieces)[-_FINAL_BYTES:].decode(errors="replace").strip()
        is_killed = exit_code is None or exit_code < 0
        forms = StandingForms()
        forms.take(text)
        questions = () if is_killed else forms.questions
        is_cut = self._seen > _FINAL_BYTES
        if is_cut:
            whole_lines = text.partition("\n")[2]
            text = f"[the end of a longer output]\n{whole_lines or text}"
        message = one_line(last_line(stderr_tail))
        error = f"{exit_text(exit_code)}: {message}" if message else exit_text(exit_code)
        return Ended(
            succeeded=exit_code == 0 and not questions,
            session=self._session,
            final_text=text,
            questions=questions,
            rulings=forms.rulings,
            error=None if exit_code == 0 else error,
            is_cut=is_cut,
            worked=exit_code not in _NOT_RUN_STATUSES,
        )
