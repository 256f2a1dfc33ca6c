"""A run: one start of one agent on one task, as in its record."""

from enum import StrEnum
from itertools import takewhile
from typing import Any, Literal, Self

from pydantic import Field

from git_blackbird.model.base.ids import CheckedRunId, CheckedTaskId, ObjectId, RunId, SessionRef, TaskId
from git_blackbird.model.base.record import Record
from git_blackbird.model.base.timestamps import Moment, moment_of, parse_timestamp
from git_blackbird.model.run.check import CheckOutcome, CheckResult
from git_blackbird.model.run.comment import ReviewComment
from git_blackbird.model.run.parent_verdict import ChildResult, Dismissal
from git_blackbird.model.run.summary import Summary, Trees

RECORDER = "git-blackbird"


# Who requested changes, where no person did.
BY_REVIEWERS = "reviewers"
BY_CHECK = "check"
BY_LANDING = "landing"


class RunType(StrEnum):
    """The purpose of a run; the first two are the Go program's."""

    EXECUTE = "execute"
    REVIEW = "review"
    SPEC_REVIEW = "spec_review"
    CODE_REVIEW = "code_review"
    MANUAL = "manual"


class RunStatus(StrEnum):
    """The status of a run; ``paused`` is ours."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    WAITING_USER = "waiting_user"
    PAUSED = "paused"


class ReviewState(StrEnum):
    """The state of the reviews of a run's change; None without reviews.

    ``by_hand``: a person requested a review of a change that needed none.
    """

    DUE = "due"
    BY_HAND = "by_hand"
    DONE = "done"
    SKIPPED = "skipped"


class LandingState(StrEnum):
    """The landing of a change that was made in a worktree of its own.

    ``due``: it is brought into the user's worktree as soon as nothing else is to be done about it.
    ``blocked``: it could not be, and a person has to decide.
    """

    DUE = "due"
    BLOCKED = "blocked"
    LANDED = "landed"


class DecisionState(StrEnum):
    """The decision at the checkpoint of a run."""

    PENDING = "pending"
    APPROVED_CONTINUE = "approved_continue"
    APPROVED_QUIT = "approved_quit"
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"


class TerminalReason(StrEnum):
    """Why a run ended, if the status alone does not say."""

    REJECTED = "rejected"
    INTERRUPTED = "interrupted"
    WALL_LIMIT = "wall_limit"
    IDLE_LIMIT = "idle_limit"
    CONTROLLER_LOST = "controller_lost"
    AGENT_UNAVAILABLE = "agent_unavailable"
    SESSION_LOST = "session_lost"
    WORKER_LOST = "worker_lost"
    NOT_STARTED = "not_started"
    WITHOUT_WORK = "without_work"


_OVER = frozenset({RunStatus.SUCCESS, RunStatus.FAILED})
OPEN_DECISIONS = frozenset({DecisionState.PENDING, DecisionState.CHANGES_REQUESTED})
DECIDED = frozenset(DecisionState) - {DecisionState.PENDING}
DETACHED = "HEAD"
"""Where a commit goes while HEAD is on no branch."""

APPROVALS = frozenset({DecisionState.APPROVED_CONTINUE, DecisionState.APPROVED_QUIT})
REVIEWER_TYPES = frozenset({RunType.REVIEW, RunType.SPEC_REVIEW, RunType.CODE_REVIEW})

NO_CHANGE = "the agent changed nothing"

SUPERSEDED_BY_RETRY = "retry"
SUPERSEDED_BY_RESTART = "restart"
SUPERSEDED_BY_UNAVAILABLE = "unavailable"
SUPERSEDED_BY_DELETE = "delete"
SUPERSEDED_BY_LOST_SESSION = "session-lost"
SUPERSEDED_BY_PLAN = "plan-changed"
SUPERSEDED_BY_STATUS = "set-status:"


class Question(Record):
    """A question of an agent; ``options`` are the expected answers."""

    id: str
    prompt: str
    options: tuple[str, ...] = ()


class Answer(Record):
    """A person's answer to the question with that id."""

    id: str
    value: str


class Usage(Record):
    """Tokens of one run, as differences, not session totals."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


def superseded_text(by: str) -> str:
    """Return the feedback of a decision that was superseded while it was pending; recorded as rejected."""
    return f"superseded by {by}"


class TruncatedBytes(Record):
    """Bytes of each stream: in ``not_kept`` those that its log does not contain.

    In ``tail_of`` all that were printed, if the record has only their end; 0 if it has all.
    """

    stdout: int = 0
    stderr: int = 0


class RunFields(Record):
    """Fields of a run's record: all those of a ``Run``, or only those to change by ``with_fields``.

    The first block is the Go program's, in its order; the second is ours. Only a ``Run`` requires the fields
    that every record has.

    ``commits`` are the commits made in the run or by its approval, oldest first. ``merged_review`` and
    ``review_result`` are serialized from ``model.findings``; ``reviewed_run`` is the run whose change a spec
    or code review is about, ``requested_by`` says who requested changes if no person did, ``escalated`` that
    a decision is pending only because the reviews did not approve the change; ``hook_output`` is the output
    of a hook that refused the commit of an approval.

    ``head_log`` is the size of the reflog of HEAD, in bytes, when the run began, ``end_commit`` and
    ``end_branch`` what HEAD was at when it ended. ``base_submodules`` are digests of uncommitted changes in
    submodules when it began. ``base_tree`` includes what others committed meanwhile: it is not part of the
    change. ``no_change``: it succeeded, and no run of its task since the task was last done changed a file.
    ``undone_at``: when the changes of this run, and of those before it, were taken back out of the worktree,
    ``undo_left`` the paths that were left as they are, ``undo_commit`` the commit that was made for it;
    ``undo_uncommitted``: git refused to make one. ``undo_begun``: "undo" or "redo" while that is being done.
    ``check``: what the user's check says of the change up to this run.

    ``cluster``: a worker on another machine makes it, ``worker`` is the name of that, once it is known.

    ``worktree`` is the worktree of its own in which the agent worked, ``worktree_base`` the tree that its
    task's change begins with there, taken at ``worktree_base_at``: what landed later is not in it;
    ``home_branch`` is the branch that the user was on then, ``approved_on`` the one that the approval's
    commit is to go to, "HEAD" if none. ``landing_trees`` are the user's worktree before and after it landed,
    or was to; ``landing_reason`` says why it did not, ``landing_check`` what the check said of the merged
    tree.
    ``landing_additions`` are the paths where both sides had added lines, and it has, or was to have, both.
    ``decided_in_part``: the decision was about files that were named, none with a conflict.
    ``turn``: when its task was first sent back by a landing: those sent back later land after it.
    ``landing_begun``: some of its files may be written, and not all are known to be.
    ``task_since``: when the task had last changed before this resume; so it is again if no agent is reached.
    ``status_since``: when the status began that its task has by this run, where no other time says so.
    ``review_comments`` are those on lines of the change that its change request has.
    """

    id: CheckedRunId = RunId("")
    task_id: CheckedTaskId = Field(default=TaskId(""), alias="taskId")
    run_type: RunType = RunType.EXECUTE
    provider: str = ""
    provider_session_ref: SessionRef | None = None
    started_at: str = Field(default="", alias="startedAt")
    completed_at: str | None = Field(default=None, alias="completedAt")
    status: RunStatus = RunStatus.RUNNING
    exit_code: int | None = Field(default=None, alias="exitCode")
    stdout: str | None = None
    stderr: str | None = None
    context: dict[str, Any] = Field(default_factory=dict)
    error: str | None = None
    decision_required: bool | None = None
    decision_state: DecisionState | None = None
    decision_requested_at: str | None = None
    decision_resolved_at: str | None = None
    decision_feedback: str | None = None
    review_summary: Summary | None = None
    parent_review_passed: bool | None = None
    parent_review_resume_task_ids: tuple[CheckedTaskId, ...] = ()
    parent_review_feedback: str | None = None
    parent_review_results: dict[str, ChildResult] | None = None
    parent_review_completion_signature: str | None = None

    recorder: str | None = None
    agent_version: str | None = None
    resumes: CheckedRunId | None = None
    superseded_at: str | None = None
    superseded_by: str | None = None
    terminal_reason: TerminalReason | None = None
    way_out: str | None = None
    last_completion_status: RunStatus | None = None
    repo_root: str | None = None
    branch: str | None = None
    head_commit: ObjectId | None = None
    head_log: int | None = None
    end_commit: ObjectId | None = None
    end_branch: str | None = None
    base_tree: ObjectId | None = None
    head_tree: ObjectId | None = None
    base_submodules: dict[str, str] | None = None
    head_late: bool | None = None
    pid: int | None = None
    process_identity: str | None = None
    cluster: bool | None = None
    worker: str | None = None
    prompt: str | None = None
    message: str | None = None
    questions: tuple[Question, ...] = ()
    answers: tuple[Answer, ...] = ()
    result: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    raw_totals: dict[str, float] | None = None
    not_kept: TruncatedBytes | None = None
    tail_of: TruncatedBytes | None = None
    commits: tuple[ObjectId, ...] = ()
    plan_changes: tuple[str, ...] = ()
    config_changes: tuple[str, ...] = ()
    decided_trees: dict[str, ObjectId] | None = None
    decided_in_part: bool | None = None
    parent_review_dismissed: Dismissal | None = None
    review_state: ReviewState | None = None
    review_round: int | None = None
    merged_review: dict[str, Any] | None = None
    requested_by: str | None = None
    escalated: bool | None = None
    hook_output: str | None = None
    reviewed_run: CheckedRunId | None = None
    review_result: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    no_change: bool | None = None
    undone_at: str | None = None
    undo_left: tuple[str, ...] = ()
    undo_commit: ObjectId | None = None
    undo_uncommitted: bool | None = None
    undo_begun: Literal["undo", "redo"] | None = None
    check: CheckResult | None = None
    worktree: str | None = None
    worktree_base: ObjectId | None = None
    worktree_base_at: str | None = None
    home_branch: str | None = None
    approved_on: str | None = None
    landing: LandingState | None = None
    landed_at: str | None = None
    landing_trees: dict[str, ObjectId] | None = None
    landing_reason: str | None = None
    landing_check: CheckResult | None = None
    landing_additions: tuple[str, ...] = ()
    landing_begun: bool | None = None
    turn: str | None = None
    task_since: str | None = None
    status_since: str | None = None
    review_comments: tuple[ReviewComment, ...] = ()

    def with_fields(self, fields: "RunFields") -> Self:
        """Return a copy with what is set in ``fields``; others are kept, including unknown ones."""
        return self.updated(fields)

    def awaiting_decision(self, since: str | None) -> Self:
        """Return a copy with a pending decision since that time."""
        return self.with_fields(
            RunFields(
                decision_required=True, decision_state=DecisionState.PENDING, decision_requested_at=since
            )
        )

    def escalating(self, since: str | None) -> Self:
        """Return a copy with a pending decision since that time, whether or not checkpoints require one."""
        escalated = RunFields(escalated=None if self.decision_required else True)
        return self.awaiting_decision(since).with_fields(escalated)

    def requesting_changes(self, at: str, feedback: str, by: str) -> Self:
        """Return a copy with a change request that no person made."""
        return self.with_fields(
            RunFields(
                decision_state=DecisionState.CHANGES_REQUESTED,
                decision_requested_at=at,
                decision_resolved_at=at,
                decision_feedback=feedback,
                requested_by=by,
            )
        )

    def superseded(self, at: str, by: str) -> Self:
        """Return a copy superseded by a run, a command or whatever ``by`` names."""
        return self.with_fields(RunFields(superseded_at=at, superseded_by=by))


class Run(RunFields):
    """The record of one run."""

    id: CheckedRunId
    task_id: CheckedTaskId = Field(alias="taskId")
    started_at: str = Field(alias="startedAt")
    status: RunStatus

    def taken_over(self) -> "Run":
        """Return the run as one of ours, with nothing of it but the fields that the Go program writes."""
        fields = {name: getattr(self, name) for name in _GO_FIELDS}
        return Run.model_validate({**fields, "recorder": RECORDER})

    @property
    def is_review(self) -> bool:
        """Whether this run is a review; reviews never determine the status of a leaf."""
        return self.run_type in REVIEWER_TYPES

    @property
    def is_of_change(self) -> bool:
        """Whether this is the spec or code review of one run's change."""
        return self.run_type in {RunType.SPEC_REVIEW, RunType.CODE_REVIEW}

    @property
    def is_pending(self) -> bool:
        """Whether a decision on this run is pending."""
        return self.decision_state == DecisionState.PENDING and self.superseded_at is None

    @property
    def is_check_due(self) -> bool:
        """Whether the user's check has yet to look at the change."""
        return self.check is not None and self.check.outcome is CheckOutcome.DUE

    @property
    def failed_check(self) -> CheckResult | None:
        """The user's check, where it fails because of the change."""
        is_failed = self.check is not None and self.check.outcome is CheckOutcome.FAILED
        return self.check if is_failed else None

    @property
    def red_check(self) -> CheckResult | None:
        """The user's check, where it fails, also if it fails without the change as well."""
        is_red = self.check is not None and self.check.outcome is CheckOutcome.FAILED_BEFORE
        return self.check if is_red else self.failed_check

    @property
    def awaits_verdict(self) -> bool:
        """Whether a check or reviews of the change come before anything else."""
        return self.is_check_due or self.review_state is ReviewState.DUE

    @property
    def awaits_landing(self) -> bool:
        """Whether the change is accepted, or will be, and is not in the user's worktree yet."""
        is_accepted = self.status is RunStatus.SUCCESS or self.decision_state in APPROVALS
        is_wanted = is_accepted and self.decision_state is not DecisionState.REJECTED
        return is_wanted and self.landing in {LandingState.DUE, LandingState.BLOCKED}

    @property
    def moved_at(self) -> Moment | None:
        """When the status began that its task has by this run."""
        return moment_of(self.status_since) or self._last_event

    @property
    def _last_event(self) -> Moment | None:
        """When what the status follows from happened, as far as the record has a time for it."""
        if self.status is RunStatus.RUNNING:
            return moment_of(self.started_at)
        # Nobody was asked about a change that was done, and is approved for the sake of its commit.
        decided_at = self.decision_resolved_at if self.decision_requested_at is not None else None
        at = self.undone_at or self.landed_at or decided_at or self.decision_requested_at
        return moment_of(at) or moment_of(self.completed_at) or moment_of(self.started_at)

    @property
    def counts(self) -> bool:
        """Whether the run may determine its task's status: it is neither a review nor superseded."""
        return not self.is_review and self.superseded_at is None

    @property
    def was_superseded_undecided(self) -> bool:
        """Whether a later start, or a person, superseded the run while its decision was pending."""
        return self.superseded_at is not None and self.decision_feedback == superseded_text(
            self.superseded_by or ""
        )

    @property
    def tree_pair(self) -> Trees | None:
        """The snapshots at both ends of the run; None if one is missing."""
        if self.base_tree is None or self.head_tree is None:
            return None
        return Trees(self.base_tree, self.head_tree)

    @property
    def named_trees(self) -> frozenset[str]:
        """Every tree that the record names: the reference of its run holds them."""
        checks = (self.check, self.landing_check)
        pairs = (self.decided_trees or {}, self.landing_trees or {})
        trees = (
            *(self.base_tree, self.head_tree, self.worktree_base),
            *(check.tree for check in checks if check is not None),
            *(tree for pair in pairs for tree in pair.values()),
        )
        return frozenset(tree for tree in trees if tree is not None)

    @property
    def has_changed_files(self) -> bool:
        """Whether there are snapshots at both ends of the run, and they differ."""
        return self.tree_pair is not None and not self.tree_pair.is_empty

    @property
    def uncommitted_landing(self) -> str | None:
        """Why the change was not committed though it has landed, where its approval was to commit it."""
        return self.landing_reason if self.landing is LandingState.LANDED else None

    @property
    def landing_words(self) -> str:
        """How far a change has come that could not land."""
        return "has landed in part" if self.landing_begun else "has not landed"

    @property
    def landing_pair(self) -> Trees | None:
        """The user's worktree without the change and with it, of one that has begun to land or has landed."""
        trees = self.landing_trees or {}
        is_there = self.landing is LandingState.LANDED or self.landing_begun
        return Trees(trees["base"], trees["head"]) if is_there and {"base", "head"} <= trees.keys() else None

    @property
    def change_in_place(self) -> Trees | None:
        """What the run did to the user's worktree: what has landed of one that worked elsewhere."""
        if self.worktree is None:
            return self.tree_pair
        return self.landing_pair if self.landing is LandingState.LANDED else None

    @property
    def change_elsewhere(self) -> Trees | None:
        """What the task's runs did up to this one in a worktree of its own; None for one in place.

        What a decision was about counts: a part of it, or with edits of a person's.
        """
        is_known = self.worktree is not None and self.worktree_base is not None
        if not is_known or self.head_tree is None:
            return None
        decided = self.decided_trees or {}
        if self.landing is not LandingState.LANDED and {"base", "head"} <= decided.keys():
            return Trees(decided["base"], decided["head"])
        return Trees(self.worktree_base or "", self.head_tree)

    @property
    def has_changed_worktree(self) -> bool:
        """Whether the run is known to have changed files of the user's worktree, or some of them."""
        change = self.change_in_place or self.landing_pair
        return change is not None and not change.is_empty

    @property
    def sort_key(self) -> tuple[int, str]:
        """Sort key by time; ids of the Go program are random, so the start comes first."""
        try:
            return parse_timestamp(self.started_at), self.id
        except ValueError:
            return 0, self.id


_GO_FIELDS = tuple(takewhile(lambda name: name != "recorder", RunFields.model_fields))
