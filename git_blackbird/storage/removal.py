"""Remove what this program has stored in a worktree and its git directory."""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.storage.drafts import text_drafts
from git_blackbird.storage.paths import OVERVIEW_NAME, Paths


def state_to_keep(paths: Paths, shared: Path | None, tracked: Iterable[str]) -> frozenset[Path]:
    """Return the files below ``.blackbird/`` not to be removed: those that git tracks, and the user's own.

    ``tracked`` are paths relative to the top of the worktree. A worktree that is the user's HOME has their
    own configuration and session locks in its state folder too, which is then the folder ``shared``.
    """
    kept = {path for name in tracked if os.path.lexists(path := paths.state_root / name)}
    with contextlib.suppress(OSError):
        if shared is not None and paths.state.samefile(shared):
            kept |= {paths.config, paths.state / "sessions"}
    return frozenset(kept)


def has_state(paths: Paths, kept: frozenset[Path]) -> bool:
    return any(os.path.lexists(place) for place in (*_state_places(paths, kept), paths.private))


def list_own_files(paths: Paths, kept: frozenset[Path]) -> list[Path]:
    """List the state to be removed that a person wrote: overview, configuration, drafts."""
    # Locks, and the forms from which drafts were made, are ours.
    drafts = [
        *sorted(paths.drafts.glob("*.*")),
        *sorted(paths.drafts.glob("[0-9]*/*.*")),
        *(path for _, path in text_drafts(paths)),
    ]
    if paths.state.is_symlink():
        return drafts
    written = {paths.state / OVERVIEW_NAME, paths.config} - kept
    return [path for path in sorted(written) if os.path.lexists(path)] + drafts


def remove_state(paths: Paths, kept: frozenset[Path]) -> None:
    """Remove ``.blackbird/`` but for the files ``kept``; nothing through a link.

    Raises UnusableError naming what cannot be removed.
    """
    for place in _state_places(paths, kept):
        remove(place)


def _state_places(paths: Paths, kept: frozenset[Path]) -> Iterator[Path]:
    """Return the files and whole folders that have nothing to keep."""
    pending = [paths.state]
    while pending:
        place = pending.pop()
        if not place.is_symlink() and any(place in path.parents for path in kept):
            pending += sorted(place.iterdir())
        elif place not in kept:
            yield place


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
