"""The declaration of Codex: what others have to know of it."""

from git_blackbird.agents.declaration import Declaration

DECLARATION = Declaration(
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
)
