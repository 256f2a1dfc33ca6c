"""The post-commit hook's file: where git looks for it, whose it is, putting it there and taking it away.

A hook that is there is moved aside and run first by ours; taking ours away moves it back as it was
(DESIGN.md 10).
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

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.hook_text import (
    NAME,
    Caller,
    Place,
    is_ours,
    is_untouched,
    looks_at_name,
    missing_programs,
    parse_place,
    render_hook,
    shell_of,
)
from git_blackbird.git.index_lock import is_open_file
from git_blackbird.git.program import GitError
from git_blackbird.git.repository import Repository

ASIDE = f"{NAME}.before-blackbird"
# The folder with a link to it, so that a hook which goes by its own name is called by that.
_NAMED = "before-blackbird"
# Under this name pre-commit keeps the hook that it found, and runs it first.
_KEPT = f"{NAME}.legacy"
_TARGET = Path("..", ASIDE)
_MAX_BYTES = 64 * 1024
_WHERE = "`git config --show-origin core.hooksPath` says where that comes from"


class HookState(StrEnum):
    """Whose the hook is.

    ``outdated`` is ours of another version or for another installation, ``edited`` ours with changes of
    someone else's, ``replaced`` another one that took the place of ours.
    """

    INSTALLED = "installed"
    ABSENT = "absent"
    OUTDATED = "outdated"
    EDITED = "edited"
    REPLACED = "replaced"


_WAYS_OUT = {
    HookState.REPLACED: "keep one of the two: move the other away, or call it from the one that stays",
    HookState.EDITED: "move the changes into a hook of their own, remove the file, and repeat the command",
}


@dataclass(frozen=True)
class HookView:
    """How things stand at one place.

    ``aside`` is the hook from before ours, moved aside, and ``runs_aside`` whether it can be run; ``other``
    says that a hook of someone else's is in use, ``obstacle`` why none of ours can be put here. ``gone``
    names what our hook would start and is not there; ``shared`` says whom the folder serves besides this
    repository.
    """

    path: Path
    state: HookState
    other: bool = False
    aside: Path | None = None
    runs_aside: bool = False
    obstacle: str | None = None
    gone: tuple[str, ...] = ()
    shared: str | None = None


class Outcome(StrEnum):
    """What installing or uninstalling did."""

    INSTALLED = "installed"
    UPDATED = "updated"
    REMOVED = "removed"
    RESTORED = "restored"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Done:
    """What was done, and how things stand now."""

    outcome: Outcome
    view: HookView


def view_hook(repo: Repository, caller: Caller) -> HookView:
    """Look at the hook that git would run here.

    Raises UnusableError.
    """
    path = _hook_path(repo)
    aside = path.with_name(ASIDE)
    text = _read_ours(path)
    state = _state(text, caller) if text is not None else _foreign_state(path, aside)
    return HookView(
        path=path,
        state=state,
        other=text is None and os.path.lexists(path),
        aside=aside if os.path.lexists(aside) else None,
        runs_aside=aside.is_file() and os.access(aside, os.X_OK),
        obstacle=_no_folder(path.parent) or _unmovable(path) or _left_alone(path, state),
        gone=() if text is None else missing_programs(text),
        shared=_shared(repo, path.parent),
    )


def install_hook(repo: Repository, caller: Caller) -> Done:
    """Put our hook in its place; a hook that is there is moved aside.

    Raises RequestError where something would be overwritten, UnusableError.
    """
    path = _hook_path(repo)
    folders = _make_folders(path.parent)
    with _held(path) as draft:
        view = view_hook(repo, caller)
        if view.state is HookState.INSTALLED:
            return Done(Outcome.UNCHANGED, view)
        _require_ours_or_none(view)
        was = _read_ours(path)
        other = path if view.other else path.with_name(ASIDE)
        place = Place(folders if was is None else parse_place(was).folders, shell_of(_text(other)))
        if other.is_symlink() or looks_at_name(_text(other)):
            _make_named(path.parent)
        draft.write_text(render_hook(caller, place), encoding="utf-8", errors="surrogateescape")
        if view.other:
            _require_movable(path)
            _set_aside(path)
        draft.rename(path)
        is_update = view.state is HookState.OUTDATED
        return Done(Outcome.UPDATED if is_update else Outcome.INSTALLED, view_hook(repo, caller))


def uninstall_hook(repo: Repository, caller: Caller) -> Done:
    """Take our hook away; the one from before is moved back as it was.

    Raises RequestError where the hook is no longer ours alone, UnusableError.
    """
    path = _hook_path(repo)
    if not path.parent.is_dir():
        return Done(Outcome.UNCHANGED, view_hook(repo, caller))
    with _held(path):
        view = view_hook(repo, caller)
        _require_ours_or_none(view)
        folders = parse_place(_read_ours(path) or "").folders
        _remove_named(path.parent)
        if view.aside is not None:
            view.aside.rename(path)
            outcome = Outcome.RESTORED
        elif view.state is HookState.ABSENT:
            outcome = Outcome.UNCHANGED
        else:
            path.unlink()
            outcome = Outcome.REMOVED
    _remove_folders(path.parent, folders)
    return Done(outcome, view_hook(repo, caller))


def _hook_path(repo: Repository) -> Path:
    """Ask git for the folder: it knows ``core.hooksPath`` and what linked worktrees share.

    Where another manager has moved ours aside and runs it, that is its place.
    """
    try:
        done = repo.git("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    except GitError as error:
        raise UnusableError(f"git does not say where hooks lie: {error.message}", hint=_WHERE) from error
    path = Path(os.fsdecode(done.out).removesuffix("\n"), NAME)
    kept = path.with_name(_KEPT)
    return kept if _read_ours(path) is None and _read_ours(kept) is not None else path


def _read_ours(path: Path) -> str | None:
    """Give the hook's text when it is ours; a link is someone else's, wherever it leads."""
    text = "" if path.is_symlink() else _text(path)
    return text if is_ours(text) else None


def _text(path: Path) -> str:
    """Give the text of a hook as far as it matters; empty where there is none to be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode(errors="surrogateescape")
    except OSError:
        return ""


def _state(text: str, caller: Caller) -> HookState:
    if not is_untouched(text):
        return HookState.EDITED
    is_same = text == render_hook(caller, parse_place(text))
    return HookState.INSTALLED if is_same else HookState.OUTDATED


def _foreign_state(path: Path, aside: Path) -> HookState:
    """Tell a hook that was put over ours; the same one once more was only written again by its manager."""
    is_replaced = os.path.lexists(path) and os.path.lexists(aside) and not _is_same(path, aside)
    return HookState.REPLACED if is_replaced else HookState.ABSENT


def _is_same(path: Path, aside: Path) -> bool:
    try:
        kinds = {stat.S_IFMT(one.lstat().st_mode) for one in (path, aside)}
        return kinds == {stat.S_IFREG} and filecmp.cmp(path, aside, shallow=False)
    except OSError:
        return False


def _shared(repo: Repository, folder: Path) -> str | None:
    """Say whom a folder named by ``core.hooksPath`` serves besides this repository."""
    asked = ("config", "--show-scope", "--type=path", "--get", "core.hooksPath")
    done = repo.git(*asked, check=False)
    if done.code != 0:
        return None
    scope = os.fsdecode(done.out).partition("\t")[0]
    if scope in {"global", "system"}:
        return f"core.hooksPath of the {scope} git configuration: every repository that has no other runs it"
    if scope == "command":
        return "core.hooksPath is given for this call only: commits made without it do not run the hook"
    if folder.is_relative_to(repo.common_dir):
        return None
    if folder.is_relative_to(repo.top):
        return "core.hooksPath leads into the worktree: the hook is for this machine, do not commit it"
    return "core.hooksPath leads out of this repository: others that have the same path run the hook too"


def _require_ours_or_none(view: HookView) -> None:
    reason = _left_alone(view.path, view.state)
    if reason is not None:
        raise RequestError(reason, hint=_WAYS_OUT[view.state])


def _left_alone(path: Path, state: HookState) -> str | None:
    if state is HookState.REPLACED:
        aside = path.with_name(ASIDE)
        return f"{path} is another hook now; it is left alone, and so is {aside}, the one before ours"
    if state is HookState.EDITED:
        return f"{path} is our hook, edited by someone else; it is left alone"
    return None


def _require_movable(path: Path) -> None:
    obstacle = _unmovable(path)
    if obstacle is not None:
        raise RequestError(f"{obstacle}; it is left alone", hint="move it away")


def _unmovable(path: Path) -> str | None:
    try:
        kind = path.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISREG(kind) or stat.S_ISLNK(kind):
        return None
    return f"{path} is {'a folder' if stat.S_ISDIR(kind) else 'not a file'}"


def _no_folder(folder: Path) -> str | None:
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    return None if there.is_dir() else f"{there} is not a folder: this repository runs no hooks"


def _make_named(folder: Path) -> None:
    """Make the link by which a hook that was moved aside has its own name still."""
    link = folder / _NAMED / NAME
    if _is_named(link):
        return
    if os.path.lexists(link.parent):
        raise RequestError(f"{link.parent} exists; it is left alone", hint="move it away")
    link.parent.mkdir()
    link.symlink_to(_TARGET)


def _remove_named(folder: Path) -> None:
    link = folder / _NAMED / NAME
    if _is_named(link):
        link.unlink()
        with contextlib.suppress(OSError):
            link.parent.rmdir()


def _is_named(link: Path) -> bool:
    return link.is_symlink() and link.readlink() == _TARGET


def _make_folders(folder: Path) -> int:
    """Make the folder and those above it that are missing; gives how many."""
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    obstacle = _no_folder(folder)
    if obstacle is not None:
        raise RequestError(obstacle, hint=_WHERE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    return len(missing)


def _remove_folders(folder: Path, count: int) -> None:
    for path in (folder, *folder.parents)[:count]:
        try:
            path.rmdir()
        except OSError:
            # Someone has put something there since.
            return


@contextlib.contextmanager
def _held(path: Path) -> Iterator[Path]:
    """Keep a second install away by a locked file beside it, which is given for a draft.

    The lock ends with its process, so that a file left by a killed one is in nobody's way.
    """
    draft = path.with_name(f"{path.name}.lock")
    try:
        with _locked(draft) as descriptor:
            try:
                yield draft
            finally:
                if is_open_file(draft, descriptor):
                    draft.unlink()
    except OSError as error:
        raise _unwritable(path.parent, error) from error


@contextlib.contextmanager
def _locked(draft: Path) -> Iterator[int]:
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o777)
    try:
        if not _is_free(descriptor) or not is_open_file(draft, descriptor):
            raise RequestError(
                f"another process is working here: it holds {draft}",
                hint="wait for it, then repeat the command",
            )
        yield descriptor
    finally:
        os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _set_aside(path: Path) -> None:
    """Give the hook that is there its other name; it keeps its own until ours takes that."""
    aside = path.with_name(ASIDE)
    try:
        os.link(path, aside, follow_symlinks=False)
    except OSError:
        # It is there already, or the file system knows no hard links.
        path.rename(aside)


def _unwritable(folder: Path, error: OSError) -> UnusableError:
    return UnusableError(f"cannot write {folder}: {error.strerror}", hint=_WHERE)
