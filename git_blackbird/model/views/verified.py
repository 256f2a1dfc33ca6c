"""What holding commits against decisions found."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from git_blackbird.model.base.shown import Shown
from git_blackbird.model.run.published import PublishedCheck, PublishedDecision


class RangeCommit(NamedTuple):
    """A commit of a range, and the tasks and runs that its message names."""

    oid: Annotated[str, Shown("Its id.", "commit")]
    subject: Annotated[str, Shown("The first line of its message.")]
    tasks: Annotated[tuple[str, ...], Shown("The tasks that it names.")]
    runs: Annotated[tuple[str, ...], Shown("The runs that it names.")]
    tree: str
    parents: tuple[str, ...]

    @property
    def is_marked(self) -> bool:
        return bool(self.tasks or self.runs)


@dataclass(frozen=True)
class VerifiedCommit:
    """A commit, against the decisions that it names."""

    commit: Annotated[RangeCommit, Shown("", is_spread=True)]
    fault: Annotated[str | None, Shown("Why it is not what was decided on; null if it is.")] = None
    paths: Annotated[tuple[str, ...], Shown("The files where it differs.")] = ()
    decisions: Annotated[tuple[PublishedDecision, ...], Shown("The decisions on it.")] = ()
    signers: Annotated[tuple[str, ...], Shown("Whose signatures of these are good.")] = ()
    evidence: Annotated[tuple[PublishedCheck, ...], Shown("What checks said.")] = ()
    has_evidence: Annotated[bool, Shown("Whether they said so of the files of this commit.")] = False


@dataclass(frozen=True)
class Verification:
    """What became of the commits of a range."""

    range: Annotated[str, Shown("The commits that were looked at, by their ids.")]
    commits: Annotated[
        tuple[VerifiedCommit, ...],
        Shown("Those that name a task or a run, oldest first; with --require all but plain merges."),
    ]
    others: Annotated[int, Shown("How many others there are, which are not judged.")]
    is_signed: Annotated[bool, Shown("Whether signatures were asked for.")]
    broken: Annotated[tuple[str, ...], Shown("Decisions that are gone, or not as a later one says.")] = ()
    rolled_back: Annotated[str | None, Shown("Why the decisions do not go on from --since.")] = None

    @property
    def faulty(self) -> tuple[VerifiedCommit, ...]:
        return tuple(each for each in self.commits if each.fault is not None)

    @property
    def holds(self) -> Annotated[bool, Shown("Whether all of them hold.")]:
        return not self.faulty and self.rolled_back is None
