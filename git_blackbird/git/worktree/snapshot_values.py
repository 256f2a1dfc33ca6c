"""What a snapshot is, what bounds it, and what it updates in its private index."""

from dataclasses import dataclass, field

from git_blackbird.errors import UnusableError
from git_blackbird.model.run.summary import SkippedPath


class SnapshotError(UnusableError):
    """The worktree could not be recorded as a tree."""


@dataclass(frozen=True)
class SnapshotLimits:
    """``timeout_seconds`` for the whole snapshot; untracked files over ``max_untracked_bytes`` stay out."""

    timeout_seconds: float = 60.0
    max_untracked_bytes: int = 50_000_000


@dataclass(frozen=True)
class Snapshot:
    """The tree of the worktree, and the paths that are not in it."""

    tree: str
    left_out: tuple[SkippedPath, ...] = ()


@dataclass
class IndexUpdate:
    """The paths to update in the private index, and those that cannot be.

    It is plain if the updated index says all that the next snapshot has to know of these paths.
    """

    update: list[bytes] = field(default_factory=list)
    private: list[bytes] = field(default_factory=list)
    remove: list[bytes] = field(default_factory=list)
    untouched: list[bytes] = field(default_factory=list)
    left_out: list[SkippedPath] = field(default_factory=list)
    missing: set[bytes] = field(default_factory=set)
    in_index: set[bytes] = field(default_factory=set)
    tracked: set[bytes] = field(default_factory=set)
    is_plain: bool = True

    def leave_out(self, path: bytes, reason: str) -> None:
        """Note that the file at ``path`` will not be in the tree."""
        self.untouched.append(path)
        self.left_out.append(SkippedPath(path=path.decode(errors="replace"), reason=reason))
        self.is_plain = self.is_plain and path not in self.in_index

    @property
    def changed(self) -> set[bytes]:
        """The paths whose content, as the worktree has it, is in the private index."""
        return {*self.update, *self.private}.difference(self.untouched, self.missing)
