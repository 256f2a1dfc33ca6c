"""Task ids become file names; run ids sort by time."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import (
    MAX_TASK_ID_BYTES,
    build_run_id,
    case_conflicts,
    fold_task_id,
    task_id_fault,
)
from tests.support import examples


@pytest.mark.parametrize(
    "text",
    [
        "t1",
        "w_0123456789ab",
        "A task",
        "ünïcödé",
        "任务",
        "مهمة",
        "משימה",
        "-x",
        "a.b",
        "a..b",
        "x" * 128,
        "ä" * 64,
        "🐦",
        "$(id)",
    ],
)
def test_ids_that_can_name_a_folder(text: str) -> None:
    assert task_id_fault(text) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        (".", "starts with '.'"),
        ("..", "starts with '.'"),
        ("../../x", "starts with '.'"),
        (".git", "starts with '.'"),
        ("a/b", "contains '/'"),
        ("/etc", "contains '/'"),
        ("a\\b", "contains '\\\\'"),
        ("a\0b", "contains '\\x00'"),
        ("a\nb", "contains '\\n'"),
        ("a\x1bb", "contains '\\x1b'"),
        ("a\x7f", "contains '\\x7f'"),
        ("a\x9bb", "contains '\\x9b'"),
        ("a\ud800", "contains '\\ud800'"),
        ("a\u202eb", "contains '\\u202e'"),
        ("a\u200db", "contains '\\u200d'"),
        ("a\u200b", "contains '\\u200b'"),
        ("a\ufe0f", "contains '\\ufe0f'"),
        ("\u115f", "contains '\\u115f'"),
        ("\u3164", "contains '\\u3164'"),
        ("\u2800", "contains '\\u2800'"),
        ("a\u2028b", "contains '\\u2028'"),
        ("a\ue000", "contains '\\ue000'"),
        ("a\u0378", "contains '\\u0378'"),
        ("a\U000e0041", "contains '\\U000e0041'"),
        (" a", "has white space at an end"),
        ("a ", "has white space at an end"),
        ("a\u2003", "has white space at an end"),
        ("a\n", "has white space at an end"),
        ("x" * 129, "is longer than 128 bytes"),
        ("ä" * 65, "is longer than 128 bytes"),
    ],
)
def test_hostile_ids_are_refused_with_the_reason(text: str, fault: str) -> None:
    assert task_id_fault(text) == fault


@given(st.text(max_size=140))
@settings(max_examples=examples(300), deadline=None)
def test_no_accepted_id_leaves_its_folder(text: str) -> None:
    if task_id_fault(text) is None:
        assert not {"/", "\\", "\0", "\n", "\r"} & set(text)
        assert text not in {"", ".", ".."}
        assert len(text.encode()) <= MAX_TASK_ID_BYTES


@pytest.mark.parametrize(
    ("one", "other"),
    [("Task", "tASK"), ("straße", "STRASSE"), ("ünï", unicodedata.normalize("NFD", "ÜNÏ")), ("ς", "Σ")],
)
def test_ids_that_a_file_system_may_take_for_one_are_named(one: str, other: str) -> None:
    assert fold_task_id(one) == fold_task_id(other)
    first, second = sorted([one, other])
    assert case_conflicts([other, "z", one]) == [(first, second)]


def test_ids_that_differ_do_not_clash() -> None:
    assert case_conflicts(["a", "b", "ab", "ä"]) == []


@given(st.text(max_size=12))
@settings(max_examples=examples(300), deadline=None)
def test_folding_is_the_same_for_every_case_and_composition(text: str) -> None:
    folded = fold_task_id(text)
    assert fold_task_id(unicodedata.normalize("NFC", text)) == folded
    assert fold_task_id(unicodedata.normalize("NFD", text)) == folded
    assert fold_task_id(text.casefold()) == folded


MOMENTS = st.integers(0, 0xFFFF_FFFF_FFFF * 1_000_000)


@given(MOMENTS, MOMENTS, st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
@settings(max_examples=examples(200), deadline=None)
def test_run_ids_sort_by_time(one: int, other: int, bits: int, more: int) -> None:
    earlier, later = sorted([one, other])
    first, second = build_run_id(earlier, bits), build_run_id(later, more)
    assert re.fullmatch("[0-9a-f]{16}", first)
    assert int(first[:12], 16) == earlier // 1_000_000
    if earlier // 1_000_000 < later // 1_000_000:
        assert first < second
