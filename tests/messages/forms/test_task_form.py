"""The form of a task: whatever a task holds comes back as it was, and what a person writes is understood."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.messages.forms.task_form import FormError, is_blank, parse_form, render_form, with_faults
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.plan_edits import TaskFields, title_fault
from tests.support import examples

FIELDS = TaskFields(
    "Routes",
    "What the API answers.\n\n# Not a remark\nand more",
    "Do the routes.",
    ("it answers", "it is fast:\n- 10 ms\n\n  in the mean", 'it says "yes"'),
    None,
    (TaskId("api.0"), TaskId("it's odd")),
)
FORM = """\
# Task api.1 (todo, below api)
#
# Change what you like, save the file and close the editor; an empty file changes nothing.
# It is TOML: several lines of text stand between ''' and ''', one line between quotes.

# What the task is, in one line.
title = "Routes"

# What it is about.
description = '''
What the API answers.

# Not a remark
and more
'''

# What its agent is to do.
prompt = '''
Do the routes.
'''

# What must hold in the end, with a comma after each.
acceptance_criteria = [
    "it answers",
    '''
it is fast:
- 10 ms

  in the mean
''',
    'it says "yes"',
]

# For people.
notes = '''
'''

# Tasks that must be done before this one.
deps = [
    "api.0",
    "it's odd",
]
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
        "#",
        "#! ",
        "\\",
        "title = 1",
        "'",
        "'''",
        '"',
        '"""',
        "\x7f",
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
_ids = st.lists(st.sampled_from(["a", "# notes", '"x', "it's b", "\\", "é"]), max_size=3, unique=True)
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


@settings(max_examples=examples(200), deadline=None)
@given(_fields, _fields)
def test_new_texts_come_back_whatever_stood_there(fields: TaskFields, base: TaskFields) -> None:
    new = replace(
        fields,
        title=" ".join(fields.title.split()) if title_fault(fields.title) is None else "A title",
        acceptance_criteria=tuple(text for text in fields.acceptance_criteria if text.strip()),
        notes=(fields.notes or "A note") if (fields.notes or "").strip() else "A note",
    )
    assert parse_form(render_form("t", new), base) == new


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


def test_comments_may_go_and_fields_change_places() -> None:
    head, _, tail = FORM.partition("notes = ")
    text = "notes = " + tail + "".join(line for line in head.splitlines(True) if not line.startswith("# W"))
    assert parse_form(text, EMPTY) == FIELDS


def test_a_criterion_may_be_written_in_any_string_of_toml() -> None:
    one_line = FORM.replace('"it answers"', "'''it answers'''").replace(
        "prompt = '''\nDo", 'prompt = """\\\n  Do'
    )
    assert parse_form(one_line.replace("routes.\n'''", 'routes.\n"""'), EMPTY) == FIELDS


def test_what_a_person_changes_is_changed_and_nothing_else() -> None:
    base = replace(FIELDS, prompt="Do the routes.\n", notes="", acceptance_criteria=("it answers\n", "it is"))
    form = render_form("t", base)
    assert parse_form(form.replace("Routes", "Paths"), base) == replace(base, title="Paths")
    assert parse_form(form.replace('    "it is",\n', ""), base) == replace(
        base, acceptance_criteria=("it answers\n",)
    )
    assert parse_form(form.replace("Do the routes.\n\n", "Do them.\n"), base).prompt == "Do them."


def test_notes_that_are_taken_away_are_gone() -> None:
    base = replace(FIELDS, notes="For Ada.")
    assert parse_form(render_form("t", base).replace("For Ada.", ""), base).notes is None


def test_every_fault_is_named() -> None:
    text = (
        FORM.replace("title =", "titel =")
        .replace('"it answers"', "7")
        .replace('    "api.0"', '    ["api.0"]')
    )
    assert faults(text) == [
        "title: Field required",
        "acceptance_criteria.0: Input should be a valid string",
        "deps.0: Input should be a valid string",
        "titel: Extra inputs are not permitted",
    ]
    assert faults(FORM.replace('"Routes"', '""').replace('"it answers"', '""')) == [
        "title: a task needs a title",
        "acceptance_criteria: one is empty",
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (('"Routes"', '"Routes\\nand more"'), "title: a title is one line of text: it contains '\\n'"),
        (('"Routes"', "Routes"), "Invalid value: title = Routes"),
        (('"it answers"', "it answers"), "Invalid value: it answers,"),
        (('"it answers",', '"it answers"'), "Unclosed array: '''"),
        (("prompt = '''", "prompt ="), "Invalid value: prompt ="),
        (("notes = ", "title = "), "Cannot overwrite a value: '''"),
        (("it answers", b"caf\xe9".decode(errors="surrogateescape")), "not UTF-8: '    \"caf\\udce9\",'"),
        (("notes = '''\n'''", "notes = " + "[" * 5000), "maximum recursion depth exceeded"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(change: tuple[str, str], fault: str) -> None:
    (found,) = faults(FORM.replace(*change))
    assert found.startswith(fault)


@pytest.mark.parametrize("text", ["", "\n \n", "# a remark\n", "#! a fault\r\n\r\n"])
def test_an_empty_form_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["x", "title =\n", FORM])
def test_a_form_with_anything_in_it_is_not(text: str) -> None:
    assert not is_blank(text)
