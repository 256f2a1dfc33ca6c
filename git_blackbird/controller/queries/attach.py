"""How a person opens the session of a run by hand."""

from pathlib import Path

from git_blackbird.agents.registry import DECLARATIONS
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.run.run import Run


def attach_command(workspace: Workspace, run: Run) -> str | None:
    """Return the shell command that opens a run's session where its files are; None where there is none."""
    declared, session = DECLARATIONS.get(run.provider), run.provider_session_ref or "-"
    if declared is None or not declared.attach or session.startswith("-") or run.is_remote:
        return None
    folder = str(workspace.paths.state_root) if run.is_in_place else workspace.worktree_of(run)
    program = getattr(workspace.config, run.provider).path
    opens = " ".join(map(shell_word, (program, *declared.attach, session)))
    return f"cd {shell_word(folder)} && {opens}" if folder is not None and Path(folder).is_dir() else None
