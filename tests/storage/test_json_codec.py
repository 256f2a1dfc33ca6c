"""JSON is read strictly and written as the Go program writes it."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.storage.json_codec import MAX_DEPTH, JsonError, dump_json, load_bounded_json, load_json
from tests.support import examples


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "Expecting value at line 1, column 1"),
        (b"{", "Expecting property name enclosed in double quotes at line 1, column 2"),
        (b'{"a": 1} x', "Extra data at line 1, column 10"),
        (b'{"a": 1,\n}', None),
        (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        ('"ä"'.encode("utf-16"), "not UTF-8 at byte 0"),
        (b'"\xed\xa0\x80"', "not UTF-8 at byte 1"),
        (b'{"a": 1, "b": 2, "a": 1}', 'the key "a" appears twice in one object'),
        (b'[{"x": {"\\u0061": 1, "a": 2}}]', 'the key "a" appears twice in one object'),
        (b"NaN", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"1e999", "1e999 is too large a number"),
        (b"1" * 5000, "a number has too many digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'"a\nb"', "Invalid control character at line 1, column 3"),
        (b"\0", "Expecting value at line 1, column 1"),
        (b"'a'", "Expecting value at line 1, column 1"),
    ],
    ids=range(19),
)
def test_what_is_no_json_is_refused_with_the_place(data: bytes, fault: str | None) -> None:
    with pytest.raises(JsonError) as raised:
        load_json(data)
    assert fault is None or str(raised.value) == fault


def test_a_key_among_thousands_that_stands_twice_is_found() -> None:
    pairs = ",".join(f'"k{number}": 1' for number in [*range(50_000), 49_999])
    with pytest.raises(JsonError, match='the key "k49999" appears twice'):
        load_json(f"{{{pairs}}}".encode())


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'{"\udc00x": "\ud83d\ude00 \uD83D"}', {"\ufffdx": "😀 \ufffd"}),
        (rb'"\\ud800"', "\\ud800"),
    ],
)
def test_halves_of_surrogate_pairs_are_read_as_the_go_program_reads_them(data: bytes, value: object) -> None:
    assert load_json(data) == value


def test_what_could_not_be_written_again_is_too_deep() -> None:
    within = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    dump_json(load_bounded_json(within))
    for piece, end in ((b"[", b"]"), (b'{"a":[', b"]}")):
        with pytest.raises(JsonError, match="nested too deeply"):
            load_bounded_json(piece * (MAX_DEPTH + 1) + end * (MAX_DEPTH + 1))


def test_text_is_escaped_as_go_escapes_it() -> None:
    written = dump_json({"<a>": 'b & c\u2028\u2029 \u007f ä 任务 🐦 "q" \\ \t\n\x01'})
    assert written.decode() == (
        '{\n  "\\u003ca\\u003e": "b \\u0026 c\\u2028\\u2029 \u007f ä 任务 🐦 \\"q\\" \\\\ \\t\\n\\u0001"\n}\n'
    )
    assert dump_json({"a": [], "b": {}}) == b'{\n  "a": [],\n  "b": {}\n}\n'
    assert dump_json("\ud800") == '"\ufffd"\n'.encode()


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=examples(300), deadline=None)
def test_what_is_written_is_read_back(value: object) -> None:
    written = dump_json(value)
    assert load_json(written) == value
    assert json.loads(written) == value
    assert not set(written.decode()) & set("<>&\u2028\u2029")


@given(st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()[:-1]))
@settings(max_examples=examples(300), deadline=None)
def test_any_bytes_are_a_value_or_a_fault(data: bytes) -> None:
    with contextlib.suppress(JsonError):
        dump_json(load_bounded_json(data))
