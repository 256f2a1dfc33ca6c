"""A change request written below the lines of a diff, in files that editors and hostile changes make."""

import pytest

from git_blackbird.messages.forms.review_form import ReviewFormError, parse_review_form, render_review_form
from git_blackbird.messages.patch.comments import (
    comment_on,
    is_taken_up,
    line_of_comment,
    moved_along,
    request_with,
    sent_comments,
)
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.model.run.parts import ReviewComment, Side

PATCH = Patch(
    "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n"
    "@@ -1,4 +1,4 @@\n one\n \n-# > old\n+> new\r\n four\n"
    "@@ -20,2 +20,3 @@\n }\n+# ------------------------ >8 ------------------------\n }\n"
    "diff --git a/b.py b/b.py\nindex 1..2 100644\n--- a/b.py\n+++ b/b.py\n"
    "@@ -20,2 +20,3 @@\n }\n+" + "x" * 9_000 + "\n }\n\\ No newline at end of file\n"
)
WRITTEN = {
    "-# > old": "> why \x1b[31mred?\n>\n>second line",
    "+> new": ">hostile",
    "\\ No newline at end of file": "> end it",
}


def written(form: str) -> str:
    """Write comments below lines of a form."""
    lines = form.split("\n")
    parts = [part for line in lines for part in (line, WRITTEN.get(line.rstrip("\r"))) if part is not None]
    return "\n".join(parts)


EXPECTED = [
    ("a.py", Side.OLD, 3, 3, "-# > old", "why \x1b[31mred?\n\nsecond line"),
    ("a.py", Side.NEW, 3, 3, "+> new", "hostile"),
    ("b.py", Side.NEW, 22, 22, " }", "end it"),
]


def told(comments: tuple[ReviewComment, ...]) -> list[tuple[str, Side, int, int, str, str]]:
    return [(one.path, one.side, one.start, one.end, one.quoted, one.text) for one in comments]


@pytest.mark.parametrize(
    "edit",
    [
        lambda form: form,
        lambda form: form.replace("\r", "").replace("\n", "\r\n"),
        lambda form: "\n".join(line.rstrip() for line in form.split("\n")),
        lambda form: form.replace("\n \n-# > old", "\n\n-# > old"),
        lambda form: form[: form.index("@@ -20")] + form[form.index("diff --git a/b.py") :],
    ],
    ids=["as it is", "CRLF", "without blanks at ends", "an empty line", "less a hunk"],
)
def test_what_is_written_below_lines_is_a_comment_on_them(edit: "type[str]") -> None:
    form = written(render_review_form("# A heading\nDo better.", PATCH, ()))
    read = parse_review_form(edit(form), PATCH)
    assert read.text == "# A heading\nDo better."
    assert told(read.comments) == EXPECTED
    assert read.words == "a text of 2 lines, 3 comments: a.py:3 (before the change), a.py:3, b.py:22"
    again = parse_review_form(render_review_form(read.text, PATCH, read.comments), PATCH, read.comments)
    assert told(again.comments) == EXPECTED


def test_what_is_not_understood_is_named_with_what_was() -> None:
    form = written(render_review_form("Do better.", PATCH, ())).replace("\n four\n", "\n for\n")
    with pytest.raises(ReviewFormError, match="is no line of the diff here, nor a comment") as caught:
        parse_review_form(form, PATCH)
    assert [comment.text for comment in caught.value.understood.comments][1:] == ["hostile"]
    above = render_review_form("", PATCH, ()).replace(" one\n", "> here?\n one\n", 1)
    with pytest.raises(
        ReviewFormError, match="line 13: a comment stands below a line that is none of a file"
    ):
        parse_review_form(above, PATCH)
    assert parse_review_form(render_review_form("", PATCH, ()), PATCH).is_empty
    assert parse_review_form("All I want", PATCH).text == "All I want"


def test_a_comment_below_the_header_is_on_the_file() -> None:
    form = render_review_form("", PATCH, ()).replace("index 1..2", "> split it\nindex 1..2", 1)
    read = parse_review_form(form, PATCH)
    assert told(read.comments) == [("a.py", Side.NEW, 0, 0, "", "split it")]
    again = parse_review_form(render_review_form("", PATCH, read.comments), PATCH, read.comments)
    assert told(again.comments) == told(read.comments)


def comment(first: int, last: int, text: str) -> ReviewComment:
    found = comment_on(PATCH, first, last)
    assert found is not None
    return found.model_copy(update={"text": text})


def test_a_request_has_each_comment_once() -> None:
    one, two = comment(5, 5, "first"), comment(7, 9, "second")
    text = request_with("Please:", (one,), ())
    assert text == "Please:\n\na.py:1\n>  one\nfirst"
    block = text.removeprefix("Please:\n\n")
    assert request_with(text, (one,), (block,)) == text
    both = request_with(text, (one, two), (block,))
    assert both == f"{text}\n\na.py:3-4\n> -# > old\n> +> new\n>  four\nsecond"
    assert request_with(text, (two,), (block,)) == both.replace(f"{block}\n\n", "")
    assert request_with("Please: (edited)", (one,), (block,)) == "Please: (edited)"
    assert sent_comments((one, two), text) == (one,)
    assert comment_on(PATCH, 4, 4) is None


def test_a_comment_on_a_file_follows_it() -> None:
    whole = comment(0, 0, "split it")
    assert request_with("", (whole,), ()) == "a.py: split it"
    assert line_of_comment(PATCH, whole) == 0
    assert is_taken_up(PATCH, whole)
    assert not is_taken_up(Patch(""), whole)
    renamed = Patch("diff --git a/a.py b/c.py\nsimilarity index 100%\nrename from a.py\nrename to c.py\n")
    assert moved_along(renamed, whole).place == ("c.py", Side.NEW, 0, 0)


REMOVED = Patch(
    "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n"
    "@@ -1,5 +1,3 @@\n one\n-two\n-three\n+2\n-four\n five\n"
    "@@ -20,16 +18,1 @@\n" + "".join(f"-{number}\n" for number in range(15)) + " end\n"
)


@pytest.mark.parametrize(
    ("first", "last", "side", "lines"),
    [
        (5, 6, Side.OLD, (1, 2)),
        (6, 7, Side.OLD, (2, 3)),
        (6, 8, Side.NEW, (2, 2)),
        (6, 9, Side.OLD, (2, 4)),
        (9, 10, Side.NEW, (3, 3)),
        (12, 26, Side.OLD, (20, 34)),
    ],
)
def test_a_range_is_numbered_so_that_its_comment_stands_under_its_last_line(
    first: int, last: int, side: Side, lines: tuple[int, int]
) -> None:
    found = comment_on(REMOVED, first, last)
    assert found is not None
    assert (found.side, (found.start, found.end)) == (side, lines)
    assert line_of_comment(REMOVED, found) == last


def test_lines_beside_removed_ones_are_taken_up_where_they_were_changed() -> None:
    found = comment_on(REMOVED, 5, 6)
    start = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n"
    assert found is not None
    assert is_taken_up(Patch(f"{start}-one\n+1\n 2\n"), found)
    assert is_taken_up(Patch(f"{start} one\n-2\n+two\n"), found)
    assert not is_taken_up(Patch(f"{start} one\n-2\n+zwei\n"), found)


@pytest.mark.parametrize(
    ("since", "is_there"),
    [
        ("", False),
        ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+uno\n \n", False),
        ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,2 @@\n-> new\n+other\n four\n", True),
        ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -2,2 +2,3 @@\n \n+above\n > new\n", True),
        ("diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -5,1 +5,2 @@\n five\n+below\n", False),
        (
            "diff --git a/a.py b/a.py\ndeleted file mode 1\n--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
            True,
        ),
    ],
    ids=["nothing", "elsewhere", "replaced", "above it", "below others", "deleted"],
)
def test_a_comment_is_taken_up_where_its_lines_were_changed(since: str, is_there: bool) -> None:
    assert is_taken_up(Patch(since), comment(8, 8, "x")) is is_there


def test_a_comment_goes_along_with_its_lines() -> None:
    above = "@@ -1,2 +1,4 @@\n one\n+a\n+b\n \n"
    around = "@@ -2,5 +4,5 @@\n \n > new\n four\n-five\n+5\n six\n"
    below = "@@ -20,1 +22,2 @@\n }\n+}\n"
    start = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"
    for hunks, place in ((above, 5), (above + around, 5), (below, 3), (above + around + below, 5)):
        moved = moved_along(Patch(start + hunks), comment(8, 8, "x"))
        assert (moved.start, moved.end, moved.text) == (place, place, "x")
    moved = moved_along(Patch(start + above + around), comment(12, 12, "x"))
    assert (moved.start, moved.end) == (23, 23)
    old = comment(7, 7, "x")
    assert moved_along(Patch(start + above), old) == old
    renamed = "diff --git a/a.py b/c.py\nsimilarity index 100%\nrename from a.py\nrename to c.py\n"
    assert moved_along(Patch(renamed), comment(8, 8, "x")).path == "c.py"


def test_a_removed_line_is_taken_up_where_it_is_back() -> None:
    since = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,2 @@\n one\n+# > old\n"
    assert is_taken_up(Patch(since), comment(7, 7, "x"))
    assert not is_taken_up(Patch(since.replace("old", "new")), comment(7, 7, "x"))
