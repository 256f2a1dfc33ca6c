"""What keeps a task from being started or changed: who works on it, here or in another worktree, and limits.

Kept small, as readers load it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError, LockedError, RequestError, UnusableError
from git_blackbird.git.core.repository import other_worktrees
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId
from git_blackbird.model.base.next_steps import EXECUTE, Sentence, TaskCommand
from git_blackbird.model.change.stages import Due, due_of, label_of
from git_blackbird.model.change.work import decide_run_command
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import IN_HAND, Status
from git_blackbird.model.rules.limits import AgentModel, LimitHold, held_agents
from git_blackbird.model.rules.queue import UNWATCHED
from git_blackbird.model.rules.spending import Spent, spent_in, total_of
from git_blackbird.model.rules.state import PlanState, full_readiness, unreadable_below
from git_blackbird.model.run.history import History, RecordError
from git_blackbird.model.run.parts import LocalProcess
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import VERBS, ReviewState, RunStatus, Verb
from git_blackbird.storage.locks import approval_in_progress, controller_holder
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.store import Store


def is_alive(run: Run) -> bool:
    """Whether the process of a record still runs; on another machine, as the record says."""
    from git_blackbird.agents.process import signals  # most records are closed

    if run.is_remote:
        return run.status is RunStatus.RUNNING
    process = run.process
    return isinstance(process, LocalProcess) and signals.is_alive(process.pid, process.identity)


def processes_at_work(paths: Paths, run: Run) -> list[int]:
    """Return the processes that still work for a run in this worktree, its agent or orphans of it."""
    from git_blackbird.agents.process import signals

    if is_of_other_worktree(paths, run):
        return []
    return sorted({*([run.pid] if run.pid and is_alive(run) else []), *signals.marked(run.id)})


def is_of_other_worktree(paths: Paths, run: Run) -> bool:
    """Whether a record came with a copy of its worktree: its processes work in the original."""
    if run.repo_root is None:
        return False
    try:
        return not paths.state_root.samefile(run.repo_root)
    except OSError:
        # Nothing is at the old place any more: this worktree was moved.
        return False


class UnreadableRecordError(UnusableError):
    def __init__(self, task_id: TaskId, faults: Sequence[RecordError]) -> None:
        hint = tuple(fault.hint for fault in faults)
        super().__init__(stopped_text(task_id, faults), hint=hint)


def stopped_text(task_id: TaskId, faults: Sequence[RecordError]) -> str:
    listed = "; ".join(f"{fault.path}: {fault.what}" for fault in faults)
    what = "a record that cannot" if len(faults) == 1 else "records that cannot"
    return f"{task_id} is stopped by {what} be used: {listed}"


def require_usable(task_id: TaskId, history: History) -> None:
    """Raise UnreadableRecordError if a record of the task cannot be used."""
    if history.faults:
        raise UnreadableRecordError(task_id, history.faults)


def require_readable(state: PlanState, task: Task) -> None:
    """Refuse a task that has, or is above, an unusable record. Raises UnreadableRecordError."""
    for blocked in unreadable_below(state, task):
        raise UnreadableRecordError(blocked.id, state.unreadable[blocked.id])


class StaleTaskError(RequestError):
    """A task changed between its choice and its start."""


_GOES_ON = frozenset({Due.FINISH, Due.REQUEST, Due.LAND, Due.ASK_PAUSED, Due.CONTINUE})
_COMMANDS = {Status.WAITING_USER: "resume", Status.FAILED: "retry"}


def require_ready(state: PlanState, task: Task) -> Task:
    """Return the task if it is ready, or if a call can continue its latest run.

    Raises RequestError with the reasons and the ways out, UnreadableRecordError.
    """
    require_readable(state, task)
    readiness = full_readiness(state, task)
    if readiness.is_ready:
        return task
    run = state.history(task.id).latest
    if run is not None and due_of(run) in _GOES_ON:
        return task
    hints = [*readiness.hints]
    if run is not None and run.is_pending:
        hints.append(decide_run_command(run))
    elif task.status in _COMMANDS:
        hints.append(TaskCommand(_COMMANDS[task.status], task.id))
    raise RequestError(
        f"{task.id} is not ready: {'; '.join(readiness.reasons)}",
        hint=tuple(hints) or (TaskCommand("show", task.id),),
    )


class HalfWrittenError(RequestError):
    """A partly landed change cannot be abandoned."""


def require_whole(history: History) -> None:
    """Refuse to abandon a partly landed change. Raises HalfWrittenError."""
    for run in history.recent:
        if run.moving is not None:
            words = VERBS[run.moving.verb]
            back = TaskCommand(VERBS[words.back].command, run.task_id)
            turns: tuple[str, ...] = (back, " turns it round")
            if run.moving.verb is Verb.LAND:
                reject = TaskCommand("decide", run.task_id, " --reject --undo")
                turns = back, " takes it out; ", reject, " does where a decision is due"
            raise HalfWrittenError(
                f"the {words.noun} of {run.task_id} was interrupted, and would stay half done",
                hint=Sentence(EXECUTE, " completes it, and ", *turns),
            )


_PAUSES = "Ctrl+C in the terminal that runs it pauses it"


def require_not_busy(workspace: Workspace, task: Task) -> None:
    """Refuse to change a task while an agent works on it, or its change is being committed.

    Raises RequestError, LockedError, and UnreadableRecordError where that cannot be known.
    """
    require_unclaimed(workspace, task.id)
    history = workspace.store.records.history(task.id)
    require_usable(task.id, history)
    if history.live is not None and is_alive(history.live):
        is_watched = controller_holder(workspace.paths) is not None
        raise RequestError(
            f"an agent is working on {task.id} (run {history.live.id}, process {history.live.pid})",
            hint=_PAUSES if is_watched else Sentence(UNWATCHED, "; ", EXECUTE, " stops it"),
        )
    is_due = history.latest is not None and history.latest.review_state is ReviewState.DUE
    if not is_due or controller_holder(workspace.paths) is None:
        return
    for review in workspace.store.records.reviews(task.id).runs:
        if review.status is RunStatus.RUNNING and is_alive(review):
            raise RequestError(
                f"reviewers are looking at the change of {task.id} (run {review.id}, process {review.pid})",
                hint="Ctrl+C in the terminal that runs them stops them",
            )


_UNFINISHED = frozenset({Due.CHECK, Due.REVIEW, Due.LAND, Due.DECIDE})


def unfinished_run(history: History) -> Run | None:
    """Return the run whose change is yet to be checked, reviewed, decided on or landed; None without one."""
    run = history.latest
    return run if run is not None and due_of(run) in _UNFINISHED else None


def unfinished_error(run: Run, *ways: str) -> RequestError:
    """Return the error for a task that would be deleted with its unfinished change."""
    why = f"its change is not finished: {label_of(run)}"
    if run.is_pending:
        why, ways = "a decision on it is due", (decide_run_command(run), *ways)
    return RequestError(f'refusing to delete "{run.task_id}": {why} (run {run.id})', hint=ways)


def require_not_busy_task(workspace: Workspace, plan: Plan, parent_id: TaskId | None) -> None:
    """Refuse to make a task a parent while it is being worked on or decided: only leaves are executed."""
    if parent_id is None or not plan.tasks[parent_id].is_leaf:
        return
    parent, history = plan.tasks[parent_id], workspace.store.records.history(parent_id)
    require_not_busy(workspace, parent)
    if history.latest is not None and history.latest.is_pending:
        raise RequestError(
            f"{parent.id} cannot become a parent yet: a decision on it is due",
            hint=decide_run_command(history.latest),
        )
    if parent.status in IN_HAND and history.work_runs:
        raise RequestError(
            f"{parent.id} cannot become a parent while it is {parent.status}",
            hint=Sentence("finish it first, or abandon it: ", TaskCommand("retry", parent.id)),
        )


def require_undecided(workspace: Workspace, run: Run) -> Run:
    """Return the record as it is under the lock: another command may have decided first.

    Raises RequestError then, and UnreadableRecordError.
    """
    history = workspace.store.records.history(run.task_id)
    require_usable(run.task_id, history)
    stored = history.find(run.id)
    if stored is None or stored.is_superseded or stored.decision_state is not run.decision_state:
        raise RequestError(f"run {run.id} of {run.task_id} was decided elsewhere meanwhile")
    return stored


def require_unclaimed(workspace: Workspace, task_id: TaskId) -> None:
    """Raise LockedError while an approval of the task is being committed."""
    run_id = approval_in_progress(workspace.paths)
    if run_id is not None and workspace.store.records.history(task_id).find(run_id) is not None:
        raise LockedError(
            f"run {run_id} of {task_id} is being approved: its change is being committed",
            hint=Sentence("wait for it; ", TaskCommand("status"), " shows what became of it"),
        )


_AT_WORK = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.FAILED})


class RunElsewhere(NamedTuple):
    """A run in another worktree, ``place``, that is at work or has a decision pending."""

    run: Run
    place: str

    @property
    def text(self) -> str:
        if self.run.is_pending:
            return f"a decision on run {self.run.id} is pending in {self.place}"
        return f"run {self.run.id} (process {self.run.pid}) works on it in {self.place}"


_ELSEWHERE = "finish it in that worktree, or retry it there to give it up"


class BegunElsewhereError(LockedError): ...


def require_not_elsewhere(workspace: Workspace, task_id: TaskId) -> None:
    for other in runs_elsewhere(workspace, {task_id}):
        raise BegunElsewhereError(f"{task_id} is not started: {other.text}", hint=_ELSEWHERE)


def runs_elsewhere(
    workspace: Workspace, task_ids: Collection[TaskId] | None = None
) -> Iterator[RunElsewhere]:
    """Yield the active runs of these tasks, or of the whole plan, in other worktrees.

    A worktree that cannot be read has none. Other worktrees are those besides the one whose plan this is,
    also where a task works in its own.
    """
    for other in other_worktrees(workspace.home):
        paths = Paths(other.top, other.private_dir)
        store = Store(paths, workspace.store.hold, workspace.store.redactor)
        try:
            if not store.paths.runs.is_dir():
                continue
            wanted = workspace.store.plan().tasks if task_ids is None else task_ids
            for task in (one for one in store.plan().tasks.values() if one.id in wanted):
                run = _active_run(store, task) if task.is_leaf and task.status in _AT_WORK else None
                if run is not None:
                    yield RunElsewhere(run, str(other.top))
        except (BlackbirdError, OSError):
            continue


def _active_run(store: Store, task: Task) -> Run | None:
    history = store.records.history(task.id)
    if history.live is not None and is_alive(history.live):
        return history.live
    run = history.latest
    return run if run is not None and run.is_pending else None


def current_holds(
    workspace: Workspace, state: PlanState, *reviewed: TaskId
) -> Mapping[AgentModel, LimitHold]:
    """Return the agents at a limit, each with when it is over.

    Reviews are read for tasks whose change is under review, and for ``reviewed``.
    """
    tasks = {*reviewed, *(task.id for task, _ in state.due[Due.REVIEW])}
    reviews = [run for task_id in sorted(tasks) for run in workspace.store.records.reviews(task_id).runs]
    return held_agents(state, reviews, workspace.environment.now())


def spent_before(workspace: Workspace, task_id: TaskId | None, without: Collection[RunId] = ()) -> Spent:
    """Return what the runs and reviews of a task took, also those at work; None: of all tasks.

    Tasks that left the plan count; records that cannot be read do not.
    """
    records, now = workspace.store.records, workspace.environment.timestamp()
    tasks = (*records.tasks(), PLANNING) if task_id is None else (task_id,)
    found = (run for one in tasks for run in (*records.history(one).runs, *records.reviews(one).runs))
    return total_of(spent_in(run, now) for run in found if run.id not in without)
