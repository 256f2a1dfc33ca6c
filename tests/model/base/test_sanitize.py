"""Text of agents and files is harmless on a terminal."""

import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.sanitize import (
    clean_clause,
    clean_line,
    escape_controls,
    escaped_text,
    find_hidden,
    quoted,
    shell_word,
    strip_controls,
)
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
        ("co\u00adop, 👩\u200d👦, \u0645\u06cc\u200c\u062e, ❤\ufe0f", "coop, 👩👦, \u0645\u06cc\u062e, ❤"),
        ("a\u200bb\u2060c\ufeffd\u034fe", "a\ufffdb\ufffdc\ufffdd\ufffde"),
        ("\u115f\u3164\uffa0\U000e0041\U000e0101", "\ufffd\ufffd\ufffd\ufffd\ufffd"),
        ("a\u2028b\u2029c", "a\ufffdb\ufffdc"),
        ("مرحبا שלום", "مرحبا שלום"),
        ("\x1b]52;c;never ends", "52;c;never ends"),
    ],
)
def test_control_sequences_are_taken_out(text: str, shown: str) -> None:
    assert strip_controls(text) == shown


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
    shown = strip_controls(text)
    assert all(char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"} for char in shown)
    assert find_hidden(shown) is None
    assert strip_controls(shown) == shown


def test_every_format_character_and_line_separator_of_unicode_is_hidden() -> None:
    everything = map(chr, range(sys.maxunicode + 1))
    found = [char for char in everything if unicodedata.category(char) in {"Cf", "Zl", "Zp"}]
    assert [char for char in found if find_hidden(char) is None] == []
    assert find_hidden("plain äöü 任务 🐦 مرحبا שלום e\u0301 \u00a0\t\n") is None


ORDINARY = st.characters(exclude_categories=["Cc", "Cs"]).filter(lambda char: find_hidden(char) is None)


@given(st.text(ORDINARY, max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert strip_controls(text) == text


@given(NASTY | ANY, st.integers(3, 30))
@settings(max_examples=examples(300), deadline=None)
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = clean_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert "\t" not in line


def test_a_long_line_is_cut_with_dots() -> None:
    assert [clean_clause(text) for text in ("at its limit.\n", "and so on...", "a.b")] == [
        "at its limit",
        "and so on",
        "a.b",
    ]
    assert clean_line("a  b\n\nc") == "a b c"
    assert clean_line("x" * 300) == "x" * 197 + "..."
    assert clean_line("x" * 200) == "x" * 200


def test_a_megabyte_of_escapes_is_cleaned_in_no_time() -> None:
    for piece in ("\x1b]", "\x1b[", "\x1bP", "\x1b" + " " * 50, "\x1b[" + "0;" * 20):
        assert "\x1b" not in strip_controls(piece * (1_000_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "word"),
    [("t1", "t1"), ("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$x", "'$x'"), ("ä", "'ä'")],
)
def test_shell_words(text: str, word: str) -> None:
    assert shell_word(text) == word


def test_what_a_change_holds_is_made_visible() -> None:
    assert escape_controls("+\x1b[31mred\x07\x00\ttab") == "+^[[31mred^G^@\ttab"
    assert escape_controls("+x = 'a\u200d\ufe01\u00ad\u200b\U000e0141'") == "+x = 'a" + "\ufffd" * 5 + "'"


def test_quoted_text_is_json_of_what_is_seen() -> None:
    for text in ("a", 'say "no"', "été 日本 \\", "a\u202eb\u200d\ufe0f\U000e0041", "\x1b\x9b\n\ud800"):
        assert json.loads(quoted(text)) == text
        assert strip_controls(quoted(text)) == quoted(text)
    assert quoted("été \u202e\u200d\U000e0041\x9b") == '"été \\u202e\\u200d\\udb40\\udc41\\u009b"'


def test_what_would_break_a_quoted_line_is_escaped_as_in_c() -> None:
    for plain in ("", "A title", "été 日本"):
        assert escaped_text(plain) == plain
    assert escaped_text('"no" means\tno\n') == '\\"no\\" means\\tno\\n'
    assert escaped_text("\x1b[2J\\\r\u202e\x00") == "\\033[2J\\\\\\015\\342\\200\\256\\000"


_ESCAPE = re.compile(rb'\\([0-7]{3}|[tn"\\])')
_SHORT = {b"t": b"\t", b"n": b"\n"}


def unescaped(text: str) -> str:
    """What a script makes of the text again."""

    def plain(match: re.Match[bytes]) -> bytes:
        said = match[1]
        return bytes([int(said, 8)]) if said.isdigit() else _SHORT.get(said, said)

    return _ESCAPE.sub(plain, text.encode()).decode()


@settings(max_examples=examples(300), deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(list('"\\\t\n\r\x1b0'))))
def test_an_escaped_text_comes_back_exactly(text: str) -> None:
    escaped = escaped_text(text)
    assert unescaped(escaped) == text
    assert strip_controls(escaped) == escaped
    assert not set(escaped) & set("\t\n")
