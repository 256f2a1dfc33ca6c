"""Decisions as they are published, for whoever has a clone: what a tag says of one."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field

from git_blackbird.model.base.ids import CheckedRunId, CheckedTaskId, ObjectId
from git_blackbird.model.base.record import Record, Unmasked
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.run.evidence import CheckResult
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import Trees

DECISION_REFS = "refs/blackbird/decisions/"
SHARED_REFS = f"{DECISION_REFS}*:{DECISION_REFS}*"
"""What is pushed and fetched of decisions."""
DECISION_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}/[1-9][0-9]{0,5}$"
_Text = Annotated[str, Field(max_length=1000)]
# Of a command, whose secrets are masked afterwards.
_LETTERS = 300


class Decided(StrEnum):
    """What was decided on a change; nobody was asked about one that is just ``ACCEPTED``."""

    APPROVED = "approved"
    ACCEPTED = "accepted"
    BY_HAND = "by_hand"  # a person's own commit
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"
    UNDONE = "undone"
    REDONE = "redone"

    @property
    def words(self) -> str:
        return "accepted unasked" if self is Decided.ACCEPTED else self.value.replace("_", " ")


HOLDING = frozenset({Decided.APPROVED, Decided.ACCEPTED, Decided.BY_HAND})
"""The decisions by which a commit may have a change."""


class PublishedCheck(Record):
    """The verdict of a check, how many tests it ran, and on which tree, if that is published."""

    title: _Text
    command: _Text | None = None
    outcome: CheckOutcome
    tests: int | None = None
    tree: Unmasked[ObjectId | None] = None

    @classmethod
    def of(cls, check: CheckResult, tests: int | None, tree: str | None) -> Self:
        """Return what is published of a verdict."""
        command = None if check.command is None else check.command[:_LETTERS]
        title = check.title[:_LETTERS]
        return cls(title=title, command=command, outcome=check.outcome, tests=tests, tree=tree)

    @property
    def words(self) -> str:
        is_bare = self.outcome is CheckOutcome.PASSED and self.tests is None
        label = "exit 0" if is_bare else self.outcome.replace("_", " ")
        return f"{self.title} {label}" + ("" if self.tests is None else f" ({self.tests} tests)")


class DecisionText(Record):
    """What the message of a tag says; ``root`` is the first commit of its repository.

    ``before`` are the decisions that were the last ones, by name, each with the id of its tag, so that none
    of them can be left out unnoticed.
    """

    format: Literal[1] = 1
    root: ObjectId
    task: CheckedTaskId
    run: CheckedRunId
    decided: Decided
    at: _Text
    evidence: tuple[PublishedCheck, ...] = ()
    before: Mapping[Annotated[str, Field(pattern=DECISION_NAME)], ObjectId] = Field(default_factory=dict)


def number_of(name: str) -> int:
    """Return the number in the name of a decision."""
    return int(name.rpartition("/")[2])


class PublishedDecision(NamedTuple):
    """A decision; its name is that of its run and a number.

    There are no trees where it leaves no change to be committed.
    """

    name: Annotated[str, Shown("Its name.")]
    tag: Annotated[str, Shown("The id of its tag.")]
    text: Annotated[DecisionText, Shown("What it says.")]
    by: Annotated[str, Shown("Who published it, as the tag says.")]
    is_signed: Annotated[bool, Shown("Whether it has a signature, good or not.")]
    trees: Trees | None

    @property
    def number(self) -> int:
        return number_of(self.name)


class Chain:
    """All decisions that a repository has, by name and by run, and what they say of those before them.

    ``faults`` say by run which decisions are gone, or not those that a later one names. ``last`` are the tags
    of those that none names. ``unread`` has by run the names that are taken by what is no decision, and
    ``numbers`` the highest one in a name.
    """

    def __init__(self, decisions: Iterable[PublishedDecision], unread: Sequence[str] = ()) -> None:
        self.by_name = {each.name: each for each in sorted(decisions, key=lambda one: one.number)}
        self.unread: defaultdict[str, list[str]] = defaultdict(list)
        for taken in unread:
            self.unread[taken.partition("/")[0]].append(taken)
        self.numbers: defaultdict[str, int] = defaultdict(int)
        for name in sorted((*self.by_name, *unread), key=number_of):
            self.numbers[name.partition("/")[0]] = number_of(name)
        self.by_run: defaultdict[str, list[PublishedDecision]] = defaultdict(list)
        self.faults: defaultdict[str, list[str]] = defaultdict(list)
        self.last = {each.name: each.tag for each in self.by_name.values()}
        for each in self.by_name.values():
            self.by_run[each.text.run].append(each)
            for name, tag in each.text.before.items():
                self.last.pop(name, None)
                there, run = self.by_name.get(name), name.partition("/")[0]
                if name in self.unread.get(run, ()):
                    why = f"cannot be read, and {each.name} names it"
                elif there is None:
                    why = f"was withdrawn: it is gone, and {each.name} came after it"
                else:
                    why = f"was edited: it is {there.tag[:12]}, and {each.name} names {tag[:12]}"
                if there is None or there.tag != tag:
                    self.faults[run].append(f"the decision {name} {why}")
