"""What waits for a person: decisions, answers, what reviews left owed, and the command for each."""

from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.commands import answer_options, decide_run_command, restart_command, task_command
from git_blackbird.model.conversation import Question
from git_blackbird.model.decisions import is_decision_alive, is_session_lost, pending_decisions
from git_blackbird.model.history import History
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import DecisionState, Run, RunStatus
from git_blackbird.model.standing import Standing
from git_blackbird.model.status import speaks

_HELD = frozenset({Status.QUEUED, Status.IN_PROGRESS, Status.WAITING_USER})


class OwedKind(StrEnum):
    """What can be owed to a task, in the order in which it is listed."""

    DECISION = "decision"
    CHANGE_REQUEST = "change_request"
    REVIEW_FEEDBACK = "review_feedback"
    NEW_SESSION = "new_session"
    ANSWERS = "answers"
    WORD = "word"


OWED_WORDS = {
    OwedKind.DECISION: "decision on run {run}",
    OwedKind.CHANGE_REQUEST: "change request pending",
    OwedKind.REVIEW_FEEDBACK: "the parent review asked for changes",
    OwedKind.NEW_SESSION: "its session is lost",
    OwedKind.ANSWERS: "waiting for answers",
    OwedKind.WORD: "paused",
}


class Owed(NamedTuple):
    """Something that waits for a person's command, and that command; a task that never ran has no run."""

    task: Task
    run: Run | None
    kind: OwedKind
    command: str

    @property
    def run_id(self) -> RunId | None:
        """The run that it is about; None for a task that never ran."""
        return None if self.run is None else self.run.id

    @property
    def questions(self) -> tuple[Question, ...]:
        """What that run asked."""
        return () if self.run is None else self.run.questions


def owed_by_person(standing: Standing) -> tuple[Owed, ...]:
    """Everything that waits for a person's command: decisions, oldest first, then by kind and task."""
    owed = [
        Owed(due.task, due.run, OwedKind.DECISION, decide_run_command(due.run))
        for due in pending_decisions(standing)
    ]
    decided = {one.task.id for one in owed}
    others = [
        one
        for task_id in sorted(
            (standing.histories.keys() | standing.feedback.keys()) & standing.plan.tasks.keys()
        )
        if task_id not in decided and task_id not in standing.unreadable
        if (one := _owed(standing, task_id)) is not None
    ]
    return (*owed, *sorted(others, key=lambda one: list(OwedKind).index(one.kind)))


def _owed(standing: Standing, task_id: TaskId) -> Owed | None:
    task, history = standing.plan.tasks[task_id], standing.history(task_id)
    run = history.latest
    kind = None if run is None else _owed_kind(task, history, run)
    if run is not None and kind is not None:
        return Owed(task, run, kind, _command(kind, run))
    if task_id in standing.feedback and task.status in {Status.DONE, Status.FAILED}:
        return Owed(task, run, OwedKind.REVIEW_FEEDBACK, resume_command(standing, task))
    return None


def resume_command(standing: Standing, task: Task) -> str:
    """Write the command line that carries to a leaf what a review left owed."""
    return task_command("resume", task.id) if is_resumable(standing, task) else restart_command(task.id)


def is_resumable(standing: Standing, task: Task) -> bool:
    """Whether a leaf has a session to go on in, as far as its records say."""
    run = standing.latest(task.id)
    return run is not None and not is_session_lost(standing.history(task.id), run)


class Stuck(NamedTuple):
    """A leaf that the plan says is worked on or waits, though no record says why; and the way out."""

    task: Task
    command: str


def stuck_tasks(standing: Standing) -> tuple[Stuck, ...]:
    """Tasks that nothing would ever get on: their records were deleted, or a hand set their status."""
    owed = {one.task.id for one in owed_by_person(standing)}
    return tuple(
        Stuck(task, _way_on(task))
        for task in standing.plan.leaves()
        if task.status in _HELD and task.id not in owed and task.id not in standing.unreadable
        if _is_silent(task, standing.history(task.id))
    )


def _is_silent(task: Task, history: History) -> bool:
    run = history.latest
    return history.live is None and (run is None or not speaks(run, task))


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
    if kind is OwedKind.NEW_SESSION:
        return task_command("restart", run.task_id)
    rest = answer_options(run.questions) if kind is OwedKind.ANSWERS else ""
    return task_command("resume", run.task_id, rest)
