"""Whose commit is whose, when hooks look at HEAD too late."""

from collections import Counter
from dataclasses import dataclass
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.entities.attribution import (
    SOMEONE,
    Attribution,
    Claim,
    HeadCommit,
    attribute,
    author_mark,
    parse_claims,
)

RUN = "0123456789abcdef"
OTHER = "fedcba9876543210"
AUTHOR = "@1767323045 +0000 Ada <ada@example.com>"


def claim(owner: str, oid: str, order: int = 0, command: str = "", author: str = AUTHOR) -> Claim:
    return Claim(owner, oid, order, author, command)


def made(oid: str, subject: str = "", author: str = AUTHOR) -> HeadCommit:
    return HeadCommit(oid, author, subject)


def owners(claims: list[Claim], history: list[HeadCommit]) -> dict[str, str]:
    settled = attribute(claims, history)
    assert len({one.oid for one in settled}) == len(settled)
    return {one.oid: one.owner for one in settled}


def test_a_line_of_the_list_is_read_whole() -> None:
    line = f"{RUN} c0ffee 4711\t@1767323045 +0000\tAda <ada@example.com>\tgitcommit-mAdd x\n"
    assert parse_claims(line.encode()) == (Claim(RUN, "c0ffee", 4711, AUTHOR, "gitcommit-mAdd x"),)


def test_a_date_that_git_was_told_is_not_taken_for_the_commits() -> None:
    (found,) = parse_claims(b"- c0ffee 1\t2026-01-02T03:04:05Z\tAda <ada@example.com>\t\n")
    assert found == Claim(SOMEONE, "c0ffee", 1)


def test_what_is_no_line_of_the_list_is_passed_over() -> None:
    assert parse_claims(b"\n- c0ffee\n\xff\xfe\nnonsense of somebody\n") == ()


def test_everyone_keeps_the_commit_they_saw() -> None:
    history = [made("a"), made("b"), made("c")]
    assert owners([claim(SOMEONE, "b"), claim(RUN, "a"), claim(OTHER, "c")], history) == {
        "a": RUN,
        "b": SOMEONE,
        "c": OTHER,
    }


def test_of_two_that_saw_one_commit_the_earlier_made_the_one_before() -> None:
    history = [made("a"), made("b"), made("c")]
    claims = [claim(SOMEONE, "c", order=9), claim(RUN, "c", order=8), claim(SOMEONE, "a", order=7)]
    assert owners(claims, history) == {"a": SOMEONE, "b": RUN, "c": SOMEONE}


def test_the_message_of_the_command_tells_more_than_the_order() -> None:
    history = [made("a", "agent 1"), made("b", "person 10"), made("c", "agent 10")]
    claims = [
        claim(RUN, "c", order=1, command="gitcommit-q-magent 10"),
        claim(RUN, "c", order=2, command="gitcommit-q-magent 1"),
        claim(SOMEONE, "c", order=3, command="gitcommit--message=person 10"),
    ]
    assert owners(claims, history) == {"a": RUN, "b": SOMEONE, "c": RUN}


def test_an_author_takes_no_commit_of_another() -> None:
    bob = author_mark("@1767323045 +0000", "Bob <bob@example.com>")
    history = [made("a"), made("b", author=bob)]
    claims = [claim(RUN, "b", order=1, author=bob), claim(SOMEONE, "b", order=2)]
    assert owners(claims, history) == {"a": SOMEONE, "b": RUN}


def test_a_claim_passes_over_what_made_no_commit() -> None:
    """The hook of `a` saw a merge, which runs no hook and is not in the history given."""
    assert owners([claim(RUN, "b", command="gitcommit-mx")], [made("a", "x"), made("b", "y")]) == {"a": RUN}


def test_a_second_note_of_one_commit_takes_no_other() -> None:
    before = author_mark("@1767000000 +0000", "Ada <ada@example.com>")
    history = [made("old", author=before), made("a")]
    assert owners([claim(RUN, "a"), claim(RUN, "a")], history) == {"a": RUN}


def test_what_history_does_not_know_is_its_claimants() -> None:
    claims = [claim(SOMEONE, "x"), claim(RUN, "x"), claim(SOMEONE, "x"), claim(SOMEONE, "y")]
    assert attribute(claims, []) == (Attribution(RUN, "x"), Attribution(SOMEONE, "y"))


@dataclass(frozen=True)
class Event:
    """A commit: whose, its author, whether its command gave the message, and how late its hook looked."""

    owner: str
    author: str
    told: bool
    delay: int


events = st.lists(
    st.builds(
        Event,
        st.sampled_from([RUN, OTHER, SOMEONE]),
        st.sampled_from([AUTHOR, author_mark("@1767323046 +0000", "Ada <ada@example.com>"), ""]),
        st.booleans(),
        st.sampled_from([0, 0, 0, 1, 2, 5]),
    ),
    max_size=30,
)


def history_of(walk: list[Event]) -> list[HeadCommit]:
    return [
        HeadCommit(f"c{place}", event.author or AUTHOR, f"do {place}") for place, event in enumerate(walk)
    ]


def claims_of(walk: list[Event]) -> list[Claim]:
    return [
        Claim(
            event.owner,
            f"c{min(place + event.delay, len(walk) - 1)}",
            place,
            event.author,
            f"gitcommit-mdo {place}" if event.told else "",
        )
        for place, event in enumerate(walk)
    ]


@settings(deadline=None)
@given(events, st.randoms())
def test_every_commit_has_one_owner_and_every_owner_as_many_as_they_made(
    walk: list[Event], order: Random
) -> None:
    claims = claims_of(walk)
    order.shuffle(claims)
    settled = attribute(claims, history_of(walk))
    assert [one.oid for one in settled] == [f"c{place}" for place in range(len(walk))]
    assert Counter(one.owner for one in settled) == Counter(event.owner for event in walk)


@settings(deadline=None)
@given(events)
def test_whose_command_told_the_message_has_exactly_what_they_made(walk: list[Event]) -> None:
    told = [Event(event.owner, event.author, told=True, delay=event.delay) for event in walk]
    found = {one.oid: one.owner for one in attribute(claims_of(told), history_of(told))}
    assert found == {f"c{place}": event.owner for place, event in enumerate(told)}


@settings(deadline=None)
@given(events)
def test_without_delay_nothing_else_matters(walk: list[Event]) -> None:
    prompt = [Event(event.owner, event.author, told=event.told, delay=0) for event in walk]
    found = {one.oid: one.owner for one in attribute(claims_of(prompt), history_of(prompt))}
    assert found == {f"c{place}": event.owner for place, event in enumerate(prompt)}


@settings(deadline=None)
@given(events)
def test_where_starts_tell_the_order_delays_are_undone(walk: list[Event]) -> None:
    """As many hooks look as commits were made, each at its own or a later one: all find their own again."""
    plain = [Event(event.owner, AUTHOR, told=False, delay=min(event.delay, 1)) for event in walk]
    found = {one.oid: one.owner for one in attribute(claims_of(plain), history_of(plain))}
    assert found == {f"c{place}": event.owner for place, event in enumerate(plain)}
