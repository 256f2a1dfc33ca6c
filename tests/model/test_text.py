"""Text of agents and files is harmless on a terminal."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.text import clean, clean_line, quoted_field, shell_word, visible
from tests.support import examples


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äöü 任务 🐦\n\ttext\n", "plain äöü 任务 🐦\n\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[H\x1b[?25l", ""),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]52;c;cHduZWQ=\x07x", "x"),
        ("\x1b]52;c;cHduZWQ=\x1b\\x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP+q544e\x1b\\x", "x"),
        ("\x1b_G data\x1b\\x", "x"),
        ("\x1bcx", "x"),
        ("\x1b(0x", "x"),
        ("\x1b", "\ufffd"),
        ("\x1b\x1b[0m[31mx", "\ufffd[31mx"),
        ("\x9b31mx", "\ufffd31mx"),
        ("\x9d52;c;x\x9c", "\ufffd52;c;x\ufffd"),
        ("a\x00b\x07c\x08d\x7f", "a\ufffdb\ufffdc\ufffdd\ufffd"),
        ("one\r\ntwo\rthree", "one\ntwo\ufffdthree"),
        ("a\u202eb\u2066c\u200fd\u061ce", "a\ufffdb\ufffdc\ufffdd\ufffde"),
        ("lone \ud800", "lone \ufffd"),
        ("\x1b]52;c;never ends", "52;c;never ends"),
    ],
)
def test_control_sequences_are_taken_out(text: str, shown: str) -> None:
    assert clean(text) == shown


NASTY = st.text(
    st.sampled_from(
        list("\x1b\x1b\x1b[]()PX^_\\;?0123mHJcq \x07\x08\r\n\t\x9b\x9d\x9c\x00\x7fab\u202e\u061c\u2066\ud800")
    ),
    max_size=60,
)
ANY = st.text(st.characters(), max_size=40)


@given(NASTY | ANY)
@settings(max_examples=examples(500), deadline=None)
def test_no_control_character_survives_but_line_ends_and_tabs(text: str) -> None:
    shown = clean(text)
    assert all(char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"} for char in shown)
    turning = {"L", "R", "AL"}
    assert all(
        unicodedata.category(char) != "Cf" or unicodedata.bidirectional(char) not in turning for char in shown
    )
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert clean(shown) == shown


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf"]), max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text


@given(NASTY | ANY, st.integers(3, 30))
@settings(max_examples=examples(300), deadline=None)
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = clean_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert "\t" not in line


def test_a_long_line_is_cut_with_dots() -> None:
    assert clean_line("a  b\n\nc") == "a b c"
    assert clean_line("x" * 300) == "x" * 197 + "..."
    assert clean_line("x" * 200) == "x" * 200


def test_a_megabyte_of_escapes_is_cleaned_in_no_time() -> None:
    for piece in ("\x1b]", "\x1b[", "\x1bP", "\x1b" + " " * 50, "\x1b[" + "0;" * 20):
        assert "\x1b" not in clean(piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "word"),
    [("t1", "t1"), ("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$x", "'$x'"), ("ä", "'ä'")],
)
def test_shell_words(text: str, word: str) -> None:
    assert shell_word(text) == word


def test_what_a_change_holds_is_made_visible() -> None:
    assert visible("+\x1b[31mred\x07\x00\ttab") == "+^[[31mred^G^@\ttab"


def test_a_field_is_quoted_only_where_it_would_break_its_line() -> None:
    for plain in ("", "A title", 'say "no"', "back\\slash", "été 日本"):
        assert quoted_field(plain) == plain
    assert quoted_field('"no" means\tno\n') == '"\\"no\\" means\\tno\\n"'
    assert quoted_field("\x1b[2J\\\r\u202e\x00") == '"\\033[2J\\\\\\015\\342\\200\\256\\000"'


_ESCAPE = re.compile(rb'\\([0-7]{3}|[tn"\\])')
_SHORT = {b"t": b"\t", b"n": b"\n"}


def unquoted(field: str) -> str:
    """What a script makes of a field again."""
    if not field.startswith('"'):
        return field
    assert field.endswith('"')

    def plain(match: re.Match[bytes]) -> bytes:
        said = match[1]
        return bytes([int(said, 8)]) if said.isdigit() else _SHORT.get(said, said)

    return _ESCAPE.sub(plain, field[1:-1].encode()).decode()


@settings(max_examples=examples(300), deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(list('"\\\t\n\r\x1b0'))))
def test_a_field_comes_back_exactly(text: str) -> None:
    field = quoted_field(text)
    assert unquoted(field) == text
    assert clean(field) == field
    assert not set(field) & set("\t\n")
