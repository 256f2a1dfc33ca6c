"""Text that is quoted, in JSON, in C and in a shell, is read again as it was."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.clean import clean
from git_blackbird.model.base.sanitize import escaped_text, quoted, shell_word
from tests.support import examples


@pytest.mark.parametrize(
    ("text", "word"),
    [("t1", "t1"), ("", "''"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$x", "'$x'"), ("ä", "'ä'")],
)
def test_shell_words(text: str, word: str) -> None:
    assert shell_word(text) == word


def test_quoted_text_is_json_of_what_is_seen() -> None:
    for text in ("a", 'say "no"', "été 日本 \\", "a\u202eb\u200d\ufe0f\U000e0041", "\x1b\x9b\n\ud800"):
        assert json.loads(quoted(text)) == text
        assert clean(quoted(text)) == quoted(text)
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
    assert clean(escaped) == escaped
    assert not set(escaped) & set("\t\n")
