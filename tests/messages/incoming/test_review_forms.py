"""Which forms of an answer count: quoted, equal, incomplete, in the old form, and cut anywhere."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from git_blackbird.messages.incoming.json_answer import AnswerError
from git_blackbird.messages.incoming.review_forms import find_forms
from git_blackbird.messages.incoming.reviewer_xml import (
    MAX_CHARACTERS,
    parse_reviewer_answer,
)
from git_blackbird.model.run.findings import Source
from git_blackbird.model.run.states import ReviewerVerdict
from tests.messages.incoming.test_reviewer_xml import CODE, CODE_RESULT, SPEC, SPEC_RESULT

APPROVAL = (
    "<spec-review>\n<verdict>APPROVED</verdict>\n\n"
    "<summary>`a` is\n```\nfine\n> or so</summary>\n</spec-review>"
)
PARTS = [
    "&lt;spec-review&gt;&lt;verdict&gt;bad",
    "&amp;lt;code-review&amp;gt;",
    "&#60;/spec-review>",
    "<SPEC-REVIEW><VERDICT>bad</VERDICT></SPEC-REVIEW>",
    "<spec-review <",
    "<spec-review",
    "<spec-review/>",
    "</code-review>",
    "\uff1cspec-review\uff1e",
    "< issue type='bug'",
    "```xml\n&lt;issues&gt;\n```",
    "```xml\n<spec-review>",
    "<verdict>ISSUES</verdict>",
]
QUOTATIONS = [
    "```\n{}\n```",
    "~~~ xml\n{}\n~~~~",
    "````\n```\n{}\n```\n````",
    "  ```xml\n{}\n   ```  ",
    "- Seen:\n\n      ```xml\n      {}\n      ```",
    "1. ```\n   {}\n   ```",
    "> {}",
    ">{}",
    "   > It says {} there.",
    "- > {}",
    "> ```\n> {}\n> ```",
    "`{}`",
    "It says ``{}``.",
    "It says `\n{}\n` there.",
    "It says `x {} y`.",
    "It isn`t\n- good: `{}`",
    "```{}```",
]
UNQUOTED = [
    "{}",
    "Well: {} So it is.",
    "    {}",
    "- {}",
    "a > b {}",
    "<answer>{}</answer>",
    "```\nx\n```\n{}\n```\ny\n```",
    "```xml\n{}",
    "````\n{}\n```",
    "```\n{}\n~~~",
    "~~~\n{}\n    ~~~",
    "``` `x`\n{}\n",
    "> Seen.\n{}",
    "It isn`t bad.\n{}",
    "It isn`t bad.\n\n{}\n\nIt isn`t.",
    "``x` {}",
    "`x`{}`y`",
]
NOT_OLD = [
    "issues: bad",
    "**ISSUES:** bad",
    "ISSUES - bad",
    "I see ISSUES: bad",
    "> ISSUES: bad",
    "APPROVED: yes",
]


def _counted(answer: str) -> ReviewerVerdict | None:
    """What the answer counts as; None for an answer without a review."""
    try:
        return parse_reviewer_answer(answer, Source.SPEC).counted_verdict
    except AnswerError:
        return None


@pytest.mark.parametrize("around", QUOTATIONS)
def test_a_quoted_form_is_none(around: str) -> None:
    quoted = around.format(APPROVAL)
    assert _counted(f"{quoted}\n\nThat is no answer.") is None
    assert _counted(f"{quoted}\n\n{quoted}") is None
    for answer in (f"{quoted}\n\n{SPEC}", f"{SPEC}\n\n{quoted}", f"{quoted}\n\n{SPEC}\n\n{quoted}"):
        assert parse_reviewer_answer(answer, Source.SPEC) == SPEC_RESULT
    assert _counted(f"APPROVED: as it says.\n\n{quoted}\n\nWell.") is None


def test_what_is_quoted_may_be_incomplete() -> None:
    for part in ("`<spec-review>`", "`<spec-review><verdict>`", "> <spec-review>", "```\n<spec-review>\n```"):
        for answer in (f"{part}\n\n{SPEC}", f"{SPEC}\n\n{part}"):
            assert parse_reviewer_answer(answer, Source.SPEC) == SPEC_RESULT


@pytest.mark.parametrize("around", UNQUOTED)
def test_a_form_that_is_not_quoted_counts(around: str) -> None:
    assert _counted(around.format(APPROVAL)) is ReviewerVerdict.APPROVED
    assert _counted(f"{around.format(APPROVAL)}\n\n{SPEC}") is None


@pytest.mark.parametrize(
    "around", ["{}", "Here:\n\n{}", "`<spec-review>`, as asked:\n{}\n\n  \n", "```\nx\n```\n{}"]
)
def test_a_fence_with_the_only_form_at_the_end_counts(around: str) -> None:
    for fenced in (f"```xml\n{APPROVAL}\n```", f'~~~\n\n<?xml version="1.0"?>\n  {APPROVAL}\n\n~~~'):
        assert _counted(around.format(fenced)) is ReviewerVerdict.APPROVED


@pytest.mark.parametrize(
    "answer",
    [
        f"```xml\n{APPROVAL}\n```\nIt is fine.",
        f"```xml\nIt is fine.\n{APPROVAL}\n```",
        f"```xml\n{APPROVAL}\nIt is fine.\n```",
        f"```xml\n{APPROVAL}\n{APPROVAL}\n```",
        f"```xml\n{APPROVAL}\n```\n```xml\n{APPROVAL}\n```",
        f"> {APPROVAL}\n\n```xml\n{APPROVAL}\n```",
        f"```{APPROVAL}\n```",
        f"<spec-review>\n```xml\n{APPROVAL}\n```",
        f"ISSUES: bad\n```xml\n{APPROVAL}\n```",
        f"> {APPROVAL}",
        f"`{APPROVAL}`",
    ],
)
def test_no_other_quoted_form_counts(answer: str) -> None:
    assert _counted(answer) is None


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_another_form_makes_none(part: str) -> None:
    for form in (APPROVAL, SPEC):
        for answer in (f"{part}\n{form}", f"{form}\n\n{part}"):
            assert _counted(answer) is None


@pytest.mark.parametrize("line", ["ISSUES: bad", "  ISSUES:", "ISSUES: none", "```\nISSUES: bad\n```"])
def test_a_line_of_the_old_form_may_not_say_otherwise(line: str) -> None:
    with pytest.raises(AnswerError, match=r'^the verdict is APPROVED, and a line .* with "ISSUES:"$'):
        parse_reviewer_answer(f"{APPROVAL}\n{line}", Source.SPEC)
    assert _counted(f"{line}\n{APPROVAL}") is None
    assert _counted(f"{line}\n{SPEC}") is ReviewerVerdict.ISSUES
    assert _counted(f"APPROVED: fine\n{SPEC}") is None


@pytest.mark.parametrize("line", NOT_OLD)
def test_no_other_line_says_anything(line: str) -> None:
    for answer in (f"{line}\n{CODE}", f"{CODE}\n{line}"):
        assert parse_reviewer_answer(answer, Source.CODE) == CODE_RESULT


def test_what_a_form_holds_is_no_markdown_and_no_line_of_the_old_form() -> None:
    held = "```\n`<spec-review>` and `</spec-review>`\n> `\nISSUES: bad\n~~~"
    answer = f"<spec-review><verdict>APPROVED</verdict><summary>{held}</summary></spec-review>"
    assert parse_reviewer_answer(answer, Source.SPEC).summary == held


_PROSE = st.text(st.characters(exclude_characters="<`~"), max_size=60).filter(
    lambda text: re.search(r"(?m)^\s*(?:APPROVED|ISSUES):|\uff1c|&", text) is None
)


@given(_PROSE, _PROSE, st.sampled_from([SPEC, APPROVAL]))
def test_no_prose_around_a_form_changes_it(before: str, after: str, form: str) -> None:
    assert parse_reviewer_answer(f"{before}\n{form}\n{after}", Source.SPEC) == (
        parse_reviewer_answer(form, Source.SPEC)
    )


@given(_PROSE, _PROSE, st.sampled_from(QUOTATIONS))
def test_prose_around_it_makes_no_quoted_form_count(before: str, after: str, around: str) -> None:
    assume(after.strip())
    quoted = around.format(APPROVAL)
    assert _counted(f"{before}\n\n{quoted}\n\n{after}") is None
    assert _counted(f"{before}\n\n{quoted}\n\n{after}\n\n{SPEC}") is ReviewerVerdict.ISSUES


@given(st.permutations([SPEC, APPROVAL, APPROVAL]), _PROSE)
def test_forms_that_differ_are_none(forms: list[str], between: str) -> None:
    assert _counted(f"\n{between}\n".join(forms)) is None


@given(st.sampled_from([SPEC, APPROVAL]), _PROSE, _PROSE, st.data())
def test_an_answer_cut_anywhere_is_none_or_the_same(
    form: str, before: str, after: str, data: st.DataObject
) -> None:
    whole = _counted(form)
    once = f"{before}\n{form}\n{after}"
    cut = data.draw(st.integers(0, len(once)))
    is_whole = cut >= len(before) + 1 + len(form)
    assert _counted(once[:cut]) is (whole if is_whole else None)
    twice = f"{once}\n{form}"
    assert _counted(twice[: data.draw(st.integers(len(once), len(twice)))]) in (None, whole)


@given(
    st.lists(st.sampled_from(["`", "```", "~~~", "\n", "> ", "- ", "    ", APPROVAL, SPEC, "x"]), max_size=25)
)
def test_whatever_is_around_forms_only_one_that_is_there_counts(pieces: list[str]) -> None:
    counted = _counted("".join(pieces))
    assert counted is None or counted in {_counted(form) for form in (APPROVAL, SPEC) if form in pieces}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "piece",
    [
        "`",
        "` ``",
        "```\n",
        "```a\n",
        "    ```\n",
        "~~~\n```\n",
        "> ",
        "- ",
        "1. \t",
        "\n",
        "\n ",
        " ",
        "<spec-review ",
        "`<spec-review>",
        "<spec-review></spec-review>",
        "```\n<spec-review></spec-review>\n```\n",
        "&amp;",
        "&lt;",
        "</",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (MAX_CHARACTERS // len(piece) - 2)
    for answer in (text, f"{text}\n{APPROVAL}"[-MAX_CHARACTERS:]):
        assert _counted(answer) in (None, ReviewerVerdict.APPROVED)


@pytest.mark.exhaustive
def test_fences_of_many_lengths_do_not_take_long() -> None:
    lengths = "".join(f"{'`' * (700 - length)}a\n" for length in range(690))
    forms, _ = find_forms(lengths + "\n```\n" * 4)
    assert forms == []
