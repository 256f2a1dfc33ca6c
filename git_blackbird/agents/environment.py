"""The environment of an agent's process, and of other commands that are run as one."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from git_blackbird.agents.protocol import RUN_ID_VARIABLE, TASK_ID_VARIABLE
from git_blackbird.agents.registry import declarations

# Set by agents that have no name of their own here, and by this program for an outer run.
_OUTER_SESSION = (
    "AI_AGENT",
    "BLACKBIRD_SESSION_ID",
    "BLACKBIRD_RESUME",
    "BLACKBIRD_RESPONSE_SCHEMA",
    "BLACKBIRD_SLOT",
    "BLACKBIRD_PORT",
)


def without_outer_session(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the session variables of an outer agent."""
    names, beginnings = _session_variables()
    return {
        name: value
        for name, value in environ.items()
        if name not in names and not name.startswith(beginnings)
    }


@cache
def _session_variables() -> tuple[frozenset[str], tuple[str, ...]]:
    declared = [name for agent in declarations().values() for name in agent.session_variables]
    beginnings = tuple(name.removesuffix("*") for name in declared if name.endswith("*"))
    return frozenset((*_OUTER_SESSION, *declared)), beginnings


def child_environ(
    environ: Mapping[str, str], *, task_id: str, run_id: str, tmp_dir: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of one run; ``extra`` are the variables of the agent's launch.

    ``environ`` ties no process to a repository or an index.
    """
    ours = {TASK_ID_VARIABLE: task_id, RUN_ID_VARIABLE: run_id, "TMPDIR": str(tmp_dir)}
    return without_outer_session(environ) | ours | dict(extra)
