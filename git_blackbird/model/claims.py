"""Whose commit is whose: what the hook noted while agents worked, settled beside the history of HEAD.

The hook of a commit looks at HEAD a moment after the commit was made, and by then another one may have
moved it: then two notes name one commit, and a third nobody's (DESIGN.md 10).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

SOMEONE = "-"
"""The owner of a commit that no run made."""

# How many commits may come between one and the moment at which its hook looks at HEAD.
_REACH = 100
# What stands before a message on the command line.
_BEFORE_MESSAGE = r"(?:-[A-Za-z]*m|--message=?)"


@dataclass(frozen=True)
class Claim:
    """One line of the hook's list: who made a commit, and the commit HEAD named when the hook looked.

    ``order`` grows with the start of what committed. ``author`` is the commit's time and author, and
    ``command`` the first line of the command that made it; empty where the hook could not tell.
    """

    owner: str
    oid: str
    order: int = 0
    author: str = ""
    command: str = ""


@dataclass(frozen=True)
class Made:
    """One commit that HEAD came to name, as its object tells; ``by_commit``: its hook may have run."""

    oid: str
    author: str = ""
    subject: str = ""
    by_commit: bool = True


@dataclass(frozen=True)
class Settled:
    """One commit and who made it."""

    owner: str
    oid: str


def parse_claims(data: bytes) -> tuple[Claim, ...]:
    """Read the hook's list; a line that is none is passed over, as one that was cut off by a full disk."""
    return tuple(_parse_lines(data))


def _parse_lines(data: bytes) -> Iterator[Claim]:
    for line in data.decode(errors="replace").split("\n"):
        told, _, rest = line.partition("\t")
        words = told.split(" ")
        if len(words) != 3 or not words[2].isdecimal():
            continue
        date, _, more = rest.partition("\t")
        name, _, command = more.partition("\t")
        # Another form of date was given to git by its caller, and need not be this commit's.
        author = author_mark(date, name) if date.startswith("@") else ""
        yield Claim(words[0], words[1], int(words[2]), author, command)


def author_mark(date: str, name: str) -> str:
    """Put time (``@SECONDS ZONE``) and ``NAME <ADDRESS>`` of an author in the form that is compared."""
    return f"{date} {name}"


def settle(claims: Sequence[Claim], made: Sequence[Made]) -> tuple[Settled, ...]:
    """Give every commit one owner: those of ``made`` in its order, oldest first, then unknown ones.

    ``made`` are the commits that HEAD came to name. A hook looks at its own commit or at a later one, so a
    claim goes to the commit it names or to an earlier one: to the one whose message its command gave; else,
    of those that are left and of its author, to the latest, where claims to one commit stand in the order of
    their start. What then finds no commit of its own is a second note of one and the same.
    """
    places = _places(made)
    known = [claim for claim in claims if claim.oid in places]
    taken = _seen_in_time(known, made, places) or _Settling(made, places).settle(known)
    settled = (Settled(taken[place], made[place].oid) for place in sorted(taken))
    return (*settled, *_unknown(claims, places))


def _places(made: Sequence[Made]) -> dict[str, int]:
    """Say where each commit was made, or else where HEAD came to name it last."""
    named = {one.oid: place for place, one in enumerate(made)}
    return named | {one.oid: place for place, one in enumerate(made) if one.by_commit}


def _seen_in_time(
    claims: Sequence[Claim], made: Sequence[Made], places: Mapping[str, int]
) -> Mapping[int, str] | None:
    """Give the owners where each hook looked before the next commit, as nearly always; else None."""
    named = {places[claim.oid]: claim.owner for claim in claims}
    is_plain = named.keys() == {place for place, one in enumerate(made) if one.by_commit}
    return named if is_plain and len(named) == len(claims) else None


class _Settling:
    """The commits in hand, by their place in history, and who took which."""

    def __init__(self, made: Sequence[Made], places: Mapping[str, int]) -> None:
        self.taken: dict[int, str] = {}
        self._made = made
        self._places = places

    def settle(self, claims: Sequence[Claim]) -> Mapping[int, str]:
        """Give each commit to one of the claims; gives the owners by place."""
        left = sorted(claims, key=lambda claim: (self._places[claim.oid], claim.order), reverse=True)
        left = [claim for claim in left if not self.takes(claim, self.by_message(claim))]
        # Who can take any commit chooses after those who can take only their author's.
        left.sort(key=lambda claim: not claim.author)
        left = [claim for claim in left if not self.takes(claim, self.before(claim))]
        for claim in left:
            self.takes(claim, self.around(claim))
        return self.taken

    def takes(self, claim: Claim, place: int | None) -> bool:
        """Give a commit to a claim, if one was found; gives whether it was."""
        if place is not None:
            self.taken[place] = claim.owner
        return place is not None

    def by_message(self, claim: Claim) -> int | None:
        """The commit whose message the command gave; one message may begin as another does."""
        told = (place for place in self._free(claim) if _gave(claim.command, self._made[place].subject))
        return max(told, key=lambda place: (len(self._made[place].subject), place), default=None)

    def before(self, claim: Claim) -> int | None:
        """The latest commit that the hook may have been called for."""
        return next(self._free(claim), None)

    def around(self, claim: Claim) -> int | None:
        """What is left nearby: messages mislead where git itself mixed those of two commits at once."""
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


def _gave(command: str, subject: str) -> bool:
    """Whether a command line, its words run together, gives this message."""
    return (
        bool(subject)
        and subject in command
        and re.search(_BEFORE_MESSAGE + re.escape(subject), command) is not None
    )


def _unknown(claims: Sequence[Claim], places: Mapping[str, int]) -> Iterator[Settled]:
    """Commits that HEAD's history does not know: where two notes differ, a run's counts."""
    owners: dict[str, str] = {}
    for claim in claims:
        if claim.oid not in places and owners.get(claim.oid, SOMEONE) == SOMEONE:
            owners[claim.oid] = claim.owner
    yield from (Settled(owner, oid) for oid, owner in owners.items())
