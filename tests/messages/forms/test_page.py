"""A page of tasks is read back as it was written, and its errors name their lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.messages.forms.page import (
    PageError,
    PageFault,
    PageTask,
    parse_page,
    render_page,
    with_faults,
)
from tests.support import examples

PIECES = (
    "## a", "### b", "# c", "- [ ] d", "- [x] e", "after: x", "id: y", "```", "~~~", "````", "   ```", "\\",
    "\\## z", '"', "\n", "\n", " ", "  ", "text", "\t", "\r", "\x00", "é", "<!--", "-->", "because a: b",
    "prompt: q", "parent: p", ":", ",", "\\n", "\u2028", "<!-- 1 task -->", "{0}",
)  # fmt: skip
_FIELD = " stands directly below its heading, as `after: OTHER`; `\\` makes it text"
_TEXT = " if that is text, or `description:`"
TEXT = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
NAMES = st.lists(TEXT.filter(bool), max_size=3, unique=True).map(tuple)
FIELDS = st.dictionaries(st.sampled_from(["id", "agent", "model", "description", "notes", "status"]), TEXT)


@st.composite
def pages(draw: st.DrawFn) -> tuple[PageTask, ...]:
    tasks: list[PageTask] = []
    for _ in range(draw(st.integers(1, 6))):
        depth = draw(st.integers(0, tasks[-1].depth + 1)) if tasks else 0
        after = draw(st.none() | NAMES)
        tasks.append(
            PageTask(
                draw(TEXT.filter(bool)),
                depth,
                draw(FIELDS),
                after,
                {name: draw(TEXT) for name in (after or ())[:1]},
                draw(TEXT),
                tuple(draw(st.lists(TEXT, max_size=3))),
            )
        )
    return tuple(tasks)


def test_any_number_of_names_and_of_lines_is_read() -> None:
    names = tuple(f"t{number}" if number % 2 else f"t, {number}" for number in range(50_000))
    lines = [f"because t{number}: why" for number in range(1, 20_000, 2)]
    criteria = [f"- [ ] c{number}" for number in range(10_000)]
    after = ", ".join(json.dumps(name) if "," in name else name for name in names)
    (task,) = parse_page("\n".join(["## x", f"after: {after} ", *lines, *criteria, ""]))
    assert task.after == names
    assert (len(task.because), len(task.criteria)) == (10_000, 10_000)


@given(pages(), st.lists(TEXT, max_size=2))
@settings(max_examples=examples(300), deadline=None)
def test_a_page_is_read_as_it_was_written(tasks: tuple[PageTask, ...], comments: list[str]) -> None:
    text = render_page(tasks, [" ".join(comment.split()) for comment in comments])
    assert parse_page(text, is_whole=True) == tasks


def faults_of(text: str) -> list[str]:
    with pytest.raises(PageError) as caught:
        parse_page(text)
    return caught.value.message.splitlines()


def test_a_page_as_people_write_it() -> None:
    text = """# The plan

## An API for orders
after: db, The store
agent: codex

Write `orders.py`.
- [ ] GET works
* a list
- [x] POST works

\\## no heading
```
## neither
```
## db
"""
    api, db = parse_page(text)
    assert (api.title, api.after, api.fields) == (
        "An API for orders",
        ("db", "The store"),
        {"agent": "codex"},
    )
    assert api.prompt == "Write `orders.py`.\n* a list\n\n## no heading\n```\n## neither\n```"
    assert (api.criteria, api.line, db.line, db.prompt) == (("GET works", "POST works"), 3, 16, "")


def test_a_criterion_goes_on_where_the_next_line_is_indented() -> None:
    text = """## a
- [ ] it answers
  within a second

  apart
- [ ] "as is"
  text
- [ ] x
  ```
  y
  ```"""
    (task,) = parse_page(text)
    assert task.criteria == ("it answers within a second", "as is", "x")
    assert task.prompt == "  apart\n  text\n  ```\n  y\n  ```"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("text\n## a", "line 1: text before the first task, which begins with ## and a title"),
        ("## a\n#### b", "line 2: this heading is deeper than a child of the task above it"),
        ("## a\n\n```\nx", "line 3: this fence is not closed"),
        ("## a\nid: x\nid: y", "line 3: a second `id:`"),
        ('## a\nnotes: "x', "line 2: what begins with a quote is a JSON text, and this is none"),
        ('## a\nafter: "x" y', "line 2: a comma stands between names"),
        ("## a\nprompt: x\n\ny", "line 4 has text, and the task on line 1 has `prompt:` as well"),
        (
            "## a\nx\n### b",
            "line 2 has text and line 3 makes it a parent, which no agent works on: write \\##" + _TEXT,
        ),
        ("## a\n\n**Depends on**: x", "line 3: a field" + _FIELD),
        ("## a\n\nafter: x", "line 3: a field" + _FIELD),
        ("## a\nrequires: b\nafter: c", "line 3: a field" + _FIELD),
        ("## a\ndeps: b", "line 2: a field" + _FIELD),
        (
            "## a\nparent: b\n\nafter: c",
            "line 2: a child stands below its parent, and its heading has one # more; `\\` makes it text",
        ),
        ("## a\udc80", "line 1: not UTF-8: '## a\\udc80'"),
    ],
)
def test_errors_name_their_lines(text: str, fault: str) -> None:
    assert faults_of(text) == [fault]


def test_a_page_that_must_be_whole_ends_with_a_count() -> None:
    with pytest.raises(PageError, match="the page is cut off: it lacks the line at its end"):
        parse_page("## a", is_whole=True)


def test_errors_on_top_of_a_page_name_the_lines_as_they_are_then() -> None:
    faults = [PageFault("line {0}: one", (2,)), PageFault("line {0} and line {1}", (2, 3))]
    once = with_faults("## a\nx\ny", faults)
    assert once == "<!-- ! line 4: one -->\n<!-- ! line 4 and line 5 -->\n## a\nx\ny"
    assert with_faults(once, [PageFault("line {0}: two", (4,))]) == "<!-- ! line 3: two -->\n## a\nx\ny"
