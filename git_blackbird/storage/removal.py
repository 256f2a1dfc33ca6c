"""Taking a worktree's state away: what there is of it, and removing it, never through a link."""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.storage.drafts import text_drafts
from git_blackbird.storage.layout import OVERVIEW_NAME, Layout


@dataclass(frozen=True)
class Amount:
    """How many files there are, and how many bytes they hold."""

    files: int
    size: int


def measure_state(layout: Layout, kept: Path | None) -> Amount:
    """Count the files of a worktree's state; ``kept`` is a folder in whose place the user's own files lie."""
    sizes = [size for place in (*_state_places(layout, kept), layout.private) for size in _sizes(place)]
    return Amount(len(sizes), sum(sizes))


def _sizes(place: Path) -> Iterator[int]:
    if place.is_symlink() or not place.is_dir():
        if os.path.lexists(place):
            yield place.lstat().st_size
        return
    for folder, _, names in os.walk(place):
        for name in names:
            yield (Path(folder) / name).lstat().st_size


def list_own_files(layout: Layout, kept: Path | None, tracked: Iterable[str]) -> list[Path]:
    """Name what a person wrote of a worktree's state: overview, configuration, drafts, and what git tracks.

    ``tracked`` are paths from the top of the worktree.
    """
    # Locks, and the forms that drafts were made from, are our own.
    drafts = [*sorted(layout.drafts.glob("*.md")), *(path for _, path in text_drafts(layout))]
    if layout.state.is_symlink() or not layout.state.exists():
        return drafts
    written = {layout.state / OVERVIEW_NAME, layout.config, *(layout.state_root / name for name in tracked)}
    taken = set(_state_places(layout, kept))
    return [one for one in sorted(written) if os.path.lexists(one) and taken & {one, *one.parents}] + drafts


def remove_state(layout: Layout, kept: Path | None) -> None:
    """Remove ``.blackbird/``, less what is the user's own where it is also the folder ``kept``.

    Raises UnusableError naming what cannot be removed.
    """
    for place in _state_places(layout, kept):
        _remove(place)


def remove_private(layout: Layout) -> None:
    """Remove the folder in the git directory, with the locks in it: last of all.

    Raises UnusableError naming what cannot be removed.
    """
    _remove(layout.private)


def remove_plan(layout: Layout) -> None:
    """Remove the plan file, or the link in its place.

    Raises UnusableError.
    """
    _remove(layout.plan)


def _state_places(layout: Layout, kept: Path | None) -> list[Path]:
    state = layout.state
    if kept is None or not _is_same(state, kept):
        return [state]
    # A worktree that is the user's HOME: their own configuration and session locks lie there too.
    return [path for path in sorted(state.iterdir()) if path.name not in {"config.json", "sessions"}]


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _remove(place: Path) -> None:
    try:
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
        else:
            shutil.rmtree(place)
    except OSError as error:
        where = error.filename or place
        raise UnusableError(f"cannot remove {where}: {error.strerror}", hint="make it writable") from error
