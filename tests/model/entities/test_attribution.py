"""Whose commit is whose, when hooks look at HEAD too late."""

from collections import Counter
from dataclasses import dataclass
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.entities.commits import SOMEONE, Claim, HeadMove, attribute_commits, parse_claims

RUN = "0123456789abcdef"
OTHER = "fedcba9876543210"


def made(oid: str, subject: str = "") -> HeadMove:
    return HeadMove(None, oid, f"commit: {subject}")


def test_a_line_of_the_list_is_read_whole() -> None:
    line = f"{RUN} c0ffee 4711\tgitcommit-mAdd x\n"
    assert list(parse_claims(line.encode())) == [Claim(RUN, "c0ffee", 4711, "gitcommit-mAdd x")]


def test_the_command_in_a_line_of_an_older_hook_is_read() -> None:
    line = f"{RUN} b 1\t@1767323045 +0000\tAda <ada@example.com>\tgitcommit-mAdd x\n- b 2\t\t\t\n"
    claims = list(parse_claims(line.encode()))
    assert attribute_commits(claims, [made("a", "Add x"), made("b")]) == {"a": RUN, "b": SOMEONE}


def test_what_is_no_line_of_the_list_is_passed_over() -> None:
    assert list(parse_claims(b"\n- c0ffee\n\xff\xfe\nnonsense of somebody\n")) == []


def test_everyone_keeps_the_commit_they_saw() -> None:
    history = [made("a"), made("b"), made("c")]
    assert attribute_commits([Claim(SOMEONE, "b"), Claim(RUN, "a"), Claim(OTHER, "c")], history) == {
        "a": RUN,
        "b": SOMEONE,
        "c": OTHER,
    }


def test_of_two_that_saw_one_commit_the_earlier_made_the_one_before() -> None:
    history = [made("a"), made("b"), made("c")]
    claims = [Claim(SOMEONE, "c", order=9), Claim(RUN, "c", order=8), Claim(SOMEONE, "a", order=7)]
    assert attribute_commits(claims, history) == {"a": SOMEONE, "b": RUN, "c": SOMEONE}


def test_the_message_of_the_command_tells_more_than_the_order() -> None:
    history = [made("a", "agent 1"), made("b", "person 10"), made("c", "agent 10")]
    claims = [
        Claim(RUN, "c", order=1, command="gitcommit-q-magent 10"),
        Claim(RUN, "c", order=2, command="gitcommit-q-magent 1"),
        Claim(SOMEONE, "c", order=3, command="gitcommit--message=person 10"),
    ]
    assert attribute_commits(claims, history) == {"a": RUN, "b": SOMEONE, "c": RUN}


def test_a_claim_passes_over_what_made_no_commit() -> None:
    """The hook of `a` saw a merge, which runs no hook and is not in the history given."""
    assert attribute_commits([Claim(RUN, "b", command="gitcommit-mx")], [made("a", "x"), made("b", "y")]) == {
        "a": RUN
    }


def test_a_second_note_of_one_commit_takes_no_other() -> None:
    history = [made("old"), made("a")]
    assert attribute_commits([Claim(RUN, "a"), Claim(RUN, "a")], history) == {"a": RUN}


def test_what_history_does_not_know_is_its_claimants() -> None:
    claims = [Claim(SOMEONE, "x"), Claim(RUN, "x"), Claim(SOMEONE, "x"), Claim(SOMEONE, "y")]
    assert attribute_commits(claims, []) == {"x": RUN, "y": SOMEONE}


@dataclass(frozen=True)
class Event:
    """A commit: whose, whether its command gave the message, and how late its hook looked."""

    owner: str
    told: bool
    delay: int


events = st.lists(
    st.builds(
        Event,
        st.sampled_from([RUN, OTHER, SOMEONE]),
        st.booleans(),
        st.sampled_from([0, 0, 0, 1, 2, 5]),
    ),
    max_size=30,
)


def history_of(walk: list[Event]) -> list[HeadMove]:
    return [made(f"c{place}", f"do {place}") for place in range(len(walk))]


def claims_of(walk: list[Event]) -> list[Claim]:
    return [
        Claim(
            event.owner,
            f"c{min(place + event.delay, len(walk) - 1)}",
            place,
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
    found = attribute_commits(claims, history_of(walk))
    assert list(found) == [f"c{place}" for place in range(len(walk))]
    assert Counter(found.values()) == Counter(event.owner for event in walk)


@settings(deadline=None)
@given(events)
def test_whose_command_told_the_message_has_exactly_what_they_made(walk: list[Event]) -> None:
    told = [Event(event.owner, told=True, delay=event.delay) for event in walk]
    found = attribute_commits(claims_of(told), history_of(told))
    assert found == {f"c{place}": event.owner for place, event in enumerate(told)}


@settings(deadline=None)
@given(events)
def test_without_delay_nothing_else_matters(walk: list[Event]) -> None:
    prompt = [Event(event.owner, told=event.told, delay=0) for event in walk]
    found = attribute_commits(claims_of(prompt), history_of(prompt))
    assert found == {f"c{place}": event.owner for place, event in enumerate(prompt)}


@settings(deadline=None)
@given(events)
def test_where_starts_tell_the_order_delays_are_undone(walk: list[Event]) -> None:
    """As many hooks look as commits were made, each at its own or a later one: all find their own again."""
    plain = [Event(event.owner, told=False, delay=min(event.delay, 1)) for event in walk]
    found = attribute_commits(claims_of(plain), history_of(plain))
    assert found == {f"c{place}": event.owner for place, event in enumerate(plain)}
