"""The declaration of opencode: its configuration and properties."""

from git_blackbird.agents.declaration import Declaration, PermissionConfig
from git_blackbird.model.config.keys import key


class OpencodeConfig(PermissionConfig):
    """The agent opencode."""

    path: str = key("opencode", "the opencode program", own="machine")


DECLARATION = Declaration(
    "OpencodeAgent",
    OpencodeConfig,
    attach=("--session",),
    # Not those of its user, such as OPENCODE_CONFIG.
    session_variables=("OPENCODE", "OPENCODE_PID"),
)
