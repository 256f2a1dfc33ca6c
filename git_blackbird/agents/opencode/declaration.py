"""The declaration of opencode: what others have to know of it."""

from git_blackbird.agents.declaration import Declaration

DECLARATION = Declaration(
    "OpencodeAgent",
    attach=("--session",),
    # Not those of its user, such as OPENCODE_CONFIG.
    session_variables=("OPENCODE", "OPENCODE_PID"),
)
