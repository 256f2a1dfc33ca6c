"""The merge of a spec review and a code review into one verdict (spec 4, DESIGN.md 7)."""

from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.model.findings import (
    Action,
    Finding,
    Group,
    MergedReview,
    Overall,
    ReviewerVerdict,
    ReviewResult,
    Severity,
    SideResult,
    Source,
    finding_order,
    note_order,
)

MAX_LINES_APART = 5
EXTRA_FEATURE = "extra_feature"
# These are met only by more code or more tests for what the spec review wants removed; what else a code
# review finds there, as a bug, is gone with it.
TYPES_THAT_ASK_FOR_MORE = frozenset({"error_handling", "testing"})

_ACTIONS: Mapping[Overall, Action] = {
    Overall.APPROVED: Action.PROCEED,
    Overall.APPROVED_WITH_MINOR: Action.PROCEED_WITH_NOTES,
    Overall.ISSUES: Action.FIX_AND_REREVIEW,
    Overall.SPEC_CRITICAL: Action.FIX_AND_REREVIEW,
    Overall.CODE_CRITICAL: Action.FIX_AND_REREVIEW,
}


def merge(spec: ReviewResult | None, code: ReviewResult | None) -> MergedReview:
    """Merge two reviews of one change; None is one that is missing, and is never an approval.

    Total, and the same for every order of the issues; one that is told twice counts once.
    """
    results = [one for one in (spec, code) if one is not None]
    groups = _group({finding for one in results for finding in one.findings})
    overall = _overall(spec, code)
    return MergedReview(
        overall=overall,
        action=_ACTIONS[overall] if overall and spec and code else None,
        spec=_side(spec),
        code=_side(code),
        groups=tuple(one for one in groups if not _is_conflict(one)),
        conflicts=tuple(one for one in groups if _is_conflict(one)),
        minor=tuple(sorted({note for one in results for note in one.minor}, key=note_order)),
    )


def _side(result: ReviewResult | None) -> SideResult | None:
    if result is None:
        return None
    return SideResult(verdict=result.counted_verdict, confidence=result.confidence, summary=result.summary)


def _overall(spec: ReviewResult | None, code: ReviewResult | None) -> Overall | None:
    """Apply spec 4's rule; without one of the two only issues count."""
    if _has_critical(spec):
        return Overall.SPEC_CRITICAL
    if _has_critical(code):
        return Overall.CODE_CRITICAL
    verdicts = [one.counted_verdict for one in (spec, code) if one is not None]
    if ReviewerVerdict.ISSUES in verdicts:
        return Overall.ISSUES
    if spec is None or code is None:
        return None
    is_minor = code.verdict is ReviewerVerdict.APPROVED_WITH_MINOR
    return Overall.APPROVED_WITH_MINOR if is_minor else Overall.APPROVED


def _has_critical(result: ReviewResult | None) -> bool:
    return result is not None and any(one.severity is Severity.CRITICAL for one in result.findings)


def _group(findings: Iterable[Finding]) -> list[Group]:
    """Put issues at one place together: same file, and no gap of more than five lines between neighbours."""
    groups = [
        Group(
            findings=tuple(sorted(members, key=finding_order)), priority=min(one.priority for one in members)
        )
        for members in _neighbours(sorted(findings, key=_place))
    ]
    return sorted(groups, key=lambda group: [finding_order(one) for one in group.findings])


def _place(one: Finding) -> tuple[object, ...]:
    return (one.file or "", one.line is not None, one.line or 0, finding_order(one))


def _neighbours(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Cut issues, sorted by place, where one is not near the one before it."""
    members: list[Finding] = []
    for one in findings:
        if members and not _is_near(members[-1], one):
            yield members
            members = []
        members.append(one)
    if members:
        yield members


def _is_near(one: Finding, other: Finding) -> bool:
    if not one.file or one.line is None or other.line is None:
        return False
    return one.file == other.file and abs(one.line - other.line) <= MAX_LINES_APART


def _is_conflict(group: Group) -> bool:
    """Whether the spec review wants something taken away where the code review asks for more."""
    is_extra = any(one.source is Source.SPEC and one.type == EXTRA_FEATURE for one in group.findings)
    return is_extra and any(
        one.source is Source.CODE and one.type in TYPES_THAT_ASK_FOR_MORE for one in group.findings
    )
