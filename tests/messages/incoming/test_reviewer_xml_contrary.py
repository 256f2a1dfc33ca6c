"""What stands beside an approval and says otherwise, in any disguise, and what is harmless there."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.messages.incoming.review_answer import ReviewAnswerError, parse_review_answer
from git_blackbird.messages.incoming.reviewer_xml import (
    MAX_CHARACTERS,
    ReviewerAnswerError,
    parse_reviewer_answer,
)
from git_blackbird.messages.incoming.stated_verdicts import find_contrary
from git_blackbird.model.entities.findings import ReviewerVerdict, Source
from tests.messages.incoming.test_reviewer_xml import CODE, CODE_RESULT, SPEC
from tests.model.building import task

APPROVAL = "<spec-review><verdict>APPROVED</verdict><summary>Fine.</summary></spec-review>"
CONTRARY = [
    "**ISSUES:** bad",
    "ISSUES : bad",
    "issues: bad",
    "Issue: bad",
    "## Issues",
    "## Issues found\n\n- bad",
    "ISSUES\n======\nbad",
    "- **Issues**: bad",
    "1. ISSUES: bad",
    "a) Issues: bad",
    "> ISSUES: bad",
    "`ISSUES:` bad",
    "| ISSUES | bad |",
    "```\nISSUES: bad\n```",
    "*I*SSUES: bad",
    "I S S U E S : bad",
    "I55UES: bad",
    "|SSUES: bad",
    "ISSUES (3):",
    "ISSUES \u2014 bad",
    "Issues that must be mended: bad",
    "ISSUES: none of the tests pass",
    "\u274c ISSUES: bad",
    "\uff29\uff33\uff33\uff35\uff25\uff33\uff1a bad",
    "\u0406\u0405\u0405UE\u0405\u2236 bad",
    "I\u200bSSU\u00adES: bad",
    "I\u0332SSUES: bad",
    "\U0001d408\U0001d412\U0001d412\U0001d414\U0001d404\U0001d412: bad",
    "fine\u2028issues: bad",
    "fine\x85issues: bad",
    "\x1b[1mISSUES\x1b[0m: bad",
    "IS\x00SUES: bad",
    "<b>ISSUES:</b> bad",
    "<h2>issues</h2>",
    "ISSUES&#58; bad",
    "&amp;#73;ssues: bad",
    "<!-- ISSUES: bad -->",
    "<![CDATA[issues: bad]]>",
    "I found ISSUES.",
    "This is not what was asked for. ISSUES remain.",
    "REJECTED",
    "Rejected: bad",
    "Changes requested: bad",
    "Verdict: issues",
    "My verdict is **rejected**.",
    "| Verdict | failed |",
    '{"verdict": "issues"}',
    "NOT APPROVED",
    "The change is not approved.",
    "I cannot yet approve this.",
]
PROBLEMS = [
    "I found one Issue: x",
    "There is a critical bug in line 3.",
    "Problem (critical): b",
    "It works, but the loop must be fixed.",
]
PIECES = [
    "&lt;spec-review&gt;&lt;verdict&gt;bad",
    "&amp;lt;code-review&amp;gt;",
    "<SPEC-REVIEW><VERDICT>bad</VERDICT></SPEC-REVIEW>",
    "<spec-review <",
    "\uff1cspec-review\uff1e",
    "< issue type='bug'",
    "```xml\n&lt;issues&gt;\n```",
]
HARMLESS = [
    "I found no issues.",
    "No issues found.",
    "No ISSUES found.",
    "It is done without any ISSUES.",
    "Issues: none",
    "**Issues:** none found.",
    "## Issues: 0",
    "There were issues with it in the last round; all are mended.",
    "Issues raised before are mended.",
    "This resolves issue #5.",
    "I looked through the change for bugs and problems; none.",
    "No bugs, no problems.",
    "The earlier bug is fixed.",
    "Bad input is rejected with 400.",
    "Rejected tokens are logged.",
    "I checked that failed logins are logged.",
    "Test result: 5 passed",
    "a < b && c > d, and Map<string, T[]>",
    "Here is the `<spec-review>` that you asked for, with `<issues>`:",
    "APPROVED: it is fine",
]


def _fault(answer: str) -> str:
    with pytest.raises(ReviewerAnswerError) as caught:
        parse_reviewer_answer(answer, Source.SPEC)
    return str(caught.value)


@pytest.mark.parametrize("sign", [*CONTRARY, *PROBLEMS])
def test_an_approval_that_is_contradicted_is_none(sign: str) -> None:
    for answer in (f"{sign}\n{APPROVAL}", f"{APPROVAL}\n\n{sign}"):
        assert _fault(answer).startswith('the answer approves, and says otherwise in "')
    # The old form has a word of its own for both of its heads.
    assert re.search("approves, and says otherwise|says more than one of", _fault(f"APPROVED: fine.\n{sign}"))


@pytest.mark.parametrize("sign", ["ISSUES: bad", "**Issues**: bad", "NOT APPROVED"])
def test_an_approval_may_not_contradict_itself(sign: str) -> None:
    expected = f'the answer approves, and says otherwise in "{sign}"'
    assert _fault(APPROVAL.replace("Fine.", f"Well.\n{sign}")) == expected
    assert _fault(APPROVAL.replace("<summary>", f"<!-- {sign} --><summary>")) == expected


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_of_another_review_makes_an_approval_none(piece: str) -> None:
    for answer in (f"{piece}\n{APPROVAL}", f"{APPROVAL}\n{piece}"):
        assert "has a piece of another review: " in _fault(answer)


@pytest.mark.parametrize("prose", HARMLESS)
def test_harmless_prose_is_passed_over(prose: str) -> None:
    for answer in (f"{prose}\n\n{CODE}", f"{CODE}\n{prose}", f"```xml\n{CODE}\n```\n- {prose}"):
        assert parse_reviewer_answer(answer, Source.CODE) == CODE_RESULT


@pytest.mark.parametrize("sign", CONTRARY)
def test_issues_are_read_whatever_else_is_said(sign: str) -> None:
    result = parse_reviewer_answer(f"{sign}\n{SPEC}\n{sign}", Source.SPEC)
    assert result.counted_verdict is ReviewerVerdict.ISSUES


_MARKS = st.text(alphabet=" \t#*_~`->+.\"'([{:\u2022\u200b\ufeff", max_size=6)
_LETTERS = {
    "I": "I\uff29\u0406\u0399i1",
    "S": "S\uff33\u0405s5",
    "U": "U\uff35\u054du",
    "E": "E\uff25\u0415\u0395e",
}
_DRAWN = st.tuples(*(st.sampled_from(_LETTERS[letter]) for letter in "ISSUES")).map("".join)
_COLON = st.sampled_from([":", " :", "**:", ":**", "`:", "\uff1a", " \u2236", ")\t:", "\u200b:"])


@given(marks=_MARKS, word=_DRAWN, colon=_COLON, is_first=st.booleans())
def test_no_decoration_hides_a_verdict_line(marks: str, word: str, colon: str, *, is_first: bool) -> None:
    sign = f"{marks}{word}{colon} it leaks"
    answer = f"{sign}\n{APPROVAL}" if is_first else f"{APPROVAL}\n{sign}"
    assert "says otherwise" in _fault(answer)


@given(st.text(alphabet="abz <>&;#*`\n'\"-|^\u0430\u200b:=ISUE", max_size=60))
def test_any_prose_is_contrary_or_not(prose: str) -> None:
    assert (find_contrary(prose) is None) is (find_contrary(f"{prose}\nIt is fine.") is None)


@pytest.mark.parametrize(
    "piece",
    ["*", "verdict:", "verdict ", "no ", "issues a ", "not ", "&amp;", "<b", "^@", "\ufffd", "1", "issues ("],
)
def test_no_prose_takes_long(piece: str) -> None:
    text = piece * (MAX_CHARACTERS // len(piece))
    found = find_contrary(text), find_contrary(f"issues{text}")
    assert all(line is None or len(line) <= 80 for line in found)


PARENT = task("P", children=["a"])
PASSING = '{"passed": true, "resumeTaskIds": [], "feedbackForResume": ""}'
DENIED = [
    '{"passed": false, "resumeTaskIds": ["a"',
    "{'passed': False}",
    '{"review": {"passed": false}}',
    "passed: false",
    "passed = **no**",
]


def _verdict_fault(text: str) -> str:
    with pytest.raises(ReviewAnswerError) as caught:
        parse_review_answer(text, PARENT)
    return str(caught.value)


@pytest.mark.parametrize("sign", [*CONTRARY, *DENIED])
def test_a_parent_that_passes_and_does_not_has_no_verdict(sign: str) -> None:
    for answer in (f"{sign}\n{PASSING}", f"{PASSING}\n{sign}"):
        expected = "the reviewer's answer is not valid: the answer says passed=true, and otherwise in \""
        assert _verdict_fault(answer).startswith(expected)


def test_an_envelope_hides_nothing() -> None:
    text = json.dumps({"result": f"issues: a leaks\n{PASSING}"})
    assert "issues: a leaks" in _verdict_fault(text)
    nested = '{"passed": true, "reviewResults": [{"taskId": "a", "passed": false}]}'
    assert "says passed=true, and otherwise in" in _verdict_fault(nested)


@pytest.mark.parametrize("prose", HARMLESS)
def test_a_parent_passes_beside_harmless_prose(prose: str) -> None:
    assert parse_review_answer(f"{prose}\n{PASSING}\n{prose}", PARENT).passed
