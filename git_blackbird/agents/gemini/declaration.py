"""The declaration of Gemini CLI: its configuration and properties."""

from git_blackbird.agents.declaration import Declaration, PermissionConfig
from git_blackbird.model.config.keys import key


class GeminiConfig(PermissionConfig):
    """The agent Gemini CLI."""

    path: str = key("gemini", "the Gemini CLI program", own="machine")


DECLARATION = Declaration(
    "GeminiAgent",
    GeminiConfig,
    attach=("--resume",),
    # Not those of its user, such as GEMINI_API_KEY.
    session_variables=("GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_TRUST_WORKSPACE"),
)
