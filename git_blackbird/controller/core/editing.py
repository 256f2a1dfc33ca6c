"""Opening files of a worktree in a person's editor."""

from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.core.user_programs import edit_file, editor_command
from git_blackbird.messages.display.format import render_path


def require_file(folder: Path, path: str) -> Path:
    """Return a file of a worktree. Raises RequestError where it is not there, also behind a link."""
    file = folder.resolve() / path
    if file.resolve() != file or not file.is_file():
        raise RequestError(f"the worktree has no such file: {render_path(path)}")
    return file


def edit_at(workspace: Workspace, file: Path, line: int) -> None:
    """Open a file at a line, 0 for none, in the editor that git uses. Raises RequestError if that fails."""
    editor = editor_command(workspace.repo)
    code = edit_file(workspace.repo, editor, file, line)
    if code != 0:
        raise failed_editor(editor, code)


def failed_editor(editor: str, code: int, hint: str | None = None) -> RequestError:
    return RequestError(f"there was a problem with the editor '{editor}' (exit status {code})", hint=hint)
