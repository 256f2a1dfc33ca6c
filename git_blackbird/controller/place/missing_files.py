"""Name, once, the ignored files that worktrees of tasks lack, and the setting that copies them."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.worktree.copying import list_all_ignored
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.own_files import HIDDEN
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import is_exhausted
from git_blackbird.model.config.settings import quoted_for_git
from git_blackbird.storage.files import load_beginning, write_private

# Read by other tools for the same purpose. A clone brings it, so it is offered, not acted on.
_INCLUDE_NAME = ".worktreeinclude"
_INCLUDE_BYTES = 2000
_MOST, _MOST_CHARACTERS = 6, 200
# Made again by tools, or left by editors and systems.
_MADE_AGAIN = re.compile(
    r".*cache.*|dist|build|target|out|coverage|htmlcov|\.coverage|\.tox|\.nox|\.next|\.nuxt|\.gradle"
    r"|\.idea|\.vscode|\.DS_Store|.*\.(?:egg-info|py[co]|o|log|tmp|sw[op])|.*~",
    re.IGNORECASE,
)


def name_missing_files(workspace: Workspace, ui: UserInterface) -> None:
    """Name them once in each worktree, if no key prepares the worktrees of tasks.

    Raises GitError, SaveError.
    """
    config, note = workspace.config.worktree, workspace.paths.missing_named
    if config.copy_files or config.setup or note.exists():
        return
    missing = _grouped(list_all_ignored(workspace.repo, HIDDEN))
    if missing:
        shown = ", ".join(map(shell_word, list(missing)[:_MOST]))
        more = f" and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
        text = "worktrees of tasks will not have these of your worktree, which git ignores"
        warn(ui, f"{text}: {shown}{more}", hint=_way_out(workspace, list(missing.values())[:_MOST]))
    write_private(note, b"")


def _way_out(workspace: Workspace, patterns: Sequence[str]) -> str:
    included = _included(workspace)
    what = f"copies what {_INCLUDE_NAME} names" if included else "copies them into each"
    command = f"git config blackbird.worktree.copy {quoted_for_git(included or patterns)}"
    return ShellLine(command, f"{what}; worktree.setup is a command that makes them there")


def _grouped(names: Iterable[str]) -> dict[str, str]:
    """Return the files worth copying, with their patterns: one for all folders and files of a name."""
    paths = (PurePosixPath(name) for name in names if _is_plain(name))
    places: dict[str, list[PurePosixPath]] = {}
    for path in paths:
        if not _MADE_AGAIN.fullmatch(path.name):
            places.setdefault(path.name, []).append(path)
    single = {name: f"{found[0]}" for name, found in places.items() if len(found) == 1}
    return {
        single.get(name, name): _escaped(f"/{single[name]}" if name in single else name) for name in places
    }


def _escaped(path: str) -> str:
    return re.sub(r"[\\*?\[]|^[!#]| $", lambda match: f"\\{match[0]}", path)


def _included(workspace: Workspace) -> tuple[str, ...]:
    """Return the patterns for other tools; none of a file that could not be shown to people as it is."""
    top = workspace.paths.state_root
    try:
        data = load_beginning(top, top / _INCLUDE_NAME, _INCLUDE_BYTES + 1)
    except OSError as error:
        if is_exhausted(error):
            raise
        return ()
    lines = os.fsdecode(data).splitlines()
    patterns = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    return patterns if len(data) <= _INCLUDE_BYTES and all(map(_is_plain, patterns)) else ()


def _is_plain(text: str) -> bool:
    return text.isprintable() and len(text) <= _MOST_CHARACTERS
