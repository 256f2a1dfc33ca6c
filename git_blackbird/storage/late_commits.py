"""Commits of a person's that could not be recorded when they were made: no commit waits (DESIGN.md 10)."""

from dataclasses import dataclass
from pathlib import Path

from git_blackbird.storage.atomic import copy_private
from git_blackbird.storage.layout import Layout


@dataclass(frozen=True)
class LateCommit:
    """A commit that is still to be recorded, and the one that it amends."""

    oid: str
    replaced: str | None


def keep_late(layout: Layout, late: LateCommit) -> None:
    """Keep a commit until it is recorded.

    Raises SaveError.
    """
    copy_private(layout.late_commits / late.oid, (late.replaced or "").encode())


def list_late(layout: Layout) -> list[LateCommit]:
    """Give the commits that wait, in the order in which they were kept.

    Raises OSError.
    """
    if not layout.late_commits.is_dir():
        return []
    kept = [path for path in layout.late_commits.iterdir() if path.suffix != ".tmp"]
    return [_load(path) for path in sorted(kept, key=_when)]


def _when(path: Path) -> int:
    return path.stat().st_mtime_ns


def _load(path: Path) -> LateCommit:
    return LateCommit(path.name, path.read_text(encoding="ascii") or None)


def drop_late(layout: Layout, oid: str) -> None:
    """Forget a commit that was recorded; another process may have done so already."""
    (layout.late_commits / oid).unlink(missing_ok=True)
