"""What holding commits against decisions found."""

from dataclasses import dataclass
from typing import Annotated

from git_blackbird.model.base.shown import Shown
from git_blackbird.model.run.published import PublishedCheck, PublishedDecision


@dataclass(frozen=True)
class VerifiedCommit:
    """A commit that names a task or a run, against the decisions on them.

    ``has_evidence``: what is known of a decision's files is known of the commit's.
    """

    oid: str
    subject: str
    tasks: tuple[str, ...]
    runs: tuple[str, ...]
    decisions: tuple[PublishedDecision, ...] = ()
    signers: tuple[str, ...] = ()
    fault: str | None = None
    paths: tuple[str, ...] = ()
    has_evidence: bool = False
    checked: tuple[PublishedCheck, ...] = ()

    @property
    def evidence(self) -> tuple[PublishedCheck, ...]:
        """The verdicts that were published with the decisions, or those on the commit's own files."""
        if self.checked:
            return self.checked
        return tuple(check for each in self.decisions for check in each.text.evidence)

    @property
    def is_checked_elsewhere(self) -> bool:
        """Whether there are verdicts, and none is on the files of this commit."""
        return bool(self.evidence) and not self.has_evidence and not self.checked


@dataclass(frozen=True)
class Verification:
    """What became of the commits of a range; those without a mark are neither good nor bad.

    ``broken`` says which decisions are not as later ones say; ``is_strict``: a commit without a mark is a
    fault.
    """

    range: Annotated[str, Shown("The commits that were looked at.")]
    commits: tuple[VerifiedCommit, ...]
    unmarked: tuple[VerifiedCommit, ...]
    merges: int
    decisions: int
    broken: tuple[str, ...] = ()
    rolled_back: str | None = None
    is_strict: bool = False

    @property
    def faulty(self) -> tuple[VerifiedCommit, ...]:
        strict = self.unmarked if self.is_strict else ()
        return tuple(each for each in (*self.commits, *strict) if each.fault is not None)

    @property
    def holds(self) -> bool:
        return not self.faulty and self.rolled_back is None
