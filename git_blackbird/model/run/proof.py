"""What the checks of a change say without each of its hunks: which of them they notice."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Self

from pydantic import Field

from git_blackbird.model.base.record import Record, Unmasked
from git_blackbird.model.run.summary import ChangedLines, SkippedPath

MOST_PARTS = 500
"""So many parts of a change are named in a record, what nothing notices first; the counts are of all."""


class HunkVerdict(StrEnum):
    """What is known of hunks, what a person looks at first first.

    ``UNNOTICED``: the checks passed without it, twice. ``UNRUN``: no test runs its lines. ``UNSEEN``: no
    check depends on its file. ``INCONCLUSIVE``: without it the checks say nothing for certain. ``OPEN``: time
    was up. ``NOTICED``: a check fails without it.
    """

    UNNOTICED = "unnoticed"
    UNRUN = "unrun"
    UNSEEN = "unseen"
    INCONCLUSIVE = "inconclusive"
    OPEN = "open"
    NOTICED = "noticed"

    @property
    def is_by_nothing(self) -> bool:
        return self in _BY_NOTHING


_BY_NOTHING = frozenset({HunkVerdict.UNNOTICED, HunkVerdict.UNRUN, HunkVerdict.UNSEEN})
_WORST_FIRST = tuple(HunkVerdict)


class Hunk(Record):
    """Lines of a change to a file, counted as in ``ChangedLines``, of long additions a part.

    The new ones begin and end with code. ``content`` is the id of the file after the change, ``before`` that
    of what it was before, if it was there.
    """

    path: Unmasked[str]
    content: Unmasked[str]
    before: Unmasked[str | None] = None
    old: int
    old_count: int
    new: int
    new_count: int

    @property
    def lines(self) -> ChangedLines:
        return ChangedLines(self.old, self.old_count, self.new, self.new_count)


class Judged(Record):
    """A verdict on hunks: by which test, or the title of a check, and what else there is to it."""

    verdict: HunkVerdict
    by: str | None = None
    reason: str | None = None


class ProvenPart(Judged):
    """Hunks that were taken back together, and what came of it.

    ``along`` is how many others were as well, which use what these introduce.
    """

    hunks: tuple[Hunk, ...]
    along: int | None = None


class Proof(Record):
    """What is known of each hunk of a change.

    ``counts`` has the number of hunks of each verdict, ``left_out`` which files were not looked at by hunks,
    and why. ``runs`` is how often a check ran for it, and ``seconds`` how long that took; of what was known
    before it did not. ``fault`` is why nothing could be told.
    """

    parts: tuple[ProvenPart, ...] = ()
    counts: Mapping[HunkVerdict, int] = Field(default_factory=dict)
    left_out: tuple[SkippedPath, ...] = ()
    runs: int = 0
    seconds: float = 0
    fault: str | None = None

    @classmethod
    def of(cls, parts: Sequence[ProvenPart]) -> Self:
        """Return a proof with its parts in order, and counted."""
        counts = {
            verdict: sum(len(part.hunks) for part in parts if part.verdict is verdict)
            for verdict in HunkVerdict
        }
        ordered = sorted(parts, key=lambda part: _WORST_FIRST.index(part.verdict))
        known = {verdict: count for verdict, count in counts.items() if count}
        return cls(parts=tuple(ordered[:MOST_PARTS]), counts=known)

    @property
    def unproven(self) -> tuple[ProvenPart, ...]:
        """The parts that no check is known to notice."""
        return tuple(part for part in self.parts if part.verdict is not HunkVerdict.NOTICED)
