"""Which hunks of a change no check notices, in words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.run.proof import HunkVerdict

if TYPE_CHECKING:
    from git_blackbird.model.run.proof import Hunk, Proof, ProvenPart


def proof_word(proof: "Proof") -> str:
    """Return how many hunks are noticed, as in ``noticed: 14 of 17, 2 by nothing, 1 open``."""
    others = {
        "by nothing": proof.by_nothing,
        "inconclusive": proof.count(HunkVerdict.INCONCLUSIVE),
        "open": proof.count(HunkVerdict.OPEN),
    }
    first = f"noticed: {proof.count(HunkVerdict.NOTICED)} of {counted(proof.hunks, 'hunk')}"
    return ", ".join([first, *(f"{count} {word}" for word, count in others.items() if count)])


def proof_lines(proof: "Proof") -> Iterator[str]:
    """Yield what nothing notices first."""
    yield proof_word(proof)
    yield from (f"  {_part_line(part)}" for part in proof.unproven)
    yield from (f"  {each.path}: not looked at, {each.reason}" for each in proof.left_out)


def _part_line(part: "ProvenPart") -> str:
    places = ", ".join(map(_place, part.hunks))
    along = f", with {counted(part.along, 'hunk')} that use it" if part.along else ""
    reason = f": {part.reason}" if part.reason else ""
    return f"{places}: {part.verdict}{along}{reason}"


def _place(hunk: "Hunk") -> str:
    first, last = hunk.new + 1, hunk.new + hunk.new_count
    return f"{hunk.path}:{first}-{last}" if last > first else f"{hunk.path}:{max(last, 1)}"
