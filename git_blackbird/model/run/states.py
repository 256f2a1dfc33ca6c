"""The words of a run's record: purposes, statuses, decisions, and what superseded it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

PROGRAM = "git-blackbird"


class RunType(StrEnum):
    """The purpose of a run; the first two are the Go program's. ``planning`` is for the plan, not a task."""

    EXECUTE = "execute"
    REVIEW = "review"
    SPEC_REVIEW = "spec_review"
    CODE_REVIEW = "code_review"
    MANUAL = "manual"
    PLANNING = "planning"


class RunStatus(StrEnum):
    """The status of a run; ``paused`` is ours."""

    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    WAITING_USER = "waiting_user"
    PAUSED = "paused"


class ReviewerVerdict(StrEnum):
    """The verdict of one reviewer; a spec review has no ``APPROVED_WITH_MINOR``."""

    APPROVED = "APPROVED"
    APPROVED_WITH_MINOR = "APPROVED_WITH_MINOR"
    ISSUES = "ISSUES"


class Choice(StrEnum):
    """A choice at a checkpoint."""

    APPROVE_CONTINUE = "approve_continue"
    APPROVE_QUIT = "approve_quit"
    REQUEST_CHANGES = "request_changes"
    REJECT = "reject"
    VIEW_DIFF = "view_diff"
    RETRY = "retry"
    REVIEW_AGAIN = "review_again"
    VIEW_SINCE_REQUEST = "view_since_request"
    REJECT_AND_UNDO = "reject_and_undo"
    ACCEPT_WITHOUT_COMMIT = "accept_without_commit"


class DecisionState(StrEnum):
    """The decision at the checkpoint of a run."""

    PENDING = "pending"
    APPROVED_CONTINUE = "approved_continue"
    APPROVED_QUIT = "approved_quit"
    CHANGES_REQUESTED = "changes_requested"
    REJECTED = "rejected"

    @property
    def words(self) -> str:
        """What people read: an approval is one whatever the call did next."""
        return "approved" if self in APPROVALS else self.value.replace("_", " ")


OPEN_DECISIONS = frozenset({DecisionState.PENDING, DecisionState.CHANGES_REQUESTED})
DECIDED = frozenset(DecisionState) - {DecisionState.PENDING}
DETACHED = "HEAD"
"""Where a commit goes while HEAD is on no branch."""

APPROVALS = frozenset({DecisionState.APPROVED_CONTINUE, DecisionState.APPROVED_QUIT})
REVIEWER_TYPES = frozenset({RunType.REVIEW, RunType.SPEC_REVIEW, RunType.CODE_REVIEW, RunType.PLANNING})
"""Runs that change nothing; planning is as a review of the plan."""


NO_CHANGE = "the agent changed nothing"
PLAN_EDITED = "the plan was edited while the agent worked"

SUPERSEDED_BY_RETRY = "retry"
SUPERSEDED_BY_RESTART = "restart"
SUPERSEDED_BY_UNAVAILABLE = "unavailable"
SUPERSEDED_BY_DELETE = "delete"
SUPERSEDED_BY_LOST_SESSION = "session-lost"
SUPERSEDED_BY_PLAN = "plan-changed"
SUPERSEDED_BY_STATUS = "set-status:"


def superseded_text(by: str) -> str:
    """Return the feedback of a decision that was superseded while it was pending; recorded as rejected."""
    return f"superseded by {by}"


class Requester(StrEnum):
    """Who requested changes, where no person did."""

    REVIEWERS = "reviewers"
    CHECK = "check"
    LANDING = "landing"


class Verb(StrEnum):
    """What a move of a worktree does with the change of a task.

    ``bring`` brings the worktree of the task to its merge with the user's.
    """

    LAND = "land"
    UNDO = "undo"
    REDO = "redo"
    BRING = "bring"


class VerbRules(NamedTuple):
    """What differs by the verb of a move.

    ``noun``, ``base``, ``present``, ``past`` and ``done`` are its words for people, ``question`` asks whether
    to do it to the change of a task, and ``yes`` answers that. ``command`` does it for them, and ``back``
    turns it round. ``takes_back``: it takes the change out of the worktree, and does not bring it there.
    ``leaves``: a path that conflicts, or at which something is in the way, stays as it is, and the others are
    written; else none is. ``exact``: what somebody edited stays too, and what is in the way is an error.
    ``resolves``: what others added around lines that it removes stays, and is no conflict.
    """

    noun: str
    base: str
    present: str
    past: str
    done: str
    command: str
    back: Verb
    question: str = ""
    yes: str = ""
    takes_back: bool = False
    leaves: bool = False
    exact: bool = False
    resolves: bool = False


VERBS: Mapping[Verb, VerbRules] = {
    Verb.LAND: VerbRules(
        noun="landing",
        base="land",
        present="lands",
        past="landed",
        done="landed",
        command="execute",
        back=Verb.UNDO,
    ),
    Verb.UNDO: VerbRules(
        noun="undo",
        base="take back",
        present="takes back",
        past="took back",
        done="taken back",
        command="undo",
        back=Verb.REDO,
        question="Take the change of {task} out of your files?",
        yes="Take it back",
        takes_back=True,
        leaves=True,
        resolves=True,
    ),
    Verb.REDO: VerbRules(
        noun="redo",
        base="bring back",
        present="brings back",
        past="brought back",
        done="brought back",
        command="redo",
        back=Verb.UNDO,
        question="Bring back the change of {task}?",
        yes="Bring it back",
        leaves=True,
        resolves=True,
    ),
    # It has no command, and only another one turns it round.
    Verb.BRING: VerbRules(
        noun="merge",
        base="bring",
        present="brings",
        past="brought",
        done="brought",
        command="",
        back=Verb.BRING,
        leaves=True,
        exact=True,
    ),
}


class TerminalReason(StrEnum):
    """Why a run ended, if the status alone does not say."""

    REJECTED = "rejected"
    INTERRUPTED = "interrupted"
    TOLD = "told"
    WALL_LIMIT = "wall_limit"
    IDLE_LIMIT = "idle_limit"
    BUDGET = "budget"
    CONTROLLER_LOST = "controller_lost"
    AGENT_UNAVAILABLE = "agent_unavailable"
    SESSION_LOST = "session_lost"
    WORKER_LOST = "worker_lost"
    NOT_STARTED = "not_started"
    WITHOUT_WORK = "without_work"
    UNKNOWN_END = "unknown_end"


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


class CheckOutcome(StrEnum):
    """What the user's check says of a tree.

    ``due``: it has not run yet. ``flaky``: it failed, and passed when it ran again on the same tree.
    ``failed_before``: it fails on the base of the change as well. ``weakened``: it passes, and checks less
    than on the base. ``broken``: it could not be started, was not done in time, or ran no test where it
    leaves results, and says nothing. ``not_run``: nothing was run.
    """

    DUE = "due"
    PASSED = "passed"
    FLAKY = "flaky"
    FAILED = "failed"
    FAILED_BEFORE = "failed_before"
    WEAKENED = "weakened"
    BROKEN = "broken"
    NOT_RUN = "not_run"


def describe_exit(code: int | None) -> str:
    """Return how a process ended; a negative code is a signal."""
    if code is None:
        return "unknown exit"
    return f"signal {-code}" if code < 0 else f"exit {code}"
