"""What a spec review and a code review of one change found, each alone and merged (spec 4, DESIGN.md 7)."""

from dataclasses import dataclass, replace
from enum import StrEnum

from git_blackbird.model.ids import RunId
from git_blackbird.model.recorded import Recorded


class Source(StrEnum):
    """Which of the two reviews."""

    SPEC = "spec"
    CODE = "code"


class Severity(StrEnum):
    """How much an issue weighs; both block."""

    CRITICAL = "critical"
    IMPORTANT = "important"


class ReviewerVerdict(StrEnum):
    """What one reviewer decided; a spec review knows no ``APPROVED_WITH_MINOR``."""

    APPROVED = "APPROVED"
    APPROVED_WITH_MINOR = "APPROVED_WITH_MINOR"
    ISSUES = "ISSUES"


class Confidence(StrEnum):
    """How sure a reviewer is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Overall(StrEnum):
    """The verdict of both reviews together."""

    APPROVED = "APPROVED"
    APPROVED_WITH_MINOR = "APPROVED_WITH_MINOR"
    ISSUES = "ISSUES"
    SPEC_CRITICAL = "SPEC_CRITICAL"
    CODE_CRITICAL = "CODE_CRITICAL"


class Action(StrEnum):
    """What is to be done after both reviews."""

    FIX_AND_REREVIEW = "FIX_AND_REREVIEW"
    PROCEED = "PROCEED"
    PROCEED_WITH_NOTES = "PROCEED_WITH_NOTES"


@dataclass(frozen=True, kw_only=True)
class Finding(Recorded):
    """An issue. ``line`` counts from 1; ``type`` is one of spec 4's words or what the reviewer wrote."""

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
        """The place in spec 4's order: critical before important, in each the spec review's first."""
        return 2 * (self.severity is Severity.IMPORTANT) + 1 + (self.source is Source.CODE)


@dataclass(frozen=True, kw_only=True)
class MinorNote(Recorded):
    """An observation that blocks nothing."""

    description: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReviewResult(Recorded):
    """One reviewer's answer, as it gave it; ``checked`` is what it says it looked at."""

    source: Source
    verdict: ReviewerVerdict
    confidence: Confidence | None = None
    findings: tuple[Finding, ...] = ()
    minor: tuple[MinorNote, ...] = ()
    checked: tuple[str, ...] = ()
    summary: str = ""

    @property
    def counted_verdict(self) -> ReviewerVerdict:
        """The verdict as it counts: an approval with issues is none."""
        return ReviewerVerdict.ISSUES if self.findings else self.verdict


@dataclass(frozen=True, kw_only=True)
class SideResult(Recorded):
    """One review in a merged one; ``verdict`` is the one that counts."""

    verdict: ReviewerVerdict
    confidence: Confidence | None = None
    summary: str = ""
    run_id: RunId | None = None


@dataclass(frozen=True, kw_only=True)
class Group(Recorded):
    """Issues at one place, by priority; a group of one is an ordinary issue."""

    findings: tuple[Finding, ...]
    priority: int

    @property
    def is_related(self) -> bool:
        """Whether several issues are about one place."""
        return len(self.findings) > 1


@dataclass(frozen=True, kw_only=True)
class MergedReview(Recorded):
    """Both reviews of one change as one.

    A side is None where its review is missing; then ``action`` is None as well, and ``overall`` too unless
    the other side has issues. A group is either in ``groups`` or, where the two reviews ask for opposite
    things, in ``conflicts``.
    """

    overall: Overall | None = None
    action: Action | None = None
    spec: SideResult | None = None
    code: SideResult | None = None
    groups: tuple[Group, ...] = ()
    conflicts: tuple[Group, ...] = ()
    minor: tuple[MinorNote, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every issue, by priority, those of conflicts among them."""
        found = [one for group in (*self.groups, *self.conflicts) for one in group.findings]
        return tuple(sorted(found, key=finding_order))

    @property
    def missing(self) -> tuple[Source, ...]:
        """The reviews that are not there."""
        sides = {Source.SPEC: self.spec, Source.CODE: self.code}
        return tuple(source for source, side in sides.items() if side is None)

    @property
    def is_approval(self) -> bool:
        """Whether both reviews are there and neither wants anything changed."""
        return not self.missing and self.action in {Action.PROCEED, Action.PROCEED_WITH_NOTES}

    def with_runs(self, spec: RunId | None, code: RunId | None) -> "MergedReview":
        """Give the review naming the runs its sides came from."""
        return replace(
            self,
            spec=self.spec and replace(self.spec, run_id=spec),
            code=self.code and replace(self.code, run_id=code),
        )


def _present(value: int | str | None) -> tuple[int | str, ...]:
    """Give a value as a part of a sort key: nothing comes first, and is not the same as what is empty."""
    return () if value is None else (value,)


def finding_order(one: Finding) -> tuple[object, ...]:
    """The key that sorts issues by priority and then by place, whatever order they came in."""
    return (
        one.priority,
        _present(one.file),
        _present(one.line),
        one.type,
        one.description,
        _present(one.requirement),
        _present(one.fix),
    )


def note_order(one: MinorNote) -> tuple[object, ...]:
    """The key that sorts notes by place."""
    return _present(one.file), _present(one.line), one.description
