"""Pending decisions, and all other items that wait for a person, each with its command."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import restart_command, task_command
from git_blackbird.model.change.next_steps import answers_blank, decide_run_command
from git_blackbird.model.change.stages import TABLE, Due, PendingKind, label_of, stage_of
from git_blackbird.model.plan.graph import ancestors
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import is_complete
from git_blackbird.model.rules.state import PlanState, blocked_parents, ready_tasks, waits_for
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType, TerminalReason


class PendingDecision(NamedTuple):
    """A pending decision on a run."""

    task: Task
    run: Run


def is_session_lost(history: History, run: Run) -> bool:
    """Whether the provider refused to continue this run's conversation, or it never had one."""
    return run.provider_session_ref is None or any(
        later.resumes == run.id and later.terminal_reason == TerminalReason.SESSION_LOST
        for later in history.since(run)
    )


def pending_decisions(state: PlanState) -> tuple[PendingDecision, ...]:
    """Return every pending decision on a task of this plan, oldest first."""
    decisions = [PendingDecision(task, run) for task, run in state.due(Due.DECIDE)]
    return tuple(sorted(decisions, key=lambda due: due.run.sort_key))


def paused_runs(state: PlanState) -> tuple[tuple[Task, Run], ...]:
    """Return every task of this plan with a paused run, and that run, oldest first."""
    return tuple(sorted(state.due(Due.CONTINUE), key=lambda pair: pair[1].sort_key))


_HELD = frozenset({Status.QUEUED, Status.IN_PROGRESS, Status.WAITING_USER})


# What is no stage's.
_WORDS = {
    PendingKind.REVIEW_FEEDBACK: "the parent review asked for changes",
    PendingKind.NEW_SESSION: "its session is lost",
}


class PendingItem(NamedTuple):
    """An item that waits for a person, and the command for it; a task that never ran has no run."""

    task: Task
    run: Run | None
    kind: PendingKind
    command: str

    @property
    def words(self) -> str:
        """What waits, in a few words."""
        return _WORDS[self.kind] if self.run is None or self.kind in _WORDS else label_of(self.run)

    @property
    def run_id(self) -> RunId | None:
        """The id of its run; None for a task that never ran."""
        return None if self.run is None else self.run.id

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of that run."""
        return () if self.run is None else self.run.questions


def pending_items(state: PlanState) -> tuple[PendingItem, ...]:
    """Return every item that waits for a person, the one first whose answer unblocks most.

    Of those that unblock alike decisions come first, oldest first, then the others by kind and task.
    """
    decisions = [
        PendingItem(due.task, due.run, PendingKind.DECISION, decide_run_command(due.run))
        for due in pending_decisions(state)
    ]
    decided = {decision.task.id for decision in decisions}
    others = [
        item
        for task_id in sorted((state.open_histories.keys() | state.feedback.keys()) & state.plan.tasks.keys())
        if task_id not in decided and task_id not in state.unreadable
        if (item := _other_item(state, task_id)) is not None
    ]
    items = (*decisions, *sorted(others, key=lambda item: list(PendingKind).index(item.kind)))
    return tuple(sorted(items, key=lambda item: -state.unblocked.get(item.task.id, 0)))


def _other_item(state: PlanState, task_id: TaskId) -> PendingItem | None:
    task, history = state.plan.tasks[task_id], state.history(task_id)
    run = history.latest
    kind = None if run is None else _kind(history, run)
    if run is not None and kind is not None:
        verb = "restart" if kind is PendingKind.NEW_SESSION else TABLE[stage_of(run)].verb
        blank = answers_blank(run.questions) if kind is PendingKind.ANSWERS else None
        back = ""
        if run.terminal_reason is TerminalReason.WORKER_LOST:
            back = f"once that worker is back; {task_command('restart', task_id)} starts it elsewhere"
        return PendingItem(task, run, kind, task_command(verb, task_id, remark=back, blank=blank))
    if task_id in state.feedback and task.status in {Status.DONE, Status.FAILED}:
        return PendingItem(task, run, PendingKind.REVIEW_FEEDBACK, resume_command(state, task))
    return None


def resume_command(state: PlanState, task: Task) -> str:
    """Format the command that sends feedback of a review to a leaf."""
    return task_command("resume", task.id) if is_resumable(state, task) else restart_command(task.id)


def is_resumable(state: PlanState, task: Task) -> bool:
    """Whether a leaf has a session to continue, according to its records."""
    run = state.latest(task.id)
    return run is not None and not is_session_lost(state.history(task.id), run)


class StuckTask(NamedTuple):
    """A leaf in progress or blocked, according to the plan, without a record that says why; and a hint."""

    task: Task
    command: str
    why: str

    @property
    def words(self) -> str:
        """What the plan says of it, and why nothing will come of that."""
        return f"{self.task.status.value.replace('_', ' ')}, but {self.why}"


def stuck_tasks(state: PlanState) -> tuple[StuckTask, ...]:
    """Return tasks that would never continue: their records were deleted, or a person set their status."""
    waiting = {item.task.id for item in pending_items(state)}
    stuck: list[StuckTask] = []
    for task in state.plan.unfinished_leaves():
        if task.status not in _HELD or task.id in waiting or task.id in state.unreadable:
            continue
        history = state.history(task.id)
        run = history.latest
        if history.live is None and run is None:
            is_queued = task.status == Status.QUEUED
            verb, rest = ("set-status", " todo") if is_queued else ("retry", "")
            stuck.append(StuckTask(task, task_command(verb, task.id, rest), "it has no run"))
    return tuple(stuck)


def _kind(history: History, run: Run) -> PendingKind | None:
    """Return what a session waits for; None where nothing does."""
    kind = TABLE[stage_of(run)].kind
    if not isinstance(kind, PendingKind) or kind is PendingKind.DECISION:
        return None
    return PendingKind.NEW_SESSION if is_session_lost(history, run) else kind


RETRIABLE = frozenset({Status.FAILED, Status.WAITING_USER, Status.BLOCKED, Status.IN_PROGRESS})


def _waiting(state: PlanState) -> Iterable[Task]:
    return (item.task for item in pending_items(state))


def _messageable(state: PlanState) -> Iterable[Task]:
    """Leaves that an agent has worked on, which accept messages."""
    return (task for task in state.plan.leaves() if state.latest(task.id) is not None)


def _at_work(state: PlanState) -> Iterable[Task]:
    """Leaves that an agent works on, which can be told something meanwhile."""
    live = {task.id: state.history(task.id).live for task in state.plan.leaves()}
    return (state.plan.tasks[key] for key, run in live.items() if run is not None and not run.by_hand)


def _undecided(state: PlanState) -> Iterable[Task]:
    return (due.task for due in pending_decisions(state))


def _resettable(state: PlanState) -> Iterable[Task]:
    return (
        task
        for task in state.plan.unfinished_leaves()
        if task.status in RETRIABLE and state.history(task.id).live is None
    )


def _startable(state: PlanState) -> Iterable[Task]:
    again = (task for task in _resettable(state) if not waits_for(state, task))
    return {task.id: task for task in (*ready_tasks(state), *again)}.values()


def _owing_parents(state: PlanState) -> Iterable[Task]:
    """Parents with pending feedback of a review at or below them."""
    owing = (state.plan.tasks[task_id] for task_id in state.feedback)
    return {above.id: above for task in owing for above in ancestors(state.plan, task)}.values()


def _with_reviews(state: PlanState) -> Iterable[Task]:
    """Parents, and leaves with a run, for which there may be reviews."""
    return (task for task in state.plan.tasks.values() if task.children or state.history(task.id).newest)


def _reviewable(state: PlanState) -> Iterable[Task]:
    tasks = state.plan.tasks
    return (
        task
        for task in tasks.values()
        if is_complete(tasks, task) or (task.is_leaf and _has_change(state.latest(task.id)))
    )


def _has_change(run: Run | None) -> bool:
    """Whether an agent made a change for which no changes are requested."""
    return (
        run is not None
        and run.status is RunStatus.SUCCESS
        and run.run_type is RunType.EXECUTE
        and run.decision_state is not DecisionState.CHANGES_REQUESTED
    )


def _dismissable(state: PlanState) -> Iterable[Task]:
    tasks = state.plan.tasks
    held = [parent.task for parent in blocked_parents(state)] if state.is_gated else []
    owing = (tasks.get(feedback.parent_task_id) for feedback in state.feedback.values())
    return {task.id: task for task in (*held, *owing) if task is not None}.values()


BY_STATE: Mapping[str, Callable[[PlanState], Iterable[Task]]] = {
    "execute": ready_tasks,
    "decide": _undecided,
    "resume": _waiting,
    "resume -m": _messageable,
    "resume --all": _owing_parents,
    "tell": _at_work,
    "review show": _with_reviews,
    "review run": _reviewable,
    "review dismiss": _dismissable,
    "restart": _startable,
    "retry": _resettable,
}
