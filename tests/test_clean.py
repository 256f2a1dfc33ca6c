"""Text of agents and files is harmless on a terminal."""

import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.clean import clean, legible, one_line, visible
from git_blackbird.model.base.sanitize import find_hidden
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
    assert find_hidden(shown) is None
    assert clean(shown) == shown


def test_every_format_character_and_line_separator_of_unicode_is_hidden() -> None:
    everything = map(chr, range(sys.maxunicode + 1))
    found = [char for char in everything if unicodedata.category(char) in {"Cf", "Zl", "Zp"}]
    assert [char for char in found if find_hidden(char) is None] == []
    assert find_hidden("plain äöü 任务 🐦 مرحبا שלום e\u0301 \u00a0\t\n") is None


ORDINARY = st.characters(exclude_categories=["Cc", "Cs"]).filter(lambda char: find_hidden(char) is None)


@given(st.text(ORDINARY, max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize("made", [one_line, legible])
@given(NASTY | ANY, st.integers(3, 30))
@settings(max_examples=examples(300), deadline=None)
def test_one_line_is_one_line_within_its_limit(
    made: Callable[[str, int], str], text: str, limit: int
) -> None:
    line = made(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert clean(line) == line


def test_a_long_line_is_cut_with_dots() -> None:
    assert one_line("a  b\n\nc\t") == "a b c"
    assert legible("  a  b\r\n \nc\n") == "  a  b c"
    assert one_line("x" * 300) == "x" * 197 + "..."
    assert one_line("x" * 200) == "x" * 200


def test_a_megabyte_of_escapes_is_cleaned_in_no_time() -> None:
    for piece in ("\x1b]", "\x1b[", "\x1bP", "\x1b" + " " * 50, "\x1b[" + "0;" * 20):
        assert "\x1b" not in clean(piece * (1_000_000 // len(piece)))


def test_what_a_change_holds_is_made_visible() -> None:
    assert visible("+\x1b[31mred\x07\x00\ttab") == "+^[[31mred^G^@\ttab"
    assert visible("+x = 'a\u200d\ufe01\u00ad\u200b\U000e0141'") == "+x = 'a" + "\ufffd" * 5 + "'"
