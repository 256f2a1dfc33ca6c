"""The ``opencode`` agent: opencode, headless, with its event stream."""

import json
import re
from collections.abc import Mapping

from pydantic import JsonValue

from git_blackbird.agents.opencode.parser import OpencodeParser
from git_blackbird.agents.permissions import PermittedAgent
from git_blackbird.agents.probe import Program, Requirements, run_query
from git_blackbird.agents.protocol import Capabilities, LaunchSpec, RunRequest
from git_blackbird.model.base.sanitize import clean_line

# It neither updates itself under a run nor, when it is only asked about itself, fetches lists of models.
_PINNED = {"OPENCODE_DISABLE_AUTOUPDATE": "1"}
_READING: Mapping[str, JsonValue] = dict.fromkeys(("read", "grep", "glob", "list"), "allow")
_EDITING = {**_READING, "edit": "allow", "todowrite": "allow"}
_SESSION = re.compile(r"ses_[0-9A-Za-z]{1,100}")
_COUNTS = re.compile(r"\b(\d+) (credential|environment variable)s?\b")


def _login(program: Program, environ: Mapping[str, str]) -> str:
    """Return how many logins it knows; those of local models need none."""
    output = run_query(program.path, "auth", "list", environ=environ)
    counts = _COUNTS.findall(clean_line(f"{output.stdout}\n{output.stderr}", 100_000))
    return ", ".join(f"{count} {what}{'' if count == '1' else 's'}" for count, what in counts)


class OpencodeAgent(PermittedAgent):
    """Start and resume opencode, with the prompt on standard input."""

    name = "opencode"
    abilities = Capabilities(
        resume=True, read_only=True, reads_only_files=True, reports_cost=True, prints_events=True
    )
    parser_type = OpencodeParser
    needs = Requirements(
        ("run", "--help"),
        ("--format", "--session", "--title", "--dir", "--auto", "--agent", "--print-logs"),
        (),
        login=_login,
    )
    query_environ: Mapping[str, str] = {**_PINNED, "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    reviews = (
        "read the files of the worktree, run nothing and write nothing; opencode.args and the repository's"
        " own settings are ignored, and no session is kept"
    )
    remarks = (
        "it follows the settings, plugins and AGENTS.md of the repository that it works in",
        "what its subagents cost is not in the cost that it reports",
        "without a login and a model it uses a free model of its own provider",
    )

    def accepts_session(self, session: str) -> bool:
        """Accept only names as the program makes them."""
        return _SESSION.fullmatch(session) is not None

    def _start(self, request: RunRequest) -> LaunchSpec:
        agent, confines = f"blackbird-{request.run_id}", request.read_only or self.mode == "edit"
        # Else it asks another model for a title, and does not say what that costs.
        session = ("--session", request.session or "") if request.resume else ("--title", request.task_id)
        argv = (
            *(self._settings.path, "run", "--format", "json"),
            # Its log has the reason of an error that its events only number, or that it retries in silence.
            *("--print-logs", "--log-level", "WARN", *session, *self._model_args),
            # It believes the variable PWD, which is not always the working folder.
            *(("--dir", request.folder) if request.folder and not request.read_only else ()),
            *(("--agent", agent) if confines else ("--auto",)),
        )
        variables = _confined(agent, _EDITING) if confines else {}
        if request.read_only:
            variables = _confined(agent, {**_READING, **_reaching(request.folder)})
            variables["OPENCODE_DB"] = f"{request.scratch}/sessions.db"
        return LaunchSpec(argv, request.prompt.encode(errors="replace"), _PINNED | variables)

    def launch_by_hand(self, session: str) -> LaunchSpec:
        """Return the launch of its own interface, with all tools or only those for files."""
        argv = (self._settings.path, "--session", session, *self._model_args, *self._settings.args)
        if self._settings.permissions == "all":
            return LaunchSpec(argv, b"", _PINNED)
        agent = f"blackbird-{session}"
        return LaunchSpec((*argv, "--agent", agent), b"", _PINNED | _confined(agent, _EDITING))


def _confined(agent: str, tools: Mapping[str, JsonValue]) -> dict[str, str]:
    """Return the variable that defines one of the program's own agents, with these tools alone.

    Permissions that are not an agent's own are overruled by those of agents in the repository's settings,
    which cannot know this one's name.
    """
    config = {"agent": {agent: {"mode": "primary", "permission": {"*": "deny", **tools}}}}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}


def _reaching(folder: str) -> dict[str, JsonValue]:
    """Return the permission to reach one folder outside of the working folder."""
    return {"external_directory": {"*": "deny", f"{folder}/*": "allow"}}
