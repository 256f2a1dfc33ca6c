from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.messages.display.merged_review import (
    render_fix_request,
    render_merged_xml,
    review_lines,
)
from git_blackbird.messages.document import plain
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.run.findings import (
    Confidence,
    Finding,
    MergedReview,
    MinorIssue,
    ReviewResult,
    Severity,
    Source,
    merge,
)
from git_blackbird.model.run.states import ReviewerVerdict
from tests.model.run.test_findings import CODES, SPECS


def text_of(merged: MergedReview) -> str:
    return "".join(f"{text}\n" for text in plain(review_lines(merged)))


FILE = "src/auth.ts"
OAUTH = Finding(
    source=Source.SPEC,
    type="missing_requirement",
    severity=Severity.CRITICAL,
    description="Missing OAuth flow implementation",
    file=FILE,
    line=45,
    requirement="Support OAuth 2.0 login",
)
EXTRA = Finding(
    source=Source.SPEC,
    type="extra_feature",
    severity=Severity.IMPORTANT,
    description="Extra feature not in spec",
    file=FILE,
    line=78,
)
UNTESTED = Finding(
    source=Source.CODE,
    type="testing",
    severity=Severity.IMPORTANT,
    description="Nothing tests it:\n  not one line.",
    file=FILE,
    line=80,
    fix="Add a test.\nAnd run it.",
)
LEAK = Finding(
    source=Source.CODE, type="security", severity=Severity.CRITICAL, description="The token leaks.", line=3
)
NEAR = Finding(
    source=Source.CODE, type="bug", severity=Severity.IMPORTANT, description="Off by one.", file=FILE, line=47
)
NOTE = MinorIssue(description="Magic number could be constant", file=FILE, line=30)


def _spec(*findings: Finding, **fields: Any) -> ReviewResult:
    verdict = ReviewerVerdict.ISSUES if findings else ReviewerVerdict.APPROVED
    told = {"confidence": Confidence.HIGH, **fields}
    return ReviewResult(source=Source.SPEC, verdict=verdict, findings=findings, **told)


def _code(verdict: ReviewerVerdict, *findings: Finding, **fields: Any) -> ReviewResult:
    told = {"confidence": Confidence.HIGH, **fields}
    return ReviewResult(source=Source.CODE, verdict=verdict, findings=findings, **told)


OF_DOCUMENT = merge(_spec(OAUTH, EXTRA), _code(ReviewerVerdict.APPROVED_WITH_MINOR, minor=(NOTE,)))
EVERYTHING = merge(
    _spec(EXTRA, OAUTH),
    _code(
        ReviewerVerdict.ISSUES,
        UNTESTED,
        NEAR,
        LEAK,
        confidence=None,
        minor=(MinorIssue(description="Long\nline"), NOTE),
    ),
)


def test_the_presentation_of_the_document() -> None:
    assert (
        text_of(OF_DOCUMENT)
        == """\
Review Results:
  Spec Review: ISSUES (high confidence)
  Code Review: APPROVED_WITH_MINOR (high confidence)

Issues to Fix (2):

  1. [Spec Critical] src/auth.ts:45
     Missing OAuth flow implementation
     Requirement: "Support OAuth 2.0 login"

  2. [Spec Important] src/auth.ts:78
     Extra feature not in spec
     Action: Remove or get approval to add

Minor Notes (1):
  - src/auth.ts:30 - Magic number could be constant

Action: Fix issues and re-run reviews
"""
    )


def test_related_issues_and_conflicts_are_told_as_such() -> None:
    assert (
        text_of(EVERYTHING)
        == """\
Review Results:
  Spec Review: ISSUES (high confidence)
  Code Review: ISSUES

Issues to Fix (3):

  1. [Spec Critical] src/auth.ts:45
     Missing OAuth flow implementation
     Requirement: "Support OAuth 2.0 login"
     Related: 3

  2. [Code Critical] (security)
     The token leaks.

  3. [Code Important] src/auth.ts:47
     Off by one.
     Related: 1

Conflicting Findings (2), not resolved:

  The two reviews ask for opposite things at one place.

  4. [Spec Important] src/auth.ts:78
     Extra feature not in spec
     Action: Remove or get approval to add
     Related: 5

  5. [Code Important] src/auth.ts:80
     Nothing tests it:
       not one line.
     Fix: Add a test.
     And run it.
     Related: 4

Minor Notes (2):
  - Long line
  - src/auth.ts:30 - Magic number could be constant

Action: Fix issues and re-run reviews
"""
    )


@pytest.mark.parametrize(
    ("merged", "spec", "code", "action"),
    [
        (
            merge(_spec(), _code(ReviewerVerdict.APPROVED)),
            "APPROVED (high confidence)",
            "APPROVED (high confidence)",
            "Proceed",
        ),
        (
            merge(_spec(), _code(ReviewerVerdict.APPROVED_WITH_MINOR)),
            "APPROVED (high confidence)",
            "APPROVED_WITH_MINOR (high confidence)",
            "Proceed, with the notes in mind",
        ),
        (
            merge(_spec(), None),
            "APPROVED (high confidence)",
            "missing",
            "Decide: the code review is missing",
        ),
        (merge(None, None), "missing", "missing", "Decide: the spec review and the code review are missing"),
    ],
)
def test_without_issues_only_results_and_action_are_told(
    merged: MergedReview, spec: str, code: str, action: str
) -> None:
    told = f"Review Results:\n  Spec Review: {spec}\n  Code Review: {code}\n\nAction: {action}\n"
    assert text_of(merged) == told


def test_the_implementer_is_sent_everything_by_priority() -> None:
    assert (
        render_fix_request(EVERYTHING)
        == """\
Your change was reviewed, against the task and as code, and issues were found. Fix them in the \
existing work, the most important first, and check that they are fixed. The change is then reviewed again.

Issues to fix (3):

1. [Spec Critical] src/auth.ts:45
   Missing OAuth flow implementation
   Requirement: "Support OAuth 2.0 login"
   Related: 3

2. [Code Critical] (security)
   The token leaks.

3. [Code Important] src/auth.ts:47
   Off by one.
   Related: 1

Conflicting findings (2), not resolved:

The two reviews ask for opposite things at one place. Decide by the task and its acceptance criteria, and \
say in your account of the work what you did and why.

4. [Spec Important] src/auth.ts:78
   Extra feature not in spec
   Action: Remove or get approval to add
   Related: 5

5. [Code Important] src/auth.ts:80
   Nothing tests it:
     not one line.
   Fix: Add a test.
   And run it.
   Related: 4

Minor notes (2), not blocking:
These block nothing. Follow them where that is simple and within the task.
- Long line
- src/auth.ts:30 - Magic number could be constant
"""
    )


def test_the_xml_of_the_document() -> None:
    merged = EVERYTHING.with_runs(RunId("0000000000000001"), RunId("0000000000000002"))
    assert (
        render_merged_xml(merged)
        == """\
<merged-review>
  <overall-verdict>SPEC_CRITICAL</overall-verdict>
  <spec-result verdict="ISSUES" confidence="high" run="0000000000000001" />
  <code-result verdict="ISSUES" run="0000000000000002" />
  <issues>
    <issue-group related="true">
      <issue source="spec" priority="1" type="missing_requirement" severity="critical">
        <location file="src/auth.ts" line="45" />
        <description>Missing OAuth flow implementation</description>
        <requirement>Support OAuth 2.0 login</requirement>
      </issue>
      <issue source="code" priority="4" type="bug" severity="important">
        <location file="src/auth.ts" line="47" />
        <description>Off by one.</description>
      </issue>
    </issue-group>
    <issue source="code" priority="2" type="security" severity="critical">
      <description>The token leaks.</description>
    </issue>
    <issue-group related="true" conflict="true">
      <issue source="spec" priority="3" type="extra_feature" severity="important">
        <location file="src/auth.ts" line="78" />
        <description>Extra feature not in spec</description>
      </issue>
      <issue source="code" priority="4" type="testing" severity="important">
        <location file="src/auth.ts" line="80" />
        <description>Nothing tests it:
  not one line.</description>
        <fix>Add a test.
And run it.</fix>
      </issue>
    </issue-group>
  </issues>
  <minor>
    <note>
      <description>Long
line</description>
    </note>
    <note>
      <location file="src/auth.ts" line="30" />
      <description>Magic number could be constant</description>
    </note>
  </minor>
  <action>FIX_AND_REREVIEW</action>
</merged-review>
"""
    )


def test_the_xml_names_what_is_missing() -> None:
    missing = '  <missing source="spec" />\n  <missing source="code" />\n'
    empty = "  <issues />\n  <minor />\n"
    assert render_merged_xml(merge(None, None)) == f"<merged-review>\n{missing}{empty}</merged-review>\n"


def test_what_xml_and_terminals_cannot_hold_is_replaced() -> None:
    bad = Finding(
        source=Source.SPEC,
        type="a\x00<&",
        severity=Severity.CRITICAL,
        description="x\x1b[31m\x07<b>&\ufffe\udc80",
        file="a\n\x1b]0;title\x07.py",
    )
    merged = merge(_spec(bad), None)
    (issue,) = ET.fromstring(render_merged_xml(merged)).iter("issue")
    assert (issue.get("type"), issue.findtext("description")) == ("a\ufffd<&", "x\ufffd<b>&\ufffd\ufffd")
    assert "  1. [Spec Critical] a .py\n     x\ufffd<b>&\ufffe\ufffd\n" in text_of(merged)


@given(SPECS, CODES)
def test_every_merged_review_can_be_told(spec: ReviewResult | None, code: ReviewResult | None) -> None:
    merged = merge(spec, code)
    root = ET.fromstring(render_merged_xml(merged))
    assert len(list(root.iter("issue"))) == len(merged.findings)
    for told in (text_of(merged), render_fix_request(merged)):
        numbers = [line.split(".")[0].strip() for line in told.splitlines() if ". [" in line]
        assert numbers == [str(number) for number in range(1, len(merged.findings) + 1)]


@given(st.text(), st.text(min_size=1))
def test_any_text_is_well_formed_xml(description: str, file: str) -> None:
    note = MinorIssue(description=description, file=file)
    ET.fromstring(render_merged_xml(merge(_spec(minor=(note,)), None)))


def test_the_line_with_which_a_finding_begins_is_about_it() -> None:
    spans = [span for line in review_lines(EVERYTHING) for span in line.spans if span.about is not None]
    assert len(spans) == len(EVERYTHING.findings) + len(EVERYTHING.minor)
    assert {span.about for span in spans} == {*EVERYTHING.findings, *EVERYTHING.minor}
