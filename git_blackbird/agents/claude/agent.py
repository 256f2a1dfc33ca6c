"""The ``claude`` agent: Claude Code, headless, with its event stream."""

import math
import os
from collections.abc import Mapping

from pydantic import TypeAdapter
from pydantic.alias_generators import to_camel

from git_blackbird.agents.claude.parser import ClaudeParser
from git_blackbird.agents.program import Program, ProgramAgent, run_query
from git_blackbird.agents.protocol import Assignment, Capabilities, Launch, render_schema
from git_blackbird.clean import one_line
from git_blackbird.model.base.lenient import Flag, Lenient, Part, Text
from git_blackbird.model.config.config import ClaudeConfig

BYPASS_MODE = "bypassPermissions"
# A reviewer may read everything and run read-only commands. Settings of the repository could start programs,
# and the user's arguments could widen its rights: both are ignored.
_REVIEW_MODE = "dontAsk"
_REVIEW_TERMS = (
    *("--tools", "Read,Grep,Glob,Bash", "--permission-mode", _REVIEW_MODE),
    *("--setting-sources", "user", "--strict-mcp-config", "--no-session-persistence"),
)
# It must not update itself under a run, and when it is only asked what it can do, send no reports either.
_PINNED = {"DISABLE_AUTOUPDATER": "1"}


class _LoginStatus(Lenient, alias_generator=to_camel):
    logged_in: Flag
    auth_method: Text


_LOGIN_STATUS: TypeAdapter[_LoginStatus] = TypeAdapter(Part[_LoginStatus])


class ClaudeAgent(ProgramAgent[ClaudeConfig]):
    name = "claude"
    abilities = Capabilities(
        resume=True, schema=True, read_only=True, chooses_session=True, reports_cost=True, prints_events=True
    )
    parser_type = ClaudeParser
    mode_key = "permission_mode"
    powers: Mapping[str, str] = {
        BYPASS_MODE: "do anything you can do yourself, without asking; nothing confines it to the worktree",
        "acceptEdits": "edit files in the worktree, but run no tests: other commands are denied",
        "dontAsk": "do what its own settings allow, and run read-only commands; the rest is denied",
        "plan": "read and plan; everything else is denied",
        "default": "read; anything that needs permission is denied",
        "auto": "do what the model provider's own check allows",
        "manual": "do what its permission mode manual allows",
    }
    confining = frozenset({"acceptEdits", "dontAsk", "plan", "default"})
    calmer = "acceptEdits"
    help_words = ("--help",)
    flags = ("--print", "--output-format", "--verbose", "--session-id", "--resume", "--permission-mode")
    review_flags = (
        *("--json-schema", "--tools", "--setting-sources", "--strict-mcp-config"),
        "--no-session-persistence",
    )
    keys = (
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
    )
    query_environ: Mapping[str, str] = {**_PINNED, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    reviews = (
        "read, run commands that only read, and do what your own settings allow; claude.args and the"
        " repository's settings are ignored, and no session is kept"
    )
    remarks = ("it follows the settings, hooks and CLAUDE.md of the repository that it works in",)

    def _login(self, program: Program, environ: Mapping[str, str]) -> str:
        # A program without this command would send the words to a model as a prompt.
        if not program.has_command("auth"):
            return ""
        output = run_query(program.path, "auth", "status", environ=environ)
        try:
            status = _LOGIN_STATUS.validate_json(output.stdout)
        except ValueError:
            return output.first_line
        method = one_line(status.auth_method)
        if status.logged_in:
            return f"logged in by {method}" if method else "logged in"
        return "" if status.logged_in is None else "not logged in"

    def launch(self, assignment: Assignment, folder: str = "", scratch: str = "") -> Launch:  # noqa: ARG002  # the Protocol's
        """Return the launch with all options: a resume remembers only the session."""
        settings, schema, reviews = self._settings, render_schema(self, assignment), assignment.read_only
        session = ("--resume" if assignment.resume else "--session-id", assignment.session or "")
        budget: tuple[str, ...] = ()
        if assignment.usd_left is not None:
            # Rounded up, so that a run that has cost it has spent all that was left.
            budget = ("--max-budget-usd", f"{math.ceil(assignment.usd_left * 10_000) / 10_000:.4f}")
        argv = (
            *(settings.path, "-p", "--output-format", "stream-json", "--verbose"),
            *(("--json-schema", schema) if schema else ()),
            *(_REVIEW_TERMS if reviews else (*session, "--permission-mode", settings.permission_mode)),
            *self._model_args,
            *budget,
            *(() if reviews else settings.args),
        )
        # A prompt that begins like a command of the program, such as ``/compact``, would be executed and
        # succeed without the model receiving the text.
        prompt = f"\n{assignment.prompt}" if assignment.prompt.startswith("/") else assignment.prompt
        return Launch(argv, prompt.encode(errors="replace"), _PINNED if reviews else self._environ)

    def launch_by_hand(self, session: str) -> Launch:
        """Open its own interface; a mode that denies what it could ask for is left out."""
        settings = self._settings
        denies = settings.permission_mode == "dontAsk"
        argv = (
            *(settings.path, "--resume", session),
            *(() if denies else ("--permission-mode", settings.permission_mode)),
            *self._model_args,
            *settings.args,
        )
        return Launch(argv, b"", self._environ)

    def parser(self, assignment: Assignment, folder: str = "") -> ClaudeParser:
        if assignment.read_only:
            return ClaudeParser(assignment, folder=folder, mode=_REVIEW_MODE)
        # The user's own arguments may choose another mode than the key.
        is_sure = not any("permission" in word for word in self._settings.args)
        mode = self._settings.permission_mode if is_sure else ""
        return ClaudeParser(assignment, self._settings.args, folder, mode)

    @property
    def _environ(self) -> dict[str, str]:
        # As root the program refuses to work unattended unless it is in a sandbox.
        return _PINNED | ({"IS_SANDBOX": "1"} if self._bypasses_as_root else {})

    @property
    def _bypasses_as_root(self) -> bool:
        return self._settings.permission_mode == BYPASS_MODE and os.geteuid() == 0

    @property
    def _powers(self) -> str:
        sandbox = "; as root, IS_SANDBOX=1 tells it that this is a sandbox" if self._bypasses_as_root else ""
        return f"{super()._powers}{sandbox}"
