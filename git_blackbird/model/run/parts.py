"""Our parts of a run's record, beside the fields of the Go program; none can be in an impossible state."""

from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, WithJsonSchema

from git_blackbird.model.base.ids import CheckedRunId, ObjectId
from git_blackbird.model.base.record import Part, Record
from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.run.check import CheckResult
from git_blackbird.model.run.comment import ReviewComment
from git_blackbird.model.run.outside import NOTHING, Outside
from git_blackbird.model.run.parent_verdict import Dismissal
from git_blackbird.model.run.states import LandingState, Requester, ReviewState, TerminalReason
from git_blackbird.model.run.summary import Trees

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
        """The ruling as the answer to its question."""
        return Answer(id=self.question.id, value=self.decision or self.told)

    @property
    def quote(self) -> str:
        """The ruling as a change request quotes it above what is to be instead."""
        decided = f"You decided: {self.decision or 'what you did not say'}"
        lines = strip_controls(f"{self.question.prompt}\n{decided}").splitlines()
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


class Superseded(Part):
    """When a run stopped to count, and the run or command that superseded it."""

    at: str
    by: str


class Said(Part):
    """What went to the agent, and what it asked.

    ``prompt`` is that of a resume, ``message`` a person's text with it. ``told`` is what a person said while
    it worked, which the next run is sent. ``rulings`` are on questions that it was to decide itself.
    ``by_hand``: a person spoke with it at a terminal, and nothing was sent.
    """

    prompt: str | None = None
    message: str | None = None
    told: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    answers: tuple[Answer, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    by_hand: bool = False

    @property
    def told_text(self) -> str | None:
        """What was said while it worked, as one text; None for nothing."""
        return "\n\n".join(text.strip("\n") for text in self.told) or None


class AgentFacts(Part):
    """The agent's version, its last message, and what it reports to have used.

    ``raw_totals`` are the totals of the session as the agent counts them, ``model`` the model that it was
    told to use.
    """

    version: str | None = None
    model: str | None = None
    result: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    raw_totals: dict[str, float] | None = None


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


class Logs(Part):
    """What the logs and the record lack of the output.

    In ``not_kept`` the bytes that the log does not contain; in ``tail_of`` all that were printed, if the
    record has only their end; in ``redacted`` how many secrets were masked, by their kinds.
    """

    not_kept: TruncatedBytes | None = None
    tail_of: TruncatedBytes | None = None
    redacted: dict[str, int] | None = None


class Heads(Part):
    """What HEAD was at when the run began, and when it ended; ``log`` is the size of its reflog in bytes."""

    branch: str | None = None
    commit: ObjectId | None = None
    log: int | None = None
    end_commit: ObjectId | None = None
    end_branch: str | None = None


class Snapshots(Part):
    """The worktree at both ends of the run.

    ``base`` includes what others committed meanwhile: it is not part of the change. ``submodules`` are
    digests of uncommitted changes in submodules when the run began. ``late``: the head was taken after a
    crash, or at the landing.
    """

    base: ObjectId
    head: ObjectId | None = None
    submodules: dict[str, str] | None = None
    late: bool = False


class Worktree(Part):
    """The worktree of its own in which the agent worked.

    ``base`` is the tree that the task's change begins with there, taken at ``base_at``: what landed later is
    not in it. ``home_branch`` is the branch that the user was on then.
    """

    path: str
    base: ObjectId | None = None
    base_at: str | None = None
    home_branch: str | None = None


class ForeignEdits(Part):
    """Changes of the plan and the configuration while the agent worked, one line each."""

    plan: tuple[str, ...] = ()
    config: tuple[str, ...] = ()


class Reviewed(Part):
    """The result of the reviews of the run's change: their round, and both merged (``model.findings``)."""

    round: int
    merged: dict[str, Any]


class Opinion(Part):
    """The result of one reviewer's run: the run whose change it judged, and what it found."""

    run: CheckedRunId
    round: int
    result: dict[str, Any] | None = None


class DecisionFacts(Part):
    """What belongs to the decision beside the Go program's fields.

    ``by`` is who requested changes, if no person did; ``shown`` what was decided on; ``in_part``: on files
    that were named, none with a conflict. ``approved_on`` is the branch that the commit of an approval is to
    go to, "HEAD" if none. ``escalated``: it is due only because of a check, reviews or the landing.
    ``comments`` are those on lines of the change. ``hook_output`` is that of a hook that refused the commit.
    """

    by: Requester | None = None
    shown: RecordedTrees | None = None
    in_part: bool = False
    approved_on: str | None = None
    escalated: bool = False
    comments: tuple[ReviewComment, ...] = ()
    hook_output: str | None = None


class Merge(Part):
    """The user's worktree without the change and with it.

    ``additions`` are the paths where both sides added lines, and ``head`` has both.
    """

    trees: RecordedTrees
    additions: tuple[str, ...] = ()


class Brought(Part):
    """The merge with which a change was sent back, and that its worktree is brought to.

    ``change`` is what was merged, ``merge`` the user's worktree without it and with it, conflicts included.
    """

    change: RecordedTrees
    merge: RecordedTrees


class _Unlanded(Part):
    """A change that has not landed.

    ``begun`` is the merge of which some files may be written, ``offered`` the one that a person is asked
    about. ``check`` is what the check says of the merged files.
    """

    brought: Brought | None = None
    begun: Merge | None = None
    offered: Merge | None = None
    check: CheckResult | None = None


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
    check: CheckResult | None = None


Landing = Annotated[LandingDue | LandingBlocked | Landed, Field(discriminator="state")]


class Undone(Part):
    """The change was taken back out of the worktree.

    ``trees`` are the worktree before that and after it, ``left`` are the paths that stayed as they are,
    ``commit`` is the commit that was made for it; ``uncommitted``: git refused to make one. ``redone``: it
    was brought back, but not in full, and these are of that.
    """

    at: str
    trees: RecordedTrees
    left: tuple[str, ...] = ()
    commit: ObjectId | None = None
    uncommitted: bool = False
    redone: bool = False

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


class Undoing(Part):
    """An undo or redo has begun, and is not complete; ``trees`` have the change, and have it not."""

    verb: Literal["undo", "redo"]
    trees: RecordedTrees


class Own(Part):
    """Our parts of a record; as an argument of ``Run.with_own`` only those to change.

    ``notes`` are remarks for people. ``no_change``: it succeeded, and no run of its task since the task was
    last done changed a file. ``commits`` were made in the run or by its approval, oldest first. ``turn``:
    when its task was first sent back by a landing: those sent back later land after it. ``task_since``: when
    the task had last changed before this resume; so it is again if no agent is reached. ``status_since``:
    when the status began that its task has by this run, where no other time says so. ``undos``: every undo
    and redo that noted its end here, oldest first.
    """

    program: str | None = None
    resumes: CheckedRunId | None = None
    superseded: Superseded | None = None
    terminal_reason: TerminalReason | None = None
    way_out: str | None = None
    limit: UsageLimit | None = None
    no_change: bool = False
    notes: tuple[str, ...] = ()
    said: Said = Said()
    agent: AgentFacts = AgentFacts()
    process: Process | None = None
    logs: Logs = Logs()
    heads: Heads = Heads()
    snapshots: Snapshots | None = None
    worktree: Worktree | None = None
    commits: tuple[ObjectId, ...] = ()
    edits: ForeignEdits = ForeignEdits()
    outside: Outside = NOTHING
    check: CheckResult | None = None
    review: ReviewState | None = None
    reviewed: Reviewed | None = None
    opinion: Opinion | None = None
    decision: DecisionFacts = DecisionFacts()
    landing: Landing | None = None
    undone: Undone | None = None
    undoing: Undoing | None = None
    undos: tuple[PastUndo, ...] = ()
    turn: str | None = None
    task_since: str | None = None
    status_since: str | None = None
    dismissed: Dismissal | None = None
