"""Name, once, the ignored files that worktrees of tasks lack, and copies that lead back to the user's."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.folders import first_naming, list_all_ignored, list_ignored
from git_blackbird.messages.display.quantities import some_of
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import is_exhausted
from git_blackbird.model.config.keys import quoted_for_git
from git_blackbird.storage.files import load_inside, write_private

# Read by other tools for the same purpose. A clone brings it, so it is offered, not acted on.
_INCLUDE_NAME = ".worktreeinclude"
_INCLUDE_BYTES = 2000
_MOST, _MOST_CHARACTERS = 6, 200
_SET_UP = ShellLine("git blackbird config worktree.setup", "is for a command that makes them there")
# Made again by tools, or left by editors and systems.
_MADE_AGAIN = re.compile(
    r".*cache.*|dist|build|target|out|coverage|htmlcov|\.coverage|\.tox|\.nox|\.next|\.nuxt|\.gradle"
    r"|\.idea|\.vscode|\.DS_Store|.*\.(?:egg-info|py[co]|o|log|tmp|sw[op])|.*~",
    re.IGNORECASE,
)


def name_missing_files(workspace: Workspace, ui: UserInterface) -> None:
    """Name once what worktrees of tasks would lack. Raises GitError, SaveError, UnusableError."""
    config, note = workspace.config.worktree, workspace.paths.missing_named
    if config.copy or config.setup or note.exists():
        return
    missing = [name for name in list_all_ignored(workspace.repo) if _is_worth_having(name)]
    if missing:
        text = "worktrees of tasks will not have these of your worktree, which git ignores"
        warn(ui, f"{text}: {_listed(list(_grouped(missing)))}", hint=_way_out(workspace, missing))
    write_private(note, b"")


def name_bound_copies(workspace: Workspace, ui: UserInterface) -> None:
    """Name once what ``worktree.copy`` copies and what would work on the user's own worktree."""
    note, patterns = workspace.paths.bound_named, workspace.config.worktree.copy
    if not patterns or not (workspace.uses_worktrees or workspace.has_checks) or note.exists():
        return
    bound = _bound(workspace.repo, list_ignored(workspace.repo, patterns))
    if bound:
        text = "worktree.copy copies what names this worktree, so that a copy may work on the files here"
        warn(ui, f"{text}: {_listed(list(bound.values()))}", hint=_SET_UP)
        write_private(note, b"")


def _bound(repo: Repository, names: Iterable[str]) -> dict[str, str]:
    """Return those of which copies would name the worktree, each with the first file that does."""
    naming = ((name, first_naming(repo.top, name)) for name in names)
    return {name: file for name, file in naming if file is not None}


def _listed(names: Sequence[str]) -> str:
    return some_of([shell_word(name) for name in names], _MOST)


def _way_out(workspace: Workspace, missing: Sequence[str]) -> ShellLine:
    included, repo = _included(workspace), workspace.repo
    bound = _bound(repo, list_ignored(repo, included) if included else missing)
    free = list(_grouped(name for name in missing if name not in bound).values())[:_MOST]
    excluded = [f"!{pattern}" for pattern in _grouped(bound).values()]
    patterns = [*included, *excluded] if included else free
    if not patterns:
        return _SET_UP
    what = f"copies what {_INCLUDE_NAME} names" if included else "copies them into each"
    but = f", but for {_listed(list(_grouped(bound)))}, whose files name this worktree" if bound else ""
    command = f"git config blackbird.worktree.copy {quoted_for_git(patterns)}"
    return ShellLine(command, f"{what}{but}; worktree.setup is a command that makes them there")


def _is_worth_having(name: str) -> bool:
    return _is_plain(name) and not _MADE_AGAIN.fullmatch(PurePosixPath(name).name)


def _grouped(names: Iterable[str]) -> dict[str, str]:
    """Return files with their patterns: one for all folders and files of a name."""
    places: dict[str, list[PurePosixPath]] = {}
    for path in map(PurePosixPath, names):
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
        data = load_inside(top, top / _INCLUDE_NAME, limit=_INCLUDE_BYTES + 1)
    except OSError as error:
        if is_exhausted(error):
            raise
        return ()
    lines = os.fsdecode(data).splitlines()
    patterns = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    return patterns if len(data) <= _INCLUDE_BYTES and all(map(_is_plain, patterns)) else ()


def _is_plain(text: str) -> bool:
    return text.isprintable() and len(text) <= _MOST_CHARACTERS
