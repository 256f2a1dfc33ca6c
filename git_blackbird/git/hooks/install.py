"""Install and uninstall the post-commit hook, and inspect the one in use.

An existing hook is moved aside, and ours runs it first; uninstalling moves it back unchanged.
"""

import contextlib
import fcntl
import filecmp
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.hooks.script import (
    NAME,
    HookCommand,
    Location,
    hook_interpreter,
    is_ours,
    is_untouched,
    missing_programs,
    parse_place,
    render_hook,
    uses_own_path,
)
from git_blackbird.git.worktree.index_lock import is_open_file
from git_blackbird.model.base.shown import Shown

ASIDE = f"{NAME}.before-blackbird"
# A folder with a link to the hook under its original name, for hooks that look at that name.
_NAMED = "before-blackbird"
# pre-commit moves an existing hook to this name and runs it first.
_LEGACY = f"{NAME}.legacy"
_TARGET = Path("..", ASIDE)
_MAX_BYTES = 64 * 1024
_WHERE = "`git config --show-origin core.hooksPath` shows where that is set"


class HookState(StrEnum):
    """Who installed the hook, and whether it is current.

    ``outdated`` is ours of another version or for another installation, ``disabled`` ours that git does not
    run since it is not executable, ``edited`` ours with someone else's changes, ``replaced`` another hook in
    the place of ours.
    """

    INSTALLED = "installed"
    ABSENT = "absent"
    OUTDATED = "outdated"
    DISABLED = "disabled"
    EDITED = "edited"
    REPLACED = "replaced"


_HINTS = {
    HookState.REPLACED: "keep one of the two: move the other away, or call it from the one that stays",
    HookState.EDITED: "move the changes into a separate hook, remove the file, and repeat the command",
}


@dataclass(frozen=True)
class HookStatus:
    """The state of one hook file."""

    path: Annotated[Path, Shown("The path of the hook.")]
    state: Annotated[HookState, Shown("Whose it is.")]
    other: Annotated[bool, Shown("Whether a hook of someone else's is in use.")] = False
    backup: Annotated[Path | None, Shown("The path of the previous hook.")] = None
    runs_aside: Annotated[bool, Shown("Whether the previous hook runs first.", "runsBackup")] = False
    blocked_reason: Annotated[str | None, Shown("Why the hook cannot be installed.")] = None
    missing_programs: Annotated[tuple[str, ...], Shown("What the hook would start and is not there.")] = ()
    shared: Annotated[str | None, Shown("Whom the folder of hooks serves besides this repository.")] = None


class HookAction(StrEnum):
    INSTALLED = "installed"
    UPDATED = "updated"
    REMOVED = "removed"
    RESTORED = "restored"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class HookResult:
    outcome: HookAction
    view: HookStatus


def view_hook(repo: Repository, caller: HookCommand) -> HookStatus:
    """Inspect the hook that git would run here. Raises UnusableError."""
    path = _hook_path(repo)
    aside = path.with_name(ASIDE)
    text = _read_ours(path)
    if text is None:
        state = _foreign_state(path, aside)
    elif not is_untouched(text):
        state = HookState.EDITED
    else:
        is_current = text == render_hook(caller, parse_place(text))
        as_it_runs = HookState.INSTALLED if os.access(path, os.X_OK) else HookState.DISABLED
        state = as_it_runs if is_current else HookState.OUTDATED
    unmovable = None
    if path.exists() and not (path.is_symlink() or path.is_file()):
        unmovable = f"{path} is {'a folder' if path.is_dir() else 'not a file'}"
    return HookStatus(
        path=path,
        state=state,
        other=text is None and os.path.lexists(path),
        backup=aside if os.path.lexists(aside) else None,
        runs_aside=aside.is_file() and os.access(aside, os.X_OK),
        blocked_reason=_why_no_folder(path.parent) or unmovable or _why_left_alone(path, state),
        missing_programs=() if text is None else missing_programs(text),
        shared=_shared(repo, path.parent),
    )


def install_hook(repo: Repository, caller: HookCommand) -> HookResult:
    """Install our hook, and move an existing one aside. Raises RequestError for other files in the way."""
    path = _hook_path(repo)
    folders = sum(not os.path.lexists(folder) for folder in path.parents)
    if (obstacle := _why_no_folder(path.parent)) is not None:
        raise RequestError(obstacle, hint=_WHERE)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path.parent, error) from error
    with _lock(path) as draft:
        view = view_hook(repo, caller)
        if view.state is HookState.INSTALLED:
            return HookResult(HookAction.UNCHANGED, view)
        _require_ours_or_none(view)
        old = _read_ours(path)
        other = path if view.other else path.with_name(ASIDE)
        place = Location(folders if old is None else parse_place(old).folders, hook_interpreter(_text(other)))
        if other.is_symlink() or uses_own_path(_text(other)):
            link = path.parent / _NAMED / NAME
            if not _is_our_link(link):
                if os.path.lexists(link.parent):
                    raise RequestError(f"{link.parent} exists; it is left alone", hint="move it away")
                link.parent.mkdir()
                link.symlink_to(_TARGET)
        draft.write_text(render_hook(caller, place), encoding="utf-8", errors="surrogateescape")
        if view.other:
            if view.blocked_reason is not None:
                raise RequestError(f"{view.blocked_reason}; it is left alone", hint="move it away")
            try:
                # Until ours replaces it, it keeps its own name as well.
                os.link(path, path.with_name(ASIDE), follow_symlinks=False)
            except OSError:
                # It exists already, or the file system has no hard links.
                path.rename(path.with_name(ASIDE))
        draft.rename(path)
        is_update = view.state in {HookState.OUTDATED, HookState.DISABLED}
        return HookResult(HookAction.UPDATED if is_update else HookAction.INSTALLED, view_hook(repo, caller))


def uninstall_hook(repo: Repository, caller: HookCommand) -> HookResult:
    """Remove our hook and move the earlier one back. Raises RequestError if ours was edited."""
    path = _hook_path(repo)
    if not path.parent.is_dir():
        return HookResult(HookAction.UNCHANGED, view_hook(repo, caller))
    with _lock(path):
        view = view_hook(repo, caller)
        _require_ours_or_none(view)
        folders = parse_place(_read_ours(path) or "").folders
        link = path.parent / _NAMED / NAME
        if _is_our_link(link):
            link.unlink()
            with contextlib.suppress(OSError):
                link.parent.rmdir()
        if view.backup is not None:
            view.backup.rename(path)
            outcome = HookAction.RESTORED
        elif view.state is HookState.ABSENT:
            outcome = HookAction.UNCHANGED
        else:
            path.unlink()
            outcome = HookAction.REMOVED
    with contextlib.suppress(OSError):  # one is not empty any more, nor are those above it
        for folder in path.parents[:folders]:
            folder.rmdir()
    return HookResult(outcome, view_hook(repo, caller))


def _hook_path(repo: Repository) -> Path:
    """Return the path of the hook from git, which handles ``core.hooksPath`` and linked worktrees.

    If another manager has moved ours aside and runs it, return that place.
    """
    try:
        completed = repo.git("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    except GitError as error:
        raise UnusableError(f"git does not say where hooks are: {error.message}", hint=_WHERE) from error
    path = Path(completed.answer(), NAME)
    moved = path.with_name(_LEGACY)
    return moved if _read_ours(path) is None and _read_ours(moved) is not None else path


def _read_ours(path: Path) -> str | None:
    text = "" if path.is_symlink() else _text(path)
    return text if is_ours(text) else None


def _text(path: Path) -> str:
    """Return the beginning of a hook's text; empty if it cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode(errors="surrogateescape")
    except OSError:
        return ""


def _foreign_state(path: Path, aside: Path) -> HookState:
    """Classify a hook over ours; an unchanged earlier hook was only written again by its manager."""
    if not os.path.lexists(path) or not os.path.lexists(aside):
        return HookState.ABSENT
    with contextlib.suppress(OSError):
        are_files = all(stat.S_ISREG(hook.lstat().st_mode) for hook in (path, aside))
        if are_files and filecmp.cmp(path, aside, shallow=False):
            return HookState.ABSENT
    return HookState.REPLACED


def _shared(repo: Repository, folder: Path) -> str | None:
    asked = ("config", "--show-scope", "--type=path", "--get", "core.hooksPath")
    completed = repo.git(*asked, check=False)
    if completed.code != 0:
        return None
    scope = completed.answer().partition("\t")[0]
    if scope in {"global", "system"}:
        return f"core.hooksPath of the {scope} git configuration: repositories without their own run it too"
    if scope == "command":
        return "core.hooksPath is set for this call only: commits made without it do not run the hook"
    if folder.is_relative_to(repo.common_dir):
        return None
    if folder.is_relative_to(repo.top):
        return "core.hooksPath points into the worktree: the hook is for this machine; do not commit it"
    return "core.hooksPath points outside this repository: others with the same path run the hook too"


def _require_ours_or_none(view: HookStatus) -> None:
    reason = _why_left_alone(view.path, view.state)
    if reason is not None:
        raise RequestError(reason, hint=_HINTS[view.state])


def _why_left_alone(path: Path, state: HookState) -> str | None:
    if state is HookState.REPLACED:
        aside = path.with_name(ASIDE)
        return f"{path} was replaced by another hook; it is left alone, and so is {aside}, the previous hook"
    if state is HookState.EDITED:
        return f"{path} is our hook, edited by someone else; it is left alone"
    return None


def _why_no_folder(folder: Path) -> str | None:
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    return None if there.is_dir() else f"{there} is not a folder: this repository runs no hooks"


def _is_our_link(link: Path) -> bool:
    return link.is_symlink() and link.readlink() == _TARGET


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[Path]:
    """Take a lock file beside the hook, as git does, and yield its path for the draft.

    The lock ends with its process, so that a file left by a killed process blocks nobody.
    """
    draft, is_held = path.with_name(f"{path.name}.lock"), False
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
    try:
        with open(os.open(draft, flags, 0o777), "wb") as file:  # noqa: PTH123  # a descriptor
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_held = is_open_file(draft, file.fileno())
            if not is_held:
                raise RequestError(
                    f"another process is working here: it holds {draft}",
                    hint="wait for it, then repeat the command",
                )
            try:
                yield draft
            finally:
                if is_open_file(draft, file.fileno()):
                    draft.unlink()
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def _unwritable(folder: Path, error: OSError) -> UnusableError:
    return UnusableError(f"cannot write {folder}: {error.strerror}", hint=_WHERE)
