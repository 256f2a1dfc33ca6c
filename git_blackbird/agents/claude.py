"""The ``claude`` agent: Claude Code, headless, with its event stream (AGENTS.md 1 and 2)."""

import os
import shutil
from collections.abc import Mapping

from git_blackbird.agents.activity import exit_text, last_line, one_line
from git_blackbird.agents.claude_output import INSTALL_HINT, ClaudeReader
from git_blackbird.agents.environment import OUTER_SESSION_VARIABLES
from git_blackbird.agents.protocol import (
    Abilities,
    AgentSettings,
    Assignment,
    Inspection,
    Launch,
    build_session_uuid,
    is_uuid,
)
from git_blackbird.errors import AgentUnavailableError

BYPASS_MODE = "bypassPermissions"
_VERSION_SECONDS = 30.0
_ROOT = 0


class ClaudeAgent:
    """Starts and resumes Claude Code with the prompt on standard input."""

    name = "claude"
    abilities = Abilities(
        resume=True,
        schema=True,
        read_only=True,
        chooses_session=True,
        reports_cost=True,
        prints_events=True,
    )
    litter: tuple[str, ...] = ()

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings

    def new_session(self, random_hex: str) -> str:
        """Name a session, as the UUID that the program asks for."""
        return build_session_uuid(random_hex)

    def probe(self, environ: Mapping[str, str]) -> str:
        """Find the program and give the first word of its version.

        Raises AgentUnavailableError.
        """
        import subprocess  # noqa: PLC0415  # slow to load, and needed by no command that only reads

        program = self._settings.claude_path
        found = shutil.which(program, path=environ.get("PATH"))
        if found is None:
            raise AgentUnavailableError(f"cannot find the program '{program}'", hint=INSTALL_HINT)
        kept = {name: value for name, value in environ.items() if name not in OUTER_SESSION_VARIABLES}
        try:
            done = subprocess.run(
                [found, "--version"],
                env=kept | {"DISABLE_AUTOUPDATER": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_VERSION_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AgentUnavailableError(f"'{program} --version' did not work: {error}") from error
        if done.returncode:
            said = last_line(done.stderr.decode(errors="replace")) or exit_text(done.returncode)
            raise AgentUnavailableError(f"'{program} --version' did not work: {said}", hint=INSTALL_HINT)
        return one_line(done.stdout.decode(errors="replace")).partition(" ")[0]

    def inspect(self, environ: Mapping[str, str]) -> Inspection:
        """Find the program and what it says of itself."""
        try:
            return Inspection(self._settings.claude_path, self.probe(environ), powers="")
        except AgentUnavailableError as error:
            return Inspection(obstacle=error.message, hint=error.hint)

    def accepts_session(self, session: str) -> bool:
        """Only UUIDs: a title that fits would open some other conversation."""
        return is_uuid(session)

    def launch(self, assignment: Assignment, environ: Mapping[str, str]) -> Launch:  # noqa: ARG002  # the Protocol's
        """Say everything anew at each start: nothing but the session is remembered over a resume."""
        settings = self._settings
        mode = settings.claude_permission_mode
        session = ("--resume" if assignment.resume else "--session-id", assignment.session or "")
        model = ("--model", settings.claude_model) if settings.claude_model else ()
        stream = ("-p", "--output-format", "stream-json", "--verbose")
        argv = (settings.claude_path, *stream, *session, "--permission-mode", mode, *model)
        # As root the program refuses to work without asking, except where it is told of a sandbox.
        sandbox = {"IS_SANDBOX": "1"} if os.geteuid() == _ROOT and mode == BYPASS_MODE else {}
        return Launch(
            argv=(*argv, *settings.claude_args),
            stdin=_plain(assignment.prompt).encode(errors="replace"),
            environ={"DISABLE_AUTOUPDATER": "1", **sandbox},
        )

    def reader(self, assignment: Assignment) -> ClaudeReader:
        """Read its event stream."""
        return ClaudeReader(assignment)


def _plain(prompt: str) -> str:
    """Keep a prompt that begins like a command of the program's own, as ``/compact``, a text for the model.

    Such a command would be carried out, and end with success, without the model having heard of it.
    """
    return f"\n{prompt}" if prompt.startswith("/") else prompt
