"""What is due: the next thing to happen, one pure function of plan, records and this call (DESIGN.md 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.commands import answer_options, decide_command, task_command
from git_blackbird.model.graph import blockers, is_ready
from git_blackbird.model.history import History
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.run import DecisionState, Run, RunStatus, TerminalReason
from git_blackbird.model.status import speaks


@dataclass(frozen=True)
class Call:
    """What one call asks for: which tasks it may touch, how many starts are left, what it has begun.

    ``only`` is None for a plain execute; ``asked`` holds the runs whose questions this call answers.
    """

    only: frozenset[TaskId] | None = None
    starts_left: int | None = None
    asked: frozenset[RunId] = frozenset()

    def covers(self, task_id: TaskId) -> bool:
        """Whether this call is about the task."""
        return self.only is None or task_id in self.only

    @property
    def may_start(self) -> bool:
        """Whether another start is within the limit."""
        return self.starts_left is None or self.starts_left > 0


@dataclass(frozen=True)
class CarryOut:
    """A change request to carry to the session that did the work."""

    task: Task
    run: Run


@dataclass(frozen=True)
class Decide:
    """A decision to take on a run."""

    task: Task
    run: Run


@dataclass(frozen=True)
class Ask:
    """Questions that an agent asked in this call."""

    task: Task
    run: Run


@dataclass(frozen=True)
class Start:
    """A ready leaf to start."""

    task: Task


@dataclass(frozen=True)
class Nothing:
    """Nothing is due in this call; ``blocked`` names what waits, and for whom."""

    blocked: Mapping[TaskId, tuple[TaskId, ...]]


Due = CarryOut | Decide | Ask | Start | Nothing


def next_due(plan: Plan, histories: Mapping[TaskId, History], call: Call) -> Due:
    """Give the next thing to happen in this call."""
    if (request := _change_request(plan, histories, call)) is not None:
        return request
    for decision in pending_decisions(plan, histories):
        if call.covers(decision.task.id):
            return decision
    if (question := _question(plan, histories, call)) is not None:
        return question
    if call.may_start and (task := _startable(plan, call)) is not None:
        return Start(task)
    return Nothing(blockers(plan, plan.leaves()))


def _change_request(plan: Plan, histories: Mapping[TaskId, History], call: Call) -> CarryOut | None:
    for task_id in sorted(histories):
        history = histories[task_id]
        run = history.latest
        if (
            run is not None
            and task_id in plan.tasks
            and call.covers(task_id)
            and run.decision_state == DecisionState.CHANGES_REQUESTED
            and is_decision_alive(plan.tasks[task_id], run)
            and not is_session_lost(history, run)
        ):
            return CarryOut(plan.tasks[task_id], run)
    return None


def is_session_lost(history: History, run: Run) -> bool:
    """Whether the provider refused to go on with this run's conversation, or it never had one."""
    return run.provider_session_ref is None or any(
        later.resumes == run.id and later.terminal_reason == TerminalReason.SESSION_LOST
        for later in history.own
    )


def pending_decisions(plan: Plan, histories: Mapping[TaskId, History]) -> tuple[Decide, ...]:
    """Every decision owed on a task of this plan, oldest first."""
    owed = [
        Decide(plan.tasks[task_id], run)
        for task_id, history in histories.items()
        if task_id in plan.tasks and (run := history.latest) is not None
        if run.is_pending and is_decision_alive(plan.tasks[task_id], run)
    ]
    return tuple(sorted(owed, key=lambda due: due.run.sort_key))


def is_decision_alive(task: Task, run: Run) -> bool:
    """Whether a pending decision still matters: the Go program resets tasks without touching their runs."""
    return run.is_ours or task.status not in {Status.TODO, Status.QUEUED, Status.BLOCKED, Status.SKIPPED}


def _question(plan: Plan, histories: Mapping[TaskId, History], call: Call) -> Ask | None:
    for task_id in sorted(histories):
        run = histories[task_id].latest
        if (
            run is not None
            and task_id in plan.tasks
            and run.id in call.asked
            and run.status == RunStatus.WAITING_USER
        ):
            return Ask(plan.tasks[task_id], run)
    return None


def _startable(plan: Plan, call: Call) -> Task | None:
    tasks = plan.tasks.keys() if call.only is None else call.only & plan.tasks.keys()
    candidates = (plan.tasks[task_id] for task_id in tasks)
    return min((task for task in candidates if is_ready(plan, task)), key=lambda task: task.id, default=None)


_HELD = frozenset({Status.QUEUED, Status.IN_PROGRESS, Status.WAITING_USER})


class OwedKind(StrEnum):
    """What can be owed to a task, in the order in which it is listed."""

    DECISION = "decision"
    CHANGE_REQUEST = "change_request"
    NEW_SESSION = "new_session"
    ANSWERS = "answers"
    WORD = "word"


class Owed(NamedTuple):
    """Something that waits for a person's command, and that command."""

    task: Task
    run: Run
    kind: OwedKind
    command: str


def owed_by_person(plan: Plan, histories: Mapping[TaskId, History]) -> tuple[Owed, ...]:
    """Everything that waits for a person's command: decisions, oldest first, then by kind and task."""
    owed = [
        Owed(due.task, due.run, OwedKind.DECISION, _command(OwedKind.DECISION, due.run))
        for due in pending_decisions(plan, histories)
    ]
    decided = {one.task.id for one in owed}
    others: list[Owed] = []
    for task_id in sorted(histories.keys() & plan.tasks.keys() - decided):
        task, history = plan.tasks[task_id], histories[task_id]
        run = history.latest
        kind = None if run is None else _owed_kind(task, history, run)
        if run is not None and kind is not None:
            others.append(Owed(task, run, kind, _command(kind, run)))
    return (*owed, *sorted(others, key=lambda one: list(OwedKind).index(one.kind)))


class Stuck(NamedTuple):
    """A leaf that the plan says is worked on or waits, though no record says why; and the way out."""

    task: Task
    command: str


def stuck_tasks(plan: Plan, histories: Mapping[TaskId, History]) -> tuple[Stuck, ...]:
    """Tasks that nothing would ever get on: their records were deleted, or a hand set their status."""
    owed = {one.task.id for one in owed_by_person(plan, histories)}
    return tuple(
        Stuck(task, _way_on(task))
        for task in plan.leaves()
        if task.status in _HELD
        and task.id not in owed
        and _is_silent(task, histories.get(task.id, History()))
    )


def _is_silent(task: Task, history: History) -> bool:
    run = history.latest
    return not history.faults and history.live is None and (run is None or not speaks(run, task))


def _way_on(task: Task) -> str:
    if task.status == Status.QUEUED:
        return task_command("set-status", task.id, " todo")
    return task_command("retry", task.id)


def _owed_kind(task: Task, history: History, run: Run) -> OwedKind | None:
    """What is owed a task whose latest run waits."""
    open_request = run.decision_state == DecisionState.CHANGES_REQUESTED and is_decision_alive(task, run)
    waits = run.status in {RunStatus.PAUSED, RunStatus.WAITING_USER}
    if (open_request or waits) and is_session_lost(history, run):
        return OwedKind.NEW_SESSION
    if run.status == RunStatus.WAITING_USER:
        return OwedKind.ANSWERS
    if open_request:
        return OwedKind.CHANGE_REQUEST
    return OwedKind.WORD if run.status == RunStatus.PAUSED else None


def _command(kind: OwedKind, run: Run) -> str:
    match kind:
        case OwedKind.DECISION:
            return decide_command(run.task_id)
        case OwedKind.NEW_SESSION:
            return task_command("restart", run.task_id)
        case OwedKind.ANSWERS:
            return task_command("resume", run.task_id, answer_options(run.questions))
        case OwedKind.CHANGE_REQUEST | OwedKind.WORD:
            return task_command("resume", run.task_id)
