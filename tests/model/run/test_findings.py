import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.run.findings import (
    MAX_LINES_APART,
    TYPES_THAT_ASK_FOR_MORE,
    Confidence,
    Finding,
    FollowUp,
    MergedReview,
    MergedVerdict,
    MinorIssue,
    ReviewerSummary,
    ReviewResult,
    Severity,
    Source,
    finding_order,
    merge,
)
from git_blackbird.model.run.states import ReviewerVerdict

APPROVED, MINOR, ISSUES = ReviewerVerdict
CRITICAL, IMPORTANT = Severity


def _finding(source: Source, severity: Severity, line: int | None = None, **fields: Any) -> Finding:
    told = {"type": "bug", "description": "It leaks.", "file": "a.py", **fields}
    return Finding(source=source, severity=severity, line=line, **told)


def _result(source: Source, verdict: ReviewerVerdict, *findings: Finding, **fields: Any) -> ReviewResult:
    return ReviewResult(source=source, verdict=verdict, findings=findings, **fields)


def _spec(verdict: ReviewerVerdict, *findings: Finding) -> ReviewResult:
    return _result(Source.SPEC, verdict, *findings)


def _code(verdict: ReviewerVerdict, *findings: Finding) -> ReviewResult:
    return _result(Source.CODE, verdict, *findings)


SPEC_CRITICAL = _finding(Source.SPEC, CRITICAL, 10, type="missing_requirement")
SPEC_IMPORTANT = _finding(Source.SPEC, IMPORTANT, 30, type="misunderstanding")
SPEC_EXTRA = _finding(Source.SPEC, IMPORTANT, 50, type="extra_feature")
CODE_CRITICAL = _finding(Source.CODE, CRITICAL, 70)
CODE_IMPORTANT = _finding(Source.CODE, IMPORTANT, 90)


@pytest.mark.parametrize(
    ("spec", "code", "overall", "action"),
    [
        (_spec(APPROVED), _code(APPROVED), MergedVerdict.APPROVED, FollowUp.PROCEED),
        (_spec(APPROVED), _code(MINOR), MergedVerdict.APPROVED_WITH_MINOR, FollowUp.PROCEED_WITH_NOTES),
        (_spec(ISSUES, SPEC_IMPORTANT), _code(MINOR), MergedVerdict.ISSUES, FollowUp.FIX_AND_REREVIEW),
        (_spec(APPROVED), _code(ISSUES, CODE_IMPORTANT), MergedVerdict.ISSUES, FollowUp.FIX_AND_REREVIEW),
        (
            _spec(ISSUES, SPEC_IMPORTANT),
            _code(ISSUES, CODE_CRITICAL),
            MergedVerdict.CODE_CRITICAL,
            FollowUp.FIX_AND_REREVIEW,
        ),
        (
            _spec(ISSUES, SPEC_CRITICAL),
            _code(ISSUES, CODE_CRITICAL),
            MergedVerdict.SPEC_CRITICAL,
            FollowUp.FIX_AND_REREVIEW,
        ),
        # Approvals with issues count by their issues, issues without one are no approval.
        (
            _spec(APPROVED, SPEC_CRITICAL),
            _code(APPROVED),
            MergedVerdict.SPEC_CRITICAL,
            FollowUp.FIX_AND_REREVIEW,
        ),
        (_spec(APPROVED), _code(MINOR, CODE_IMPORTANT), MergedVerdict.ISSUES, FollowUp.FIX_AND_REREVIEW),
        (_spec(ISSUES), _code(APPROVED), MergedVerdict.ISSUES, FollowUp.FIX_AND_REREVIEW),
        (_spec(APPROVED), _code(ISSUES), MergedVerdict.ISSUES, FollowUp.FIX_AND_REREVIEW),
        # A review that is missing is never an approval.
        (None, None, None, None),
        (_spec(APPROVED), None, None, None),
        (None, _code(APPROVED), None, None),
        (None, _code(MINOR), None, None),
        (_spec(ISSUES, SPEC_IMPORTANT), None, MergedVerdict.ISSUES, None),
        (_spec(ISSUES, SPEC_CRITICAL), None, MergedVerdict.SPEC_CRITICAL, None),
        (None, _code(ISSUES, CODE_CRITICAL), MergedVerdict.CODE_CRITICAL, None),
    ],
)
def test_the_rule_of_the_document(
    spec: ReviewResult | None,
    code: ReviewResult | None,
    overall: MergedVerdict | None,
    action: FollowUp | None,
) -> None:
    merged = merge(spec, code)
    assert (merged.overall, merged.action) == (overall, action)


def test_a_merged_review_is_ordered_by_priority_and_tells_both_sides() -> None:
    spec = _result(
        Source.SPEC, ISSUES, SPEC_IMPORTANT, SPEC_CRITICAL, confidence=Confidence.HIGH, summary="No."
    )
    code = _result(Source.CODE, APPROVED, CODE_IMPORTANT, CODE_CRITICAL, minor=(MinorIssue(description="n"),))
    merged = merge(spec, code)
    assert merged.spec == ReviewerSummary(verdict=ISSUES, confidence=Confidence.HIGH, summary="No.")
    assert merged.code == ReviewerSummary(verdict=ISSUES)
    ordered = (SPEC_CRITICAL, CODE_CRITICAL, SPEC_IMPORTANT, CODE_IMPORTANT)
    assert merged.findings == ordered
    assert [(group.findings, group.priority) for group in merged.groups] == [
        ((one,), priority) for priority, one in enumerate(ordered, start=1)
    ]
    assert (merged.conflicts, merged.minor) == ((), (MinorIssue(description="n"),))
    assert merged.missing == ()
    assert merge(None, code).missing == (Source.SPEC,)


def test_runs_are_named_for_the_sides_that_are_there() -> None:
    merged = merge(_spec(APPROVED), None).with_runs(RunId("01"), RunId("02"))
    assert (merged.spec, merged.code) == (ReviewerSummary(verdict=APPROVED, run_id=RunId("01")), None)


@pytest.mark.parametrize(
    ("lines", "grouped"),
    [
        ([10, 15], [[10, 15]]),
        ([10, 16], [[10], [16]]),
        ([10, 10], [[10, 10]]),
        ([20, 10, 15, 26], [[10, 15, 20], [26]]),
        ([None, None, 1], [[None], [None], [1]]),
    ],
)
def test_issues_of_one_place_are_grouped(lines: list[int | None], grouped: list[list[int | None]]) -> None:
    issues = [
        _finding(Source.CODE if number % 2 else Source.SPEC, IMPORTANT, line, description=str(number))
        for number, line in enumerate(lines)
    ]
    spec = _spec(ISSUES, *(issue for issue in issues if issue.source is Source.SPEC))
    code = _code(ISSUES, *(issue for issue in issues if issue.source is Source.CODE))
    found = [
        sorted((finding.line for finding in group.findings), key=str) for group in merge(spec, code).groups
    ]
    assert sorted(found, key=str) == sorted(grouped, key=str)


def test_other_files_and_no_file_are_never_grouped() -> None:
    places: list[str | None] = ["a.py", "b.py", None, None]
    issues = [
        _finding(Source.SPEC, IMPORTANT, 1, file=file, description=str(number))
        for number, file in enumerate(places)
    ]
    assert [group.is_related for group in merge(_spec(ISSUES, *issues), None).groups] == [False] * 4


def test_a_group_has_the_priority_of_its_first_and_stands_there() -> None:
    near = _finding(Source.CODE, IMPORTANT, 12)
    merged = merge(_spec(ISSUES, SPEC_CRITICAL), _code(ISSUES, near, CODE_CRITICAL))
    assert [(group.findings, group.priority) for group in merged.groups] == [
        ((SPEC_CRITICAL, near), 1),
        ((CODE_CRITICAL,), 2),
    ]


@pytest.mark.parametrize("kind", sorted(TYPES_THAT_ASK_FOR_MORE))
def test_an_extra_feature_that_the_other_review_wants_more_of_is_a_conflict(kind: str) -> None:
    more = _finding(Source.CODE, CRITICAL, 54, type=kind)
    merged = merge(_spec(ISSUES, SPEC_EXTRA, SPEC_CRITICAL), _code(ISSUES, more))
    assert [group.findings for group in merged.groups] == [(SPEC_CRITICAL,)]
    assert [(group.findings, group.priority) for group in merged.conflicts] == [((more, SPEC_EXTRA), 2)]
    assert merged.findings == (SPEC_CRITICAL, more, SPEC_EXTRA)


@pytest.mark.parametrize(
    "other",
    [
        _finding(Source.CODE, IMPORTANT, 56),
        _finding(Source.CODE, IMPORTANT, 50, file="b.py"),
        *(_finding(Source.CODE, CRITICAL, 50, type=kind) for kind in ("bug", "security", "architecture")),
        _finding(Source.CODE, IMPORTANT, 50, type="dead_code"),
        _finding(Source.SPEC, IMPORTANT, 50, type="testing"),
    ],
)
def test_what_is_elsewhere_asks_for_no_more_or_is_of_the_same_review_is_no_conflict(other: Finding) -> None:
    issues = [SPEC_EXTRA, other]
    spec = _spec(ISSUES, *(issue for issue in issues if issue.source is Source.SPEC))
    code = _code(ISSUES, *(issue for issue in issues if issue.source is Source.CODE))
    assert merge(spec, code).conflicts == ()


def test_what_is_told_twice_counts_once() -> None:
    note = MinorIssue(description="n")
    code = _result(Source.CODE, ISSUES, CODE_IMPORTANT, CODE_IMPORTANT, minor=(note, note))
    merged = merge(_spec(APPROVED), code)
    assert (merged.findings, merged.minor) == ((CODE_IMPORTANT,), (note,))


_LINES = st.none() | st.integers(-2, 40)
_FILES = st.sampled_from([None, "", "a.py", "b.py"])
_TYPES = st.sampled_from(["extra_feature", "missing_requirement", "bug", "testing", "race"])


def _results(source: Source) -> st.SearchStrategy[ReviewResult]:
    findings = st.builds(
        Finding,
        source=st.just(source),
        type=_TYPES,
        severity=st.sampled_from(Severity),
        description=st.sampled_from(["x", "y"]),
        file=_FILES,
        line=_LINES,
    )
    notes = st.builds(MinorIssue, description=st.sampled_from(["x", "y"]), file=_FILES, line=_LINES)
    return st.builds(
        ReviewResult,
        source=st.just(source),
        verdict=st.sampled_from(ReviewerVerdict),
        confidence=st.none() | st.sampled_from(Confidence),
        findings=st.lists(findings, max_size=8).map(tuple),
        minor=st.lists(notes, max_size=3).map(tuple),
        checked=st.just(()),
        summary=st.sampled_from(["", "s"]),
    )


SPECS = st.none() | _results(Source.SPEC)
CODES = st.none() | _results(Source.CODE)


def _shuffled(result: ReviewResult | None, draw: st.DataObject) -> ReviewResult | None:
    if result is None:
        return None
    findings = draw.draw(st.permutations(result.findings))
    minor = draw.draw(st.permutations(result.minor))
    return ReviewResult(
        source=result.source,
        verdict=result.verdict,
        confidence=result.confidence,
        findings=tuple(findings),
        minor=tuple(minor),
        summary=result.summary,
    )


@given(SPECS, CODES, st.data())
def test_any_order_of_issues_merges_to_the_same(
    spec: ReviewResult | None, code: ReviewResult | None, data: st.DataObject
) -> None:
    assert merge(_shuffled(spec, data), _shuffled(code, data)) == merge(spec, code)


@given(SPECS, CODES)
def test_the_verdict_is_that_of_the_rule(spec: ReviewResult | None, code: ReviewResult | None) -> None:
    merged = merge(spec, code)
    assert merged.overall == _expected_overall(spec, code)
    if merged.action in {FollowUp.PROCEED, FollowUp.PROCEED_WITH_NOTES}:
        assert spec is not None
        assert code is not None
        assert (spec.verdict, spec.findings, code.findings) in {(APPROVED, (), ()), (MINOR, (), ())}
        assert code.verdict is not ISSUES
    assert (merged.action is None) == (spec is None or code is None)


def _expected_overall(spec: ReviewResult | None, code: ReviewResult | None) -> MergedVerdict | None:
    """Restate the rule for the overall verdict, case by case."""
    spec_issues = spec.findings if spec else ()
    code_issues = code.findings if code else ()
    if any(one.severity is CRITICAL for one in spec_issues):
        return MergedVerdict.SPEC_CRITICAL
    if any(one.severity is CRITICAL for one in code_issues):
        return MergedVerdict.CODE_CRITICAL
    if spec_issues or code_issues or any(one and one.verdict is ISSUES for one in (spec, code)):
        return MergedVerdict.ISSUES
    if spec is None or code is None:
        return None
    return MergedVerdict.APPROVED_WITH_MINOR if code.verdict is MINOR else MergedVerdict.APPROVED


@given(SPECS, CODES)
def test_no_issue_is_lost_and_groups_are_what_is_connected(
    spec: ReviewResult | None, code: ReviewResult | None
) -> None:
    merged = merge(spec, code)
    told = {finding for result in (spec, code) if result for finding in result.findings}
    assert merged.findings == tuple(sorted(told, key=finding_order))
    groups = [*merged.groups, *merged.conflicts]
    assert {frozenset(group.findings) for group in groups} == _components(told)
    for group in groups:
        assert group.priority == group.findings[0].priority
        assert list(group.findings) == sorted(group.findings, key=finding_order)
        kinds = {(finding.source, finding.type) for finding in group.findings}
        asks_more = kinds & {(Source.CODE, kind) for kind in TYPES_THAT_ASK_FOR_MORE}
        assert (group in merged.conflicts) == ((Source.SPEC, "extra_feature") in kinds and bool(asks_more))
    for some in (merged.groups, merged.conflicts):
        assert all(one.priority <= other.priority for one, other in pairwise(some))


def _components(findings: set[Finding]) -> set[frozenset[Finding]]:
    """Join whatever is near one another until nothing more is."""
    parts = {frozenset([finding]) for finding in findings}
    for one in findings:
        near = {part for part in parts if any(one == other or _is_near(one, other) for other in part)}
        parts = (parts - near) | {frozenset().union(*near)}
    return parts


def _is_near(one: Finding, other: Finding) -> bool:
    if not one.file or one.file != other.file or one.line is None or other.line is None:
        return False
    return abs(one.line - other.line) <= MAX_LINES_APART


@given(SPECS, CODES)
def test_results_are_the_same_after_they_were_kept(
    spec: ReviewResult | None, code: ReviewResult | None
) -> None:
    merged = merge(spec, code)
    assert MergedReview.from_value(json.loads(json.dumps(merged.to_json()))) == merged
    for result in (spec, code):
        assert result is None or ReviewResult.from_value(json.loads(json.dumps(result.to_json()))) == result


def test_notes_that_differ_in_an_empty_place_alone_have_an_order() -> None:
    notes = (MinorIssue(description="y", file=""), MinorIssue(description="y"))
    for minor in (notes, notes[::-1]):
        code = ReviewResult(source=Source.CODE, verdict=ReviewerVerdict.APPROVED_WITH_MINOR, minor=minor)
        assert merge(None, code).minor == notes[::-1]
