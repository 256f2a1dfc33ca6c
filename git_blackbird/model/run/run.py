"""A run: one start of one agent on one task, as in its record."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from git_blackbird.model.base.ids import (
    CheckedOwner,
    CheckedRunId,
    CheckedTaskId,
    ObjectId,
    SessionRef,
    session_fault,
)
from git_blackbird.model.base.record import Record, Unmasked
from git_blackbird.model.base.timestamps import Moment, moment_of, parse_timestamp
from git_blackbird.model.run.file_form import (
    GO_FIELDS,
    OURS,
    as_in_file,
    flat_in_file,
    our_fields,
    schema_as_in_file,
    unknown_in,
    with_moving,
)
from git_blackbird.model.run.parent_verdict import ChildResult, Dismissal, ParentVerdict
from git_blackbird.model.run.parts import (
    Answer,
    ConflictMerge,
    Landed,
    Landing,
    LandingBlocked,
    LandingDue,
    LocalProcess,
    Merge,
    Moving,
    PastUndo,
    Process,
    Question,
    RecordedBroken,
    RecordedEvidence,
    RecordedTrees,
    RemoteProcess,
    ReviewComment,
    Ruling,
    TruncatedBytes,
    Undone,
    Usage,
    UsageLimit,
    Worktree,
)
from git_blackbird.model.run.states import (
    APPROVALS,
    NO_CHANGE,
    PROGRAM,
    REVIEWER_TYPES,
    CheckOutcome,
    DecisionState,
    Requester,
    ReviewState,
    RunStatus,
    RunType,
    TerminalReason,
    Verb,
    superseded_text,
)
from git_blackbird.model.run.summary import Outside, Summary, Trees

if TYPE_CHECKING:
    from git_blackbird.model.run.ended import Ended
    from git_blackbird.model.run.evidence import ChangeCoverage, CheckResult, Evidence


class RunChange(NamedTuple):
    """What a run did to its worktree, as far as it is known.

    ``base`` and ``worktree_base`` are there where they are others than when the run began.
    """

    summary: Summary
    head: str | None = None
    base: str | None = None
    worktree_base: str | None = None
    end_commit: str | None = None
    end_branch: str | None = None


def _bytes_of(stdout: int, stderr: int) -> TruncatedBytes | None:
    return TruncatedBytes(stdout=stdout, stderr=stderr) if stdout or stderr else None


def _without_known(ours: dict[str, Any]) -> dict[str, Any]:
    return unknown_in(ours, our_fields(Run))


@flat_in_file
class Run(Record):
    """The record of one run, what follows from it alone, and how it changes.

    A change returns a copy, with what else is in the record, also unknown fields.
    """

    # The Go program's, in its order.
    id: CheckedRunId
    task_id: Unmasked[CheckedOwner] = Field(alias="taskId")
    run_type: RunType = RunType.EXECUTE
    provider: str = ""
    provider_session_ref: Unmasked[SessionRef | None] = None
    started_at: str = Field(alias="startedAt")
    completed_at: str | None = Field(default=None, alias="completedAt")
    status: RunStatus
    exit_code: int | None = Field(default=None, alias="exitCode")
    stdout: str | None = None
    stderr: str | None = None
    context: Unmasked[dict[str, Any]] = Field(default_factory=dict)
    error: str | None = None
    decision_required: bool | None = None
    decision_state: DecisionState | None = None
    decision_requested_at: str | None = None
    decision_resolved_at: str | None = None
    decision_feedback: Unmasked[str | None] = None
    review_summary: Summary | None = None
    parent_review_passed: bool | None = None
    parent_review_resume_task_ids: tuple[CheckedTaskId, ...] = ()
    parent_review_feedback: str | None = None
    parent_review_results: dict[str, ChildResult] | None = None
    parent_review_completion_signature: str | None = None

    # Ours, on top of a file.
    repo_root: Unmasked[str | None] = None
    last_completion_status: RunStatus | None = None

    # Ours, in ``blackbird`` in a file; the first is what is unknown there.
    unknown: Annotated[dict[str, Any], AfterValidator(_without_known)] = Field(
        default_factory=dict, alias=OURS, exclude=True
    )
    program: str | None = None
    resumes: CheckedRunId | None = None
    superseded_at: str | None = None
    superseded_by: str | None = None  # the run, the command, or what else it was
    terminal_reason: TerminalReason | None = None
    way_out: str | None = None
    limit: UsageLimit | None = None
    no_change: bool = False  # it succeeded, and no run of its task since that was last done changed a file
    notes: tuple[str, ...] = ()  # remarks for people

    prompt: Unmasked[str | None] = None  # of a resume
    message: Unmasked[str | None] = None  # a person's text with it
    messages_while_working: Unmasked[tuple[str, ...]] = ()  # a person's, which the next run is sent
    stops_at_once: bool = False  # for these, in the middle of a step too
    questions: Unmasked[tuple[Question, ...]] = ()
    answers: Unmasked[tuple[Answer, ...]] = ()
    rulings: Unmasked[tuple[Ruling, ...]] = ()  # on questions that the agent was to decide itself
    by_hand: bool = False  # a person spoke with the agent at a terminal, and nothing was sent

    agent_version: str | None = None
    agent_model: str | None = None  # that it was told to use
    final_text: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    raw_totals: dict[str, float] | None = None  # of the session, as the agent counts
    process: Process | None = None
    unlogged_bytes: TruncatedBytes | None = None  # of output that the logs lack
    printed_bytes: TruncatedBytes | None = None  # all of it, where the record has only the end
    masked_secrets: dict[str, int] | None = None  # how many in the output, by their kinds

    start_branch: Unmasked[str | None] = None
    start_commit: Unmasked[ObjectId | None] = None
    reflog_size: int | None = None  # of HEAD when the run began, in bytes
    end_commit: Unmasked[ObjectId | None] = None
    end_branch: Unmasked[str | None] = None
    base_tree: ObjectId | None = None  # the worktree when the run began, with what others committed meanwhile
    head_tree: ObjectId | None = None  # the worktree when the run ended
    submodule_digests: dict[str, str] | None = None  # of uncommitted changes in them when the run began
    head_taken_late: bool = False  # after a crash, or at the landing
    worktree: Unmasked[Worktree | None] = None
    commits: tuple[ObjectId, ...] = ()  # made in the run or by its approval, oldest first
    plan_edits: tuple[str, ...] = ()  # while the agent worked, one line each
    config_edits: tuple[str, ...] = ()
    outside: Outside = Field(default_factory=Outside)

    evidence: RecordedEvidence = None
    review_state: ReviewState | None = None
    review_round: int | None = None  # that its change was in, or that it was as a reviewer, from 1
    merged_review: dict[str, Any] | None = None  # both reviews of its change, a ``MergedReview``
    reviewed_run: CheckedRunId | None = None  # whose change it judged, as a reviewer
    review_result: dict[str, Any] | None = None  # what it found then, a ``ReviewResult``

    requested_by: Requester | None = None  # who requested changes, if no person did
    shown: RecordedTrees | None = None  # what was decided on
    decided_in_part: bool = False  # on files that were named, none with a conflict
    approved_on: Unmasked[str | None] = None  # the branch that its approval commits to, "HEAD" if none
    escalated: bool = False  # a decision is due only because of a check, reviews or the landing
    comments: Unmasked[tuple[ReviewComment, ...]] = ()  # on lines of the change
    hook_output: str | None = None  # of a hook that refused the commit

    landing: Landing | None = None
    undone: Undone | None = None
    moving: Moving | None = None
    recheck_due: bool = False  # criteria of tasks that are done run again once its change has landed
    broken: RecordedBroken = None  # of the criteria of its task, since that was done
    undos: tuple[PastUndo, ...] = ()  # every undo and redo that noted its end here, oldest first
    landing_slot: str | None = None  # when a landing first sent its task back; others land in this order
    task_since: str | None = None  # when the task had last changed before this resume: again so if in vain
    status_since: str | None = None  # when the status began that its task has by this, if no other time tells
    dismissed: Unmasked[Dismissal | None] = None

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Parse the file of a record, of any form that was ever written. Raises ValidationError."""
        return super().from_json(with_moving(data))

    @model_serializer(mode="wrap")
    def _as_in_file(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        unknown = self.model_extra or {}
        # Without what is unknown on top: it may have the name of a field of ours.
        plain = self.model_copy() if unknown else self
        if unknown:
            object.__setattr__(plain, "__pydantic_extra__", {})
        return {**as_in_file(dump(plain), self.unknown), **unknown}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return schema_as_in_file(handler.resolve_ref_schema(handler(core)))

    def taken_over(self) -> "Run":
        """Return the run as one of ours, with only the fields that the Go program writes."""
        names = (name for name, info in Run.model_fields.items() if (info.alias or name) in GO_FIELDS)
        fields = {name: getattr(self, name) for name in names}
        return Run.model_validate({**fields, "program": PROGRAM}, by_alias=False, by_name=True)

    def resuming(self, earlier: "Run", prompt: str, task_since: str) -> Self:
        return self.updated(
            resumes=earlier.id,
            last_completion_status=earlier.status,
            prompt=prompt,
            task_since=task_since,
            landing_slot=None if isinstance(earlier.landing, Landed) else earlier.landing_slot,
        )

    def noting(self, *notes: str) -> Self:
        return self.updated(notes=(*self.notes, *notes)) if notes else self

    def ended(self, ended: "Ended") -> Self:
        from git_blackbird.model.run.ended import TAIL_BYTES  # readers end no run

        is_long = ended.stdout_bytes > TAIL_BYTES, ended.stderr_bytes > TAIL_BYTES
        over = self.updated(
            completed_at=ended.at,
            status=ended.status,
            exit_code=ended.exit_code,
            stdout=ended.stdout_tail or None,
            stderr=ended.stderr_tail or None,
            error=ended.error,
            provider_session_ref=self.session_after(ended),
            terminal_reason=ended.reason,
            way_out=ended.way_out and str(ended.way_out),  # of a command its text, as in the file
            limit=ended.limit,
            notes=ended.notes,
            questions=ended.questions if ended.status is RunStatus.WAITING_USER else (),
            rulings=tuple(each.decided(*ended.rulings.get(each.question.id, ())) for each in self.rulings),
            final_text=ended.whole_text or None,
            usage=ended.usage,
            cost_usd=ended.cost_usd,
            raw_totals=ended.raw_totals or None,
            unlogged_bytes=_bytes_of(ended.stdout_dropped, ended.stderr_dropped),
            printed_bytes=_bytes_of(ended.stdout_bytes * is_long[0], ended.stderr_bytes * is_long[1]),
            masked_secrets=dict(ended.redacted) or None,
        )
        return over if ended.superseded_by is None else over.superseded(ended.at, ended.superseded_by)

    def session_after(self, ended: "Ended") -> str | None:
        """Return the conversation that can be continued: one the agent confirmed, or had before this run."""
        if ended.session and session_fault(ended.session) is None:
            return ended.session
        return self.provider_session_ref if self.resumes else None

    def in_worktree(self, path: str | None) -> Self:
        """Return a copy of which the worktree of its own is there, or is none."""
        worktree = self.worktree
        return self.updated(
            worktree=None if worktree is None or path is None else worktree.updated(path=path)
        )

    def changed(self, change: RunChange) -> Self:
        base, worktree = self.base_tree, self.worktree
        if worktree is not None and change.worktree_base is not None:
            worktree = worktree.updated(base=change.worktree_base)
        return self.updated(
            review_summary=change.summary,
            end_commit=change.end_commit,
            end_branch=change.end_branch,
            base_tree=base and (change.base or base),
            head_tree=self.head_tree if base is None else change.head,
            worktree=worktree,
        )

    def awaiting_decision(self, since: str | None) -> Self:
        return self.updated(
            decision_required=True, decision_state=DecisionState.PENDING, decision_requested_at=since
        )

    def escalating(self, since: str) -> Self:
        """Return a copy with a pending decision since that time, whether or not checkpoints require one."""
        return self.awaiting_decision(since).updated(escalated=not self.decision_required)

    def unasked(self) -> Self:
        """Return a copy without the decision that was due."""
        return self.updated(decision_state=None, decision_requested_at=None)

    def without_decision(self) -> Self:
        """Return a copy of which nothing is asked, now or later: what cannot land is left at that."""
        landing = None if isinstance(self.landing, LandingBlocked) else self.landing
        return self.unasked().updated(decision_required=None, landing=landing)

    def requesting_changes(self, at: str, feedback: str, by: Requester | None) -> Self:
        """Return a copy with a change request that no decision made; ``by`` is None for a person's."""
        return self.updated(
            decision_state=DecisionState.CHANGES_REQUESTED,
            decision_requested_at=at,
            decision_resolved_at=at,
            decision_feedback=feedback,
            requested_by=by,
        )

    def without_request(self) -> Self:
        """Return a copy whose change request does not count."""
        return self.updated(decision_resolved_at=None, decision_feedback=None, requested_by=None)

    def told(self, text: str, *, at_once: bool = False) -> Self:
        """Return a copy to whose agent a person said this too, while it worked or before it goes on."""
        told = self.updated(
            messages_while_working=(*self.messages_while_working, text),
            stops_at_once=at_once or self.stops_at_once,
        )
        if self.decision_state is not DecisionState.CHANGES_REQUESTED:
            return told
        return told.updated(decision_feedback=told.text_while_working)

    def told_meanwhile(self, messages: tuple[str, ...]) -> Self:
        """Return a copy of an ended run with what a person said to it while it worked.

        What came too late to pause it is a change request, before any check or review; without a session a
        person has to decide.
        """
        run = self.updated(messages_while_working=messages)
        text, is_over = run.text_while_working, self.status in {RunStatus.SUCCESS, RunStatus.FAILED}
        if text is None or not is_over or self.is_superseded:
            return run
        unchecked, at = run.updated(evidence=None, review_state=None), self.completed_at or self.started_at
        if self.provider_session_ref is None:
            return unchecked.awaiting_decision(at)
        return unchecked.requesting_changes(at, text, None)

    def decided(self, state: DecisionState | None, at: str, feedback: str | None) -> Self:
        decided = self.updated(decision_state=state, decision_resolved_at=at, decision_feedback=feedback)
        if state is DecisionState.REJECTED:
            return decided.updated(terminal_reason=TerminalReason.REJECTED)
        return decided.updated(hook_output=None) if state in APPROVALS else decided

    def committed_as(self, *oids: str) -> Self:
        return self.updated(commits=tuple(dict.fromkeys((*self.commits, *oids))))

    def finding(self, verdict: ParentVerdict) -> Self:
        return self.updated(
            parent_review_passed=verdict.passed,
            parent_review_resume_task_ids=verdict.resume_task_ids,
            parent_review_feedback=verdict.feedback or None,
            parent_review_results={str(child): result for child, result in verdict.results.items()},
        )

    def bringing(self, brought: ConflictMerge) -> Self:
        """Return a copy whose worktree is brought to this merge."""
        landing = self.landing
        if not isinstance(landing, LandingDue | LandingBlocked) or landing.brought == brought:
            return self
        return self.updated(landing=landing.updated(brought=brought))

    def beginning(self, moving: Moving, at: str) -> Self:
        """Return a copy of which this move has begun; a landing that it turns round counts as landed."""
        half, landing = self.moving, self.landing
        if half is not None and half.verb is Verb.LAND is not moving.verb and landing is not None:
            merge = Merge(trees=half.trees, additions=half.additions)
            landing = Landed(at=at, merge=merge, evidence=landing.evidence)
        return self.updated(moving=moving, landing=landing)

    def committed(self) -> Self:
        """Return a copy whose commit was made after all, if it was refused when the change landed."""
        if not isinstance(self.landing, Landed):
            return self
        return self.updated(landing=self.landing.updated(uncommitted=None))

    def landed_as(self, head: str) -> Self:
        """Return a copy whose change has left the user's worktree so."""
        landing = self.landing
        if not isinstance(landing, Landed):
            return self
        merge = landing.merge.updated(trees=Trees(landing.merge.trees.base, head))
        return self.updated(landing=landing.updated(merge=merge))

    def superseded(self, at: str, by: str) -> Self:
        """Return a copy superseded by a run, a command or whatever ``by`` names; its commit is not made."""
        is_commit_due = self.worktree is None and isinstance(self.landing, LandingDue)
        landing = None if is_commit_due else self.landing
        return self.updated(superseded_at=at, superseded_by=by, landing=landing)

    @property
    def is_in_place(self) -> bool:
        """Whether it worked in the user's worktree, not in one of its task's own."""
        return self.worktree is None

    @property
    def is_review(self) -> bool:
        """Whether this run only looks: a review, or planning; neither determines the status of a leaf."""
        return self.run_type in REVIEWER_TYPES

    @property
    def is_of_change(self) -> bool:
        """Whether this is the spec or code review of one run's change."""
        return self.run_type in {RunType.SPEC_REVIEW, RunType.CODE_REVIEW}

    @property
    def is_pending(self) -> bool:
        return self.decision_state is DecisionState.PENDING and not self.is_superseded

    @property
    def is_check_due(self) -> bool:
        return self.evidence is not None and self.evidence.outcome is CheckOutcome.DUE

    @property
    def failed_checks(self) -> "tuple[CheckResult, ...]":
        """The user's checks that fail because of the change."""
        return () if self.evidence is None else self.evidence.failed

    @property
    def red_checks(self) -> "tuple[CheckResult, ...]":
        """The user's checks that speak against the change."""
        return () if self.evidence is None else self.evidence.red

    @property
    def check_streams(self) -> frozenset[str]:
        """The names of the logs of its checks, also where none is recorded any more."""
        known = [each for each in (self.evidence, self.landing_evidence) if each is not None]
        return frozenset(check.stream for each in known for check in each.checks) | {"check"}

    @property
    def awaits_verdict(self) -> bool:
        """Whether a check or reviews of the change come before anything else."""
        return self.is_check_due or self.review_state is ReviewState.DUE

    @property
    def awaits_landing(self) -> bool:
        """Whether the change is accepted, or will be, and is not in the user's worktree yet."""
        is_accepted = self.status is RunStatus.SUCCESS or self.decision_state in APPROVALS
        is_wanted = is_accepted and self.decision_state is not DecisionState.REJECTED
        return is_wanted and isinstance(self.landing, LandingDue | LandingBlocked)

    @property
    def moved_at(self) -> Moment | None:
        """When the status began that its task has by this run."""
        return moment_of(self.status_since) or self.event_at

    @property
    def event_at(self) -> Moment | None:
        """When what the status follows from happened, as far as the record has a time for it."""
        if self.status is RunStatus.RUNNING:
            return moment_of(self.started_at)
        # Nobody was asked about a change that was done, and is approved for the sake of its commit.
        decided_at = self.decision_resolved_at if self.decision_requested_at is not None else None
        at = self.undone_at or self.landed_at or decided_at or self.decision_requested_at
        return moment_of(at) or moment_of(self.completed_at) or moment_of(self.started_at)

    @property
    def is_superseded(self) -> bool:
        return self.superseded_by is not None

    @property
    def text_while_working(self) -> str | None:
        """What a person said while the agent worked, as one text; None for nothing."""
        return "\n\n".join(text.strip("\n") for text in self.messages_while_working) or None

    @property
    def counts(self) -> bool:
        """Whether the run may determine its task's status: it is neither a review nor superseded."""
        return not self.is_review and not self.is_superseded

    @property
    def was_superseded_undecided(self) -> bool:
        """Whether a later start, or a person, superseded the run while its decision was pending."""
        return self.is_superseded and self.decision_feedback == superseded_text(self.superseded_by or "")

    @property
    def pid(self) -> int | None:
        """The agent's process on this machine."""
        return self.process.pid if isinstance(self.process, LocalProcess) else None

    @property
    def is_remote(self) -> bool:
        """Whether a worker of a cluster makes it."""
        return isinstance(self.process, RemoteProcess)

    @property
    def worker(self) -> str | None:
        """The worker that runs it, once its name is known."""
        return self.process.worker if isinstance(self.process, RemoteProcess) else None

    @property
    def worktree_path(self) -> str | None:
        return None if self.worktree is None else self.worktree.path

    @property
    def worktree_base(self) -> str | None:
        """The tree that its task's change begins with there."""
        return None if self.worktree is None else self.worktree.base

    @property
    def tree_pair(self) -> Trees | None:
        """The snapshots at both ends of the run; None if one is missing."""
        if self.base_tree is None or self.head_tree is None:
            return None
        return Trees(self.base_tree, self.head_tree)

    @property
    def named_trees(self) -> frozenset[str]:
        """Every tree that the record names: the reference of its run holds them."""
        landing, moves = self.landing, (self.undone, self.moving, *self.undos)
        pairs = [self.tree_pair, self.shown, *(move.trees for move in moves if move is not None)]
        evidence = (self.evidence, self.landing_evidence)
        if isinstance(landing, LandingDue | LandingBlocked):
            pairs += [] if landing.offered is None else [landing.offered.trees]
            pairs += [] if landing.brought is None else [landing.brought.change, landing.brought.merge]
        elif landing is not None:
            pairs.append(landing.merge.trees)
        trees = (
            self.base_tree,
            self.worktree_base,
            *(check.tree for each in evidence if each is not None for check in each.checks),
            *(tree for pair in pairs if pair is not None for tree in pair),
        )
        return frozenset(tree for tree in trees if tree is not None)

    @property
    def has_changed_files(self) -> bool:
        """Whether there are snapshots at both ends of the run, and they differ."""
        return self.tree_pair is not None and not self.tree_pair.is_empty

    @property
    def no_change_reason(self) -> str | None:
        """Why nothing was changed; None if the run did not end so."""
        return (self.error or NO_CHANGE).rstrip(" .\n") if self.no_change else None

    @property
    def has_landed(self) -> bool:
        """Whether a change that was made in a worktree of its own is in the user's."""
        return isinstance(self.landing, Landed)

    @property
    def undone_at(self) -> str | None:
        return None if self.undone is None else self.undone.at

    @property
    def undo_commit(self) -> str | None:
        return None if self.undone is None else self.undone.commit

    @property
    def landed_at(self) -> str | None:
        return self.landing.at if isinstance(self.landing, Landed) else None

    @property
    def brought(self) -> ConflictMerge | None:
        """The merge with which a landing sent the session back."""
        landing = self.landing
        return landing.brought if isinstance(landing, LandingDue | LandingBlocked) else None

    @property
    def landing_reason(self) -> str | None:
        """Why the change has not landed, or why it is not committed."""
        landing = self.landing
        return landing.reason if isinstance(landing, LandingBlocked) else self.uncommitted_landing

    @property
    def is_change_gone(self) -> bool:
        """Whether nothing has the change any more, so that it can only be made again."""
        return isinstance(self.landing, LandingBlocked) and self.landing.gone

    @property
    def uncommitted_landing(self) -> str | None:
        """Why the landed change was not committed although its approval was to commit it."""
        return self.landing.uncommitted if isinstance(self.landing, Landed) else None

    @property
    def coverage(self) -> "ChangeCoverage | None":
        """Which of the lines that it added tests ran."""
        return None if self.evidence is None else self.evidence.coverage

    @property
    def landing_evidence(self) -> "Evidence | None":
        return None if self.landing is None else self.landing.evidence

    @property
    def landing_additions(self) -> tuple[str, ...]:
        """The paths where both sides had added lines, and it has, or is to have, both."""
        landing = self.landing
        if landing is None:
            return ()
        merge = landing.merge if isinstance(landing, Landed) else self.moving or landing.offered
        return () if merge is None else merge.additions

    @property
    def landing_words(self) -> str:
        """How far a change has come that could not land."""
        return "has landed in part" if self.moving else "has not landed"

    @property
    def landing_pair(self) -> Trees | None:
        """The user's worktree without and with a change that has landed or begun to land."""
        if isinstance(self.landing, Landed):
            return self.landing.merge.trees
        return self.moving.trees if self.moving is not None and self.moving.verb is Verb.LAND else None

    @property
    def change_in_place(self) -> Trees | None:
        """What the run did to the user's worktree: what has landed of one that worked elsewhere."""
        if self.is_in_place:
            return self.tree_pair
        return self.landing_pair if self.has_landed else None

    @property
    def change_elsewhere(self) -> Trees | None:
        """What the task's runs did up to this one in a worktree of its own; None for one in place.

        What a decision was about counts: a part of it, or with edits of a person's.
        """
        shown = self.shown
        if self.worktree_base is None or self.head_tree is None:
            return None
        if shown is not None and not self.has_landed:
            return shown
        return Trees(self.worktree_base, self.head_tree)

    @property
    def made(self) -> Trees | None:
        """What the agent made of a change that is, or is partly, in the user's worktree.

        For a landed change, that may be more than was left to write.
        """
        if self.is_in_place or self.landing_pair is None:
            return self.change_in_place
        shown, base, head = self.shown, self.worktree_base, self.head_tree
        whole = None if base is None or head is None else Trees(base, head)
        return shown or whole or self.landing_pair

    @property
    def has_changed_worktree(self) -> bool:
        """Whether the user's worktree is known to have had something of what the run made."""
        pairs = self.change_in_place or self.landing_pair, self.made
        return any(pair is not None and not pair.is_empty for pair in pairs)

    @property
    def sort_key(self) -> tuple[int, str]:
        """Sort key by time; ids of the Go program are random, so the start comes first."""
        try:
            return parse_timestamp(self.started_at), self.id
        except ValueError:
            return 0, self.id
