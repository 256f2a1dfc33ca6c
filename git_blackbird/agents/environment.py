"""The environment of an agent, without variables of an outer agent."""

from collections.abc import Mapping
from pathlib import Path

RUN_ID_VARIABLE = "BLACKBIRD_RUN_ID"
TASK_ID_VARIABLE = "BLACKBIRD_TASK_ID"
# Named after the run, so that a process without the run's id in its environment is found by its TMPDIR in
# this folder. Short, because agents put sockets below it, and the path of a socket is limited (macOS: 104
# bytes).
RUN_FOLDER_PREFIX = "git-blackbird-"
TMP_FOLDER = "tmp"

# Set by an agent for the tools of its session. Its user's settings, such as CLAUDE_CONFIG_DIR,
# CLAUDE_CODE_USE_BEDROCK or CODEX_HOME, are not included: they stay.
OUTER_SESSION_VARIABLES = frozenset(
    {
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_NOTES_DIR",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_EFFORT",
        "CLAUDE_PID",
        "CODEX_APPLY_PATCH_PRESERVE_LINE_ENDINGS",
        "CODEX_CI",
        "CODEX_MANAGED_BY_NPM",
        "CODEX_MANAGED_PACKAGE_ROOT",
        "CODEX_SESSION_ID",
        "CODEX_THREAD_ID",
        "CODEX_TOOL_CALL_ID",
        "CODEX_VERSION",
        # Variables of this program from an outer run.
        "BLACKBIRD_SESSION_ID",
        "BLACKBIRD_RESUME",
        "BLACKBIRD_RESPONSE_SCHEMA",
    }
)
OUTER_SESSION_PREFIX = "CODEX_SANDBOX"


def without_outer_session(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the session variables of an outer agent."""
    return {
        name: value
        for name, value in environ.items()
        if name not in OUTER_SESSION_VARIABLES and not name.startswith(OUTER_SESSION_PREFIX)
    }


def child_environ(
    environ: Mapping[str, str], *, task_id: str, run_id: str, tmp_dir: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of one run; ``extra`` are the variables of the agent's launch.

    ``environ`` has none of git's variables that tie a process to a repository or an index.
    """
    ours = {TASK_ID_VARIABLE: task_id, RUN_ID_VARIABLE: run_id, "TMPDIR": str(tmp_dir)}
    return without_outer_session(environ) | ours | dict(extra)
