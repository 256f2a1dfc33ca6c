"""The agents: what others must know of one, loading it, and the environment that it gets."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.errors import RequestError
from git_blackbird.model.config.config import Config
from git_blackbird.model.config.layers import AGENT_NAMES

if TYPE_CHECKING:
    from git_blackbird.agents.protocol import Agent


class Declaration(NamedTuple):
    """What others have to know of an agent, whose folder is named as it is.

    ``adapter`` is its class in ``agent.py`` there, made with its section of the configuration, if it has one.
    With a key ``model`` there, a task can have a model of its own.
    ``session_variables`` are those that it sets for the tools of its session, which no other session gets;
    its user's settings are not among them. A ``*`` at the end stands for any. ``on_workers`` is what a worker
    of a cluster says of it instead of inspecting it, where whoever orders a run sends its program along.
    ``sessions`` is where it keeps sessions: a variable with the folder, and its name in HOME without that.
    ``attach`` are the words between its program, which its section names, and a session that a person opens.
    """

    adapter: str
    session_variables: tuple[str, ...] = ()
    on_workers: str | None = None
    sessions: tuple[str, str] | None = None
    attach: tuple[str, ...] = ()


DECLARATIONS: Mapping[str, Declaration] = {
    "claude": Declaration(
        "ClaudeAgent",
        attach=("--resume",),
        sessions=("CLAUDE_CONFIG_DIR", ".claude"),
        # Not those of its user, such as CLAUDE_CONFIG_DIR or CLAUDE_CODE_USE_BEDROCK.
        session_variables=(
            "CLAUDECODE",
            "CLAUDE_CODE_CHILD_NOTES_DIR",
            "CLAUDE_CODE_CHILD_SESSION",
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_EXECPATH",
            "CLAUDE_CODE_MESSAGING_SOCKET",
            "CLAUDE_CODE_MESSAGING_TOKEN",
            "CLAUDE_CODE_SESSION_ATTENDED",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_CODE_SSE_PORT",
            "CLAUDE_EFFORT",
            "CLAUDE_PID",
        ),
    ),
    "codex": Declaration(
        "CodexAgent",
        attach=("resume",),
        sessions=("CODEX_HOME", ".codex"),
        # Not those of its user, such as CODEX_HOME.
        session_variables=(
            "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
            "CODEX_CI",
            "CODEX_MANAGED_BY_NPM",
            "CODEX_MANAGED_PACKAGE_ROOT",
            "CODEX_SANDBOX*",
            "CODEX_SESSION_ID",
            "CODEX_THREAD_ID",
            "CODEX_TOOL_CALL_ID",
            "CODEX_VERSION",
        ),
    ),
    "command": Declaration("CommandAgent", on_workers="runs the command of whoever orders it"),
    "demo": Declaration("DemoAgent"),
    "gemini": Declaration(
        "GeminiAgent",
        attach=("--resume",),
        # Not those of its user, such as GEMINI_API_KEY.
        session_variables=("GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_TRUST_WORKSPACE"),
    ),
    "opencode": Declaration(
        "OpencodeAgent",
        attach=("--session",),
        # Not those of its user, such as OPENCODE_CONFIG.
        session_variables=("OPENCODE", "OPENCODE_PID"),
    ),
}
# Set by agents that have no name of their own here, and by this program for an outer run.
_OUTER_SESSION = (
    "AI_AGENT",
    "BLACKBIRD_SESSION_ID",
    "BLACKBIRD_RESUME",
    "BLACKBIRD_RESPONSE_SCHEMA",
    "BLACKBIRD_SLOT",
    "BLACKBIRD_PORT",
)
_DECLARED = [name for agent in DECLARATIONS.values() for name in agent.session_variables]
_SESSION_VARIABLES = frozenset((*_OUTER_SESSION, *_DECLARED))
_SESSION_BEGINNINGS = tuple(name.removesuffix("*") for name in _DECLARED if name.endswith("*"))


def load_agent(name: str, config: Config) -> "Agent":
    """Load the agent of that name, with its section. Raises RequestError if there is none."""
    declared = DECLARATIONS.get(name)
    if declared is None:
        raise RequestError(f"there is no agent '{name}'", hint=f"agents: {', '.join(AGENT_NAMES)}")
    module = import_module(f"git_blackbird.agents.{name}.agent")
    agent: Agent = getattr(module, declared.adapter)(getattr(config, name, None))
    return agent


def without_outer_session(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the session variables of an outer agent."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _SESSION_VARIABLES and not name.startswith(_SESSION_BEGINNINGS)
    }


def child_environ(
    environ: Mapping[str, str], *, task_id: str, run_id: str, tmp_dir: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of one run; ``extra`` are the variables of the agent's launch.

    ``environ`` ties no process to a repository or an index.
    """
    from git_blackbird.agents.protocol import RUN_ID_VARIABLE, TASK_ID_VARIABLE  # readers start none

    ours = {TASK_ID_VARIABLE: task_id, RUN_ID_VARIABLE: run_id, "TMPDIR": str(tmp_dir)}
    return without_outer_session(environ) | ours | dict(extra)
