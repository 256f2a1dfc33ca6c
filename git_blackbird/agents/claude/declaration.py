"""The declaration of Claude Code: what others have to know of it."""

from git_blackbird.agents.declaration import Declaration

DECLARATION = Declaration(
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
)
