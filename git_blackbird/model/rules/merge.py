"""Merge a spec review and a code review into one verdict (spec 4, DESIGN.md 7)."""

from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.model.entities.findings import (
    Finding,
    FindingGroup,
    FollowUp,
    MergedReview,
    MergedVerdict,
    ReviewerSummary,
    ReviewerVerdict,
    ReviewResult,
    Severity,
    Source,
    finding_order,
    note_order,
)

MAX_LINES_APART = 5
EXTRA_FEATURE = "extra_feature"
# These require more code or tests for what the spec review wants removed; other findings of the code review
# there, such as bugs, disappear with the code.
TYPES_THAT_ASK_FOR_MORE = frozenset({"error_handling", "testing"})

_ACTIONS: Mapping[MergedVerdict, FollowUp] = {
    MergedVerdict.APPROVED: FollowUp.PROCEED,
    MergedVerdict.APPROVED_WITH_MINOR: FollowUp.PROCEED_WITH_NOTES,
    MergedVerdict.ISSUES: FollowUp.FIX_AND_REREVIEW,
    MergedVerdict.SPEC_CRITICAL: FollowUp.FIX_AND_REREVIEW,
    MergedVerdict.CODE_CRITICAL: FollowUp.FIX_AND_REREVIEW,
}


def merge(spec: ReviewResult | None, code: ReviewResult | None) -> MergedReview:
    """Merge two reviews of one change; None is a missing one, and is never an approval.

    Total, and independent of the order of issues; duplicates count once.
    """
    results = [result for result in (spec, code) if result is not None]
    groups = _group({finding for result in results for finding in result.findings})
    overall = _overall(spec, code)
    return MergedReview(
        overall=overall,
        action=_ACTIONS[overall] if overall and spec and code else None,
        spec=_side(spec),
        code=_side(code),
        groups=tuple(group for group in groups if not _is_conflict(group)),
        conflicts=tuple(group for group in groups if _is_conflict(group)),
        minor=tuple(sorted({note for result in results for note in result.minor}, key=note_order)),
    )


def _side(result: ReviewResult | None) -> ReviewerSummary | None:
    if result is None:
        return None
    return ReviewerSummary(
        verdict=result.counted_verdict, confidence=result.confidence, summary=result.summary
    )


def _overall(spec: ReviewResult | None, code: ReviewResult | None) -> MergedVerdict | None:
    """Apply spec 4's rule; if one of the two is missing, only issues count."""
    if _has_critical(spec):
        return MergedVerdict.SPEC_CRITICAL
    if _has_critical(code):
        return MergedVerdict.CODE_CRITICAL
    verdicts = [result.counted_verdict for result in (spec, code) if result is not None]
    if ReviewerVerdict.ISSUES in verdicts:
        return MergedVerdict.ISSUES
    if spec is None or code is None:
        return None
    is_minor = code.verdict is ReviewerVerdict.APPROVED_WITH_MINOR
    return MergedVerdict.APPROVED_WITH_MINOR if is_minor else MergedVerdict.APPROVED


def _has_critical(result: ReviewResult | None) -> bool:
    return result is not None and any(finding.severity is Severity.CRITICAL for finding in result.findings)


def _group(findings: Iterable[Finding]) -> list[FindingGroup]:
    """Group issues of one file with at most five lines between neighbours."""
    groups = [
        FindingGroup(
            findings=tuple(sorted(members, key=finding_order)),
            priority=min(finding.priority for finding in members),
        )
        for members in _neighbours(sorted(findings, key=_place))
    ]
    return sorted(groups, key=lambda group: [finding_order(finding) for finding in group.findings])


def _place(finding: Finding) -> tuple[object, ...]:
    return (finding.file or "", finding.line is not None, finding.line or 0, finding_order(finding))


def _neighbours(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Split issues, sorted by place, at gaps."""
    members: list[Finding] = []
    for finding in findings:
        if members and not _is_near(members[-1], finding):
            yield members
            members = []
        members.append(finding)
    if members:
        yield members


def _is_near(finding: Finding, other: Finding) -> bool:
    if not finding.file or finding.line is None or other.line is None:
        return False
    return finding.file == other.file and abs(finding.line - other.line) <= MAX_LINES_APART


def _is_conflict(group: FindingGroup) -> bool:
    """Whether the spec review wants something removed for which the code review asks for more."""
    is_extra = any(
        finding.source is Source.SPEC and finding.type == EXTRA_FEATURE for finding in group.findings
    )
    return is_extra and any(
        finding.source is Source.CODE and finding.type in TYPES_THAT_ASK_FOR_MORE
        for finding in group.findings
    )
