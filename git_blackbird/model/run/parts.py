"""The parts of a run's record that are a choice, or that go together; none can be in an impossible state."""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import (
    AliasChoices,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from git_blackbird.clean import clean
from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.base.record import LateModel, Part, Record, Unmasked
from git_blackbird.model.run.states import VERBS, LandingState, Verb
from git_blackbird.model.run.summary import Trees

if TYPE_CHECKING:
    from git_blackbird.model.run.broken import Broken
    from git_blackbird.model.run.evidence import Evidence


def _broken() -> "type[Broken]":
    from git_blackbird.model.run.broken import Broken

    return Broken


def _evidence() -> "type[Evidence]":
    from git_blackbird.model.run.evidence import Evidence

    return Evidence


if TYPE_CHECKING:
    RecordedBroken: TypeAlias = Broken | None
    RecordedEvidence: TypeAlias = Evidence | None
else:
    RecordedBroken = Annotated[Any, LateModel(_broken)]
    RecordedEvidence = Annotated[Any, LateModel(_evidence)]


class Side(StrEnum):
    """Whether lines are numbered as before the change or after it."""

    OLD = "old"
    NEW = "new"


class ReviewComment(Record):
    """A comment on the lines ``start`` to ``end`` of a file; both are 0 for one on the file as a whole.

    ``quoted`` has these lines as the patch has them, each with its mark; a long range is cut.
    """

    path: str
    side: Side
    start: int
    end: int
    quoted: str = ""
    text: str = ""

    @property
    def place(self) -> tuple[str, Side, int, int]:
        """Its lines: there is one comment at a place."""
        return self.path, self.side, self.start, self.end

    @property
    def is_on_file(self) -> bool:
        return self.end == 0

    def overlaps(self, other: "ReviewComment") -> bool:
        """Whether both are about one line."""
        is_one_file = (self.path, self.side) == (other.path, other.side)
        return is_one_file and self.start <= other.end and other.start <= self.end


_TREES_SCHEMA = {"type": "object", "additionalProperties": {"type": "string"}, "required": ["base", "head"]}
RecordedTrees = Annotated[Trees, PlainSerializer(Trees._asdict), WithJsonSchema(_TREES_SCHEMA)]


class Question(Record):
    """A question of an agent; ``options`` are the expected answers.

    ``destructive`` is False where the agent says that no answer destroys anything, else None.
    """

    id: str
    prompt: str
    options: tuple[str, ...] = ()
    destructive: Literal[False] | None = None


class Answer(Record):
    """A person's answer to the question with that id."""

    id: str
    value: str


class Ruling(Part):
    """A question that an agent was ``told`` to decide itself; it may not have said its ``decision``."""

    question: Question
    told: str
    decision: str | None = None
    reason: str | None = None

    @property
    def answer(self) -> Answer:
        return Answer(id=self.question.id, value=self.decision or self.told)

    @property
    def quote(self) -> str:
        """The ruling as a change request quotes it above the person's."""
        decided = f"You decided: {self.decision or 'what you did not say'}"
        lines = clean(f"{self.question.prompt}\n{decided}").splitlines()
        return "\n".join(f"> {line}".rstrip() for line in lines)

    def is_overruled(self, texts: Iterable[str]) -> bool:
        """Whether one of these requests to the agent quotes it, in lines of its own."""
        return any(f"\n{self.quote}\n" in f"\n{text}\n" for text in texts)

    def is_bare_in(self, text: str) -> bool:
        """Whether a request quotes it, and says nothing below that."""
        _, quote, rest = f"\n{text}\n".partition(f"\n{self.quote}\n")
        said = rest.strip()
        return bool(quote) and (not said or said.startswith(">"))

    def decided(self, decision: str | None = None, reason: str | None = None) -> "Ruling":
        """Return a copy with a decision; the same without one."""
        known = {"decision": decision, "reason": reason}
        return self if decision is None else self.model_copy(update=known)


class Usage(Record):
    """Tokens of one run, as differences, not session totals."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class TruncatedBytes(Record):
    """Bytes of each stream."""

    stdout: int = 0
    stderr: int = 0


class UsageLimit(Part):
    """The usage limit that ended a run, and when; ``until`` is when it is over, as its provider said."""

    at: str
    until: str | None = None


class LocalProcess(Part):
    """The agent's process on this machine; ``identity`` distinguishes it from a later one of that id."""

    kind: Literal["local"] = "local"
    pid: int
    identity: str


class RemoteProcess(Part):
    """The agent's process on a worker of a cluster, once the name of that is known."""

    kind: Literal["remote"] = "remote"
    worker: str | None = None


Process = Annotated[LocalProcess | RemoteProcess, Field(discriminator="kind")]


class Worktree(Part):
    """The worktree of its own in which the agent worked.

    ``base`` is the tree that the task's change begins with there, taken at ``base_at``: what landed later is
    not in it. ``home_branch`` is the branch that the user was on then.
    """

    path: str
    base: ObjectId | None = None
    base_at: str | None = None
    home_branch: str | None = None


class Merge(Part):
    """The user's worktree without the change and with it.

    ``additions`` are the paths where both sides added lines, and ``head`` has both.
    """

    trees: RecordedTrees
    additions: Unmasked[tuple[str, ...]] = ()


class Moving(Part):
    """A move of the user's worktree that has begun: some of its files are written, or all, or none.

    ``trees`` are the worktree before it and after it. ``additions`` are as of a ``Merge``.
    """

    verb: Verb
    trees: RecordedTrees
    additions: Unmasked[tuple[str, ...]] = ()

    @property
    def ended_by(self) -> Verb:
        """The verb that ends it if nothing is to land: half a landing is undone."""
        return VERBS[self.verb].back if self.verb is Verb.LAND else self.verb

    def trees_for(self, verb: Verb) -> Trees:
        """Return its trees in the direction of a verb that completes or reverses it."""
        is_same = VERBS[self.verb].takes_back is VERBS[verb].takes_back
        return self.trees if is_same else Trees(self.trees.head, self.trees.base)


class ConflictMerge(Part):
    """The merge with which a change was sent back, and that its worktree is brought to.

    ``change`` is what was merged, ``merge`` the user's worktree without it and with it, conflicts included.
    """

    change: RecordedTrees
    merge: RecordedTrees


# A check was all of the evidence once.
_IN_LANDING = AliasChoices("evidence", "check")


class _Unlanded(Part):
    """A change that has not landed.

    ``offered`` is the merge that a person is asked about, ``evidence`` what is known of the merged files.
    """

    brought: ConflictMerge | None = None
    offered: Merge | None = None
    evidence: RecordedEvidence = Field(default=None, validation_alias=_IN_LANDING)


class LandingDue(_Unlanded):
    """A change that lands as soon as nothing else is to be done about it."""

    state: Literal[LandingState.DUE] = LandingState.DUE


class LandingBlocked(_Unlanded):
    """A change that could not land, and why; ``gone``: it never can, for nothing has it any more."""

    state: Literal[LandingState.BLOCKED] = LandingState.BLOCKED
    reason: str
    gone: bool = False


class Landed(Part):
    """A change that is in the user's worktree; ``uncommitted`` is why its commit was refused."""

    state: Literal[LandingState.LANDED] = LandingState.LANDED
    at: str
    merge: Merge
    uncommitted: str | None = None
    evidence: RecordedEvidence = Field(default=None, validation_alias=_IN_LANDING)


Landing = Annotated[LandingDue | LandingBlocked | Landed, Field(discriminator="state")]


class Undone(Part):
    """The change was taken back out of the worktree.

    ``trees`` are the worktree before that and after it, ``left`` are the paths that stayed as they are,
    ``commit`` is the commit that was made for it; ``uncommitted``: git refused to make one. ``redone``: it
    was brought back, but not in full, and these are of that.
    """

    at: str
    trees: RecordedTrees
    left: Unmasked[tuple[str, ...]] = ()
    commit: ObjectId | None = None
    uncommitted: bool = False
    redone: bool = False

    @property
    def verb(self) -> Verb:
        """What was done with the change last."""
        return Verb.REDO if self.redone else Verb.UNDO

    def has(self, path: bytes) -> bool:
        """Whether the change is in the worktree at a path of its own."""
        return self.redone is not (path.decode(errors="replace") in self.left)

    def settled(self, paths: Collection[str]) -> "Undone | None":
        """Return it with these paths as they should be; None if all is brought back."""
        left = tuple(path for path in self.left if path not in paths)
        is_back = self.redone and not left and not self.uncommitted
        return None if is_back else self.model_copy(update={"left": left})


class PastUndo(Part):
    """An undo or a redo that is over: the worktree before it and after it."""

    at: str
    trees: RecordedTrees
