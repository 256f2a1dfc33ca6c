"""The declaration of Claude Code: its configuration and properties."""

from typing import Literal

from git_blackbird.agents.declaration import Declaration
from git_blackbird.model.config.keys import ModelName, Section, key


class ClaudeConfig(Section):
    """The agent Claude Code."""

    path: str = key("claude", "the Claude Code program", own="machine")
    permission_mode: Literal[
        "bypassPermissions", "acceptEdits", "auto", "default", "dontAsk", "manual", "plan"
    ] = key("bypassPermissions", "what Claude Code may do without asking", own="user")
    model: ModelName | None = key(None, "the model for Claude Code; its own choice when unset")
    args: tuple[str, ...] = key((), "more arguments for Claude Code", own="user")


DECLARATION = Declaration(
    "ClaudeAgent",
    ClaudeConfig,
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
