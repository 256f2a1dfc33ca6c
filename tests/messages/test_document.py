"""Documents: what is in a span is harmless, tables fit, and each face paints every style."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.clean import clean
from git_blackbird.cli.paint import painted_lines
from git_blackbird.messages.document import (
    Line,
    Section,
    Span,
    Style,
    Table,
    aligned,
    line,
    plain,
    row,
    section,
    shortened,
    width_of,
    wrapped,
)
from git_blackbird.tui.widgets.line_view import STYLES


@given(st.text(alphabet=st.sampled_from("a \x1b[]31m;\x07\x9b\u202e\n")))
def test_whatever_comes_into_a_span_is_cleaned_and_on_one_line(text: str) -> None:
    cleaned = Span(text).text
    assert cleaned == clean(cleaned)
    assert "\n" not in cleaned
    painted = list(painted_lines([line(Span(text, Style.WARNING))], None, colored=True))
    assert painted == [f"\x1b[33m{cleaned}\x1b[0m" if cleaned else ""]


@given(
    st.lists(st.text("ab \u4e2d", min_size=1, max_size=12), min_size=1), st.integers(5, 20), st.integers(0, 2)
)
def test_a_wrapped_line_fits_and_keeps_its_words_and_styles(
    texts: list[str], columns: int, indent: int
) -> None:
    styles = (Style.PLAIN, Style.WARNING)
    whole = line(*(Span(text, styles[index % 2]) for index, text in enumerate(texts)))
    parts = list(wrapped(whole, columns, width_of, " " * indent))
    assert all(width_of(part.text) <= columns for part in parts)
    assert _characters(parts) == _characters([whole])


def _characters(lines: list[Line]) -> list[tuple[str, Style]]:
    return [
        (char, span.style) for one in lines for span in one.spans for char in span.text if not char.isspace()
    ]


def test_tabs_become_blanks_as_if_the_line_were_one_span() -> None:
    spans = line("a\t", Span("b\tc", Style.ADDED)).without_tabs().spans
    assert [span.text for span in spans] == ["a       ", "b       c"]


def test_no_text_hides_what_is_beside_it_in_its_line() -> None:
    title, error = "x\x1b]", "y\x07"
    assert line(f"{title}: failed, {error}").text == "x: failed, y\ufffd"


def test_a_string_in_a_line_is_a_plain_span() -> None:
    one = line("run ", Span("7", Style.HEADING), " done\x1b")
    assert one.text == "run 7 done\ufffd"
    assert [span.style for span in one.spans] == [Style.PLAIN, Style.HEADING, Style.PLAIN]
    assert list(painted_lines([one], None, colored=True)) == ["run \x1b[1m7\x1b[0m done\ufffd"]
    assert list(painted_lines([one], None, colored=False)) == ["run 7 done\ufffd"]


def test_the_flexible_column_gives_way() -> None:
    table = Table((row(Span("Run ID", Style.HEADING), "Title"), row("1", "a title that is long")))
    assert list(plain(aligned(table, None))) == ["Run ID  Title", "1       a title that is long"]
    assert list(plain(aligned(table, 20))) == ["Run ID  Title", "1       a title t..."]
    assert list(plain(aligned(Table(()), 20))) == []


def test_nothing_that_shows_follows_the_last_cell() -> None:
    table = Table((row("a", "b"), row("long", "")))
    assert list(plain(aligned(table, None))) == ["a     b", "long"]


@given(st.lists(st.tuples(st.text("ab\u4e2d", max_size=15), st.text("ab\u4e2d ", max_size=30)), min_size=1))
def test_no_line_of_a_table_is_wider_than_the_terminal(rows: list[tuple[str, str]]) -> None:
    for text in plain(aligned(Table([row(*cells) for cells in rows]), 45)):
        assert width_of(text) <= 45


def test_a_section_is_indented_below_its_title_and_left_out_without_anything() -> None:
    document: list[Section | Line] = [
        line("all"),
        section("empty", [Table(())]),
        section("some", ["one", Table((row("a", "a text that is too long"),)), line("", gives_way=0)]),
    ]
    assert list(painted_lines(document, 16, colored=False)) == [
        "all",
        "",
        "some",
        "  one",
        "  a  a text t...",
        "",
    ]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [(None, "a  a long title: due"), (20, "a  a long title: due"), (14, "a  a l...: due"), (4, "a  : due")],
)
def test_the_span_that_gives_way_is_cut(columns: int | None, shown: str) -> None:
    assert shortened(line("a  ", "a long title", ": due", gives_way=1), columns).text == shown


def test_the_screen_has_a_look_for_each_style() -> None:
    assert STYLES.keys() == set(Style)
