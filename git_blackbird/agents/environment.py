"""The environment of an agent: ours, less what binds git or an outer agent to this process."""

from collections.abc import Mapping
from pathlib import Path

RUN_ID_VARIABLE = "BLACKBIRD_RUN_ID"
TASK_ID_VARIABLE = "BLACKBIRD_TASK_ID"

# What `git rev-parse --local-env-vars` prints: an agent that inherits one of these works on another
# repository or index than the one it stands in.
GIT_LOCAL_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
)
OUTER_SESSION_VARIABLES = (
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PID",
    "CODEX_THREAD_ID",
    "CODEX_CI",
    # The program's own variables of a run further out.
    "BLACKBIRD_SESSION_ID",
    "BLACKBIRD_RESUME",
)
OUTER_SESSION_PREFIX = "CODEX_SANDBOX"


def _stays(name: str) -> bool:
    return (
        name not in GIT_LOCAL_VARIABLES
        and name not in OUTER_SESSION_VARIABLES
        and not name.startswith(OUTER_SESSION_PREFIX)
    )


def child_environ(
    environ: Mapping[str, str], *, task_id: str, run_id: str, tmp_dir: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """Give the environment of one run; ``extra`` is what the agent's launch asks for beyond it."""
    kept = {name: value for name, value in environ.items() if _stays(name)}
    ours = {TASK_ID_VARIABLE: task_id, RUN_ID_VARIABLE: run_id, "TMPDIR": str(tmp_dir)}
    return kept | ours | dict(extra)
