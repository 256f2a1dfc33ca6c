"""Attribute commits by what the hook noted while agents worked, and by the history of HEAD.

The hook of a commit reads HEAD a moment after the commit was made, when another one may have moved it: then
two notes name one commit, and none the other (DESIGN.md 10).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

SOMEONE = "-"
"""The owner of a commit that no run made."""

# The most commits that may follow one before its hook reads HEAD.
_REACH = 100
# What stands before a message on the command line.
_BEFORE_MESSAGE = r"(?:-[A-Za-z]*m|--message=?)"


@dataclass(frozen=True)
class Claim:
    """One line of the hook's list: who made a commit, and the commit at HEAD when the hook ran.

    ``order`` grows with the start of the process that committed. ``author`` is the commit's time and author,
    ``command`` the first line of the command that made it; either is empty if the hook could not tell.
    """

    owner: str
    oid: str
    order: int = 0
    author: str = ""
    command: str = ""


@dataclass(frozen=True)
class HeadCommit:
    """One commit that HEAD was moved to; ``by_commit``: its hook may have run."""

    oid: str
    author: str = ""
    subject: str = ""
    by_commit: bool = True


@dataclass(frozen=True)
class Attribution:
    """One commit and who made it."""

    owner: str
    oid: str


def parse_claims(data: bytes) -> tuple[Claim, ...]:
    """Parse the hook's list; invalid lines, such as one cut off by a full disk, are skipped."""
    return tuple(_parse_lines(data))


def _parse_lines(data: bytes) -> Iterator[Claim]:
    for line in data.decode(errors="replace").split("\n"):
        order, _, rest = line.partition("\t")
        words = order.split(" ")
        if len(words) != 3 or not words[2].isdecimal():
            continue
        date, _, more = rest.partition("\t")
        name, _, command = more.partition("\t")
        # The caller gave git the date in another form, which may not be this commit's.
        author = author_mark(date, name) if date.startswith("@") else ""
        yield Claim(words[0], words[1], int(words[2]), author, command)


def author_mark(date: str, name: str) -> str:
    """Normalize time (``@SECONDS ZONE``) and ``NAME <ADDRESS>`` of an author for comparison."""
    return f"{date} {name}"


def attribute(claims: Sequence[Claim], made: Sequence[HeadCommit]) -> tuple[Attribution, ...]:
    """Assign every commit to one owner: those of ``made`` in order, oldest first, then unknown ones.

    ``made`` are the commits that HEAD was moved to. A hook reads its own commit or a later one, so a claim
    goes to the commit it names or to an earlier one: the one whose message is on its command line, else the
    latest free one of its author; among claims to one commit, the one that started last has precedence. A
    claim left without a commit is a duplicate.
    """
    places = _places(made)
    known = [claim for claim in claims if claim.oid in places]
    taken = _seen_in_time(known, made, places) or Solver(made, places).attribute(known)
    settled = (Attribution(taken[place], made[place].oid) for place in sorted(taken))
    return (*settled, *_unknown(claims, places))


def _places(made: Sequence[HeadCommit]) -> dict[str, int]:
    """Return where each commit was made, or else where HEAD last moved to it."""
    named = {commit.oid: place for place, commit in enumerate(made)}
    return named | {commit.oid: place for place, commit in enumerate(made) if commit.by_commit}


def _seen_in_time(
    claims: Sequence[Claim], made: Sequence[HeadCommit], places: Mapping[str, int]
) -> Mapping[int, str] | None:
    """Return the owners if each hook ran before the next commit, as nearly always; else None."""
    named = {places[claim.oid]: claim.owner for claim in claims}
    is_plain = named.keys() == {place for place, commit in enumerate(made) if commit.by_commit}
    return named if is_plain and len(named) == len(claims) else None


class Solver:
    """The commits by their place in history, and the owners assigned so far."""

    def __init__(self, made: Sequence[HeadCommit], places: Mapping[str, int]) -> None:
        self.taken: dict[int, str] = {}
        self._made = made
        self._places = places

    def attribute(self, claims: Sequence[Claim]) -> Mapping[int, str]:
        """Return the owner of each commit, by place."""
        left = sorted(claims, key=lambda claim: (self._places[claim.oid], claim.order), reverse=True)
        left = [claim for claim in left if not self.takes(claim, self.by_message(claim))]
        # Claims that fit any commit are assigned after those that fit only their author's.
        left.sort(key=lambda claim: not claim.author)
        left = [claim for claim in left if not self.takes(claim, self.before(claim))]
        for claim in left:
            self.takes(claim, self.around(claim))
        return self.taken

    def takes(self, claim: Claim, place: int | None) -> bool:
        """Assign a commit to a claim. Return whether there was one."""
        if place is not None:
            self.taken[place] = claim.owner
        return place is not None

    def by_message(self, claim: Claim) -> int | None:
        """Return the commit whose message is on the command line; the longest message wins."""
        given = (
            place for place in self._free(claim) if _has_message(claim.command, self._made[place].subject)
        )
        return max(given, key=lambda place: (len(self._made[place].subject), place), default=None)

    def before(self, claim: Claim) -> int | None:
        """Return the latest commit that the hook may have been called for."""
        return next(self._free(claim), None)

    def around(self, claim: Claim) -> int | None:
        """Return a free commit nearby: git may mix the messages of two commits made at once."""
        own = self._places[claim.oid]
        if own not in self.taken:
            return own
        nearby = range(own + 1, min(len(self._made), own + _REACH))
        return next((place for place in nearby if self._fits(claim, place)), None)

    def _free(self, claim: Claim) -> Iterator[int]:
        own = self._places[claim.oid]
        return (place for place in range(own, max(-1, own - _REACH), -1) if self._fits(claim, place))

    def _fits(self, claim: Claim, place: int) -> bool:
        made = self._made[place]
        is_free = made.by_commit and place not in self.taken
        return is_free and (not claim.author or not made.author or claim.author == made.author)


def _has_message(command: str, subject: str) -> bool:
    """Return whether a command line, its words run together, has this message."""
    return (
        bool(subject)
        and subject in command
        and re.search(_BEFORE_MESSAGE + re.escape(subject), command) is not None
    )


def _unknown(claims: Sequence[Claim], places: Mapping[str, int]) -> Iterator[Attribution]:
    """Return commits that are not in HEAD's history: if two notes differ, a run's counts."""
    owners: dict[str, str] = {}
    for claim in claims:
        if claim.oid not in places and owners.get(claim.oid, SOMEONE) == SOMEONE:
            owners[claim.oid] = claim.owner
    yield from (Attribution(owner, oid) for oid, owner in owners.items())
