"""Which hunks of a change no check notices, in words."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from git_blackbird.messages.display.format import render_path
from git_blackbird.messages.display.quantities import counted

if TYPE_CHECKING:
    # Only what shows a proof has loaded it.
    from git_blackbird.model.run.proof import Hunk, Proof, ProvenPart

_MAX_LINES = 10
_BY_NOTHING = ("unnoticed", "unrun", "unseen")


def proof_word(proof: "Proof") -> str:
    """Return how many hunks are noticed, as in ``noticed: 14 of 17 hunks, 2 by nothing, 1 open``."""
    if proof.fault is not None:
        return f"noticed: not known, {proof.fault}"
    return noticed_word({str(verdict): count for verdict, count in proof.counts.items()})


def noticed_word(counts: Mapping[str, int]) -> str:
    """Return how many hunks are noticed, of those with each verdict."""
    others = {"by nothing": sum(counts.get(name, 0) for name in _BY_NOTHING)}
    others |= {name: counts.get(name, 0) for name in ("inconclusive", "open")}
    first = f"noticed: {counts.get('noticed', 0)} of {counted(sum(counts.values()), 'hunk')}"
    return ", ".join([first, *(f"{count} {word}" for word, count in others.items() if count)])


def proof_lines(proof: "Proof | None", most: int | None = _MAX_LINES) -> Iterator[str]:
    """Yield that, and below it what nothing notices first, at most so many lines of that."""
    if proof is None:
        return
    yield proof_word(proof)
    lines = [*map(_part_line, proof.unproven), *(f"{path}: {reason}" for path, reason in _left_out(proof))]
    yield from (f"  {line}" for line in lines[:most])
    if most is not None and len(lines) > most:
        yield f"  and {len(lines) - most} more"


def _left_out(proof: "Proof") -> Iterator[tuple[str, str]]:
    yield from ((render_path(each.path), f"not looked at, {each.reason}") for each in proof.left_out)


def _part_line(part: "ProvenPart") -> str:
    users = f"{counted(part.along or 0, 'hunk')} that {'uses' if part.along == 1 else 'use'} it"
    along = f", with {users}" if part.along else ""
    reason = f": {part.reason}" if part.reason else ""
    return f"{places(part)}: {part.verdict}{along}{reason}"


def places(part: "ProvenPart") -> str:
    return ", ".join(map(place_of, part.hunks))


def place_of(hunk: "Hunk") -> str:
    """Return where a hunk is, as in ``app.py:12-15``; what was deleted was before that line."""
    first, last = hunk.new + 1, hunk.new + hunk.new_count
    return f"{render_path(hunk.path)}:{first}-{last}" if last > first else f"{render_path(hunk.path)}:{first}"
