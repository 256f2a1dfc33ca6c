"""The form of a task: whatever a task holds comes back as it was, and what a person writes is understood."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.messages.task_form import FormError, is_blank, parse_form, render_form, with_faults
from git_blackbird.model.ids import TaskId
from git_blackbird.model.task_fields import TaskFields
from tests.support import examples

FIELDS = TaskFields(
    "Routes",
    "What the API answers.\n\n# Not a remark\nand more",
    "Do the routes.",
    ("it answers", "it is fast:\n- 10 ms\n\n  in the mean"),
    None,
    (TaskId("api.0"), TaskId("it's odd")),
)
FORM = """\
#> Task api.1 (todo, below api)
#>
#> Change what you like, save the file and close the editor; an empty file changes nothing.
#> Lines that begin with #> are no part of the task. Every heading must stay, once.

#> title
#>   What the task is, in one line.
Routes

#> description
#>   What it is about.
What the API answers.

# Not a remark
and more

#> prompt
#>   What its agent is to do.
Do the routes.

#> acceptance criteria
#>   Each begins with "- "; its further lines with two spaces.
- it answers
- it is fast:
  - 10 ms

    in the mean

#> notes
#>   For people.


#> deps
#>   Tasks that must be done before this one, one id a line.
api.0
it's odd
"""
EMPTY = TaskFields("Another")


def faults(text: str, base: TaskFields = FIELDS) -> list[str]:
    with pytest.raises(FormError) as caught:
        parse_form(text, base)
    return list(caught.value.faults)


def test_the_form_as_it_is_seen() -> None:
    assert render_form("Task api.1 (todo, below api)", FIELDS) == FORM
    assert parse_form(FORM, FIELDS) == FIELDS
    assert parse_form(FORM, EMPTY) == FIELDS


_pieces = st.sampled_from(
    [
        "#>",
        "\\",
        "#> title",
        "#>!",
        "- ",
        "  ",
        " ",
        "\n",
        "\n\n",
        "\r",
        "\t",
        "\f",
        "\x1b[2J",
        "\u2028",
        "\ufeff",
    ]
)
_text = st.lists(_pieces | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=8).map(
    "".join
)
_ids = st.lists(st.sampled_from(["a", "#> notes", "- x", "it's b", "\\#>", "é"]), max_size=3, unique=True)
_fields = st.builds(
    TaskFields,
    title=_text,
    description=_text,
    prompt=_text,
    acceptance_criteria=st.lists(_text, max_size=3).map(tuple),
    notes=_text | st.none(),
    deps=_ids.map(lambda ids: tuple(map(TaskId, ids))),
)


@settings(max_examples=examples(200), deadline=None)
@given(_fields)
def test_what_is_not_touched_comes_back_exactly(fields: TaskFields) -> None:
    assert parse_form(render_form("t", fields), fields) == fields


def plain(text: str) -> str:
    """The text less blank lines at its ends: what a form keeps of a new one."""
    lines = text.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


@settings(max_examples=examples(200), deadline=None)
@given(_fields, _fields)
def test_new_texts_come_back_whatever_stood_there(fields: TaskFields, base: TaskFields) -> None:
    new = replace(
        fields,
        title=plain(fields.title).replace("\n", " ").strip() or "A title",
        description=plain(fields.description),
        prompt=plain(fields.prompt),
        acceptance_criteria=tuple(filter(None, map(plain, fields.acceptance_criteria))),
        notes=plain(fields.notes or "") or None,
    )
    before = replace(
        base,
        title="Before",
        description=plain(base.description),
        prompt=plain(base.prompt),
        acceptance_criteria=tuple(map(plain, base.acceptance_criteria)),
        notes=plain(base.notes or "") or None,
    )
    assert parse_form(render_form("t", new), before) == new


@settings(max_examples=examples(200), deadline=None)
@given(_fields)
def test_a_form_saved_with_crlf_is_the_same_form(fields: TaskFields) -> None:
    saved = "\ufeff" + render_form("t", fields).replace("\n", "\r\n")
    assert parse_form(saved, fields) == fields


@settings(max_examples=examples(100), deadline=None)
@given(_fields, st.lists(_text, max_size=3))
def test_faults_on_top_are_no_part_of_the_form(fields: TaskFields, told: list[str]) -> None:
    form = render_form("t", fields)
    once = with_faults(form, told)
    assert parse_form(once, fields) == fields
    assert with_faults(once, told) == once
    assert with_faults(once, []) == form


def test_blank_lines_around_and_between_are_of_no_account() -> None:
    loose = FORM.replace("\nRoutes\n", "\n\n \nRoutes\n\n\n").replace("- it is fast", "\n\n- it is fast")
    assert parse_form(loose.replace("api.0\n", "\n  api.0  \n\n"), EMPTY) == FIELDS


def test_remarks_may_go_and_sections_change_places() -> None:
    head, _, tail = FORM.partition("#> notes")
    text = "#> notes" + tail + "".join(line for line in head.splitlines(True) if "#>  " not in line)
    assert parse_form(text, EMPTY) == FIELDS


def test_what_a_person_changes_is_changed_and_nothing_else() -> None:
    base = replace(FIELDS, prompt="Do the routes.\n", notes="", acceptance_criteria=("it answers\n", "it is"))
    form = render_form("t", base)
    assert parse_form(form.replace("Routes\n", "Paths\n"), base) == replace(base, title="Paths")
    assert parse_form(form.replace("- it is\n", ""), base) == replace(
        base, acceptance_criteria=("it answers\n",)
    )
    assert parse_form(form.replace("Do the routes.\n", "Do them.\n"), base).prompt == "Do them."


def test_blank_lines_above_a_text_stay_when_another_line_changes() -> None:
    base = replace(FIELDS, title=" Routes", prompt="\n \n  Do the routes.\n\nAll.", notes="\nFor Ada.")
    form = render_form("t", base)
    changed = parse_form(
        form.replace("All.", "Both.").replace("For Ada.", "").replace("Routes", "Paths"), base
    )
    assert changed == replace(base, title="Paths", prompt="\n \n  Do the routes.\n\nBoth.", notes=None)


def test_notes_that_are_taken_away_are_gone() -> None:
    base = replace(FIELDS, notes="For Ada.")
    assert parse_form(render_form("t", base).replace("For Ada.", ""), base).notes is None


def test_every_fault_is_named() -> None:
    text = (
        FORM.replace("#> title\n", "")
        .replace("#> prompt\n", "#> promt\n")
        .replace("- it answers", "* it answers")
        .replace("#> notes", "#> description")
    )
    assert faults(text) == [
        'the heading "#> description" stands twice',
        "there is text above the first heading: 'Routes'",
        'the heading "#> title" is missing',
        'the heading "#> prompt" is missing',
        'the heading "#> notes" is missing',
        "acceptance criteria: '* it answers' begins neither with \"- \" nor with two spaces",
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("Routes\n", "\n"), "title: a task needs a title"),
        (("Routes\n", "Routes\nand more\n"), "title: write it in one line"),
        (("- it answers", "-"), "acceptance criteria: one is empty"),
        (("- it answers", "-it answers"), "begins neither"),
        (("it answers", b"caf\xe9".decode(errors="surrogateescape")), "not UTF-8: '- caf\\udce9'"),
        (("- it answers", "  it answers"), "begins neither"),
    ],
)
def test_values_that_are_none(change: tuple[str, str], fault: str) -> None:
    found = faults(FORM.replace(*change))
    assert len(found) == 1
    assert fault in found[0]


@pytest.mark.parametrize("text", ["", "\n \n", "#> a remark\n", "#>! a fault\r\n\r\n"])
def test_an_empty_form_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["x", "#> title\n", FORM])
def test_a_form_with_anything_in_it_is_not(text: str) -> None:
    assert not is_blank(text)
