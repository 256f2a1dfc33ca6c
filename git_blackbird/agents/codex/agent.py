"""The ``codex`` agent: Codex CLI, headless, with its event stream."""

import json
import re
from collections.abc import Mapping

from git_blackbird.agents.codex.parser import CODEX_HELP, CodexParser
from git_blackbird.agents.program import Program, ProgramAgent, run_query
from git_blackbird.agents.protocol import Assignment, Capabilities, Launch, render_schema
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.config.config import CodexConfig

WORKSPACE_WRITE = "workspace-write"
_SCHEMA_FILE = "schema.json"
# The user's arguments could widen a reviewer's rights: they are ignored, as is the project's AGENTS.md.
_REVIEW_TERMS = ("-s", "read-only", "--ephemeral", "-c", "project_doc_max_bytes=0")
_SANDBOX_FLAG = re.compile(r"-s|--(?:sandbox|full-auto|yolo|dangerously-bypass-approvals-and-sandbox)(?:=|$)")


class CodexAgent(ProgramAgent[CodexConfig]):
    name = "codex"
    abilities = Capabilities(resume=True, schema=True, read_only=True, prints_events=True)
    parser_type = CodexParser
    mode_key = "sandbox"
    powers: Mapping[str, str] = {
        "read-only": "read everything and write nothing: not even the temporary files of tests",
        WORKSPACE_WRITE: "write in the worktree, but not in its .git, and in a temporary folder; no network",
        "danger-full-access": "do anything you can do yourself, without asking",
    }
    confining = frozenset({"read-only", WORKSPACE_WRITE})
    calmer = WORKSPACE_WRITE
    help_words = ("exec", "--help")
    flags = ("--json", "--sandbox", "--config")
    review_flags = ("--output-schema", "--ephemeral")
    keys = ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN")
    reviews = (
        "read everything and write nothing; codex.args and the repository's own settings are ignored,"
        " and no session is kept"
    )
    remarks = (
        "commands that its sandbox blocks are not reported; patches that it rejects are",
        "a model provider with a key of its own, set up in its config.toml, needs no login",
    )
    # Mount points of its sandbox. Its .git is one as well, but an empty folder of that name at the top of a
    # worktree is never a leftover.
    leftover_dirs: tuple[str, ...] = (".codex", ".agents", ".aws")

    def _login(self, program: Program, environ: Mapping[str, str]) -> str:
        """Return its login state; with a custom model provider it may need no login."""
        output = run_query(program.path, "login", "status", environ=environ)
        return output.first_line if output.exit_code == 0 or "logged in" in output.first_line.lower() else ""

    def probe(self, environ: Mapping[str, str]) -> str:
        version = super().probe(environ)
        self._require_one_sandbox()
        return version

    def launch(self, assignment: Assignment, folder: str = "", scratch: str = "") -> Launch:
        """Return the launch with all options: a resume does not even remember the sandbox."""
        settings, schema = self._settings, render_schema(self, assignment)
        if schema and not scratch:
            # A bare name would be looked up in the worktree.
            raise ValueError("a schema for codex needs the run's work folder")
        terms: tuple[str, ...] = ("-s", settings.sandbox)
        if assignment.read_only:
            # In a trusted project the program starts servers named by its .codex, outside of the sandbox.
            top = json.dumps(folder, ensure_ascii=False)
            distrust = ("-c", f'projects={{{top}={{trust_level="untrusted"}}}}') if folder else ()
            terms = (*_REVIEW_TERMS, *distrust)
        elif settings.sandbox == WORKSPACE_WRITE:
            # Tests find their temporary files in a folder of the run, not among those of others in /tmp.
            terms = (*terms, "-c", "sandbox_workspace_write.exclude_slash_tmp=true")
        argv = (
            *(settings.path, "exec", "--json", *terms),
            *self._model_args,
            *(("--output-schema", f"{scratch}/{_SCHEMA_FILE}") if schema else ()),
            *(() if assignment.read_only else settings.args),
            # The options of exec are not valid after resume: they come before that word.
            *(("resume", assignment.session or "") if assignment.resume else ()),
            "-",
        )
        files = {_SCHEMA_FILE: schema.encode()} if schema else {}
        return Launch(argv=argv, stdin=assignment.prompt.encode(errors="replace"), files=files)

    def launch_by_hand(self, session: str) -> Launch:
        """Open its own interface, in the configured sandbox."""
        settings = self._settings
        sandbox = ("-s", settings.sandbox)
        return Launch((settings.path, "resume", *sandbox, *self._model_args, *settings.args, session), b"")

    def _check(self, program: Program) -> None:
        super()._check(program)
        if not program.has_command("resume"):
            raise AgentUnavailableError(
                f"codex {program.version} cannot resume a session", hint=f"update it: {CODEX_HELP.update}"
            )
        self._require_one_sandbox()

    def _require_one_sandbox(self) -> None:
        """Raise AgentUnavailableError if the user's arguments contradict the configured sandbox."""
        if any(_SANDBOX_FLAG.match(word) for word in self._settings.args):
            raise AgentUnavailableError(
                "codex.args sets a sandbox, but codex.sandbox always sets one",
                hint="remove it from codex.args, and set it: git config blackbird.codex.sandbox MODE",
            )
