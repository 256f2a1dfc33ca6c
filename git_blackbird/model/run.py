"""A run: one start of one agent on one task, as its record keeps it (spec 1, spec 2, PEER.md 1.2)."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from git_blackbird.model.change import Summary, TreePair
from git_blackbird.model.conversation import Answer, Question, Usage
from git_blackbird.model.ids import ObjectId, RunId, SessionRef, TaskId
from git_blackbird.model.recorded import Recorded, named
from git_blackbird.model.review import ChildResult, Dismissal
from git_blackbird.model.timestamps import parse_timestamp

RECORDER = "git-blackbird"


class RunType(StrEnum):
    """What a run was for; the first two are the Go program's."""

    EXECUTE = "execute"
    REVIEW = "review"
    SPEC_REVIEW = "spec_review"
    CODE_REVIEW = "code_review"
    MANUAL = "manual"


class RunStatus(StrEnum):
    """How a run stands; ``paused`` is ours."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    WAITING_USER = "waiting_user"
    PAUSED = "paused"


class ReviewState(StrEnum):
    """How the reviews of a run's change stand (DESIGN.md 7); a run without one is not reviewed.

    ``by_hand``: a person has, or had, a change looked at that no reviews were due of.
    """

    DUE = "due"
    BY_HAND = "by_hand"
    DONE = "done"
    SKIPPED = "skipped"


class DecisionState(StrEnum):
    """What was decided at the checkpoint of a run (spec 2)."""

    PENDING = "pending"
    APPROVED_CONTINUE = "approved_continue"
    APPROVED_QUIT = "approved_quit"
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"


class TerminalReason(StrEnum):
    """Why a run ended as it did, where the status alone does not say."""

    REJECTED = "rejected"
    INTERRUPTED = "interrupted"
    WALL_LIMIT = "wall_limit"
    IDLE_LIMIT = "idle_limit"
    CONTROLLER_LOST = "controller_lost"
    AGENT_UNAVAILABLE = "agent_unavailable"
    SESSION_LOST = "session_lost"


APPROVALS = frozenset({DecisionState.APPROVED_CONTINUE, DecisionState.APPROVED_QUIT})
REVIEWER_TYPES = frozenset({RunType.REVIEW, RunType.SPEC_REVIEW, RunType.CODE_REVIEW})

CHANGED_NOTHING = "the agent changed nothing"

OVERTAKEN_BY_RETRY = "retry"
OVERTAKEN_BY_RESTART = "restart"
OVERTAKEN_BY_UNAVAILABLE = "unavailable"
OVERTAKEN_BY_DELETE = "delete"
OVERTAKEN_BY_LOST_SESSION = "session-lost"
OVERTAKEN_BY_PLAN = "plan-changed"
OVERTAKEN_BY_STATUS = "set-status:"


@dataclass(frozen=True, kw_only=True)
class StreamCut(Recorded):
    """Bytes of each stream: in ``not_kept`` those that its log does not keep.

    In ``tail_of`` all that were printed, where the record has only their end; 0 where it has all.
    """

    stdout: int = 0
    stderr: int = 0


@dataclass(frozen=True, kw_only=True)
class Run(Recorded):
    """One record. The first block is the Go program's, in its order; the second is ours.

    ``commits`` are the commits made in the run or by its approval, oldest first. ``merged_review`` and
    ``review_result`` are those of ``model.findings`` as they are written; ``reviewed_run`` is the run whose
    change a spec or code review looked at, ``requested_by`` says who asked for changes if no person did,
    ``escalated`` that a decision is due only because the reviews did not clear the change; ``hook_output`` is
    what a hook said that refused to commit an approval.
    ``head_log`` is the size of git's log of HEAD, in bytes, when the run began, ``end_commit`` what HEAD
    named when it ended. ``base_submodules`` are digests of what lay uncommitted in submodules when it began.
    ``base_tree`` has what others committed meanwhile: it is no part of the change. ``no_change``: it
    succeeded, and no run of its task since the task was last done changed a file.
    """

    id: RunId
    task_id: TaskId = field(metadata=named("taskId"))
    run_type: RunType = RunType.EXECUTE
    provider: str = ""
    provider_session_ref: SessionRef | None = None
    started_at: str = field(metadata=named("startedAt"))
    completed_at: str | None = field(default=None, metadata=named("completedAt"))
    status: RunStatus
    exit_code: int | None = field(default=None, metadata=named("exitCode"))
    stdout: str | None = None
    stderr: str | None = None
    context: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    decision_required: bool | None = None
    decision_state: DecisionState | None = None
    decision_requested_at: str | None = None
    decision_resolved_at: str | None = None
    decision_feedback: str | None = None
    review_summary: Summary | None = None
    parent_review_passed: bool | None = None
    parent_review_resume_task_ids: tuple[TaskId, ...] = ()
    parent_review_feedback: str | None = None
    parent_review_results: dict[str, ChildResult] | None = None
    parent_review_completion_signature: str | None = None

    recorder: str | None = None
    agent_version: str | None = None
    resumes: RunId | None = None
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
    base_tree: ObjectId | None = None
    head_tree: ObjectId | None = None
    base_submodules: dict[str, str] | None = None
    head_late: bool | None = None
    pid: int | None = None
    process_identity: str | None = None
    prompt: str | None = None
    message: str | None = None
    questions: tuple[Question, ...] = ()
    answers: tuple[Answer, ...] = ()
    result: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    raw_totals: dict[str, float] | None = None
    not_kept: StreamCut | None = None
    tail_of: StreamCut | None = None
    commits: tuple[ObjectId, ...] = ()
    plan_changes: tuple[str, ...] = ()
    config_changes: tuple[str, ...] = ()
    decided_trees: dict[str, ObjectId] | None = None
    parent_review_dismissed: Dismissal | None = None
    review_state: ReviewState | None = None
    review_round: int | None = None
    merged_review: dict[str, Any] | None = None
    requested_by: str | None = None
    escalated: bool | None = None
    hook_output: str | None = None
    reviewed_run: RunId | None = None
    review_result: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    no_change: bool | None = None

    @property
    def is_ours(self) -> bool:
        """Whether this program wrote the record; the Go program's drop the mark when it rewrites one."""
        return self.recorder is not None

    @property
    def is_review(self) -> bool:
        """Whether a reviewer made this run; those decide no status of a leaf."""
        return self.run_type in REVIEWER_TYPES

    @property
    def is_of_change(self) -> bool:
        """Whether this is the spec or code review of one run's change."""
        return self.run_type in {RunType.SPEC_REVIEW, RunType.CODE_REVIEW}

    @property
    def is_pending(self) -> bool:
        """Whether a person still owes a decision on this run."""
        return self.decision_state == DecisionState.PENDING and self.superseded_at is None

    @property
    def is_accepted_failure(self) -> bool:
        """Whether a person took what a failed run did as it is."""
        return self.status == RunStatus.FAILED and self.decision_state in APPROVALS

    @property
    def leg(self) -> TreePair | None:
        """The snapshots at both ends of the run; None when one was not taken."""
        if self.base_tree is None or self.head_tree is None:
            return None
        return TreePair(self.base_tree, self.head_tree)

    @property
    def sort_key(self) -> tuple[int, str]:
        """Order in time; ids of the Go program are random, so the start counts first."""
        try:
            return parse_timestamp(self.started_at), self.id
        except ValueError:
            return 0, self.id

    def with_fields(self, **fields: Any) -> "Run":
        """Give the record with some fields changed, all others kept, unknown ones too."""
        return replace(self, **fields)
