"""Decisions as they are published, for whoever has a clone: what a tag says of one."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field

from git_blackbird.model.base.ids import CheckedRunId, CheckedTaskId, ObjectId
from git_blackbird.model.base.record import Record
from git_blackbird.model.run.evidence import CheckResult
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import Trees

DECISION_REFS = "refs/blackbird/decisions/"
SHARED_REFS = f"{DECISION_REFS}*:{DECISION_REFS}*"
"""What is pushed and fetched of decisions."""
_LETTERS = 400
_Text = Annotated[str, Field(max_length=_LETTERS)]


class Decided(StrEnum):
    """What was decided on a change; nobody was asked about one that is ``ACCEPTED`` without a decision."""

    APPROVED = "approved"
    ACCEPTED = "accepted"
    BY_HAND = "by_hand"  # a person's own commit
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"
    UNDONE = "undone"
    REDONE = "redone"

    @property
    def words(self) -> str:
        match self:
            case Decided.ACCEPTED:
                return "accepted without a decision"
            case Decided.BY_HAND:
                return "done by hand"
            case _:
                return self.value.replace("_", " ")


HOLDING = frozenset({Decided.APPROVED, Decided.ACCEPTED, Decided.BY_HAND})
"""The decisions by which a commit may have a change."""


class PublishedCheck(Record):
    """The verdict of a check; ``tree`` is None where it was on files that are not published."""

    title: _Text
    command: _Text | None = None
    outcome: CheckOutcome
    tests: int | None = None
    tree: ObjectId | None = None

    @classmethod
    def of(cls, check: CheckResult, tests: int | None, tree: str | None) -> Self:
        """Return what is published of a verdict."""
        return cls(
            title=check.title[:_LETTERS],
            command=(check.command or "")[:_LETTERS] or None,
            outcome=check.outcome,
            tests=tests,
            tree=tree,
        )

    @property
    def words(self) -> str:
        is_bare = self.outcome is CheckOutcome.PASSED and self.tests is None
        label = "exit 0" if is_bare else self.outcome.replace("_", " ")
        return f"{self.title} {label}" + ("" if self.tests is None else f" ({self.tests} tests)")


class NamedDecision(Record):
    """A decision by its name, which is that of its run and a number, and the id of its tag."""

    name: Annotated[str, Field(max_length=80)]
    tag: ObjectId


class DecisionText(Record):
    """What the message of a tag says: ``root`` is the first commit of its repository, ``before`` what it is.

    ``before`` are the decisions that were the last ones, so that none of them can be left out unnoticed.
    """

    format: Literal[1] = 1
    root: ObjectId
    task: CheckedTaskId
    run: CheckedRunId
    decided: Decided
    at: _Text
    evidence: tuple[PublishedCheck, ...] = ()
    before: tuple[NamedDecision, ...] = ()


class PublishedDecision(NamedTuple):
    """A decision: the tag's name and id, what it says, who made it, whether that is signed, and its trees.

    There are no trees where it leaves no change to be committed.
    """

    name: str
    tag: str
    text: DecisionText
    by: str
    is_signed: bool
    trees: Trees | None

    @property
    def number(self) -> int:
        return int(self.name.rpartition("/")[2])


class Chain:
    """All decisions that a repository has, and what they say of those before them."""

    def __init__(self, decisions: Iterable[PublishedDecision]) -> None:
        self.by_name: Mapping[str, PublishedDecision] = {each.name: each for each in decisions}
        self.named = {
            before.name: (before.tag, later.name)
            for later in self.by_name.values()
            for before in later.text.before
        }
        self._by_run: dict[str, list[PublishedDecision]] = {}
        for each in sorted(self.by_name.values(), key=lambda one: one.number):
            self._by_run.setdefault(each.text.run, []).append(each)

    def on_run(self, run: str) -> list[PublishedDecision]:
        """Return the decisions on a run, oldest first."""
        return self._by_run.get(run, [])

    def on_task(self, task: str) -> list[PublishedDecision]:
        return [each for each in self.by_name.values() if each.text.task == task]

    @property
    def last(self) -> list[PublishedDecision]:
        """The decisions that none names as the one before."""
        return [each for each in self.by_name.values() if each.name not in self.named]

    def faults_at(self, names: Iterable[str]) -> Iterable[str]:
        """Say of each of these names that its decision is gone or another than a later one says."""
        for name in names:
            if name not in self.named:
                continue
            tag, later = self.named[name]
            there = self.by_name.get(name)
            if there is None:
                yield f"the decision {name} was withdrawn: it is gone, and {later} came after it"
            elif there.tag != tag:
                yield f"the decision {name} was edited: it is {there.tag[:12]}, and {later} names {tag[:12]}"

    @property
    def broken(self) -> list[str]:
        return [fault for name in self.named for fault in self.faults_at([name])]
