"""List and remove the state of a worktree, never through a link."""

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.storage.drafts import text_drafts
from git_blackbird.storage.paths import OVERVIEW_NAME, Paths


def has_state(paths: Paths, shared: Path | None) -> bool:
    """Whether there is anything to remove; ``shared`` is a state folder that also has files of the user."""
    return any(os.path.lexists(place) for place in (*_state_places(paths, shared), paths.private))


def list_own_files(paths: Paths, shared: Path | None, tracked: Iterable[str]) -> list[Path]:
    """List the state that a person wrote: overview, configuration, drafts, and tracked files.

    ``tracked`` are paths relative to the top of the worktree.
    """
    # Locks, and the forms from which drafts were made, are ours.
    drafts = [
        *sorted(paths.drafts.glob("*.*")),
        *sorted(paths.drafts.glob("[0-9]*/*.*")),
        *(path for _, path in text_drafts(paths)),
    ]
    if paths.state.is_symlink() or not paths.state.exists():
        return drafts
    written = {paths.state / OVERVIEW_NAME, paths.config, *(paths.state_root / name for name in tracked)}
    taken = set(_state_places(paths, shared))
    return [
        path for path in sorted(written) if os.path.lexists(path) and taken & {path, *path.parents}
    ] + drafts


def remove_state(paths: Paths, shared: Path | None) -> None:
    """Remove ``.blackbird/``, but not the user's own files if it is also the folder ``shared``.

    Raises UnusableError naming what cannot be removed.
    """
    for place in _state_places(paths, shared):
        remove(place)


def _state_places(paths: Paths, shared: Path | None) -> list[Path]:
    state = paths.state
    is_shared = False
    with contextlib.suppress(OSError):
        is_shared = shared is not None and state.samefile(shared)
    if not is_shared:
        return [state]
    # A worktree that is the user's HOME also has their own configuration and session locks there.
    return [path for path in sorted(state.iterdir()) if path.name not in {"config.json", "sessions"}]


def remove(place: Path) -> None:
    """Remove a file, a link or a whole folder. Raises UnusableError naming what cannot be removed."""
    try:
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
        else:
            shutil.rmtree(place)
    except OSError as error:
        where = error.filename or place
        raise UnusableError(f"cannot remove {where}: {error.strerror}", hint="make it writable") from error
