"""The stages of a change, and the one table of what follows from each.

The stage is that of the newest run of a task that counts. It is derived, never stored.
"""

from collections.abc import Callable, Mapping
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple, Self, assert_never

from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Landed, LandingBlocked, LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    APPROVALS,
    VERBS,
    CheckOutcome,
    Choice,
    DecisionState,
    ReviewState,
    RunStatus,
    TerminalReason,
    Verb,
)

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence


class Stage(StrEnum):
    """Where a change is."""

    HALF_MOVED = "half_undone"  # or half brought back, or half of a landing that was given up
    WORKING = "working"
    ASKED = "asked"
    PAUSED = "paused"
    CHECKING = "checking"
    REVIEWING = "reviewing"
    SENT_BACK = "sent_back"
    SENT_BACK_AFTER_FAILURE = "sent_back_after_failure"
    BLOCKED = "blocked"
    NOT_COMMITTED = "not_committed"
    DECIDING = "deciding"
    DECIDING_FAILURE = "deciding_failure"
    UNDONE = "undone"
    REJECTED = "rejected"
    LANDING = "landing"
    DONE = "done"
    FAILED = "failed"


class Band(IntEnum):
    """The bands of the queue, in the order in which they are done.

    Half of a change in the user's worktree; what a begun change needs from the call; what a person answers,
    first what unblocks most; parent reviews and runs that were broken off; tasks that may start, alone.
    """

    HALF_WRITTEN = 0
    CHANGE = 1
    PERSON = 2
    RUN = 3
    READY = 4


class Stops(StrEnum):
    """What an item stops as long as it is there: nothing, or also that tasks start or go on."""

    NOTHING = "nothing"
    STARTS = "starts"


class Needs(StrEnum):
    """Whom an item waits for.

    ``NOBODY``: the next call does it by itself. ``COMMAND``: someone starts the command that does it.
    ``ANSWER``: its run goes on with what a person says. ``PERSON``: a person does something else about it.
    """

    NOBODY = "nobody"
    COMMAND = "command"
    ANSWER = "answer"
    PERSON = "person"


class By(StrEnum):
    """Which call takes an item up (``may_do`` in ``model/rules/scope.py``).

    ``ANY_CALL``: each, whatever it is about. ``CALL``: one that is about its task. ``AGENTS``: one that also
    starts agents. ``PARENTS``: one that also reviews parents. ``OWN``: the call that asked it, or carries it.
    ``START``: one that may start its task. ``NO_CALL``: none, or each when it begins.
    """

    ANY_CALL = "any_call"
    CALL = "call"
    AGENTS = "agents"
    PARENTS = "parents"
    OWN = "own"
    START = "start"
    NO_CALL = "no_call"


class AgentOf(StrEnum):
    """Whose agent works on an item (``models_of`` in ``controller/core/agents.py``).

    ``TASK``: the one that the task starts with. ``RUN``: the one in whose session the run goes on; with
    ``ANSWER``, once a person has answered. ``REVIEWERS``: those of changes. ``CALL``: the configured one.
    """

    NOBODY = "nobody"
    TASK = "task"
    RUN = "run"
    ANSWER = "answer"
    REVIEWERS = "reviewers"
    CALL = "call"


class _Row(NamedTuple):
    value: str
    band: Band
    needs: Needs
    by: By
    agent: AgentOf = AgentOf.NOBODY
    words: str = ""
    stops: Stops = Stops.NOTHING


class Due(StrEnum):
    """The kinds of things to do, in the order in which they are done in a band; the values are for JSON."""

    def __new__(
        cls, value: str, band: Band, needs: Needs, by: By, agent: AgentOf, words: str, stops: Stops
    ) -> Self:
        due = str.__new__(cls, value)
        due._value_ = value
        due.order, due.band, due.needs, due.by = len(cls.__members__), band, needs, by
        due.agent, due.words, due.stops = agent, words, stops
        return due

    # Where its words are "", the stage of its run has a label.
    order: int
    band: Band
    needs: Needs
    by: By
    agent: AgentOf
    words: str
    stops: Stops

    FINISH = _Row("half_written", Band.HALF_WRITTEN, Needs.COMMAND, By.ANY_CALL, stops=Stops.STARTS)
    FINISH_APPROVAL = _Row(
        "approval", Band.HALF_WRITTEN, Needs.COMMAND, By.NO_CALL, words="an approval was interrupted"
    )
    REQUEST = _Row("change_request", Band.CHANGE, Needs.ANSWER, By.AGENTS, AgentOf.RUN)
    CHECK = _Row("check", Band.CHANGE, Needs.NOBODY, By.AGENTS)
    REVIEW = _Row("change_review", Band.CHANGE, Needs.NOBODY, By.AGENTS, AgentOf.REVIEWERS)
    LAND = _Row("landing", Band.CHANGE, Needs.NOBODY, By.CALL)
    RECHECK = _Row(
        "done_criteria",
        Band.CHANGE,
        Needs.NOBODY,
        By.CALL,
        words="criteria of done tasks to run again",
    )
    DECIDE = _Row("decision", Band.PERSON, Needs.ANSWER, By.CALL, stops=Stops.STARTS)
    ANSWER = _Row("answers", Band.PERSON, Needs.ANSWER, By.OWN, AgentOf.ANSWER)
    ASK_PAUSED = _Row("paused", Band.PERSON, Needs.ANSWER, By.AGENTS, AgentOf.ANSWER, stops=Stops.STARTS)
    FEEDBACK = _Row(
        "review_feedback",
        Band.PERSON,
        Needs.ANSWER,
        By.OWN,
        AgentOf.RUN,
        words="the parent review asked for changes",
        stops=Stops.STARTS,
    )
    REVIEW_FAILED = _Row(
        "review_failing", Band.PERSON, Needs.PERSON, By.NO_CALL, words="its review failed", stops=Stops.STARTS
    )
    BROKEN = _Row("broken", Band.PERSON, Needs.PERSON, By.NO_CALL)
    FAILED = _Row("failed", Band.PERSON, Needs.PERSON, By.NO_CALL)
    STUCK = _Row("stuck", Band.PERSON, Needs.PERSON, By.NO_CALL)
    UNREADABLE = _Row(
        "unreadable", Band.PERSON, Needs.PERSON, By.NO_CALL, words="one of its records cannot be used"
    )
    REVIEW_PARENT = _Row(
        "review_due",
        Band.RUN,
        Needs.NOBODY,
        By.PARENTS,
        AgentOf.CALL,
        words="parent review pending",
        stops=Stops.STARTS,
    )
    REVIEW_AGAIN = _Row(
        "review_without_verdict",
        Band.RUN,
        Needs.PERSON,
        By.PARENTS,
        AgentOf.CALL,
        words="its review gave no verdict",
        stops=Stops.STARTS,
    )
    CONTINUE = _Row("interrupted", Band.RUN, Needs.ANSWER, By.AGENTS, AgentOf.RUN)
    CLOSE = _Row("unwatched", Band.RUN, Needs.COMMAND, By.NO_CALL)
    START = _Row("ready", Band.READY, Needs.NOBODY, By.START, AgentOf.TASK, words="ready")


BY_ITSELF = frozenset(due for due in Due if due.needs is Needs.NOBODY)
"""What the next call does without a person, so that it waits for none."""


class Consequences(NamedTuple):
    """The consequences of a stage.

    Which of the ``choices`` are offered depends on the change as well.
    """

    status: Status
    due: Due | None
    label: str
    verb: str = "execute"
    choices: tuple[Choice, ...] = ()


_ON_ANY = (
    Choice.APPROVE_CONTINUE,
    Choice.APPROVE_QUIT,
    Choice.REQUEST_CHANGES,
    Choice.REJECT,
    Choice.VIEW_DIFF,
    Choice.VIEW_SINCE_REQUEST,
    Choice.REJECT_AND_UNDO,
)
_ON_SUCCESS = (*_ON_ANY, Choice.REVIEW_AGAIN)
_ON_FAILURE = (*_ON_ANY, Choice.RETRY)
_ON_BLOCKED = (*_ON_SUCCESS, Choice.RETRY)
_ON_REFUSED_COMMIT = (
    Choice.APPROVE_CONTINUE,
    Choice.VIEW_DIFF,
    Choice.REJECT_AND_UNDO,
    Choice.ACCEPT_WITHOUT_COMMIT,
)


def _deciding(status: Status, label: str, choices: tuple[Choice, ...] = _ON_SUCCESS) -> Consequences:
    return Consequences(status, Due.DECIDE, label, "decide", choices)


def _sent_back(status: Status, label: str) -> Consequences:
    return Consequences(status, Due.REQUEST, label, "resume")


TABLE: Mapping[Stage, Consequences] = {
    Stage.HALF_MOVED: Consequences(Status.IN_PROGRESS, Due.FINISH, f"half {VERBS[Verb.UNDO].done}"),
    Stage.WORKING: Consequences(Status.IN_PROGRESS, None, "at work", "runs"),
    Stage.ASKED: Consequences(Status.WAITING_USER, Due.ANSWER, "waits for answers", "resume"),
    Stage.PAUSED: Consequences(Status.WAITING_USER, Due.CONTINUE, "paused", "resume"),
    Stage.CHECKING: Consequences(Status.IN_PROGRESS, Due.CHECK, "check due"),
    Stage.REVIEWING: Consequences(Status.IN_PROGRESS, Due.REVIEW, "reviews due"),
    Stage.SENT_BACK: _sent_back(Status.WAITING_USER, "changes requested"),
    Stage.SENT_BACK_AFTER_FAILURE: _sent_back(Status.FAILED, "failed: changes requested"),
    Stage.BLOCKED: _deciding(Status.WAITING_USER, "cannot land", _ON_BLOCKED),
    Stage.NOT_COMMITTED: _deciding(Status.WAITING_USER, "landed, not committed", _ON_REFUSED_COMMIT),
    Stage.DECIDING: _deciding(Status.WAITING_USER, "decision due"),
    Stage.DECIDING_FAILURE: _deciding(Status.FAILED, "failed: decision due", _ON_FAILURE),
    Stage.UNDONE: Consequences(Status.FAILED, None, VERBS[Verb.UNDO].done, "retry"),
    Stage.REJECTED: Consequences(Status.FAILED, None, "rejected", "retry"),
    Stage.LANDING: Consequences(Status.IN_PROGRESS, Due.LAND, "to land"),
    Stage.DONE: Consequences(Status.DONE, None, "done"),
    Stage.FAILED: Consequences(Status.FAILED, None, "failed", "retry"),
}


def stage_of(run: Run) -> Stage:
    """Return the stage of the change whose newest run this is."""
    if run.moving is not None:
        may_land = run.awaits_landing or run.decision_state is DecisionState.PENDING
        # Half of a landing that a person gave up is taken out.
        if run.moving.verb is not Verb.LAND or not may_land:
            return Stage.HALF_MOVED
    stage = stage_before_undo(run)
    return Stage.UNDONE if run.undone is not None and stage in _UNDOABLE else stage


def stage_before_undo(run: Run) -> Stage:  # noqa: PLR0911  # a table
    """Return the stage as if nobody had taken the change back."""
    match run.status:
        case RunStatus.RUNNING:
            return Stage.WORKING
        case RunStatus.PAUSED:
            return Stage.PAUSED
        case RunStatus.WAITING_USER:
            return Stage.ASKED
        case RunStatus.SUCCESS | RunStatus.FAILED:
            has_succeeded = run.status is RunStatus.SUCCESS
        case _:
            assert_never(run.status)
    if run.is_check_due:
        return Stage.CHECKING
    if run.review_state is ReviewState.DUE:
        return Stage.REVIEWING
    match run.decision_state:
        case DecisionState.PENDING:
            if isinstance(run.landing, LandingBlocked):
                return Stage.BLOCKED
            if isinstance(run.landing, Landed):
                return Stage.NOT_COMMITTED
            return Stage.DECIDING if has_succeeded else Stage.DECIDING_FAILURE
        case DecisionState.CHANGES_REQUESTED:
            return Stage.SENT_BACK if has_succeeded else Stage.SENT_BACK_AFTER_FAILURE
        case DecisionState.REJECTED:
            return Stage.REJECTED
        case None if not has_succeeded:
            return Stage.FAILED
        case DecisionState.APPROVED_CONTINUE | DecisionState.APPROVED_QUIT | None:
            return Stage.LANDING if isinstance(run.landing, LandingDue | LandingBlocked) else Stage.DONE
        case _:
            assert_never(run.decision_state)


_UNDOABLE = frozenset({Stage.DONE, Stage.REJECTED, Stage.FAILED})
_OPEN = frozenset(stage for stage, row in TABLE.items() if row.due is not None) | {Stage.WORKING}


def status_of(run: Run) -> Status:
    """Return the plan status of a leaf whose newest run this is."""
    return TABLE[stage_of(run)].status


# There a landing is a commit alone.
_IN_PLACE = {Stage.LANDING: "to commit", Stage.NOT_COMMITTED: "not committed"}


def label_of(run: Run) -> str:
    """Return the label of the stage of a newest run, with what its record adds to it."""
    stage, undone = stage_of(run), run.undone
    left = "" if undone is None else ", ".join(undone.left)
    label = (_IN_PLACE if run.is_in_place else {}).get(stage, TABLE[stage].label)
    match stage:
        case Stage.HALF_MOVED if run.moving is not None:
            way = f"half {VERBS[run.moving.ended_by].done}"
            # A killed one has nothing recorded yet of what it left.
            return f"{way}: {left} left as it is" if left else way
        case Stage.UNDONE if undone is not None:
            label = VERBS[undone.verb].done
            if undone.redone and undone.uncommitted and not left:
                return f"{label}, not committed"
            return f"{label}, but for {left}" if left else label
        case Stage.LANDING if run.moving is not None:
            return f"half {VERBS[Verb.LAND].done}"
        case Stage.PAUSED if run.terminal_reason is TerminalReason.WORKER_LOST:
            return f"{label}: worker {run.worker or ''} was lost"
        case Stage.PAUSED if run.terminal_reason is TerminalReason.BUDGET:
            return f"{label} at its budget"
        case _:
            return label


# Ends of paused runs on which only a person knows how to go on.
_ASKED = frozenset({TerminalReason.WALL_LIMIT, TerminalReason.IDLE_LIMIT, TerminalReason.UNKNOWN_END})


def due_of(run: Run) -> Due | None:
    """Return what is due about the change of a newest run; None where nothing is."""
    stage = stage_of(run)
    match TABLE[stage].due:
        case None if stage is Stage.DONE and run.recheck_due:
            return Due.RECHECK
        case None if stage is Stage.DONE and run.broken is not None:
            return Due.BROKEN
        case Due.CONTINUE if run.terminal_reason in _ASKED:
            return Due.ASK_PAUSED
        case Due.LAND if run.moving is not None:
            return Due.FINISH
        case due:
            return due


def is_open(run: Run) -> bool:
    """Whether the run is not over, or something about its change is due or half done."""
    return stage_of(run) in _OPEN


def is_taken_back(status: Status | None, run: Run | None) -> bool:
    """Whether a task counts as failed only since the change of its newest run was taken back."""
    return status is Status.FAILED and run is not None and stage_of(run) is Stage.UNDONE


def is_closed(run: Run) -> bool:
    """Whether the run is over, and nobody reviews it, is to decide on it, or asked for a change."""
    return not is_open(run) and run.review_state is not ReviewState.BY_HAND


def is_half_written(run: Run) -> bool:
    """Whether the next execute goes on with writing the change into the user's worktree, or out of it."""
    return run.moving is not None and not run.is_pending


def following(run: Run, stored: Run | None, now: Callable[[], str]) -> Run:
    """Return the record as it is to be saved over ``stored``: with the time at which its status began.

    A status that stays keeps its time. ``now`` is the clock, for what has no time in the record.
    """
    plain = run.updated(status_since=None)
    if run.is_review or stored is None:
        return plain
    before, event = stored.moved_at, plain.moved_at
    if status_of(stored) == status_of(run):
        since = before
    else:
        since = event if event is not None and (before is None or event > before) else moment_of(now())
    return plain if since in {None, event} else plain.updated(status_since=since.text)


_RED_BASE = "without the change as well, so it does not say whether the change is good"


class CheckFollowUp(StrEnum):
    """Who acts after a check: nobody, the session that made the change, or a person."""

    PROCEED = "proceed"
    FIX = "fix"
    ASK = "ask"


_FOLLOW_UPS: Mapping[CheckOutcome, CheckFollowUp] = {
    CheckOutcome.DUE: CheckFollowUp.PROCEED,
    CheckOutcome.PASSED: CheckFollowUp.PROCEED,
    CheckOutcome.FLAKY: CheckFollowUp.PROCEED,
    CheckOutcome.FAILED: CheckFollowUp.FIX,
    CheckOutcome.FAILED_BEFORE: CheckFollowUp.ASK,
    CheckOutcome.WEAKENED: CheckFollowUp.ASK,
    CheckOutcome.BROKEN: CheckFollowUp.ASK,
    CheckOutcome.NOT_RUN: CheckFollowUp.ASK,
}


def after_check(evidence: "Evidence | None", mode: str) -> CheckFollowUp:
    """Return who acts on the verdict on a change alone; ``mode`` is the value of ``check.mode``."""
    if evidence is None or mode == "show" or not evidence.checks:
        return CheckFollowUp.PROCEED
    return _FOLLOW_UPS[evidence.outcome]


def after_merged_check(evidence: "Evidence", run: Run) -> CheckFollowUp:
    """Return who acts on the verdict on the merged change of a run; nobody on one that was accepted."""
    if evidence.outcome in accepted_outcomes(run) or not evidence.checks:
        return CheckFollowUp.PROCEED
    return _FOLLOW_UPS[evidence.outcome]


def why_asked(evidence: "Evidence") -> str:
    """Return why a person is to act on verdicts that say nothing of the change, or too little."""
    outcome = evidence.outcome
    found = [check for check in evidence.checks if check.outcome is outcome]
    if outcome is CheckOutcome.FAILED_BEFORE:
        return f"{evidence.failing(found)} {_RED_BASE}"
    return "; ".join(f"the {check.title} is {check.label}: {check.reason}" for check in found)


def accepted_outcomes(run: Run) -> frozenset[CheckOutcome]:
    """Return the verdicts with which a person has approved the change of a run, alone or merged.

    Who accepts that it fails, or that nothing is known, accepts every verdict; who accepts that it fails
    without the change as well does not accept that it fails because of the change.
    """
    if run.decision_state not in APPROVALS:
        return frozenset()
    merged = run.landing_evidence if isinstance(run.landing, LandingBlocked) else None
    known = frozenset(each.outcome for each in (run.evidence, merged) if each is not None)
    return frozenset(CheckOutcome) if known & {CheckOutcome.FAILED, CheckOutcome.BROKEN} else known
