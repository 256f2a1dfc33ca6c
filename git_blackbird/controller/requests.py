"""What a person asks for by name: execute, resume, restart (DESIGN.md 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from git_blackbird.controller.agents import agent_of, probe
from git_blackbird.controller.asking import only_answers
from git_blackbird.controller.checkpoints import change_of, request_obstacle
from git_blackbird.controller.decide import record_decision, require_requestable
from git_blackbird.controller.face import Face
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.orders import Order, Restart, order_answers, order_changes, order_continue
from git_blackbird.controller.readying import require_ready
from git_blackbird.controller.unreadable import require_readable
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import AgentUnavailableError, RequestError
from git_blackbird.messages.answers import match_answers, parse_answer
from git_blackbird.messages.questions import questions_of
from git_blackbird.model.choices import Decision
from git_blackbird.model.commands import (
    answer_options,
    decide_run_command,
    restart_command,
    task_command,
)
from git_blackbird.model.due import Ask, Call
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.held import owing_below
from git_blackbird.model.history import History, OwedWords, since_done
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.run import (
    DecisionState,
    Run,
    RunStatus,
)
from git_blackbird.model.standing import Standing
from git_blackbird.model.unreadable import full_readiness, waits_for
from git_blackbird.storage.store import Image


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
        standing = workspace.standing(image)
        for task_id in task_ids:
            require_ready(standing, find_task(image.plan, task_id))

    only = frozenset(map(TaskId, task_ids)) if task_ids else None
    return Loop(workspace, face, Call(only=only, starts_left=limit)), Opening(check if task_ids else None)


def resume_loop(workspace: Workspace, face: Face, request: ResumeRequest) -> tuple[Loop, Opening]:
    """Prepare to go on in a task's session, by its latest run (DESIGN.md 5).

    Raises RequestError when there is nothing to go on with, once repair is done.
    """
    workspace.require_settings()
    call = Call(only=frozenset({TaskId(request.task_id)}), starts_left=0, widens=True)
    return Loop(workspace, face, call), Opening(lambda image: _resume(workspace, image, request))


def resume_all_loop(workspace: Workspace, face: Face, parent_id: str) -> tuple[Loop, Opening]:
    """Prepare to carry what reviews left owed to every leaf below a parent, in plan order.

    Raises RequestError when nothing is owed there.
    """
    workspace.require_settings()
    standing = workspace.standing()
    parent = find_task(standing.plan, parent_id)
    leaves = owing_below(standing, parent)
    if not leaves:
        raise RequestError(
            f"no review feedback is pending below {parent.id}",
            hint=task_command("review show", parent.id) if parent.children else None,
        )
    for leaf in leaves:
        obstacle = _feedback_obstacle(workspace, standing, leaf)
        if obstacle is not None:
            text = f"{leaf.id} cannot be resumed: {obstacle}"
            face.notify(Notice(Weight.WARNING, text, restart_command(leaf.id), leaf.id))
    owing = frozenset(leaf.id for leaf in leaves)
    # What one of them asked before it is answered first: the answers carry the feedback as well.
    asked = frozenset(
        run.id
        for task, run in standing.latest_runs()
        if task.id in owing and run.status is RunStatus.WAITING_USER
    )
    call = Call(only=owing, starts_left=0, carries=owing, asked=asked, widens=True)
    return Loop(workspace, face, call), Opening()


def _feedback_obstacle(workspace: Workspace, standing: Standing, leaf: Task) -> str | None:
    run = standing.latest(leaf.id)
    return (
        "it has no current run"
        if run is None
        else request_obstacle(workspace, standing.history(leaf.id), run)
    )


def _resume(workspace: Workspace, image: Image, request: ResumeRequest) -> Order | Ask | None:
    standing = workspace.standing(image)
    task = find_task(image.plan, request.task_id)
    require_readable(standing, task)
    history, owed = standing.history(task.id), standing.owed_words(task.id)
    run = history.latest
    if run is None:
        raise _nothing_to_resume(history, task, owed)
    if run.is_pending:
        _request_changes(workspace, task, run, request)
        return None
    _require_session(workspace, history, task, run)
    if request.answers and run.status is not RunStatus.WAITING_USER:
        raise RequestError(
            f"{task.id} has no open questions", hint=task_command("resume", task.id, " -m TEXT")
        )
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        _, summary = change_of(workspace, image, run, since_done(history))
        return order_changes(run, task, owed, request.message, summary)
    if run.status is RunStatus.WAITING_USER:
        return _answer(task, run, owed, request)
    if run.status is not RunStatus.PAUSED and not request.message and owed.review is None:
        raise RequestError(f"nothing to resume: {task.id} is {task.status}", hint="-m TEXT says what to do")
    return order_continue(run, task, owed, request.message)


def require_tellable(workspace: Workspace, task_id: str, *, is_answered: bool = False) -> Run:
    """Refuse, before it is written, a message that ``resume -m`` would refuse, as far as the records say.

    ``is_answered``: the message goes with answers to what the agent asked. Gives the run that it is about.
    Raises RequestError, AgentUnavailableError.
    """
    standing = workspace.standing_of(task_id)
    task = find_task(standing.plan, task_id)
    require_readable(standing, task)
    history = standing.history(task.id)
    run = history.latest
    if run is None:
        raise _nothing_to_resume(history, task, standing.owed_words(task.id))
    if run.is_pending:
        require_requestable(workspace, history, run)
    else:
        _require_session(workspace, history, task, run)
    if run.status is RunStatus.WAITING_USER and not is_answered:
        raise only_answers(task, answer_options(questions_of(run)).strip())
    return run


def _nothing_to_resume(history: History, task: Task, owed: OwedWords) -> RequestError:
    if owed.review is not None:
        return RequestError(
            f"{task.id} cannot be resumed: it has no current run", hint=restart_command(task.id)
        )
    if not task.is_leaf:
        return RequestError(
            f"{task.id} has children; only leaves are resumed",
            hint=task_command("resume --all", task.id, remark="sends the review feedback pending below it"),
        )
    if not history.own:
        return RequestError(f"no runs found for {task.id}", hint=task_command("execute", task.id))
    return RequestError(
        f"nothing to resume: {task.id} has no current run; its status was set to {task.status}",
        hint=task_command("set-status", task.id, " todo") if task.is_over else restart_command(task.id),
    )


def _request_changes(workspace: Workspace, task: Task, run: Run, request: ResumeRequest) -> None:
    """Record ``-m`` as a change request; carrying it out is due then."""
    if not request.message:
        raise RequestError(
            f"a decision is due on {task.id} (run {run.id})",
            hint=decide_run_command(run),
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


def _answer(task: Task, run: Run, owed: OwedWords, request: ResumeRequest) -> Order | Ask:
    if request.answers:
        answers = match_answers(questions_of(run), request.answers, parse_answer)
        order = order_answers(run, task, owed, answers)
        return order if request.message is None else order.with_message(request.message)
    return Ask(task, run, request.message)


def restart_loop(workspace: Workspace, face: Face, task_id: str, message: str | None) -> tuple[Loop, Opening]:
    """Prepare a retry that starts now, in a new session, with everything pending.

    Raises RequestError when the task cannot be started, once repair is done; nothing is touched then.
    """
    workspace.require_settings()

    def first(image: Image) -> Restart:
        standing = workspace.standing(image)
        task = find_task(image.plan, task_id)
        require_readable(standing, task)
        _require_startable(standing, task)
        return Restart(task, message)

    call = Call(only=frozenset({TaskId(task_id)}), starts_left=0, widens=True)
    return Loop(workspace, face, call), Opening(first)


def _require_startable(standing: Standing, task: Task) -> None:
    if not task.is_leaf or waits_for(standing, task):
        reasons = full_readiness(standing, task).reasons
        raise RequestError(f"{task.id} cannot be started: {'; '.join(reasons)}")
