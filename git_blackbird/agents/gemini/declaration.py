"""The declaration of Gemini CLI: what others have to know of it."""

from git_blackbird.agents.declaration import Declaration

DECLARATION = Declaration(
    "GeminiAgent",
    attach=("--resume",),
    # Not those of its user, such as GEMINI_API_KEY.
    session_variables=("GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_TRUST_WORKSPACE"),
)
