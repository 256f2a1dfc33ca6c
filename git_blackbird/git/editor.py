"""A text in the user's editor, chosen as git chooses it."""

import contextlib
import os
import subprocess
from pathlib import Path

from git_blackbird.git.program import GitError
from git_blackbird.git.repository import Repository


def editor_command(repo: Repository) -> str:
    """Give the editor's shell command: ``GIT_EDITOR``, ``core.editor``, ``VISUAL``, ``EDITOR``, git's own.

    Raises GitError in git's words where there is none, as on a dumb terminal.
    """
    try:
        return os.fsdecode(repo.git("var", "GIT_EDITOR").out).removesuffix("\n")
    except GitError as error:
        error.hint = "git config --global core.editor EDITOR"
        raise


def edit_file(repo: Repository, editor: str, path: Path) -> int:
    """Let a person edit a file until the editor is closed; gives its exit status.

    Ctrl+C is the editor's affair meanwhile.
    """
    # A shell that dies of Ctrl+C once its child is done would make an error of an editor that outlived it.
    command = ["/bin/sh", "-c", f'trap : INT QUIT; {editor} "$@"', editor, os.fspath(path)]
    with subprocess.Popen(command, cwd=repo.top, env=repo.git_environ) as process:
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    return process.returncode
