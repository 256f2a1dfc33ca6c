"""What reviewers write beside and inside an approving form: none of it is a verdict, and none costs a try."""

import json

import pytest

from git_blackbird.messages.incoming.review_answer import parse_review_answer
from git_blackbird.messages.incoming.reviewer_xml import parse_reviewer_answer
from git_blackbird.model.run.findings import Source
from git_blackbird.model.run.states import ReviewerVerdict
from tests.model.building import task

SENTENCES = [
    "The order status is REJECTED when stock is empty.",
    "The ISSUES.md file was updated.",
    "Result: failed logins are now counted.",
    "Do not merge this.",
    "I found no issues.",
    "**Issues:** none found.",
    "## Issues\n\nThere are none.",
    "Issues: the three of the last round are mended.",
    "- Issues raised before: all fixed.",
    "This resolves issue #5; the bug in line 3 is gone.",
    "There is a critical bug in the old parser, which this removes.",
    "It works, although the loop must be fixed some day.",
    "I cannot yet approve of the name, but that is taste.",
    "Requests that are not approved get a 403.",
    "NOT APPROVED is now a status of its own.",
    "The change is not approved by the security team, which was not asked for.",
    "My first verdict was rejected by the linter.",
    "Verdict: the code does what it should.",
    "Overall: fails closed, as it should.",
    "Status: failed is shown in red.",
    "| Check | Result |\n|---|---|\n| login | failed |\n| retry | passed |",
    "Changes requested by the user are all there.",
    "The reviewer of the last round said ISSUES, rightly.",
    "An issue: x is never used, which I let pass.",
    "Problem (critical) and warning (minor) are told apart.",
    "The tests reject() and fail() as documented.",
    "passed: false is what the API answers to a wrong password.",
    "I ran pytest: 3 failed before the change, 0 failed after it.",
    "Errors are logged as [ISSUE] and [REJECTED].",
    "\u274c in the log means a rejected order, \u2705 an accepted one.",
    "I'd call it a regression if it weren't what the task asks for.",
    "REJECTED, FAILED and ISSUES are members of one enum now.",
    "Disapproved users can't log in.",
    "The build is broken on Windows; it was before, too.",
    "Nothing must be changed.",
    "Unapproved drafts stay hidden: see the third criterion.",
    'The response is {"verdict": "issues"} for a bad payload.',
    "He wrote \u2018issues: none\u2019 \u2013 and meant it.",
    "APPROVED \u2014 with no reservations.",
    "If x &lt; 3 && y > 4 it is refused, else it isn\u2019t.",
    "> ISSUES: see below\n\nis what the template prints.",
    "`ISSUES:` begins a line of the old format.",
]
PARENT = task("P", children=["a"])


def _xml(source: Source, summary: str) -> str:
    tag = f"{source.value}-review"
    return f"<{tag}><verdict>APPROVED</verdict><summary>{summary}</summary></{tag}>"


def _json(feedback: str) -> str:
    result = {"taskId": "a", "status": "passed", "feedback": feedback}
    answer = {"passed": True, "resumeTaskIds": [], "feedbackForResume": "", "reviewResults": [result]}
    return json.dumps(answer)


def test_there_are_forty() -> None:
    assert len(set(SENTENCES)) >= 40


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("source", Source)
def test_no_sentence_is_a_verdict_on_a_change(source: Source, sentence: str) -> None:
    form = _xml(source, "Fine.")
    for answer in (f"{sentence}\n{form}", f"{form}\n{sentence}", f"{sentence}\n\n{form}\n\n{sentence}"):
        result = parse_reviewer_answer(answer, source)
        assert (result.counted_verdict, result.summary) == (ReviewerVerdict.APPROVED, "Fine.")
    inside = parse_reviewer_answer(_xml(source, f"\n{sentence}\n"), source)
    assert (inside.counted_verdict, inside.findings) == (ReviewerVerdict.APPROVED, ())
    assert inside.summary == sentence.replace("&lt;", "<")
    assert parse_reviewer_answer(f"APPROVED: {sentence}", source).counted_verdict is ReviewerVerdict.APPROVED


@pytest.mark.parametrize("sentence", SENTENCES)
def test_no_sentence_is_a_verdict_on_a_parent(sentence: str) -> None:
    for feedback in ("", sentence):
        form = _json(feedback)
        for answer in (
            form,
            f"{sentence}\n{form}",
            f"{form}\n{sentence}",
            json.dumps({"result": f"{sentence}\n{form}"}),
        ):
            assert parse_review_answer(answer, PARENT).passed


@pytest.mark.parametrize("sentence", SENTENCES)
def test_no_sentence_takes_a_refusal_back(sentence: str) -> None:
    issues = _xml(Source.SPEC, "Bad.").replace("APPROVED", "ISSUES")
    for answer in (f"{sentence}\n{issues}", f"{issues}\n{sentence}"):
        result = parse_reviewer_answer(answer, Source.SPEC)
        assert [finding.description for finding in result.findings] == ["Bad."]
    failing = json.dumps({"passed": False, "resumeTaskIds": ["a"], "feedbackForResume": sentence})
    for answer in (failing, f"{sentence}\n{failing}\n{sentence}"):
        assert parse_review_answer(answer, PARENT).feedback == sentence
