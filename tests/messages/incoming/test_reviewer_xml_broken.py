import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.messages.incoming.json_answer import AnswerError
from git_blackbird.messages.incoming.reviewer_xml import (
    MAX_CHARACTERS,
    parse_reviewer_answer,
)
from git_blackbird.model.run.findings import ReviewResult, Source
from git_blackbird.model.run.states import ReviewerVerdict
from tests.messages.incoming.test_reviewer_xml import CODE, OPEN, SPEC

PIECE = re.compile(r"<[^<>]*>|[^<>]+")
INSERTED = [
    *[
        "&",
        "<",
        ">",
        "&lol;",
        "&#0;",
        "&#xD800;",
        '"',
        "'",
        "]]>",
        "<![CDATA[",
        "<!--",
        "-->",
        "<?php",
        "<b>",
    ],
    *[
        '<!ENTITY x "y">',
        "<!DOCTYPE x>",
        "\x00",
        "\ud800",
        "\uffff",
        "\x1bP",
        "</",
        "<issue",
        "`",
        "APPROVED",
    ],
    *["<spec-review>", "</spec-review>", "<code-review>", "<verdict>", "<issues/>", "<verdict/>"],
]
Mutation = Callable[[random.Random, list[str]], list[str]]


def _cut_end(chance: random.Random, pieces: list[str]) -> list[str]:
    return pieces[: chance.randrange(1, len(pieces))]


def _cut_piece(chance: random.Random, pieces: list[str]) -> list[str]:
    return [one for one in pieces if one is not chance.choice(pieces)]


def _cut_letters(chance: random.Random, pieces: list[str]) -> list[str]:
    text = "".join(pieces)
    start = chance.randrange(len(text))
    return [text[:start], text[start + chance.randrange(1, 9) :]]


def _double_piece(chance: random.Random, pieces: list[str]) -> list[str]:
    at = chance.randrange(len(pieces))
    return [*pieces[: at + 1], *pieces[at:]]


def _double_all(chance: random.Random, pieces: list[str]) -> list[str]:
    return [*pieces, chance.choice(["", "\n", " and ", "\n```\n"]), *pieces]


def _swap(chance: random.Random, pieces: list[str]) -> list[str]:
    one, other = chance.sample(range(len(pieces)), 2)
    swapped = list(pieces)
    swapped[one], swapped[other] = pieces[other], pieces[one]
    return swapped


def _insert(chance: random.Random, pieces: list[str]) -> list[str]:
    at = chance.randrange(len(pieces))
    what = chance.choice(INSERTED)
    return [*pieces[:at], what, *pieces[at:]]


def _nest(chance: random.Random, pieces: list[str]) -> list[str]:
    at = chance.randrange(len(pieces))
    return [*pieces[:at], *pieces, *pieces[at:]]


def _break_attribute(chance: random.Random, pieces: list[str]) -> list[str]:
    text = "".join(pieces)
    at = chance.choice([found.start() for found in re.finditer(r'["=]', text)])
    return [text[:at], chance.choice(["", "'", '""', "<", ">", " "]), text[at + 1 :]]


MUTATIONS: list[Mutation] = [
    _cut_end,
    _cut_piece,
    _cut_letters,
    _double_piece,
    _double_all,
    _swap,
    _insert,
    _nest,
    _break_attribute,
]


def _result(text: str, source: Source = Source.SPEC) -> ReviewResult | None:
    """The review in a text, None where it is refused as it should be."""
    try:
        return parse_reviewer_answer(text, source)
    except AnswerError:
        return None


@pytest.mark.parametrize("seed", range(100))
def test_no_mutated_answer_is_a_false_approval(seed: int) -> None:
    chance = random.Random(seed)
    for mutate in chance.choices(MUTATIONS, k=10):
        pieces = PIECE.findall(SPEC)
        for change in [mutate, *chance.choices(MUTATIONS, k=chance.randrange(3))]:
            pieces = PIECE.findall("".join(change(chance, pieces))) or [" ", " "]
            if len(pieces) < 2 or '"' not in "".join(pieces):
                break
        text = "".join(pieces)
        result = _result(text)
        if result is not None:
            assert result.counted_verdict is ReviewerVerdict.ISSUES, text
            assert result.findings


@given(
    st.lists(
        st.sampled_from(
            [*PIECE.findall(SPEC), *PIECE.findall(CODE), "APPROVED:", "ISSUES:", "- x", "\n", "&"]
        )
        | st.text(max_size=20),
        max_size=30,
    )
)
def test_any_text_is_a_review_or_refused(pieces: list[str]) -> None:
    for source in Source:
        result = _result("".join(pieces), source)
        assert result is None or result.source is source


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "&",
        "<!--",
        "<![CDATA[",
        "<spec-review ",
        '<issue a="',
        "<issue '",
        "\n",
        "< ",
        "- ",
        "\x1b]",
        "</",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (MAX_CHARACTERS // len(piece) - 20)
    for answer in (text, "ISSUES:" + text[:-60], OPEN[:13] + text[:-60]):
        result = _result(answer)
        assert result is None or result.findings
