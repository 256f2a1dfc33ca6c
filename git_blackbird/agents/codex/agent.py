"""The ``codex`` agent: Codex CLI, headless, with its event stream."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from git_blackbird.agents.codex.declaration import CodexConfig
from git_blackbird.agents.codex.parser import CODEX_HELP, CodexParser
from git_blackbird.agents.probe import (
    Program,
    Requirements,
    find_program,
    inspect_program,
    run_query,
    with_args,
)
from git_blackbird.agents.protocol import (
    Capabilities,
    LaunchSpec,
    ProbeResult,
    RunRequest,
    is_uuid,
    render_schema,
)
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.run.agent_io import Rights

WORKSPACE_WRITE = "workspace-write"
_SCHEMA_FILE = "schema.json"
_NEEDED_FLAGS = ("--json", "--sandbox", "--config")
# The user's arguments could widen a reviewer's rights: they are ignored, as is the project's AGENTS.md.
_REVIEW_TERMS = ("-s", "read-only", "--ephemeral", "-c", "project_doc_max_bytes=0")
_REVIEW_FLAGS = ("--output-schema", "--ephemeral")
_REVIEWS = (
    "read everything and write nothing; codex.args and the repository's own settings are ignored,"
    " and no session is kept"
)
_KEYS = ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN")
_SANDBOX_FLAG = re.compile(r"-s|--(?:sandbox|full-auto|yolo|dangerously-bypass-approvals-and-sandbox)(?:=|$)")
_POWERS = {
    "read-only": "read everything and write nothing: not even the temporary files of tests",
    WORKSPACE_WRITE: "write in the worktree, but not in its .git, and in a temporary folder; no network",
    "danger-full-access": "do anything you can do yourself, without asking",
}
_CALMER = ShellLine(f"git config blackbird.codex.sandbox {WORKSPACE_WRITE}")
_SANDBOXES = frozenset({"read-only", WORKSPACE_WRITE})
_REMARKS = (
    "commands that its sandbox blocks are not reported; patches that it rejects are",
    "a model provider with a key of its own, set up in its config.toml, needs no login",
)


class CodexAgent:
    """Start and resume Codex, with the prompt on standard input."""

    name = "codex"
    abilities = Capabilities(resume=True, schema=True, read_only=True, prints_events=True)
    # Mount points of its sandbox. Its .git is one as well, but an empty folder of that name at the top of a
    # worktree is never a leftover.
    leftover_dirs: tuple[str, ...] = (".codex", ".agents", ".aws")

    def __init__(self, settings: CodexConfig) -> None:
        self._settings = settings

    @property
    def model(self) -> str | None:
        """The configured model."""
        return self._settings.model or None

    @property
    def summary(self) -> str:
        """Its sandbox."""
        return f"{self.name}, sandbox {self._settings.sandbox}"

    @property
    def rights(self) -> Rights | None:
        """More than editing, without its sandbox or with arguments that may allow it."""
        settings = self._settings
        if settings.sandbox in _SANDBOXES and not settings.args:
            return None
        return Rights(self._powers(), (settings.path, settings.sandbox, *settings.args), _CALMER)

    def new_session(self, random_hex: str) -> str | None:  # noqa: ARG002  # the Protocol's
        """Return None: the program names its threads itself, in its first line."""
        return None

    def probe(self, environ: Mapping[str, str]) -> str:
        """Find the program and return its version. Raises AgentUnavailableError."""
        version = find_program(self._settings.path, environ, CODEX_HELP).version
        self._require_one_sandbox()
        return version

    def inspect(self, environ: Mapping[str, str]) -> ProbeResult:
        """Find the program, its options and its login."""
        model = ("--model",) if self._settings.model else ()
        needs = Requirements(("exec", "--help"), (*_NEEDED_FLAGS, *model), _REVIEW_FLAGS, _login, self._check)
        result = inspect_program(self._settings.path, environ, CODEX_HELP, needs)
        remarks = (*_REMARKS, *result.remarks)
        return replace(result, powers=self._powers(), reviews=_REVIEWS, remarks=remarks)

    def accepts_session(self, session: str) -> bool:
        """Accept only UUIDs: with any other name it would silently start a new thread."""
        return is_uuid(session)

    def launch(self, request: RunRequest, environ: Mapping[str, str]) -> LaunchSpec:  # noqa: ARG002  # the Protocol's
        """Return the launch with all options: a resume does not even remember the sandbox."""
        settings, schema = self._settings, render_schema(self, request)
        if schema and not request.scratch:
            # A bare name would be looked up in the worktree.
            raise ValueError("a schema for codex needs the run's work folder")
        terms: tuple[str, ...] = ("-s", settings.sandbox)
        if request.read_only:
            # In a trusted project the program starts servers named by its .codex, outside of the sandbox.
            top = json.dumps(request.folder, ensure_ascii=False)
            distrust = ("-c", f'projects={{{top}={{trust_level="untrusted"}}}}') if request.folder else ()
            terms = (*_REVIEW_TERMS, *distrust)
        elif settings.sandbox == WORKSPACE_WRITE:
            # Tests find their temporary files in a folder of the run, not among those of others in /tmp.
            terms = (*terms, "-c", "sandbox_workspace_write.exclude_slash_tmp=true")
        argv = (
            *(settings.path, "exec", "--json", *terms),
            *(("-m", settings.model) if settings.model else ()),
            *(("--output-schema", f"{request.scratch}/{_SCHEMA_FILE}") if schema else ()),
            *(() if request.read_only else settings.args),
            # The options of exec are not valid after resume: they come before that word.
            *(("resume", request.session or "") if request.resume else ()),
            "-",
        )
        files = {_SCHEMA_FILE: schema.encode()} if schema else {}
        return LaunchSpec(argv=argv, stdin=request.prompt.encode(errors="replace"), files=files)

    def launch_by_hand(self, session: str) -> LaunchSpec:
        """Return the launch of its own interface, in the configured sandbox."""
        settings = self._settings
        model = ("-m", settings.model) if settings.model else ()
        return LaunchSpec(
            (settings.path, "resume", "-s", settings.sandbox, *model, *settings.args, session), b""
        )

    def parser(self, request: RunRequest) -> CodexParser:
        """Read its event stream."""
        return CodexParser(request, () if request.read_only else self._settings.args)

    def _check(self, program: Program) -> None:
        if not program.has_command("resume"):
            raise AgentUnavailableError(
                f"codex {program.version} cannot resume a session", hint=f"update it: {CODEX_HELP.update}"
            )
        self._require_one_sandbox()

    def _powers(self) -> str:
        sandbox = self._settings.sandbox
        return with_args(_POWERS[sandbox], "codex.args", self._settings.args)

    def _require_one_sandbox(self) -> None:
        """Raise AgentUnavailableError if the user's arguments contradict the configured sandbox."""
        if any(_SANDBOX_FLAG.match(word) for word in self._settings.args):
            raise AgentUnavailableError(
                "codex.args sets a sandbox, but codex.sandbox always sets one",
                hint="remove it from codex.args, and set it: git config blackbird.codex.sandbox MODE",
            )


def _login(program: Program, environ: Mapping[str, str]) -> str:
    """Return its login state; with a custom model provider it may need no login."""
    state = "unknown"
    with suppress(AgentUnavailableError):
        output = run_query(program.path, "login", "status", environ=environ)
        if output.exit_code == 0 or "logged in" in output.first_line.lower():
            state = output.first_line
    return "; ".join((state, *(f"{name} is set" for name in _KEYS if environ.get(name))))
