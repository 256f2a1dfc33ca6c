"""RFC 3339 times stay text; as numbers they keep their nanoseconds."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.timestamps import (
    format_timestamp,
    parse_timestamp,
    seconds_between,
)
from tests.support import examples


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:01.1Z", 1_100_000_000),
        ("1970-01-01T00:00:00.1234567899999Z", 123_456_789),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
        ("1970-01-01T02:30:00+02:30", 0),
        ("1969-12-31T19:00:00-05:00", 0),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000_000),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000_000_000),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_799_999_999_999),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000_000_000),
    ],
)
def test_times_that_are_read(text: str, nanoseconds: int) -> None:
    assert parse_timestamp(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-01-01t00:00:00z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00,5Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T23:60:00Z",
        "2016-12-31T23:59:60Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+02:60",
        "2026-01-01T00:00:00+0200",
        "2026-W01-1T00:00:00Z",
        "2026-01-01T00:00:00Z\n",
        "٢٠٢٦-01-01T00:00:00Z",
        "20260101T000000Z",
    ],
)
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_timestamp(text)
    assert seconds_between(text, "2026-01-01T00:00:00Z") is None


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (1_500_000_000, "1970-01-01T00:00:01.5Z"),
        (-62_135_596_800_000_000_000, "0001-01-01T00:00:00Z"),
    ],
)
def test_times_are_written_as_go_writes_them(nanoseconds: int, text: str) -> None:
    assert format_timestamp(nanoseconds) == text


@given(st.integers(-62_135_596_800_000_000_000, 253_402_300_799_999_999_999))
@settings(max_examples=examples(300), deadline=None)
def test_what_is_written_is_read_back(nanoseconds: int) -> None:
    assert parse_timestamp(format_timestamp(nanoseconds)) == nanoseconds


@given(
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),  # noqa: DTZ001  # the zone comes with the offset
    st.integers(-1439, 1439),
)
@settings(max_examples=examples(300), deadline=None)
def test_offsets_count_as_the_standard_library_counts_them(moment: datetime, minutes: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    whole = zoned - datetime(1970, 1, 1, tzinfo=UTC)
    expected = (whole.days * 86_400 + whole.seconds) * 1_000_000_000 + whole.microseconds * 1000
    assert parse_timestamp(zoned.isoformat()) == expected


def test_seconds_between_two_times() -> None:
    assert seconds_between("2026-01-01T00:00:00Z", "2026-01-01T01:00:01.5+01:00") == 1.5
