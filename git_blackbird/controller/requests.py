"""What a person asks for by name: execute, resume, restart, retry, set-status (DESIGN.md 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from git_blackbird.controller.agents import agent_of, chosen_agent, probe
from git_blackbird.controller.checkpoints import change_of, request_obstacle
from git_blackbird.controller.decide import record_decision
from git_blackbird.controller.face import Face
from git_blackbird.controller.in_hand import require_idle
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.orders import Order, order_answers, order_changes, order_continue, order_start
from git_blackbird.controller.overtaking import overtake_runs
from git_blackbird.controller.readying import require_ready
from git_blackbird.controller.statuses import save_statuses
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import AgentUnavailableError, RequestError
from git_blackbird.messages.answers import match_answers
from git_blackbird.messages.questions import questions_of
from git_blackbird.model.choices import Decision
from git_blackbird.model.choosable import RETRIABLE
from git_blackbird.model.commands import answer_options, decide_command, restart_command, task_command
from git_blackbird.model.due import Ask, Call
from git_blackbird.model.graph import ancestors, ran_after, readiness, unmet
from git_blackbird.model.history import History, owed_words, since_done
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.run import (
    OVERTAKEN_BY_RESTART,
    OVERTAKEN_BY_RETRY,
    OVERTAKEN_BY_STATUS,
    DecisionState,
    Run,
    RunStatus,
)
from git_blackbird.model.status import apply_statuses, follows_done_children
from git_blackbird.storage.store import Image, Transaction


@dataclass(frozen=True)
class ResumeRequest:
    """``resume TASK``: a person's words and answers by question id, either may be absent."""

    task_id: str
    message: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)


def execute_loop(
    workspace: Workspace, face: Face, task_ids: Sequence[str], limit: int | None
) -> tuple[Loop, Opening]:
    """Prepare an execute, of everything or of these leaves only.

    Raises RequestError naming the reasons for a task that is not ready.
    """
    workspace.require_settings()

    def check(image: Image) -> None:
        for task_id in task_ids:
            require_ready(image, find_task(image.plan, task_id))

    only = frozenset(map(TaskId, task_ids)) if task_ids else None
    return Loop(workspace, face, Call(only=only, starts_left=limit)), Opening(check if task_ids else None)


def resume_loop(workspace: Workspace, face: Face, request: ResumeRequest) -> tuple[Loop, Opening]:
    """Prepare to go on in a task's session, by its latest run (DESIGN.md 5).

    Raises RequestError when there is nothing to go on with, once repair is done.
    """
    workspace.require_settings()
    call = Call(only=frozenset({TaskId(request.task_id)}), starts_left=0)
    return Loop(workspace, face, call), Opening(lambda image: _resume(workspace, image, request))


def _resume(workspace: Workspace, image: Image, request: ResumeRequest) -> Order | Ask | None:
    task = find_task(image.plan, request.task_id)
    history = image.history(task.id)
    run = history.latest
    if run is None:
        raise _nothing_to_resume(image, task)
    if run.is_pending:
        _request_changes(workspace, task, run, request)
        return None
    _require_session(workspace, history, task, run)
    if request.answers and run.status is not RunStatus.WAITING_USER:
        raise RequestError(f"{task.id} asks nothing now", hint=task_command("resume", task.id, " -m TEXT"))
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        _, summary = change_of(workspace, image, run, since_done(history))
        return order_changes(run, task, history, request.message, summary)
    if run.status is RunStatus.WAITING_USER:
        return _answer(task, run, history, request)
    if run.status is not RunStatus.PAUSED and not request.message:
        raise RequestError(f"nothing to resume: {task.id} is {task.status}", hint="-m TEXT says what to do")
    return order_continue(run, task, history, request.message)


def _nothing_to_resume(image: Image, task: Task) -> RequestError:
    if not image.history(task.id).own:
        return RequestError(f"no runs found for {task.id}", hint=task_command("execute", task.id))
    is_over = task.status in {Status.DONE, Status.SKIPPED}
    return RequestError(
        f"nothing to resume: no run of {task.id} counts any more; its status was set to {task.status}",
        hint=task_command("set-status", task.id, " todo") if is_over else restart_command(task.id),
    )


def _request_changes(workspace: Workspace, task: Task, run: Run, request: ResumeRequest) -> None:
    """Record ``-m`` as a change request; carrying it out is due then."""
    if not request.message:
        raise RequestError(
            f"a decision is due on {task.id} (run {run.id})",
            hint=decide_command(task.id),
        )
    if run.provider_session_ref is not None:
        probe(workspace, agent_of(workspace, run))
    decision = Decision(DecisionState.CHANGES_REQUESTED, request.message)
    record_decision(workspace, task.id, decision, run.id)


def _require_session(workspace: Workspace, history: History, task: Task, run: Run) -> None:
    obstacle = request_obstacle(workspace, history, run)
    if obstacle is not None:
        raise AgentUnavailableError(
            f"{task.id} cannot be resumed: {obstacle}",
            hint=restart_command(task.id),
        )


def _answer(task: Task, run: Run, history: History, request: ResumeRequest) -> Order | Ask:
    if request.answers:
        order = order_answers(run, task, history, match_answers(questions_of(run), request.answers))
        return order if request.message is None else order.with_message(request.message)
    if request.message is not None:
        raise RequestError(
            f"{task.id} waits for answers; -m alone answers nothing",
            hint=answer_options(questions_of(run)).strip(),
        )
    return Ask(task, run)


def restart_loop(workspace: Workspace, face: Face, task_id: str, message: str | None) -> tuple[Loop, Opening]:
    """Prepare a retry that starts now, in a new session, with everything owed.

    Raises RequestError when the task cannot be started, once repair is done; nothing is touched then.
    """
    workspace.require_settings()

    def first(image: Image) -> Order:
        task = find_task(image.plan, task_id)
        _require_startable(image.plan, task)
        probe(workspace, chosen_agent(workspace))
        if task.status is not Status.TODO:
            reset_task(workspace, task_id, OVERTAKEN_BY_RESTART)
        after = workspace.store.image()
        return order_start(workspace, after.plan, task, after.history(task.id), message)

    call = Call(only=frozenset({TaskId(task_id)}), starts_left=0)
    return Loop(workspace, face, call), Opening(first)


def _require_startable(plan: Plan, task: Task) -> None:
    waits = unmet(plan, task)
    if not task.is_leaf or waits:
        reasons = readiness(plan, task).reasons
        raise RequestError(f"{task.id} cannot be started: {'; '.join(reasons)}")


@dataclass(frozen=True)
class Reset:
    """What a status change led to: the runs it overtook, and what the task must still hear.

    ``dependents`` built on the task and are not undone; ``reopened`` parents changed with it.
    """

    task_id: TaskId
    status: Status
    overtaken: tuple[Run, ...] = ()
    owed: tuple[str, ...] = ()
    dependents: tuple[TaskId, ...] = ()
    reopened: tuple[TaskId, ...] = ()


def reset_task(workspace: Workspace, task_id: str, by: str = OVERTAKEN_BY_RETRY) -> Reset:
    """Make a task ``todo`` again; its runs are overtaken, nothing is started.

    Raises RequestError when it is in no state to be reset.
    """
    workspace.require_person("reset a task")
    with workspace.store.transaction() as transaction:
        plan = transaction.plan()
        task = find_task(plan, task_id)
        _require_resettable(transaction, task)
        return _set(workspace, transaction, task, Status.TODO, by)


def _require_resettable(transaction: Transaction, task: Task) -> None:
    require_idle(transaction, task)
    if not task.is_leaf:
        raise RequestError(f"{task.id} has children; retry the one that failed")
    if task.status not in RETRIABLE:
        raise RequestError(
            f"task {task.id} is not failed, waiting or blocked: it is {task.status}",
            hint=f"`{task_command('set-status', task.id, ' todo')}` does it all the same",
        )


def set_status(workspace: Workspace, task_id: str, status: Status) -> Reset:
    """Set a status by hand; the task's runs are overtaken, so that it is never repaired away.

    Raises RequestError while an agent works on the task.
    """
    workspace.require_person("set a status")
    with workspace.store.transaction() as transaction:
        plan = transaction.plan()
        task = find_task(plan, task_id)
        require_idle(transaction, task)
        if status is not Status.DONE and follows_done_children(plan, task):
            raise RequestError(
                f"{task.id} follows its children, and all of them are done",
                hint=f"set one of them: {', '.join(task.children)}",
            )
        return _set(workspace, transaction, task, status, f"{OVERTAKEN_BY_STATUS}{status.value}")


def _set(workspace: Workspace, transaction: Transaction, task: Task, status: Status, by: str) -> Reset:
    """Write the records first, the plan second, under the one lock."""
    now = workspace.world.timestamp()
    overtaken = overtake_runs(transaction, task.id, by, now)
    before = transaction.plan()
    after = apply_statuses(before, {task.id: status}, now)
    transaction.save_plan(after)
    save_statuses(workspace, transaction)
    leaves_done = before.tasks[task.id].status == Status.DONE != status
    return Reset(
        task.id,
        status,
        overtaken,
        owed_words(transaction.history(task.id)).texts,
        tuple(one.id for one in ran_after(before, task)) if leaves_done else (),
        tuple(one.id for one in ancestors(before, task) if after.tasks[one.id].status != one.status),
    )
