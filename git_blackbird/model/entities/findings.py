"""The findings of a spec review and a code review of one change, each and merged (spec 4, DESIGN.md 7)."""

from enum import StrEnum

from git_blackbird.model.base.ids import CheckedRunId, RunId
from git_blackbird.model.base.record import Record


class Source(StrEnum):
    """Which of the two reviews."""

    SPEC = "spec"
    CODE = "code"


class Severity(StrEnum):
    """The severity of an issue; both block."""

    CRITICAL = "critical"
    IMPORTANT = "important"


class ReviewerVerdict(StrEnum):
    """The verdict of one reviewer; a spec review has no ``APPROVED_WITH_MINOR``."""

    APPROVED = "APPROVED"
    APPROVED_WITH_MINOR = "APPROVED_WITH_MINOR"
    ISSUES = "ISSUES"


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
    """An issue. ``line`` counts from 1; ``type`` is one of spec 4's words or the reviewer's own."""

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
        """Its rank in spec 4's order: critical before important, then the spec review's issues first."""
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
        """Whether the group has several issues."""
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
        found = [finding for group in (*self.groups, *self.conflicts) for finding in group.findings]
        return tuple(sorted(found, key=finding_order))

    @property
    def missing(self) -> tuple[Source, ...]:
        """The missing reviews."""
        sides = {Source.SPEC: self.spec, Source.CODE: self.code}
        return tuple(source for source, side in sides.items() if side is None)

    @property
    def is_approval(self) -> bool:
        """Whether both reviews exist and neither requests changes."""
        return not self.missing and self.action in {FollowUp.PROCEED, FollowUp.PROCEED_WITH_NOTES}

    def with_runs(self, spec: RunId | None, code: RunId | None) -> "MergedReview":
        """Return the review with the run ids of its sides."""
        sides = {
            "spec": self.spec and self.spec.model_copy(update={"run_id": spec}),
            "code": self.code and self.code.model_copy(update={"run_id": code}),
        }
        return self.model_copy(update=sides)


def _present(value: int | str | None) -> tuple[int | str, ...]:
    """Return a value as part of a sort key: None sorts first and differs from empty."""
    return () if value is None else (value,)


def finding_order(finding: Finding) -> tuple[object, ...]:
    """The sort key of issues: by priority and then by place."""
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
    """The sort key of notes: by place."""
    return _present(note.file), _present(note.line), note.description
