"""The declaration of Codex: its configuration and properties."""

from typing import Literal

from git_blackbird.agents.declaration import Declaration
from git_blackbird.model.config.keys import ModelName, Section, key


class CodexConfig(Section):
    """The agent Codex."""

    path: str = key("codex", "the Codex program", own="machine")
    sandbox: Literal["read-only", "workspace-write", "danger-full-access"] = key(
        "workspace-write", "what Codex may do", own="user"
    )
    model: ModelName | None = key(None, "the model for Codex; its own choice when unset")
    args: tuple[str, ...] = key((), "more arguments for Codex", own="user")


DECLARATION = Declaration(
    "CodexAgent",
    CodexConfig,
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
