"""The findings of a spec review and a code review of one change, each and merged."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from git_blackbird.model.base.ids import CheckedRunId, RunId
from git_blackbird.model.base.record import Record
from git_blackbird.model.run.states import ReviewerVerdict


class Source(StrEnum):
    """Which of the two reviews."""

    SPEC = "spec"
    CODE = "code"


class Severity(StrEnum):
    """The severity of an issue; both block."""

    CRITICAL = "critical"
    IMPORTANT = "important"


class Confidence(StrEnum):
    """The reviewer's confidence."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class MergedVerdict(StrEnum):
    """The verdict of both reviews together."""

    APPROVED = "APPROVED"
    APPROVED_WITH_MINOR = "APPROVED_WITH_MINOR"
    ISSUES = "ISSUES"
    SPEC_CRITICAL = "SPEC_CRITICAL"
    CODE_CRITICAL = "CODE_CRITICAL"


class FollowUp(StrEnum):
    """The action after both reviews."""

    FIX_AND_REREVIEW = "FIX_AND_REREVIEW"
    PROCEED = "PROCEED"
    PROCEED_WITH_NOTES = "PROCEED_WITH_NOTES"


class Finding(Record):
    """An issue. ``line`` counts from 1; ``type`` is a known word or the reviewer's own."""

    source: Source
    type: str
    severity: Severity
    description: str
    file: str | None = None
    line: int | None = None
    requirement: str | None = None
    fix: str | None = None

    @property
    def priority(self) -> int:
        """Its rank: critical before important, then the spec review's issues first."""
        return 2 * (self.severity is Severity.IMPORTANT) + 1 + (self.source is Source.CODE)


class MinorIssue(Record):
    """An observation that does not block."""

    description: str
    file: str | None = None
    line: int | None = None


class ReviewResult(Record):
    """One reviewer's original answer; ``checked`` lists what the reviewer looked at."""

    source: Source
    verdict: ReviewerVerdict
    confidence: Confidence | None = None
    findings: tuple[Finding, ...] = ()
    minor: tuple[MinorIssue, ...] = ()
    checked: tuple[str, ...] = ()
    summary: str = ""

    @property
    def counted_verdict(self) -> ReviewerVerdict:
        """The verdict as it counts: an approval with issues is not finding."""
        return ReviewerVerdict.ISSUES if self.findings else self.verdict


class ReviewerSummary(Record):
    """One side of a merged review; ``verdict`` is the effective one."""

    verdict: ReviewerVerdict
    confidence: Confidence | None = None
    summary: str = ""
    run_id: CheckedRunId | None = None


class FindingGroup(Record):
    """Issues at one place, by priority; a group of one is an ordinary issue."""

    findings: tuple[Finding, ...]
    priority: int

    @property
    def is_related(self) -> bool:
        return len(self.findings) > 1


class MergedReview(Record):
    """Both reviews of one change merged.

    A side is None if its review is missing; then ``action`` is None as well, and so is ``overall`` unless the
    other side has issues. A group is either in ``groups`` or, if the two reviews contradict each other, in
    ``conflicts``.
    """

    overall: MergedVerdict | None = None
    action: FollowUp | None = None
    spec: ReviewerSummary | None = None
    code: ReviewerSummary | None = None
    groups: tuple[FindingGroup, ...] = ()
    conflicts: tuple[FindingGroup, ...] = ()
    minor: tuple[MinorIssue, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every issue, by priority, including those in conflicts."""
        unsorted = [finding for group in (*self.groups, *self.conflicts) for finding in group.findings]
        return tuple(sorted(unsorted, key=finding_order))

    @property
    def missing(self) -> tuple[Source, ...]:
        sides = {Source.SPEC: self.spec, Source.CODE: self.code}
        return tuple(source for source, side in sides.items() if side is None)

    @property
    def is_approval(self) -> bool:
        """Whether both reviews exist and neither requests changes."""
        return not self.missing and self.action in {FollowUp.PROCEED, FollowUp.PROCEED_WITH_NOTES}

    def with_runs(self, spec: RunId | None, code: RunId | None) -> "MergedReview":
        sides = {
            "spec": self.spec and self.spec.model_copy(update={"run_id": spec}),
            "code": self.code and self.code.model_copy(update={"run_id": code}),
        }
        return self.model_copy(update=sides)


def _present(value: int | str | None) -> tuple[int | str, ...]:
    """Return a value as part of a sort key: None sorts first and differs from empty."""
    return () if value is None else (value,)


def finding_order(finding: Finding) -> tuple[object, ...]:
    return (
        finding.priority,
        _present(finding.file),
        _present(finding.line),
        finding.type,
        finding.description,
        _present(finding.requirement),
        _present(finding.fix),
    )


def note_order(note: MinorIssue) -> tuple[object, ...]:
    return _present(note.file), _present(note.line), note.description


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
    """Derive the verdict of both reviews; if one of the two is missing, only issues count."""
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
