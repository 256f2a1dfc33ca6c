"""The ``codex`` agent: Codex CLI, headless, with its event stream (AGENTS.md 1 and 3)."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from git_blackbird.agents.codex_output import CODEX_MANUAL, CodexReader
from git_blackbird.agents.programs import (
    Needs,
    Program,
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
    is_uuid,
)
from git_blackbird.agents.schemas import render_schema
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.agent_rights import Rights

WORKSPACE_WRITE = "workspace-write"
_NEEDED_FLAGS = ("--json", "--sandbox", "--config")
# The user's arguments could widen what a reviewer may: they are ignored, as is the project's AGENTS.md.
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
_SANDBOXES = frozenset({"read-only", WORKSPACE_WRITE})
_REMARKS = (
    "commands that its sandbox blocks are not reported; patches that it rejects are",
    "a model provider with a key of its own, set up in its config.toml, needs no login",
)


class CodexAgent:
    """Starts and resumes Codex with the prompt on standard input."""

    name = "codex"
    abilities = Abilities(
        resume=True,
        schema=True,
        read_only=True,
        chooses_session=False,
        reports_cost=False,
        prints_events=True,
    )
    # Mount points of its sandbox. Its .git is one as well, but no empty folder of that name is a litter
    # in a worktree.
    litter: tuple[str, ...] = (".codex", ".agents", ".aws")

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings

    @property
    def rights(self) -> Rights | None:
        """More than editing without its sandbox, or where arguments may say so."""
        settings = self._settings
        if settings.codex_sandbox in _SANDBOXES and not settings.codex_args:
            return None
        return Rights(self._powers(), (settings.codex_path, settings.codex_sandbox, *settings.codex_args))

    def new_session(self, random_hex: str) -> str | None:  # noqa: ARG002  # the Protocol's
        """Name none: it names its threads itself, in its first line."""
        return None

    def probe(self, environ: Mapping[str, str]) -> str:
        """Find the program and give its version. Raises AgentUnavailableError."""
        version = find_program(self._settings.codex_path, environ, CODEX_MANUAL).version
        self._require_one_sandbox()
        return version

    def inspect(self, environ: Mapping[str, str]) -> Inspection:
        """Find the program, its options and its login."""
        model = ("--model",) if self._settings.codex_model else ()
        needs = Needs(("exec", "--help"), (*_NEEDED_FLAGS, *model), self._check)
        program, found = inspect_program(self._settings.codex_path, environ, CODEX_MANUAL, needs)
        return replace(
            found,
            login=_login(program, environ) if program else None,
            powers=self._powers(),
            reviews=_REVIEWS,
            remarks=(*_REMARKS, *review_remarks(program, _REVIEW_FLAGS, CODEX_MANUAL)),
        )

    def accepts_session(self, session: str) -> bool:
        """Only UUIDs: with any other name it would silently begin a new thread."""
        return is_uuid(session)

    def launch(self, assignment: Assignment, environ: Mapping[str, str]) -> Launch:  # noqa: ARG002  # the Protocol's
        """Say everything anew at each start: not even the sandbox is remembered over a resume."""
        settings, schema = self._settings, render_schema(self, assignment)
        argv = (
            *(settings.codex_path, "exec", "--json"),
            *(_review_terms(assignment) if assignment.read_only else self._work_terms()),
            *(("-m", settings.codex_model) if settings.codex_model else ()),
            *schema.argv,
            *(() if assignment.read_only else settings.codex_args),
            # The options of all of exec are none of its resume: they stand before that word.
            *(("resume", assignment.session or "") if assignment.resume else ()),
            "-",
        )
        return Launch(argv=argv, stdin=assignment.prompt.encode(errors="replace"), files=schema.files)

    def _work_terms(self) -> tuple[str, ...]:
        # Tests find their temporary files in a folder of the run; what others have in /tmp is not its own.
        bounds = ("-c", "sandbox_workspace_write.exclude_slash_tmp=true")
        sandbox = self._settings.codex_sandbox
        return ("-s", sandbox, *(bounds if sandbox == WORKSPACE_WRITE else ()))

    def reader(self, assignment: Assignment) -> CodexReader:
        """Read its event stream."""
        return CodexReader(assignment, () if assignment.read_only else self._settings.codex_args)

    def _check(self, program: Program) -> None:
        _require_resume(program)
        self._require_one_sandbox()

    def _powers(self) -> str:
        sandbox = self._settings.codex_sandbox
        return with_args(_POWERS[sandbox], "codex.args", self._settings.codex_args)

    def _require_one_sandbox(self) -> None:
        """Raise AgentUnavailableError where arguments of the user's say another sandbox than the key."""
        if any(_SANDBOX_FLAG.match(word) for word in self._settings.codex_args):
            raise AgentUnavailableError(
                "codex.args sets a sandbox, but codex.sandbox always sets one",
                hint="remove it from codex.args, and set it: git config blackbird.codex.sandbox MODE",
            )


def _review_terms(assignment: Assignment) -> tuple[str, ...]:
    """Say what a reviewer may; those who are reviewed could change what the repository tells it."""
    # In a trusted project the program starts the servers that its .codex names, outside of the sandbox.
    top = json.dumps(assignment.folder, ensure_ascii=False)
    distrust = ("-c", f'projects={{{top}={{trust_level="untrusted"}}}}') if assignment.folder else ()
    return (*_REVIEW_TERMS, *distrust)


def _require_resume(program: Program) -> None:
    if not program.has_command("resume"):
        raise AgentUnavailableError(
            f"codex {program.version} cannot resume a session", hint=f"update it: {CODEX_MANUAL.update}"
        )


def _login(program: Program, environ: Mapping[str, str]) -> str:
    """Say how it is logged in; a model provider of the user's own may need no login at all."""
    keys = [f"{name} is set" for name in _KEYS if environ.get(name)]
    try:
        told = ask(program.path, "login", "status", environ=environ)
    except AgentUnavailableError:
        return "; ".join(("unknown", *keys))
    known = told.first_line if told.exit_code == 0 or "logged in" in told.first_line.lower() else "unknown"
    return "; ".join((known, *keys))
