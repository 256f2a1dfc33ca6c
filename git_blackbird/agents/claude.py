"""The ``claude`` agent: Claude Code, headless, with its event stream (AGENTS.md 1 and 2)."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace

from git_blackbird.agents.activity import one_line
from git_blackbird.agents.claude_output import CLAUDE_MANUAL, ClaudeReader
from git_blackbird.agents.json_values import object_of, text_of
from git_blackbird.agents.programs import (
    Needs,
    Program,
    Told,
    ask,
    find_program,
    inspect_program,
    review_remarks,
    with_args,
)
from git_blackbird.agents.protocol import (
    Abilities,
    AgentSettings,
    Assignment,
    Inspection,
    Launch,
    build_session_uuid,
    is_uuid,
)
from git_blackbird.agents.schemas import render_schema
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.agent_rights import Rights

BYPASS_MODE = "bypassPermissions"
_ROOT = 0
_NEEDED_FLAGS = ("--print", "--output-format", "--verbose", "--session-id", "--resume", "--permission-mode")
# A reviewer may look at everything, and run commands that only read. The settings of the repository could
# run programs of its own, and the user's arguments widen what it may: neither has a say.
_REVIEW_TERMS = (
    *("--tools", "Read,Grep,Glob,Bash", "--permission-mode", "dontAsk"),
    *("--setting-sources", "user", "--strict-mcp-config", "--no-session-persistence"),
)
_REVIEW_FLAGS = (
    *("--json-schema", "--tools", "--setting-sources", "--strict-mcp-config"),
    "--no-session-persistence",
)
_REVIEWS = (
    "read, run commands that only read, and do what your own settings allow; claude.args and the"
    " repository's settings are ignored, and no session is kept"
)
_KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
)
_POWERS = {
    BYPASS_MODE: "do anything you can do yourself, without asking; nothing confines it to the worktree",
    "acceptEdits": "edit files in the worktree, but run no tests: other commands are denied",
    "dontAsk": "do what its own settings allow, and run read-only commands; the rest is denied",
    "plan": "read and plan; everything else is denied",
    "default": "read; anything that needs permission is denied",
    "manual": "read; anything that needs permission is denied",
    "auto": "do what a check on the model's server allows",
}
_DENYING_MODES = frozenset({"acceptEdits", "dontAsk", "plan", "default", "manual"})
_REMARKS = ("it follows the settings, hooks and CLAUDE.md of the repository that it works in",)


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

    @property
    def rights(self) -> Rights | None:
        """More than editing where its permission mode does not deny the rest, or arguments may say so."""
        settings = self._settings
        if settings.claude_permission_mode in _DENYING_MODES and not settings.claude_args:
            return None
        terms = (settings.claude_path, settings.claude_permission_mode, *settings.claude_args)
        return Rights(self._powers(), terms)

    def new_session(self, random_hex: str) -> str:
        """Name a session, as the UUID that the program asks for."""
        return build_session_uuid(random_hex)

    def probe(self, environ: Mapping[str, str]) -> str:
        """Find the program and give its version. Raises AgentUnavailableError."""
        return find_program(self._settings.claude_path, environ, CLAUDE_MANUAL).version

    def inspect(self, environ: Mapping[str, str]) -> Inspection:
        """Find the program, its options and its login."""
        model = ("--model",) if self._settings.claude_model else ()
        needs = Needs(("--help",), (*_NEEDED_FLAGS, *model))
        program, found = inspect_program(self._settings.claude_path, environ, CLAUDE_MANUAL, needs)
        return replace(
            found,
            login=_login(program, environ) if program else None,
            powers=self._powers(),
            reviews=_REVIEWS,
            remarks=(*_REMARKS, *review_remarks(program, _REVIEW_FLAGS, CLAUDE_MANUAL)),
        )

    def accepts_session(self, session: str) -> bool:
        """Only UUIDs: a title that fits would open some other conversation."""
        return is_uuid(session)

    def launch(self, assignment: Assignment, environ: Mapping[str, str]) -> Launch:  # noqa: ARG002  # the Protocol's
        """Say everything anew at each start: nothing but the session is remembered over a resume."""
        settings, schema = self._settings, render_schema(self, assignment)
        reviews = assignment.read_only
        stream = ("-p", "--output-format", "stream-json", "--verbose")
        terms = _REVIEW_TERMS if reviews else self._work_terms(assignment)
        model = ("--model", settings.claude_model) if settings.claude_model else ()
        args = () if reviews else settings.claude_args
        # As root the program refuses to work without asking, except where it is told of a sandbox.
        sandbox = {"IS_SANDBOX": "1"} if self._bypasses_as_root and not reviews else {}
        return Launch(
            argv=(settings.claude_path, *stream, *schema.argv, *terms, *model, *args),
            stdin=_plain(assignment.prompt).encode(errors="replace"),
            environ={"DISABLE_AUTOUPDATER": "1", **sandbox},
        )

    def _work_terms(self, assignment: Assignment) -> tuple[str, ...]:
        session = ("--resume" if assignment.resume else "--session-id", assignment.session or "")
        return (*session, "--permission-mode", self._settings.claude_permission_mode)

    @property
    def _bypasses_as_root(self) -> bool:
        return self._settings.claude_permission_mode == BYPASS_MODE and os.geteuid() == _ROOT

    def reader(self, assignment: Assignment) -> ClaudeReader:
        """Read its event stream."""
        return ClaudeReader(assignment, () if assignment.read_only else self._settings.claude_args)

    def _powers(self) -> str:
        mode = self._settings.claude_permission_mode
        told = _POWERS.get(mode, f"do what its permission mode {mode} allows")
        powers = with_args(told, "claude.args", self._settings.claude_args)
        if self._bypasses_as_root:
            return f"{powers}; as root, IS_SANDBOX=1 tells it that this is a sandbox"
        return powers


def _login(program: Program, environ: Mapping[str, str]) -> str:
    """Say how it is logged in, as far as a program of its age can tell."""
    keys = [f"{name} is set" for name in _KEYS if environ.get(name)]
    # To a program without this command the words would be a prompt, for a model to read.
    known = "unknown"
    if program.has_command("auth"):
        try:
            known = _login_text(ask(program.path, "auth", "status", environ=environ))
        except AgentUnavailableError as error:
            known = f"unknown: {error.message}"
    return "; ".join((known, *keys))


def _login_text(told: Told) -> str:
    try:
        status = object_of(json.loads(told.stdout))
    except (ValueError, RecursionError):
        return told.first_line or "unknown"
    method = one_line(text_of(status.get("authMethod")))
    match status.get("loggedIn"):
        case True:
            return f"logged in by {method}" if method else "logged in"
        case False:
            return "not logged in"
        case _:
            return "unknown"


def _plain(prompt: str) -> str:
    """Keep a prompt that begins like a command of the program's own, as ``/compact``, a text for the model.

    Such a command would be carried out, and end with success, without the model having heard of it.
    """
    return f"\n{prompt}" if prompt.startswith("/") else prompt
